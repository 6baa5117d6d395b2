# Copyright 2026 the authors of closed_chain_dynamics
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Checks of a model in lists: every name good, every reference found, every size right."""

from collections.abc import Iterator
from dataclasses import fields
import keyword
from typing import TYPE_CHECKING, Any

import sympy

from closed_chain_dynamics.errors import DescriptionError, NameNotFound
from closed_chain_dynamics.symbolic.list_elements import GRS, REFERENCES, velocity
from closed_chain_dynamics.symbolic.list_expressions import FORCE_FUNCTIONS

if TYPE_CHECKING:
    from closed_chain_dynamics.symbolic.lists import Lists

__all__ = ['check_lists']

RESERVED = {'t', 'pi', *FORCE_FUNCTIONS}
# How many components a tuple has: (field, in the plane, in space).
COUNTS = {
    'pt': ('position', (2,), (3,)),
    'LRS': ('orientation', (1,), (3, 4)),
    'seg': ('inertia', (0, 1), (0, 3, 6)),
    'frc': ('components', (2,), (3,)),
    'trq': ('components', (1,), (3,)),
}


def check_lists(lists: 'Lists') -> None:
    """Refuse a model that is not whole, or raise."""
    if lists.dimension not in (2, 3):
        raise DescriptionError(
            f'the dimension is {lists.dimension!r}',
            repair='Write 2 or 3.',
            **lists.place('dimension'),
        )
    if len(lists.euler) != 3 or set(lists.euler) - set('xyz'):
        raise DescriptionError(
            f'{lists.euler!r} does not name three axes',
            repair='Write e.g. zxz.',
            **lists.place('euler'),
        )
    _check_names(lists)
    _check_references(lists)
    lists.hanging_order()
    _check_counts(lists)
    _check_symbols(lists)


def _check_names(lists: 'Lists') -> None:
    if not lists.coordinates:
        raise DescriptionError(
            'there are no coordinates',
            **lists.place('coordinates'),
            repair='Name what moves, as coordinates: [q1, q2].',
        )
    owner: dict[str, str] = {}
    for section in ('coordinates', 'parameters', 'inputs'):
        for name in getattr(lists, section):
            if not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
                raise DescriptionError(
                    'this cannot be the name of a quantity',
                    **lists.place(section, name),
                    repair='Use letters, digits and _; t, pi and functions are taken.',
                )
            if name in owner:
                raise DescriptionError(
                    f'the name is already used in {owner[name]}',
                    repair='Rename one of the two.',
                    **lists.place(section, name),
                )
            owner[name] = section
    derived = {str(velocity(name)) for name in lists.coordinates} | set(lists.point_places())
    for name in sorted(derived & set(owner)):
        raise DescriptionError(
            'the name is reserved for a velocity or the position of a point',
            repair='Rename it.',
            **lists.place(owner[name], name),
        )
    for section in ('pt', 'LRS'):
        if GRS in getattr(lists, section):
            raise DescriptionError(
                'index 0 is the global reference system',
                repair='Start at 1, or use a name.',
                **lists.place(section, GRS),
            )


def _check_references(lists: 'Lists') -> None:
    for section, references in REFERENCES.items():
        for name, entry in getattr(lists, section).items():
            for each, target in references.items():
                wanted, known = getattr(entry, each), [GRS, *getattr(lists, target)]
                if wanted is not None and wanted not in known:
                    raise NameNotFound(target, wanted, known, **lists.place(section, name))


def _check_counts(lists: 'Lists') -> None:
    if len(lists.gravity) != lists.dimension:
        raise DescriptionError(
            f'gravity has {len(lists.gravity)} components, but the dimension is {lists.dimension}',
            repair='Give one for each axis.',
            **lists.place('gravity'),
        )
    for section, (what, plane, space) in COUNTS.items():
        wanted = plane if lists.dimension == 2 else space
        for name, entry in getattr(lists, section).items():
            count = len(getattr(entry, what))
            if count not in wanted:
                raise DescriptionError(
                    f'{what} has {count} components, but dimension {lists.dimension} takes '
                    f'{" or ".join(map(str, wanted))}',
                    **lists.place(section, name),
                    repair='Add or remove components, or change dimension.',
                )
    for name, segment in lists.seg.items():
        if segment.inertia and (segment.center == GRS or lists.pt[segment.center].frame == GRS):
            raise DescriptionError(
                f'it has inertia, but its centre {segment.center!r} is a point of 0, which '
                'does not turn',
                **lists.place('seg', name),
                repair='Put the point into the LRS of the segment, or drop the inertia.',
            )


def _check_symbols(lists: 'Lists') -> None:
    """Refuse expressions in symbols that their section does not know."""
    for section in ('gravity', *REFERENCES, 'constraint'):
        known = lists.symbols(section)
        entries = {'': lists.gravity} if section == 'gravity' else getattr(lists, section)
        for name, entry in entries.items():
            for expression in _expressions(entry):
                foreign = sympy.sympify(expression).free_symbols - set(known.values())
                for symbol in sorted(foreign, key=str):
                    raise NameNotFound(
                        'quantity', symbol.name, known, **lists.place(section, name)
                    )


def _expressions(entry: Any) -> Iterator[sympy.Expr]:
    """Return the expressions of an entry, references left out."""
    if isinstance(entry, (tuple, sympy.Expr)):
        values = [entry]
    else:
        values = [getattr(entry, each.name) for each in fields(entry)]
    for value in values:
        if isinstance(value, tuple):
            yield from value
        elif not isinstance(value, str) and value is not None:
            yield value
