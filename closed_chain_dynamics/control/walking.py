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
Torques that keep a planar figure on a gait.

Each turn asks for the accelerations of the gait and a pull towards it, and finds those that the
ground allows: points that stand do not move, forces push and stay within the cones of friction,
and no motor holds the base. Of all these the nearest are taken, forces near those of the gait.
The gait is entered anew at every heel strike; the leg that swings is set further ahead the faster
the figure is.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import nnls

from closed_chain_dynamics.control.gait import Gait, GaitSample
from closed_chain_dynamics.dynamics.tree import jacobian, jacobian_bias, link_placement
from closed_chain_dynamics.dynamics.tree import mass_matrix, newton_euler
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Walking', 'WalkingGains']

Array = NDArray[np.float64]
SIDES = ('left', 'right')
EARLY, SOON, LATE = 0.85, 0.02, 0.004  # a strike counts from this share of a step on; [s, m]
FAR, DEEP, DESCENT = 0.2, 0.0, 0.3  # a foot is set at most so far ahead, deep, fast [m, m, m/s]
REACH, DAMPED = 0.3, 0.05  # of the inverse kinematics of a leg: a turn of the foot in m; [m]
NEAR, LOW = 0.3e-3, 0.03  # a point this low carries, or is about to touch [m]
TOUCH, HURRY, STOP = 0.03, 40.0, 200.0  # its speed, and how fast it comes to that [m/s, 1/s, 1/s]
LEAST = 10.0  # force of a point that stands: less, and it would come and go [N]
BASE = 3  # coordinates without a motor: forward, upward, pitch


@dataclass(frozen=True)
class WalkingGains:
    """How strongly the figure is drawn to its gait."""

    stiffness: float = 600.0  # [1/s^2]
    damping: float = 45.0  # [1/s]
    forward: float = 20.0  # stiffness of the forward position [1/s^2]
    placement: float = 0.2  # how much further a foot is set per speed [m per m/s]
    friction: float = 0.7  # share of the normal force that friction may be asked for
    base: float = 10.0  # weight of the base against a joint
    standing: float = 0.05  # weight of joints of a leg that stands
    force: float = 3e-3  # weight of forces against accelerations [m/s^2 or rad/s^2 per N]


