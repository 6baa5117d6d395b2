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
A model as linked lists (Winter, sections 8.2.6 to 8.5): each entry names those it hangs on.

pt, LRS, seg, spl, spt, frc and trq are the chapter's names; index 0 is the global reference
system GRS among reference systems, and its origin among points. A joint that is a common point
needs no entry; one whose force is wanted is a `joint` between two points. Positions, angles and
forces are SymPy expressions in the coordinates, parameters and inputs, and in the time t.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import sympy

from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.symbolic.list_checks import check_lists
from closed_chain_dynamics.symbolic.list_elements import (
    AXIS_LETTERS,
    GRS,
    REFERENCES,
    Force,
    LinearSpring,
    ListJoint,
    Point,
    ReferenceSystem,
    Segment,
    Torque,
    TorsionalSpring,
    velocity,
)

__all__ = ['Lists', 'place_of']

ListPlaces = Mapping[tuple[str, str], str]  # (section, name) -> e.g. 'line 12'
Hanging = tuple[str, str]  # ('pt', name) or ('LRS', name)


def place_of(places: ListPlaces, section: str, name: str) -> str:
    """Return what an error calls an entry, e.g. 'line 12, pt hip'."""
    return ', '.join(filter(None, [places.get((section, name), ''), f'{section} {name}'.strip()]))


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
    joint: Mapping[str, ListJoint] = field(default_factory=dict)
    # name -> Phi, an expression that is zero
    constraint: Mapping[str, sympy.Expr] = field(default_factory=dict)
    file: str = field(default='', compare=False)
    places: ListPlaces = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check the model as a whole."""
        check_lists(self)

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
        known |= dict.fromkeys(self.point_places())
        if section in ('frc', 'trq'):
            known |= dict.fromkeys(
                [
                    *self.inputs,
                    *(str(velocity(name)) for name in (*self.coordinates, *self.point_places())),
                ]
            )
        return _symbols(known)

    def point_places(self) -> list[str]:
        """Return the names of what points have in the GRS: X_hip, Y_hip, ..."""
        return [f'{axis}_{point}' for point in self.pt for axis in AXIS_LETTERS[: self.dimension]]

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
            repair='Attach one of them to 0.',
            **self.place(*way[0]),
        )


def _symbols(names: Iterable[str]) -> dict[str, sympy.Symbol]:
    return {name: sympy.Symbol(name) for name in names}
