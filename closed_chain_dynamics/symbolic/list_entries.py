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

"""Entries of a list file: what the brackets of each section may hold, and what is made of it."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import sympy
import yaml

from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.symbolic.list_elements import (
    GRS,
    Force,
    LinearSpring,
    ListJoint,
    Point,
    ReferenceSystem,
    Segment,
    Torque,
    TorsionalSpring,
)

__all__ = ['BUILDERS', 'ENTRY_SHAPES', 'Entry', 'EntryFile']


class EntryFile(Protocol):
    """The file that an entry stands in."""

    dimension: int

    def place(self, section: str, name: str = '') -> dict[str, str]:
        """Return what an error says about where an entry stands."""
        ...

    def scalar(self, node: yaml.Node, section: str, name: str = '') -> str:
        """Return the text of a value."""
        ...

    def expression(
        self, node: yaml.Node, section: str, name: str, symbols: Mapping[str, sympy.Symbol]
    ) -> sympy.Expr:
        """Return a value as SymPy."""
        ...


# What stands in the brackets of each section; shown when a line does not fit.
ENTRY_SHAPES = {
    'pt': '[LRS, x, y] or [LRS, x, y, z]',
    'LRS': '[pt, theta], [pt, theta1, theta2, theta3] or [pt, [x, y, z, w]], and after it the '
    'LRS that the angles are counted from, unless that is 0',
    'seg': '[pt, M], [pt, M, I], [pt, M, Ixx, Iyy, Izz] or [pt, M, Ixx, Iyy, Izz, Ixy, Ixz, Iyz]',
    'spl': '[pt, pt, k, c, rest length]',
    'spt': '[LRS, LRS, k, c, rest angle]',
    'frc': '[pt, F_x, F_y] or [pt, F_x, F_y, F_z], with a second pt for the opposite force',
    'trq': '[LRS, LRS, tau] or [LRS, LRS, tau_x, tau_y, tau_z]',
    'joint': '[pt, pt]',
}


class Entry:
    """One line of a list: names and expressions taken from its front, one after the other."""

    def __init__(
        self,
        source: EntryFile,
        section: str,
        name: str,
        nodes: Any,  # those in the brackets; of a constraint, which has none, its only one
        symbols: Mapping[str, sympy.Symbol],
    ) -> None:
        self.source, self.section, self.name = source, section, name
        self.nodes, self.symbols = nodes, symbols
        self.at = 0

    def _next(self) -> yaml.Node:
        if self.at >= len(self.nodes):
            raise self._misfit()
        self.at += 1
        node: yaml.Node = self.nodes[self.at - 1]
        return node

    def _misfit(self) -> DescriptionError:
        return DescriptionError(
            f'{len(self.nodes)} values do not make an entry',
            repair=f'Write {ENTRY_SHAPES[self.section]}.',
            **self.source.place(self.section, self.name),
        )

    def _value(self, node: yaml.Node) -> sympy.Expr:
        return self.source.expression(node, self.section, self.name, self.symbols)

    def reference(self) -> str:
        """Return the next value, a name."""
        return self.source.scalar(self._next(), self.section, self.name)

    def expression(self) -> sympy.Expr:
        """Return the next value."""
        return self._value(self._next())

    def rest(self) -> tuple[sympy.Expr, ...]:
        """Return all values that are left."""
        nodes, self.at = self.nodes[self.at :], len(self.nodes)
        return tuple(map(self._value, nodes))

    def whole(self) -> sympy.Expr:
        """Return the value of an entry without brackets."""
        return self._value(self.nodes)

    def orientation(self) -> tuple[tuple[sympy.Expr, ...], str]:
        """Return angles or a quaternion, and the LRS that they are counted from."""
        nodes = self.nodes[self.at :]
        quaternion = bool(nodes) and isinstance(nodes[0], yaml.SequenceNode)
        count = 1 if quaternion or self.source.dimension == 2 else 3
        values = nodes[0].value if quaternion else nodes[:count]
        if len(nodes) not in (count, count + 1) or (quaternion and len(values) != 4):
            raise self._misfit()
        self.at = len(self.nodes)
        relative_to = (
            GRS
            if len(nodes) == count
            else self.source.scalar(nodes[count], self.section, self.name)
        )
        return tuple(map(self._value, values)), relative_to

    def exactly(self, *values: Any) -> tuple[Any, ...]:
        """Return what was taken, if nothing is left."""
        if self.at < len(self.nodes):
            raise self._misfit()
        return values

    def force(self) -> tuple[str, tuple[sympy.Expr, ...], str | None]:
        """Return point, components and the point of the opposite force, told by the length."""
        point = self.reference()
        two_ended = len(self.nodes) == self.source.dimension + 2
        reaction = self.reference() if two_ended else None
        return point, self.rest(), reaction


def _spring(entry: Entry) -> tuple[Any, ...]:
    return entry.exactly(
        entry.reference(),
        entry.reference(),
        entry.expression(),
        entry.expression(),
        entry.expression(),
    )


BUILDERS: Mapping[str, Callable[[Entry], Any]] = {
    'pt': lambda entry: Point(entry.reference(), entry.rest()),
    'LRS': lambda entry: ReferenceSystem(entry.reference(), *entry.orientation()),
    'seg': lambda entry: Segment(entry.reference(), entry.expression(), entry.rest()),
    'spl': lambda entry: LinearSpring(*_spring(entry)),
    'spt': lambda entry: TorsionalSpring(*_spring(entry)),
    'frc': lambda entry: Force(*entry.force()),
    'trq': lambda entry: Torque(entry.reference(), entry.reference(), entry.rest()),
    'joint': lambda entry: ListJoint(*entry.exactly(entry.reference(), entry.reference())),
    'constraint': lambda entry: entry.whole(),
}