class Walking:
    """
    The controller of a figure with feet, in its own walk.

    `torques(q, v, closed, time)` is asked every turn, with the names of the contacts that are
    closed; time never goes back. The coordinates are hip_x, hip_z, pitch, and the same joints for
    both sides, as in the shipped model walker.
    """

    def __init__(self, robot: Mechanism, gait: Gait, gains: WalkingGains | None = None) -> None:
        self.robot, self.gait, self.gains = robot.copy(), gait, gains or WalkingGains()
        names = list(robot.joint_names)
        self._mirror = np.array([names.index(_other(name)) for name in names])
        self._motors = np.array([names.index(name) for name in robot.actuator_names])
        self._index = {name: k for k, name in enumerate(names)}
        loops = {loop.name: loop for loop in robot.description.loops}
        self._points = {
            name: (loops[name].child, np.array(loops[name].child_origin.xyz))
            for name in gait.names['force']
        }
        self.stance, self.began, self.foothold = 'left', 0.0, 0.0
        self.steps = 0

    def reference(self, time: float) -> GaitSample:
        """Return what the gait wants now, left and right exchanged where the right leg stands."""
        wanted = self.gait.sample(time - self.began)
        if self.stance == 'left':
            return wanted
        points = list(self._points)
        swap = [points.index(_other(name)) for name in points]
        motors = list(self.robot.actuator_names)
        return GaitSample(
            wanted.q[self._mirror],
            wanted.v[self._mirror],
            wanted.a[self._mirror],
            wanted.tau[[motors.index(_other(name)) for name in motors]],
            wanted.force[swap],
            frozenset(map(_other, wanted.closed)),
        )

    def torques(self, q: Array, v: Array, closed: Collection[str], time: float) -> Array:
        """Return the torques of the motors for a state, (actuators,) [N m]."""
        self._step(q, closed, time)
        wanted = self.reference(time)
        standing = self._standing(wanted, q, closed, time)
        a = self._accelerations(wanted, q, v, time)
        return self._nearest(wanted, q, v, a, standing, closed)

    def _step(self, q: Array, closed: Collection[str], time: float) -> None:
        """Begin the next step on time, or when the foot strikes if it is late."""
        swings, late = _other(self.stance), time - self.began - self.gait.duration
        struck = any(name.startswith(swings) for name in closed)
        if late >= 0.0 and (struck or self._place(q, f'{swings}_heel')[2] < LATE):
            self.stance, self.began = swings, time - min(late, SOON)
            self.steps += 1
            self.foothold = self._place(q, f'{swings}_heel')[0]

    def _place(self, q: Array, point: str) -> Array:
        link, origin = self._points[point]
        X = link_placement(self.robot, q, link)
        return np.asarray(X[:3, 3] + X[:3, :3] @ origin)

    def _standing(
        self, wanted: GaitSample, q: Array, closed: Collection[str], time: float
    ) -> dict[str, float]:
        """Return the points that stand or shall touch in a moment, and how high they are [m]."""
        heights = {name: self._place(q, name)[2] for name in self._points if name in wanted.closed}
        standing = {
            name: 0.0 if name in closed else max(z, 0.0)
            for name, z in heights.items()
            if name in closed or z < LOW
        }
        early = {f'{self.stance}_toe'}
        if time - self.began > EARLY * self.gait.duration:
            early = {f'{_other(self.stance)}_heel'}
        elif time - self.began > self.gait.begin(1):
            early = set()
        for name in early - set(standing):
            z = self._place(q, name)[2]
            if name in closed or z < NEAR:
                standing[name] = 0.0 if name in closed else max(z, 0.0)
        return standing

    def _accelerations(self, wanted: GaitSample, q: Array, v: Array, time: float) -> Array:
        """Return the accelerations of the gait and the pull towards it."""
        gains, ahead = self.gains, wanted.q.copy()
        ahead[0] += self.foothold
        ahead = self._swing(wanted, ahead, q, v, time)
        stiffness = np.full(len(q), gains.stiffness)
        stiffness[0] = gains.forward
        damping = np.full(len(q), gains.damping)
        damping[0] = 2.0 * np.sqrt(gains.forward)
        return np.asarray(wanted.a + stiffness * (ahead - q) + damping * (wanted.v - v))

    def _swing(self, wanted: GaitSample, ahead: Array, q: Array, v: Array, time: float) -> Array:
        """Return the wanted coordinates with the leg that swings bent to where its foot goes."""
        side, since = _other(self.stance), time - self.began
        heel = f'{side}_heel'
        if heel in wanted.closed or f'{side}_toe' in wanted.closed:
            return ahead
        share = float(np.clip(2.0 * since / self.gait.duration - 0.5, 0.0, 1.0))
        late = max(since - self.gait.duration, 0.0)
        goal = self._place(ahead, heel)[[0, 2]]
        goal[0] += share * np.clip(self.gains.placement * (v[0] - wanted.v[0]), -FAR, FAR)
        goal[1] -= share * DEEP + late * DESCENT
        places = [self._index[f'{side}_{joint}'] for joint in ('hip', 'knee', 'ankle')]
        signs = np.array([1.0, -1.0, 1.0])  # of the pitch of the foot, against that of the trunk
        level = float(signs @ ahead[places]) - ahead[2]
        posed = q.copy()
        posed[places] = ahead[places]
        link, origin = self._points[heel]
        for _ in range(2):
            J = jacobian(self.robot, posed, link, point=origin)[[0, 2]][:, places]
            J = np.vstack([J, REACH * signs])
            error = np.append(
                goal - self._place(posed, heel)[[0, 2]],
                REACH * (level - (float(signs @ posed[places]) - posed[2])),
            )
            posed[places] += J.T @ np.linalg.solve(J @ J.T + DAMPED**2 * np.eye(3), error)
        ahead[places] = posed[places]
        return ahead

    def _nearest(
        self,
        wanted: GaitSample,
        q: Array,
        v: Array,
        a: Array,
        heights: dict[str, float],
        closed: Collection[str],
    ) -> Array:
        """Return the torques of the accelerations nearest to `a` that the ground allows."""
        robot, n, points = self.robot, len(q), list(self._points)
        M, h = mass_matrix(robot, q), newton_euler(robot, q, v, np.zeros(n))
        E, e, D = [M[:BASE]], [-h[:BASE]], []
        carrying = [name for name, z in heights.items() if z < NEAR]
        for name, z in heights.items():
            link, origin = self._points[name]
            J = jacobian(robot, q, link, point=origin)[[0, 2]]
            bias = jacobian_bias(robot, q, v, link, point=origin)[[0, 2]]
            rows = slice(0, 2)
            if name not in closed:  # it goes down, at a speed that its height decides
                bias = bias + STOP * (J @ v + (0.0, min(TOUCH + HURRY * z, DESCENT)))
                rows = slice(1, 2)
            elif name.endswith('_toe') and name.replace('_toe', '_heel') in closed:
                rows = slice(1, 2)  # a flat foot moves in no way, and its points say one twice
            E.append(J[rows])
            e.append(-bias[rows])
            if name in carrying:
                D.append(J)
        E, e = np.vstack(E), np.concatenate(e)
        rows = np.vstack([*D, np.zeros((0, n))])
        D = np.zeros((len(E), len(rows)))
        D[:BASE] = rows[:, :BASE].T
        weight = self._weights(heights)
        Y = (E / weight).T  # W^-1 E^T
        factor = cho_factor(E @ Y + 1e-9 * np.eye(len(E)))
        near, by_force = a + Y @ cho_solve(factor, e - E @ a), Y @ cho_solve(factor, D)
        f = np.zeros(len(rows))
        if carrying:
            given = np.concatenate([wanted.force[points.index(name)] for name in carrying])
            mu = self.gains.friction
            rays = np.kron(np.eye(len(carrying)), np.array([[mu, -mu], [1.0, 1.0]]))
            root = np.sqrt(weight)[:, None]
            A = np.vstack([root * by_force, self.gains.force * np.eye(len(rows))])
            b = np.concatenate([root[:, 0] * (a - near), self.gains.force * given])
            least = np.tile((0.0, LEAST), len(carrying))
            f = least + rays @ nnls(A @ rays, b - A @ least)[0]
        found = near + by_force @ f
        return np.asarray((M @ found + h - rows.T @ f)[self._motors])

    def _weights(self, standing: Collection[str]) -> Array:
        """Return weights: joints of a leg that stands follow from the base, but for one point."""
        weight = np.ones(self.robot.nv)
        weight[:BASE] = self.gains.base
        for side in SIDES:
            touching = sum(name.startswith(side) for name in standing)
            for joint in ('hip', 'knee', 'ankle')[: (0, 2, 3)[touching]]:
                weight[self._index[f'{side}_{joint}']] = self.gains.standing
        return weight


def _other(name: str) -> str:
    """Return the name of the same thing on the other side."""
    for one, two in (SIDES, SIDES[::-1]):
        if name.startswith(one):
            return two + name[len(one) :]
    return name
