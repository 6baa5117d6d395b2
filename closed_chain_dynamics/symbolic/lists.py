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

"""
A model as linked lists (paper 4, sections 8.2.6 to 8.5): each entry names those it hangs on.

pt, LRS, seg, spl, spt, frc and trq are the chapter's names; index 0 is the global reference
system GRS among reference systems, and its origin among points. A joint that is a common point
needs no entry; one whose force is wanted is a `joint` between two points. Positions, angles and
forces are SymPy expressions in the coordinates, parameters and inputs, and in the time t.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
import keyword
from typing import Any

import sympy

from closed_chain_dynamics.errors import DescriptionError, NameNotFound
from closed_chain_dynamics.symbolic.list_expressions import FORCE_FUNCTIONS

__all__ = [
    'GRS',
    'TIME',
    'Force',
    'Joint',
    'LinearSpring',
    'Lists',
    'Point',
    'ReferenceSystem',
    'Segment',
    'Torque',
    'TorsionalSpring',
    'acceleration',
    'place_of',
    'velocity',
]

Places = Mapping[tuple[str, str], str]  # (section, name) -> e.g. 'line 12'
Hanging = tuple[str, str]  # ('pt', name) or ('LRS', name)

GRS = '0'
TIME = sympy.Symbol('t')
AXES = 'XYZ'
RESERVED = {'t', 'pi', *FORCE_FUNCTIONS}


def place_of(places: Places, section: str, name: str) -> str:
    """Return what an error calls an entry, e.g. 'line 12, pt hip'."""
    return ', '.join(filter(None, [places.get((section, name), ''), f'{section} {name}'.strip()]))


def velocity(coordinate: str) -> sympy.Symbol:
    """Return the symbol of a generalized velocity: q1 -> q1_dot."""
    return sympy.Symbol(f'{coordinate}_dot')


def acceleration(coordinate: str) -> sympy.Symbol:
    """Return the symbol of a generalized acceleration: q1 -> q1_ddot."""
    return sympy.Symbol(f'{coordinate}_ddot')


@dataclass(frozen=True)
class Point:
    """pt = [LRS, x, y, z], Eq. (8.10); the components may be functions of the coordinates."""

    frame: str
    position: tuple[sympy.Expr, ...]


@dataclass(frozen=True)
class ReferenceSystem:
    """LRS = [pt, angles or quaternion xyzw, LRS they are counted from], Eq. (8.11)."""

    origin: str
    # one angle in the plane; three, or four of a quaternion, in space
    orientation: tuple[sympy.Expr, ...]
    relative_to: str = GRS


@dataclass(frozen=True)
class Segment:
    """seg = [pt, M, I...], Eq. (8.26): inertia about that point, the centre of mass."""

    center: str
    mass: sympy.Expr
    # () a particle; I; Ixx Iyy Izz; or Ixx Iyy Izz Ixy Ixz Iyz
    inertia: tuple[sympy.Expr, ...] = ()


@dataclass(frozen=True)
class LinearSpring:
    """spl = [pt, pt, k_l, c_l, l_s], Eq. (8.28): spring and damper between two points."""

    first: str
    second: str
    stiffness: sympy.Expr
    damping: sympy.Expr
    rest_length: sympy.Expr


@dataclass(frozen=True)
class TorsionalSpring:
    """spt = [LRS, LRS, k_t, c_t, theta_s], Eq. (8.29): about a common axis."""

    first: str
    second: str
    stiffness: sympy.Expr
    damping: sympy.Expr
    rest_angle: sympy.Expr


@dataclass(frozen=True)
class Force:
    """frc = [pt, F...], Eq. (8.32), in axes of the GRS; `reaction` is the other end, if any."""

    point: str
    components: tuple[sympy.Expr, ...]
    reaction: str | None = None  # the point that the opposite force acts on


@dataclass(frozen=True)
class Torque:
    """trq = [LRS, LRS, tau...], Eq. (8.33): on the second, its opposite on the first."""

    first: str
    second: str
    # in the plane one; in space three, along the axes of the second
    components: tuple[sympy.Expr, ...]


@dataclass(frozen=True)
class Joint:
    """Two points that coincide, section 8.5; the multipliers are the force on the second."""

    first: str
    second: str


# What an entry refers to: field -> the section that must hold it.
REFERENCES = {
    'pt': {'frame': 'LRS'},
    'LRS': {'origin': 'pt', 'relative_to': 'LRS'},
    'seg': {'center': 'pt'},
    'spl': {'first': 'pt', 'second': 'pt'},
    'spt': {'first': 'LRS', 'second': 'LRS'},
    'frc': {'point': 'pt', 'reaction': 'pt'},
    'trq': {'first': 'LRS', 'second': 'LRS'},
    'joint': {'first': 'pt', 'second': 'pt'},
}
# How many components a tuple has: (field, in the plane, in space).
COUNTS = {
    'pt': ('position', (2,), (3,)),
    'LRS': ('orientation', (1,), (3, 4)),
    'seg': ('inertia', (0, 1), (0, 3, 6)),
    'frc': ('components', (2,), (3,)),
    'trq': ('components', (1,), (3,)),
}


@dataclass(frozen=True)
class Lists:
    """A whole model; every reference must lead somewhere, and none in a ring."""

    name: str
    dimension: int  # 2 or 3
    coordinates: tuple[str, ...]  # names of the generalized coordinates
    gravity: tuple[sympy.Expr, ...]  # acceleration in axes of the GRS, as (0, -g)
    # name -> number, or None: given later
    parameters: Mapping[str, float | None] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()  # names of what drives the model: forces, torques
    euler: str = 'zxz'  # axes of the three angles in space, each of the turned system
    pt: Mapping[str, Point] = field(default_factory=dict)
    LRS: Mapping[str, ReferenceSystem] = field(default_factory=dict)
    seg: Mapping[str, Segment] = field(default_factory=dict)
    spl: Mapping[str, LinearSpring] = field(default_factory=dict)
    spt: Mapping[str, TorsionalSpring] = field(default_factory=dict)
    frc: Mapping[str, Force] = field(default_factory=dict)
    trq: Mapping[str, Torque] = field(default_factory=dict)
    joint: Mapping[str, Joint] = field(default_factory=dict)
    # name -> Phi, an expression that is zero
    constraint: Mapping[str, sympy.Expr] = field(default_factory=dict)
    file: str = field(default='', compare=False)
    places: Places = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check the model as a whole."""
        if self.dimension not in (2, 3):
            raise DescriptionError(
                f'the dimension is {self.dimension!r}',
                repair='Write 2 or 3.',
                **self.place('dimension'),
            )
        if len(self.euler) != 3 or set(self.euler) - set('xyz'):
            raise DescriptionError(
                f'{self.euler!r} does not name three axes',
                repair='Write e.g. zxz.',
                **self.place('euler'),
            )
        self._check_names()
        self._check_references()
        self.hanging_order()
        self._check_counts()
        self._check_symbols()

    def place(self, section: str, name: str = '') -> dict[str, str]:
        """Return what an error says about where an entry stands: `where` and `file`."""
        return {'where': place_of(self.places, section, name), 'file': self.file}

    # ---- symbols ----------------------------------------------------------------------------

    def symbols(self, section: str) -> dict[str, sympy.Symbol]:
        """Return {name: Symbol} of what expressions of a section may use."""
        known = dict.fromkeys(self.parameters)
        if section in ('gravity', 'seg'):
            return _symbols(known)
        known |= dict.fromkeys(['t'])
        if section in ('spl', 'spt'):
            return _symbols(known | dict.fromkeys(self.inputs))
        known |= dict.fromkeys(self.coordinates)
        if section in ('pt', 'LRS'):
            return _symbols(known)
        known |= dict.fromkeys(self._places())
        if section in ('frc', 'trq'):
            known |= dict.fromkeys(
                [
                    *self.inputs,
                    *(str(velocity(name)) for name in (*self.coordinates, *self._places())),
                ]
            )
        return _symbols(known)

    def _places(self) -> list[str]:
        """Return the names of what points have in the GRS: X_hip, Y_hip, ..."""
        return [f'{axis}_{point}' for point in self.pt for axis in AXES[: self.dimension]]

    # ---- checks -----------------------------------------------------------------------------

    def _check_names(self) -> None:
        if not self.coordinates:
            raise DescriptionError(
                'there are no coordinates',
                **self.place('coordinates'),
                repair='Name what moves, as coordinates: [q1, q2].',
            )
        owner: dict[str, str] = {}
        for section in ('coordinates', 'parameters', 'inputs'):
            for name in getattr(self, section):
                if not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
                    raise DescriptionError(
                        'this cannot be the name of a quantity',
                        **self.place(section, name),
                        repair='Use letters, digits and _; t, pi and functions are taken.',
                    )
                if name in owner:
                    raise DescriptionError(
                        f'the name is already used in {owner[name]}',
                        repair='Rename one of the two.',
                        **self.place(section, name),
                    )
                owner[name] = section
        derived = {str(velocity(name)) for name in self.coordinates} | set(self._places())
        for name in sorted(derived & set(owner)):
            raise DescriptionError(
                'the name is reserved for a velocity or the position of a point',
                repair='Rename it.',
                **self.place(owner[name], name),
            )
        for section in ('pt', 'LRS'):
            if GRS in getattr(self, section):
                raise DescriptionError(
                    'index 0 is the global reference system',
                    repair='Start at 1, or use a name.',
                    **self.place(section, GRS),
                )

    def _check_references(self) -> None:
        for section, references in REFERENCES.items():
            for name, entry in getattr(self, section).items():
                for each, target in references.items():
                    wanted, known = getattr(entry, each), [GRS, *getattr(self, target)]
                    if wanted is not None and wanted not in known:
                        raise NameNotFound(target, wanted, known, **self.place(section, name))

    def hanging_order(self) -> list[Hanging]:
        """Return ('pt', name) and ('LRS', name), each after those it hangs on."""
        needs: dict[Hanging, list[Hanging]] = {}
        for section in ('pt', 'LRS'):
            for name, entry in getattr(self, section).items():
                needs[section, name] = [
                    (target, getattr(entry, each))
                    for each, target in REFERENCES[section].items()
                    if getattr(entry, each) != GRS
                ]
        order: list[Hanging] = []
        while needs:
            ready = [node for node, wanted in needs.items() if not needs.keys() & set(wanted)]
            if not ready:
                raise self._ring(needs)
            order += ready
            for node in ready:
                del needs[node]
        return order

    def _ring(self, needs: Mapping[Hanging, list[Hanging]]) -> DescriptionError:
        """Return the error that names a ring of entries that hang on each other."""
        way = [next(iter(needs))]
        while way[-1] not in way[:-1]:
            way.append(next(node for node in needs[way[-1]] if node in needs))
        way = way[way.index(way[-1]) :]
        return DescriptionError(
            'it depends on itself: ' + ' -> '.join(map(' '.join, way)),
            repair='Let one of them hang on 0.',
            **self.place(*way[0]),
        )

    def _check_counts(self) -> None:
        if len(self.gravity) != self.dimension:
            raise DescriptionError(
                f'gravity has {len(self.gravity)} components, but the dimension is '
                f'{self.dimension}',
                repair='Give one for each axis.',
                **self.place('gravity'),
            )
        for section, (what, plane, space) in COUNTS.items():
            wanted = plane if self.dimension == 2 else space
            for name, entry in getattr(self, section).items():
                count = len(getattr(entry, what))
                if count not in wanted:
                    raise DescriptionError(
                        f'{what} has {count} components, but dimension {self.dimension} takes '
                        f'{" or ".join(map(str, wanted))}',
                        **self.place(section, name),
                        repair='Add or remove components, or change dimension.',
                    )
        for name, segment in self.seg.items():
            if segment.inertia and (segment.center == GRS or self.pt[segment.center].frame == GRS):
                raise DescriptionError(
                    f'it has inertia, but its centre {segment.center!r} is a point of 0, which '
                    'does not turn',
                    **self.place('seg', name),
                    repair='Put the point into the LRS of the segment, or drop the inertia.',
                )

    def _check_symbols(self) -> None:
        """Refuse expressions in symbols that their section does not know."""
        for section in ('gravity', *REFERENCES, 'constraint'):
            known = self.symbols(section)
            entries = {'': self.gravity} if section == 'gravity' else getattr(self, section)
            for name, entry in entries.items():
                for expression in _expressions(entry):
                    foreign = sympy.sympify(expression).free_symbols - set(known.values())
                    for symbol in sorted(foreign, key=str):
                        raise NameNotFound(
                            'quantity', symbol.name, known, **self.place(section, name)
                        )


def _symbols(names: Iterable[str]) -> dict[str, sympy.Symbol]:
    return {name: sympy.Symbol(name) for name in names}


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
