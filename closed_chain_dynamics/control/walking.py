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
Joint moments of a gait, and what keeps a planar figure on it.

The figure is driven by the moments of the gait, with the forces of the ground that go with them.
Where it is off, each turn asks for accelerations that lead back, and `ground_forces` finds the
motion nearest to these accelerations, moments and forces that the ground allows: on the gait that
is the gait, and its moments are the torques. The steps of the gait follow each other on time; a
foot that has not come down yet is waited for. The leg that swings is bent to where its foot shall
be whatever the trunk does, and further ahead the faster the figure is.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.control.gait import Gait, GaitSample
from closed_chain_dynamics.control.ground_forces import BASE, Footing, Wanted, torques_on_ground
from closed_chain_dynamics.description.elements import Limit
from closed_chain_dynamics.dynamics.tree import (
    jacobian,
    jacobian_bias,
    link_placement,
    mass_matrix,
    newton_euler,
)
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Walking', 'WalkingGains']

SIDES = ('left', 'right')
LEG = ('hip', 'knee', 'ankle')
PITCH = np.array([1.0, -1.0, 1.0])  # how these turn the foot up
SAGITTAL = [0, 2]  # forward and upward
EARLY = 0.85  # a heel that strikes counts from this share of a step on
HEEL_IN_TIME, LONGEST_DELAY = (
    0.004,
    0.02,
)  # a heel this low ends a step in time; longest delay made up [m, s]
FARTHEST_OFF, DESCENT_SPEED = (
    0.2,
    0.3,
)  # a foot is set at most so far off, and comes down so fast [m, m/s]
TURN_WORTH, LEAST_LEG_STEP = (
    0.3,
    0.05,
)  # inverse kinematics of a leg: what a turn counts, least step [m]
CARRIES_BELOW, TOUCHES_BELOW = 0.3e-3, 0.03  # a point this low carries, or is about to touch [m]
TOUCH, HURRY = 0.03, 40.0  # speed at which it touches; faster by its height [m/s, 1/s]
STOP = 200.0  # how fast it takes that speed [1/s]


@dataclass(frozen=True)
class WalkingGains:
    """How strongly the figure is drawn to its gait."""

    stiffness: float = 600.0  # [1/s^2]
    damping: float = 45.0  # [1/s]
    forward: float = 20.0  # stiffness of the forward position [1/s^2]
    placement: float = 0.2  # how much further a foot is set per speed [m per m/s]
    friction: float = 0.65  # share of the normal force that friction may be asked for
    base: float = 10.0  # weight of the base against a joint
    standing: float = 0.05  # weight of joints of a leg that stands
    moment: float = 3e-3  # weight of moments against accelerations [m/s^2 or rad/s^2 per N m]
    force: float = 3e-3  # weight of forces against accelerations [m/s^2 or rad/s^2 per N]


