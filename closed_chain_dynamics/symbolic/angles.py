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

"""Turns over CasADi's symbols: by cosine and sine, and by the angle where it is known."""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX

__all__ = ['Angle']


@dataclass
class Angle:
    """A turn by its cosine and sine, and by itself where it is known."""

    cos: SX
    sin: SX
    value: SX | None = None

    @classmethod
    def of(cls, value: SX) -> 'Angle':
        """Return the turn by a known angle; -x takes sine and cosine of x."""
        if value.op() == ca.OP_NEG:
            back = cls.of(value.dep(0)).reverse()
            return cls(back.cos, back.sin, value)
        return cls(ca.cos(value), ca.sin(value), value)

    def explicit(self) -> SX:
        """Return the angle itself, by an arctangent where only cosine and sine are known."""
        if self.value is None:
            self.value = ca.atan2(self.sin, self.cos)
        return self.value

    def reverse(self) -> 'Angle':
        """Return the turn the other way round."""
        return Angle(self.cos, -self.sin)

    def then(self, other: 'Angle') -> 'Angle':
        """Return the turn by the sum of two angles."""
        return Angle(
            self.cos * other.cos - self.sin * other.sin,
            self.sin * other.cos + self.cos * other.sin,
        )

    def turn(self, x: SX, y: SX) -> tuple[SX, SX]:
        """Return a plane vector turned by the angle."""
        return self.cos * x - self.sin * y, self.sin * x + self.cos * y
