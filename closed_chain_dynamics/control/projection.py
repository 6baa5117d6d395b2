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

"""Forces on the tree become torques of actuators: tau_A = S^-T W^T tau_O, whatever the law is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.actuation import Torques, actuator_torques
from closed_chain_dynamics.dynamics.constraints import actuator_rows, allowed_motions
from closed_chain_dynamics.dynamics.distances import SingularityWatch
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.singularities import (
    DROPPED,
    branch_tangent,
    check_policy,
    refuse,
)
from closed_chain_dynamics.errors import ActuationError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Command', 'Left', 'Projection', 'Torques']

SMALL_SHARE = 1e-9  # of tau_G; a residual below it is rounding

# names of coordinates, what torques do not give of tau_G, and tau_G itself
Left: TypeAlias = tuple[Sequence[str], Vector, Vector] | None


class Redundancy(TypedDict):
    """How redundant actuators share the work, see `actuator_torques`."""

    policy: str
    weights: Torques
    preload: Torques


@dataclass(frozen=True)
class Command:
    """Torques, and what has to be known about them."""

    tau_A: Vector  # (actuators,) [N m or N], before any limit
    left: Left = None
    singular: bool = False  # whether the pose is singular and the policy was at work
    error: float = 0.0  # largest e of the actuated coordinates [rad or m]
    held: float = 1.0  # share of an impedance that turns of control can hold

    @property
    def residual(self) -> dict[str, float]:
        """Return what is left of generalized forces, by coordinate, without rounding."""
        if self.left is None:
            return {}
        names, residual, tau_G = self.left
        largest = max(float(np.abs(each).max(initial=1.0)) for each in (residual, tau_G))
        small = SMALL_SHARE * largest
        return {name: float(value) for name, value in zip(names, residual) if abs(value) > small}


class Projection:
    """How forces on the tree become torques: for redundant actuators and in singular poses."""

    def __init__(
        self,
        robot: Mechanism,
        redundancy: Redundancy,
        singularity: str = 'damp',
        singular_distance: float = 1e-2,
    ) -> None:
        if not robot.actuator_names:
            raise ActuationError(
                'no joint is actuated',
                where=robot.name,
                repair='Mark joints cc:role="actuated", or load with actuated=[...].',
            )
        check_policy(robot, singularity)
        n = len(robot.actuator_names)
        actuator_torques(robot, np.eye(n), np.zeros(n), **redundancy)  # tells now what is wrong
        self.robot, self.redundancy = robot, redundancy
        self.singularity, self.singular_distance = singularity, singular_distance
        self._watch, self._tree = SingularityWatch(robot), b''
        self.restructured()

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        before, self._tree = self._tree, self.robot.structure.tree
        if self._tree == before:  # only loops were
            return
        on_loop = self.robot.structure.actuators['on_loop'].any()
        # rows of motors on the tree are the same in all poses
        self._rows = None if on_loop else actuator_rows(self.robot, self.robot.neutral())

    def rows(self, q: Vector) -> Matrix:
        """Return d theta_A / d theta_O, (actuators, nv)."""
        return self._rows if self._rows is not None else actuator_rows(self.robot, q)

    def is_refused(self, q: Vector) -> bool:
        """Return whether the policy is to refuse, and the pose is too near to a singular one."""
        if self.singularity != 'refuse':
            return False
        # A link that stands still for a moment does not keep actuators from driving the rest.
        found = self._watch(q)
        near = np.minimum(found['loops'], found['actuators']).min(initial=np.inf)
        return not (near >= self.singular_distance and near > DROPPED)

    def refuse_singular(self, q: Vector) -> None:
        """Raise where the policy is to refuse, and the pose is too near to a singular one."""
        if self.is_refused(q):
            refuse(self.robot, coordinates(self.robot, q))

    def command(self, q: Vector, v: Vector, tau_O: Vector) -> Command:
        """Return the Command that gives forces on the tree, (nv,)."""
        robot = self.robot
        self.refuse_singular(q)
        W, shape = allowed_motions(robot, q), robot.structure.shape
        singular = bool(shape['rank'] != shape['full_rank'])
        names = [
            name
            for name, dof in zip(robot.coordinate_names, robot.structure.dofs)
            if not dof['dependent']
        ]
        if singular and self.singularity == 'hold':
            W, names = branch_tangent(robot, q, v, W), []
        tau_G = W.T @ tau_O
        motors = robot.structure.dofs['actuator'][robot.structure.dofs['dependent'] == 0]
        if names and self._is_permutation(motors):  # S^-T moves numbers to other places only
            tau_A: Vector = np.empty(len(motors))
            tau_A[motors] = tau_G
            return Command(tau_A, None, singular)
        found = actuator_torques(robot, self.rows(q) @ W, tau_G, W=W, **self.redundancy)
        return Command(found.tau_A, (names, found.residual, tau_G), singular)

    def _is_permutation(self, motors: NDArray[np.int64]) -> bool:
        """Return whether every generalized coordinate has a motor, and there are no others."""
        if self.redundancy['policy'] == 'within_limits' or self._rows is None:
            return False
        return len(motors) == len(self.robot.actuator_names) and bool((motors >= 0).all())
