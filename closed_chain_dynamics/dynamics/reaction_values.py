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

"""What forces and moments in joints are, once computed: a value per joint, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates
from closed_chain_dynamics.dynamics.link_loads import LinkLoads, moved_wrench
from closed_chain_dynamics.errors import NameNotFound

__all__ = ['Reaction', 'Reactions']


@dataclass(frozen=True, eq=False)
class Reaction:
    """Force and moment that the parent of a joint exerts on its child."""

    force: Vector  # (3,) [N]
    moment: Vector  # (3,) [N m], about `point`
    unique: bool  # False: redundant constraints leave a part of it open
    point: Vector = field(repr=False)  # origin of the child's frame, world (3,)
    frame: str  # whose axes: 'world', 'joint', or a link
    unique_components: NDArray[np.bool_] = field(repr=False)  # (6,): force, then moment
    axes: Matrix = field(repr=False)  # rotation from those axes to the world

    @property
    def wrench(self) -> Vector:
        """Return force and moment, (6,)."""
        return np.concatenate([self.force, self.moment])


class Reactions(Mapping[str, Reaction]):
    """
    Reactions by joint name: all tree joints, fixed ones too, then all loop joints.

    `multipliers` (rows,) are the forces in the rows of J_C that belong to them; `tau_A` the
    torques of the actuators; `missing` (nv,) the forces on the coordinates of the tree that
    the motion needs and nothing provides: zero unless the actuators cannot do this motion.
    """

    def __init__(
        self,
        found: dict[str, Reaction],
        about: tuple[Coordinates, LinkLoads],
        forces: tuple[Vector, Vector, Vector],
    ) -> None:
        self._found, (self._coordinates, self._loads) = found, about
        self._multipliers, self._tau_A, self._missing = forces

    def __getitem__(self, joint: str) -> Reaction:
        if joint not in self._found:
            raise NameNotFound('joint', joint, self._found)
        return self._found[joint]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f'Reactions({self._found!r})'

    @property
    def multipliers(self) -> Vector:
        """Return the forces in the rows of J_C, (rows,)."""
        return np.array(self._multipliers)

    @property
    def tau_A(self) -> Vector:
        """Return the actuator torques, (actuators,)."""
        return np.array(self._tau_A)

    @property
    def missing(self) -> Vector:
        """Return the forces that the motion needs and nothing provides, (nv,)."""
        return np.array(self._missing)

    @property
    def dead_point(self) -> bool:
        """Return whether actuators have no leverage here, but have some at nearby poses."""
        return self._coordinates.dead_point

    @property
    def is_unique(self) -> bool:
        """Return whether every reaction is unique."""
        return all(reaction.unique for reaction in self.values())

    def equilibrium(self) -> float:
        """Return the largest force [N] or moment [N m] that is out of balance on any link."""
        return float(np.abs(self._imbalance()[1:]).max(initial=0.0))

    def _imbalance(self) -> Matrix:
        """Return what Newton and Euler miss about each link's centre of mass, (links, 6)."""
        loads = self._loads
        rest = np.hstack([-loads.force, -loads.moment])
        for link, point, wrench in loads.external:
            rest[link] += moved_wrench(wrench, loads.com[link] - point)
        for reaction, *ends in zip(self.values(), loads.links.children, loads.links.parents):
            wrench = np.concatenate(
                [reaction.axes @ reaction.force, reaction.axes @ reaction.moment]
            )
            point = reaction.point - loads.origin
            for k, sign in zip(ends, (1.0, -1.0)):
                rest[k] += sign * moved_wrench(wrench, loads.com[k] - point)
        return rest

    def check(self) -> dict[str, float]:
        """
        Return two residuals that should be near zero.

        `equilibrium`: largest relative imbalance of a link; `missing`: largest relative force
        along a coordinate that the motion needs and neither motors, passive forces nor loops give.
        """
        size = max([np.abs(each.wrench).max() for each in self.values()], default=0.0)
        size = max(size, self._loads.size, 1e-300)  # in free fall joints pass nothing on
        return {
            'equilibrium': float(self.equilibrium() / size),
            'missing': float(np.abs(self._missing).max(initial=0.0) / size),
        }
