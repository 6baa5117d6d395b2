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
The laws that a person feels: impedance, transparent and assist, as forces on the tree.

impedance     what the motion of the reference needs in the measured pose, and K e + D e'
transparent   what the device needs by itself: a person feels its inertia only, or less
assist        transparent, and a share of what the person does: measured, else what the reference
              needs beyond what is compensated, else nothing

What these forces are is in feel.py; wrenches from outside act in all of them.
"""

from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.feel import Compensation, Feel, Springs, loop_errors
from closed_chain_dynamics.control.held_gains import held_together, share
from closed_chain_dynamics.control.sensed import Sensed
from closed_chain_dynamics.dynamics.constraints import actuator_rows
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.kernels import difference
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['FELT', 'FeltForces', 'FeltLaw']

FELT = ('impedance', 'transparent', 'assist')


@dataclass(frozen=True)
class FeltForces:
    """Forces to be given by the actuators."""

    tau_O: Vector  # on the tree, (nv,)
    own: Vector | None = None  # of each actuator besides, (actuators,)
    held: float = 1.0  # share of stiffness and damping that turns of control hold


class FeltLaw:
    """The laws for one mechanism and one Feel."""

    def __init__(self, robot: Mechanism, mode: str, feel: Feel) -> None:
        self.robot, self._mode, self._feel = robot, mode, feel
        if mode == 'impedance' and not feel.impedance:
            raise StateError(
                'the mode impedance needs a stiffness or a damping',
                where='impedance',
                repair='Write joint=stiffness,damping first, then choose the mode.',
            )
        in_joints = feel.space == 'joint'
        if not in_joints:
            for name in feel.impedance:
                if name not in robot.actuator_names:
                    raise NameNotFound('actuator', name, robot.actuator_names, where='impedance')
        self._compensation = Compensation(robot, feel)
        self._springs = Springs(robot, feel.impedance) if in_joints else None
        pairs = [feel.impedance.get(name, (0.0, 0.0)) for name in robot.actuator_names]
        self._k, self._d = np.array(pairs, dtype=float).reshape(-1, 2).T

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        self._compensation.restructured()
        if self._springs is not None:
            self._springs.restructured()

    def forces(
        self,
        q: Vector,
        v: Vector,
        reference: tuple[Vector, Vector, Vector] | None,
        sensed: Sensed,
        turn: float,
    ) -> FeltForces:
        """Return the forces of the mode for a complete state and reference, see `torques`."""
        if self._mode == 'impedance' and reference is not None:
            return self._impedance(q, v, reference, turn)
        felt = sensed.acceleration
        felt = None if felt is None else self._feel.inertia_share * felt
        tau_O = self._compensation.forces(q, v, felt)
        if self._mode == 'assist':
            tau_O = tau_O + self._feel.assist_share * self._person(reference, sensed)
        return FeltForces(tau_O)

    def _person(self, reference: tuple[Vector, Vector, Vector] | None, sensed: Sensed) -> Vector:
        """Return what the person does, measured or estimated, (nv,)."""
        if sensed.human is not None:
            return sensed.human
        if reference is None:
            return np.zeros(self.robot.nv)
        q_d, v_d, a_d = reference
        needed: Vector = inverse_dynamics(self.robot, q_d, v_d, a_d).tau_O
        return needed - self._compensation.forces(q_d, v_d, self._feel.inertia_share * a_d)

    def _impedance(
        self, q: Vector, v: Vector, reference: tuple[Vector, Vector, Vector], turn: float
    ) -> FeltForces:
        q_d, v_d, a_d = reference
        tau_O = self._compensation.forces(q, v, a_d)
        if self._springs is not None:
            spring, of_it = self._springs.forces(q, v, (q_d, v_d), turn)
            return FeltForces(tau_O + spring, held=of_it)
        rows = actuator_rows(self.robot, q)
        given = self._k, self._d
        k, d = held = held_together(self.robot, q, rows, given, turn)
        e, rate = self._actuator_error(q, q_d), rows @ v
        rate_d = actuator_rows(self.robot, q_d) @ v_d
        return FeltForces(tau_O, k * e + d * (rate_d - rate), share(held, given))

    def _actuator_error(self, q: Vector, q_d: Vector) -> Vector:
        """Return how far the actuators are from the reference, (actuators,)."""
        robot, e = self.robot, np.empty(self.robot.nv)
        difference(robot.handle, q, q_d, e)
        tree = dict(zip(robot.coordinate_names, e.tolist()))
        loops: dict[str, float] = {}
        if any(name not in tree for name in robot.actuator_names):
            loops = dict(zip(robot.loop_coordinate_names, loop_errors(robot, q, q_d).tolist()))
        return np.array([tree.get(name, loops.get(name, 0.0)) for name in robot.actuator_names])
