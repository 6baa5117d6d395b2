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

"""What every result knows of its pose: coordinates, and how close to a singularity it is."""

from __future__ import annotations

from functools import cached_property
from typing import NoReturn

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates, coordinates
from closed_chain_dynamics.dynamics.singularities import check_policy, refuse
from closed_chain_dynamics.dynamics.values import KeptPose
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['AtPose']


class AtPose(KeptPose):
    """
    What every result knows of its pose: coordinates, and how close to a singularity it is.

    `singular`: whether the pose is singular and a policy was at work.
    """

    singular: bool = False

    def _meet_singularity(self, robot: Mechanism, singular: bool, policy: str) -> bool:
        """Follow a policy for singular poses; return whether the motion that came free is held."""
        check_policy(robot, policy)
        self.__dict__['singular'] = singular
        if singular and policy == 'refuse':
            refuse(robot, self.coordinates)
        return singular and policy == 'hold'

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f'{name!r} of {type(self).__name__} cannot be set: it is a result')

    @cached_property
    def coordinates(self) -> Coordinates:
        """Return the generalized coordinates of the pose: W, S, names and condition."""
        c = coordinates(self.robot, self.q)
        c.__dict__['robot'] = self.robot  # one mechanism serves both
        return c

    @property
    def condition(self) -> float:
        """Return the condition number of the loops; large where they are about to lose rank."""
        return self.coordinates.condition

    @property
    def dead_point(self) -> bool:
        """
        Return whether actuators have no leverage here, but have some at nearby poses.

        They get no torque for it then, and forces along it are the residual of inverse dynamics.
        """
        return self.coordinates.dead_point

    @property
    def singular_direction(self) -> Vector:
        """Return the motion that comes free at the nearest singularity, (nv,)."""
        return self.coordinates.singular_direction
