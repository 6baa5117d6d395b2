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
What a person feels of a device: its own dynamics taken away, springs and dampers put in.

Everything is a force on the tree, (nv,), so that one projection, tau_A = S^-T W^T tau_O, makes
torques of it, for passive joints and for joints of loops as well.

compensated    gravity, springs and Coriolis forces as they are; of friction and damping a share,
               f tanh(v / friction_speed) and d v, which is never more than the friction itself,
               because the device's own turns more steeply: what is compensated never drives.
               Stops of joints are not taken away. Of M a, `inertia_share` below one, with a
               filtered acceleration: that loop has a gain below one and stays stable, as long as
               the model is not heavier than the device by more than 1 / inertia_share.
springs        K e + D e' on chosen coordinates, weakened where they are stiffer than
               turns of control can hold, see held_gains.py
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.held_gains import held_together, share
from closed_chain_dynamics.dynamics.closing import has_position, is_turn
from closed_chain_dynamics.dynamics.constraints import (
    loop_coordinate_owner,
    loop_jacobian,
    loop_kinematics,
)
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.kernels.passive import FRICTION_SPEED, joint_force
from closed_chain_dynamics.kernels.tangent import compute_tangent
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['SPACES', 'Compensation', 'Feel', 'Springs', 'loop_errors']

SPACES = ('joint', 'actuator')


@dataclass(frozen=True)
class Feel:
    """
    How a device feels to its user.

    `impedance`: {joint or coordinate, of tree or loops: (stiffness, damping)} [N m/rad and
    N m s/rad, N/m and N s/m]; in `space` 'actuator' the names are actuators, and each gives its
    own torque. `friction_share`: of friction and damping that is compensated, 0 to 1;
    `friction_speed`: within which that of friction turns [rad/s or m/s]; `inertia_share`: of the
    inertia, below 1; `assist_share`: of the torque that a person is helped with, 0 to 1.
    """

    impedance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    space: str = 'joint'
    friction_share: float = 0.8
    friction_speed: float = 0.05
    inertia_share: float = 0.0
    assist_share: float = 0.5

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            raise StateError(
                f'unknown space {self.space!r}',
                where='impedance',
                repair=f'Choose one of {", ".join(SPACES)}.',
            )
        for name, pair in self.impedance.items():
            if np.shape(pair) != (2,) or not (np.isfinite(pair).all() and min(pair) >= 0.0):
                raise StateError(
                    f'{name!r} needs a stiffness and a damping that are not negative',
                    where='impedance',
                    repair='Write joint=stiffness,damping.',
                )
        shares = (self.friction_share, self.assist_share)
        if not (min(shares) >= 0.0 and max(shares) <= 1.0 and 0.0 <= self.inertia_share < 1.0):
            raise StateError(
                'shares of friction and assistance must be from 0 to 1, the share of inertia '
                'below 1',
                where='feel',
                repair='Compensating more than the device has would drive it.',
            )
        if not FRICTION_SPEED <= self.friction_speed < np.inf:
            raise StateError(
                f'friction_speed must be at least {FRICTION_SPEED:g}',
                where='feel',
                repair='Friction itself changes sign within that speed; steeper compensation '
                'would drive the joint.',
            )


class Compensation:
    """The dynamics of a device, as forces on the tree that take them away."""

    def __init__(self, robot: Mechanism, feel: Feel) -> None:
        self.robot, self._feel = robot, feel
        self.restructured()

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        robot = self.robot
        bodies, dofs = robot.structure.bodies, robot.structure.dofs
        # place in v, place in q where it has one position, and law
        self._tree = [
            (j, int(body['iq']) if body['n_dof'] == 1 else -1, law)
            for j, law in enumerate(dofs)
            if _has_law(law)
            for body in [bodies[law['body']]]
        ]
        self._loops = [
            (d, loop['n_dofs'] == 1, law)
            for d, law in enumerate(robot.structure.loop_dofs)
            if _has_law(law)
            for loop in [robot.structure.loops[loop_coordinate_owner(robot, d)]]
            if loop['active']
        ]
        self._W, self._drift = np.empty((robot.nv, robot.nv)), np.empty(robot.nv)

    def forces(self, q: Vector, v: Vector, acceleration: Vector | None = None) -> Vector:
        """
        Return what the device needs on the tree, (nv,), of its friction a share.

        `acceleration`, (nv,): its generalized coordinates count; without it they go on as they do.
        """
        robot = self.robot
        status = compute_tangent(robot.handle, q, v, self._W, self._drift)
        if status:
            robot.raise_for(status, q, v)
        a = self._drift.copy()
        if acceleration is not None:
            theta_G = robot.structure.dofs['dependent'] == 0
            a += self._W[:, : int(theta_G.sum())] @ acceleration[theta_G]
        tau_O = inverse_dynamics(robot, q, v, a).tau_O
        for j, place, law in self._tree:
            position = q[place] if place >= 0 else 0.0
            tau_O[j] += self._exchanged(law, position, v[j], place >= 0)
        if self._loops:
            L, positions = loop_kinematics(robot, q)
            rates = L @ v
            for d, limited, law in self._loops:
                tau_O += L[d] * self._exchanged(law, positions[d], rates[d], limited)
        return tau_O

    def _exchanged(self, law: np.void, position: float, rate: float, limited: bool) -> float:
        """Return the passive force, which is not to be met, and the share of it that is."""
        passive, _ = joint_force(law, position, rate, limited)
        feel = self._feel
        smooth = law['damping'] * rate + law['friction'] * np.tanh(rate / feel.friction_speed)
        return float(passive + feel.friction_share * smooth)