class Walking:
    """
    The controller of a figure with feet, in its own walk.

    `torques(q, v, closed, time)` is asked every turn, with the names of the contacts that are
    closed; time begins at 0 with the gait and never goes back. The coordinates are hip_x, hip_z,
    pitch, and the same joints on both sides, as in the shipped model walker.
    """

    def __init__(self, robot: Mechanism, gait: Gait, gains: WalkingGains | None = None) -> None:
        self.robot, self.gait, self.gains = robot.copy(), gait, gains or WalkingGains()
        names = list(robot.joint_names)
        self._index = {name: k for k, name in enumerate(names)}
        self._motors = np.array([self._index[name] for name in robot.actuator_names])
        limits = {joint.name: joint.limit for joint in robot.description.joints}
        self._most = np.array([_effort(limits[name]) for name in robot.actuator_names])
        loops = {loop.name: loop for loop in robot.description.loops}
        self._points = {
            name: (loops[name].child, np.array(loops[name].child_origin.xyz))
            for name in gait.names['force']
        }
        self._mirrors = [
            [each.index(_other(name)) for name in each]
            for each in (names, list(robot.actuator_names), list(self._points))
        ]
        self.stance, self.began, self.foothold, self.steps = SIDES[0], 0.0, 0.0, 0

    def __repr__(self) -> str:
        return f'<Walking of {self.robot.name!r}: {self.steps} steps, on the {self.stance} foot>'

    def torques(self, q: Array, v: Array, closed: Collection[str], time: float) -> Array:
        """Return the torques of the motors for a state, (actuators,) [N m]."""
        self._step(q, closed, time)
        wanted = self.reference(time)
        heights = self._standing(wanted, q, closed, time)
        ground = self._ground(wanted, q, v, heights, closed)
        M, h = mass_matrix(self.robot, q), newton_euler(self.robot, q, v, np.zeros(len(q)))
        moments = np.zeros(len(q))
        moments[self._motors] = wanted.tau
        motion = Wanted(
            self._accelerations(wanted, q, v, time),
            self._weights(heights),
            moments,
            self.gains.moment,
        )
        force, _ = torques_on_ground(M, h, motion, ground)
        return np.asarray(np.clip(force[self._motors], -self._most, self._most))

    def reference(self, time: float) -> GaitSample:
        """Return what the gait wants now, left and right exchanged where the right leg stands."""
        wanted = self.gait.sample(time - self.began)
        if self.stance == SIDES[0]:
            return wanted
        joints, motors, points = self._mirrors
        return GaitSample(
            wanted.q[joints],
            wanted.v[joints],
            wanted.a[joints],
            wanted.tau[motors],
            wanted.force[points],
            frozenset(map(_other, wanted.closed)),
        )

    def _step(self, q: Array, closed: Collection[str], time: float) -> None:
        """Begin the next step on time, or when the foot strikes if it is late."""
        swings, late = _other(self.stance), time - self.began - self.gait.duration
        struck = any(name.startswith(swings) for name in closed)
        if late >= 0.0 and (struck or self._place(q, f'{swings}_heel')[1] < HEEL_IN_TIME):
            self.stance, self.began = swings, time - min(late, LONGEST_DELAY)
            self.foothold, self.steps = self._place(q, f'{swings}_heel')[0], self.steps + 1

    def _place(self, q: Array, point: str) -> Array:
        """Return where a point of a foot is, forward and upward [m]."""
        link, origin = self._points[point]
        X = link_placement(self.robot, q, link)
        return np.asarray((X[:3, 3] + X[:3, :3] @ origin)[SAGITTAL])

    def _standing(
        self, wanted: GaitSample, q: Array, closed: Collection[str], time: float
    ) -> dict[str, float]:
        """Return the points that stand or shall touch in a moment, and how high they are [m]."""
        early, since = '', time - self.began
        if since < self.gait.begin(1):
            early = f'{self.stance}_toe'
        elif since > EARLY * self.gait.duration:
            early = f'{_other(self.stance)}_heel'
        found = {}
        for name in self._points:
            reach = (
                TOUCHES_BELOW
                if name in wanted.closed
                else CARRIES_BELOW
                if name == early
                else -np.inf
            )
            height = 0.0 if name in closed else float(self._place(q, name)[1])
            if height < reach:
                found[name] = max(height, 0.0)
        return found

    def _accelerations(self, wanted: GaitSample, q: Array, v: Array, time: float) -> Array:
        """Return the accelerations of the gait and the pull towards it."""
        goal, gains = self._swing(wanted, q, v, time), self.gains
        stiffness, damping = np.full(len(q), gains.stiffness), np.full(len(q), gains.damping)
        stiffness[0], damping[0] = gains.forward, 2.0 * np.sqrt(gains.forward)
        return np.asarray(wanted.a + stiffness * (goal - q) + damping * (wanted.v - v))

    def _swing(self, wanted: GaitSample, q: Array, v: Array, time: float) -> Array:
        """Return the wanted coordinates, a leg that swings bent to where its foot shall be."""
        side = _other(self.stance)
        goal: Array = wanted.q.copy()
        goal[0] += self.foothold
        if any(name.startswith(side) for name in wanted.closed):
            return goal
        heel, since = f'{side}_heel', time - self.began
        share = float(np.clip(2.0 * since / self.gait.duration - 0.5, 0.0, 1.0))
        place = self._place(goal, heel)
        place[0] += share * np.clip(
            self.gains.placement * (v[0] - wanted.v[0]), -FARTHEST_OFF, FARTHEST_OFF
        )
        place[1] -= DESCENT_SPEED * max(since - self.gait.duration, 0.0)
        leg = [self._index[f'{side}_{joint}'] for joint in LEG]
        level = PITCH @ goal[leg] - goal[2] + q[2]
        posed, (link, origin) = q.copy(), self._points[heel]
        posed[leg] = goal[leg]
        for _ in range(2):  # steps of Newton's method, damped where the knee is straight
            J = jacobian(self.robot, posed, link, point=origin)[SAGITTAL][:, leg]
            J = np.vstack([J, TURN_WORTH * PITCH])
            turn = TURN_WORTH * (level - PITCH @ posed[leg])
            error = np.append(place - self._place(posed, heel), turn)
            posed[leg] += J.T @ np.linalg.solve(J @ J.T + LEAST_LEG_STEP**2 * np.eye(3), error)
        goal[leg] = posed[leg]
        return goal

    def _ground(
        self,
        wanted: GaitSample,
        q: Array,
        v: Array,
        heights: dict[str, float],
        closed: Collection[str],
    ) -> Footing:
        """Return what the ground does with the points that stand."""
        n, points = len(q), list(self._points)
        rows, rates = [np.zeros((0, n))], [np.zeros(0)]
        carrying, forces = [np.zeros((0, n))], [np.zeros(0)]
        for name, height in heights.items():
            link, origin = self._points[name]
            J = jacobian(self.robot, q, link, point=origin)[SAGITTAL]
            rate = -jacobian_bias(self.robot, q, v, link, point=origin)[SAGITTAL]
            # a flat foot moves in no way, and its two points say one of these twice
            twice = name.endswith('_toe') and name.replace('_toe', '_heel') in closed
            if name not in closed:  # it goes down, at a speed that its height decides
                speed = min(TOUCH + HURRY * height, DESCENT_SPEED)
                rate = rate - STOP * (J @ v + np.array([0.0, speed]))
            first = 1 if twice or name not in closed else 0
            rows.append(J[first:])
            rates.append(rate[first:])
            if height < CARRIES_BELOW:
                carrying.append(J)
                forces.append(wanted.force[points.index(name)])
        return Footing(
            np.vstack(rows),
            np.concatenate(rates),
            np.vstack(carrying),
            np.concatenate(forces),
            self.gains.friction,
            self.gains.force,
        )

    def _weights(self, standing: Collection[str]) -> Array:
        """Return weights: joints of a leg that stands follow from the base, but for one point."""
        weights: Array = np.ones(self.robot.nv)
        weights[:BASE] = self.gains.base
        for side in SIDES:
            touching = sum(name.startswith(side) for name in standing)
            for joint in LEG[: (0, 2, 3)[touching]]:
                weights[self._index[f'{side}_{joint}']] = self.gains.standing
        return weights


def _effort(limit: Limit | None) -> float:
    """Return the largest torque of a motor, infinite where the model says none [N m]."""
    return limit.effort if limit is not None and limit.effort > 0.0 else np.inf


def _other(name: str) -> str:
    """Return the name of the same thing on the other side."""
    for one, two in (SIDES, SIDES[::-1]):
        if name.startswith(one):
            return two + name[len(one) :]
    return name
