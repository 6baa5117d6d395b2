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
springs        K e + D e' on chosen coordinates, weakened together where they are stiffer than
               turns of control can hold: max eig(A^-1 W^T K W) T^2 and max eig(A^-1 W^T D W) T.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.closing import has_position, is_turn
from closed_chain_dynamics.dynamics.constraints import (
    Matrix,
    allowed_motions,
    loop_coordinate_owner,
    loop_jacobian,
    loop_kinematics,
)
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.kernels.passive import FRICTION_SPEED, joint_force
from closed_chain_dynamics.kernels.tangent import compute_tangent
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['SPACES', 'Compensation', 'Feel', 'Springs', 'held', 'loop_errors']

SPACES = ('joint', 'actuator')
SLOWEST_TURN = 2e-3  # period of control that springs and dampers stay stable with [s]
STIFFEST = 0.2  # largest k T^2 / m
STRONGEST = 0.5  # largest d T / m


@dataclass(frozen=True)
class Feel:
    """
    How a device shall feel.

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
                'shares of friction and assistance are from 0 to 1, that of inertia is below 1',
                where='feel',
                repair='More than the device has would drive it.',
            )
        if not FRICTION_SPEED <= self.friction_speed < np.inf:
            raise StateError(
                f'friction_speed must be at least {FRICTION_SPEED:g}',
                where='feel',
                repair='Friction itself turns within that speed; steeper would drive.',
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
                        f'{name!r} has no position of its own: a spring needs one',
                        where='impedance',
                        repair='Name a joint of the tree, or a loop joint of one degree.',
                    )
            elif name not in robot.joint_names and name not in robot.coordinate_names:
                known = [*robot.joint_names, *robot.coordinate_names, *robot.loop_coordinate_names]
                raise NameNotFound('joint or coordinate', name, known, where='impedance')
        self.restructured()

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        robot = self.robot
        self._k, self._d = np.zeros(robot.nv), np.zeros(robot.nv)
        self._loops: list[tuple[int, float, float]] = []
        for name, (k, d) in self._given.items():
            if name in robot.joint_names:
                places = robot.joint_slices(name)[1]
                self._k[places], self._d[places] = k, d
            elif name in robot.coordinate_names:
                place = robot.coordinate_names.index(name)
                self._k[place], self._d[place] = k, d
            elif name in robot.loop_coordinate_names:
                place = robot.loop_coordinate_names.index(name)
                if robot.structure.loops[loop_coordinate_owner(robot, place)]['active']:
                    self._loops.append((place, k, d))

    def forces(
        self, q: Vector, v: Vector, target: tuple[Vector, Vector]
    ) -> tuple[Vector, float, float]:
        """
        Return K e + D e' on the tree, (nv,), and the shares of K and D that control can hold.

        `target`: q_d and v_d, complete.
        """
        robot, (q_d, v_d) = self.robot, target
        e = np.empty(robot.nv)
        kernels.difference(robot.handle, q, q_d, e)
        stiff, damped = self._k * e, self._d * (v_d - v)
        K, D = np.diag(self._k), np.diag(self._d)
        if self._loops:
            L, L_d = loop_jacobian(robot, q), loop_jacobian(robot, q_d)
            away = loop_errors(robot, q, q_d)
            for place, k, d in self._loops:
                stiff += L[place] * k * away[place]
                damped += L[place] * d * (L_d[place] @ v_d - L[place] @ v)
                K += k * np.outer(L[place], L[place])
                D += d * np.outer(L[place], L[place])
        of_K, of_D = held(robot, q, K, D)
        return of_K * stiff + of_D * damped, of_K, of_D


def loop_errors(robot: Mechanism, q: Vector, q_d: Vector) -> Vector:
    """Return how far loop coordinates are from those of another pose; angles the shorter way."""
    away: Vector = loop_kinematics(robot, q_d)[1] - loop_kinematics(robot, q)[1]
    turns = np.array([is_turn(robot, d) for d in range(away.size)], dtype=bool)
    away[turns] = np.remainder(away[turns] + np.pi, 2.0 * np.pi) - np.pi
    return away


def held(robot: Mechanism, q: Vector, K: Matrix, D: Matrix) -> tuple[float, float]:
    """Return the shares of a stiffness and a damping on the tree that turns of control hold."""
    W = allowed_motions(robot, q)
    if not W.size:
        return 1.0, 1.0
    A = W.T @ mass_matrix(robot, q) @ W
    fastest = [
        float(np.abs(np.linalg.eigvals(np.linalg.solve(A, W.T @ each @ W))).max(initial=0.0))
        for each in (K, D)
    ]
    return (
        min(1.0, STIFFEST / max(SLOWEST_TURN**2 * fastest[0], 1e-300)),
        min(1.0, STRONGEST / max(SLOWEST_TURN * fastest[1], 1e-300)),
    )