def _has_law(law: np.void) -> bool:
    return any(law[name] != 0.0 for name in ('damping', 'friction', 'stop_stiffness'))


class Springs:
    """Springs and dampers on chosen coordinates."""

    def __init__(self, robot: Mechanism, impedance: Mapping[str, tuple[float, float]]) -> None:
        self.robot, self._given = robot, dict(impedance)
        for name in self._given:
            if name in robot.loop_coordinate_names:
                if not has_position(robot, robot.loop_coordinate_names.index(name)):
                    raise StateError(
                        f'{name!r} has no single position, which a spring needs',
                        where='impedance',
                        repair='Name a joint of the tree, or a loop joint of one degree of '
                        'freedom.',
                    )
            elif name not in robot.joint_names and name not in robot.coordinate_names:
                known = [*robot.joint_names, *robot.coordinate_names, *robot.loop_coordinate_names]
                raise NameNotFound('joint or coordinate', name, known, where='impedance')
        self.restructured()

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        robot = self.robot
        tree: list[tuple[int, float, float]] = []
        loops: list[tuple[int, float, float]] = []
        for name, pair in self._given.items():
            if name in robot.joint_names:
                in_v = robot.joint_slices(name)[1]
                tree += [(place, *pair) for place in range(in_v.start, in_v.stop)]
            elif name in robot.coordinate_names:
                tree.append((robot.coordinate_names.index(name), *pair))
            elif name in robot.loop_coordinate_names:
                place = robot.loop_coordinate_names.index(name)
                if robot.structure.loops[loop_coordinate_owner(robot, place)]['active']:
                    loops.append((place, *pair))
        self._tree = np.array([place for place, _, _ in tree], dtype=np.int64)
        self._loops = np.array([place for place, _, _ in loops], dtype=np.int64)
        pairs = np.array([pair for _, *pair in tree + loops], dtype=float).reshape(-1, 2)
        self._k, self._d = pairs[:, 0], pairs[:, 1]
        self._rows = np.zeros((len(pairs), robot.nv))
        self._rows[np.arange(len(tree)), self._tree] = 1.0

    def forces(
        self, q: Vector, v: Vector, target: tuple[Vector, Vector], turn: float
    ) -> tuple[Vector, float]:
        """
        Return K e + D e' on the tree, (nv,), and the share of K and D that control can hold.

        `target`: q_d and v_d, complete; `turn`: how long turns of control are [s].
        """
        robot, (q_d, v_d), rows = self.robot, target, self._rows
        e = np.empty(robot.nv)
        kernels.difference(robot.handle, q, q_d, e)
        away, rate_d = e[self._tree], v_d[self._tree]
        if self._loops.size:
            rows = rows.copy()
            rows[self._tree.size :] = loop_jacobian(robot, q)[self._loops]
            away = np.append(away, loop_errors(robot, q, q_d)[self._loops])
            rate_d = np.append(rate_d, loop_jacobian(robot, q_d)[self._loops] @ v_d)
        given = self._k, self._d
        k, d = held = held_together(robot, q, rows, given, turn)
        return rows.T @ (k * away + d * (rate_d - rows @ v)), share(held, given)


def loop_errors(robot: Mechanism, q: Vector, q_d: Vector) -> Vector:
    """Return how far loop coordinates are from those of another pose; angles the shorter way."""
    away: Vector = loop_kinematics(robot, q_d)[1] - loop_kinematics(robot, q)[1]
    turns = np.array([is_turn(robot, d) for d in range(away.size)], dtype=bool)
    away[turns] = np.remainder(away[turns] + np.pi, 2.0 * np.pi) - np.pi
    return away
