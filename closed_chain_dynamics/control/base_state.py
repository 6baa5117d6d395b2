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
The base of a floating robot beside its joints: from an IMU, or from a pose with a twist.

Each has a stamp of its own. A joint state gets the base as it is at its own stamp: the last one
that was heard, carried on with its twist. One that is older than `timeout` gives no state at all.

An IMU tells orientation and angular velocity. Position and linear velocity follow from the feet
that stand: a closed loop joint that holds a point of the robot at a point of the world holds the
base, and where several do, they agree in the mean. In the air the position stays where it was and
the velocity counts as zero, which no torque depends on: gravity is the same everywhere, and so are
the laws in a frame that moves steadily.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.description.elements import LoopType
from closed_chain_dynamics.dynamics.tree import integrate, jacobian, link_placement
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['BaseState']

HOLDS_A_POINT = (LoopType.FIXED, LoopType.REVOLUTE, LoopType.UNIVERSAL, LoopType.SPHERICAL)
FREE_WIDTH = 7  # width in q of a free joint
UNIT_SLACK = 0.1  # a quaternion whose length is further from one is none

Joined: TypeAlias = tuple[list[str], Vector, Vector]  # names, positions, velocities
Known: TypeAlias = Callable[[], tuple[Vector, Vector, float] | None]


class BaseState:
    """
    Joins the base to states of the joints.

    `joint`: the free joint that carries the base, by default the only one whose parent is the
    world; `timeout`: age of a base that counts no more [s]; `known()`: the last complete state
    (q, v, its stamp), or None.
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        joint: str = '',
        timeout: float = 0.05,
        known: Known = lambda: None,
    ) -> None:
        self.robot, self.timeout, self._known = robot, timeout, known
        free = [name for name in robot.joint_names if self._is_base(name)]
        if (joint and joint not in free) or (not joint and len(free) != 1):
            raise StateError(
                f'{joint!r} is not a free joint between the world and the robot'
                if joint
                else f'{len(free)} free joints carry a base, and one is needed',
                where=robot.name,
                repair=f'Name one of: {", ".join(free)}.'
                if free
                else 'Give the file a floating joint, or load it with root_joint floating.',
            )
        self.joint = joint or free[0]
        self._body = robot.model.joints[self.joint]
        self._stamp = -np.inf
        self._orientation, self._angular = Rotation.identity(), np.zeros(3)
        self._place: tuple[Vector, Vector] | None = None  # position and linear velocity, if told
        self._names: list[str] = []

    def _is_base(self, name: str) -> bool:
        in_q = self.robot.joint_slices(name)[0]
        body = self.robot.structure.bodies[self.robot.model.joints[name]]
        return bool(in_q.stop - in_q.start == FREE_WIDTH and body['parent'] == 0)

    # --- what comes ------------------------------------------------------------------------------
    def take_imu(
        self, orientation: ArrayLike, angular: ArrayLike, *, stamp: float, link: str = ''
    ) -> None:
        """Take the orientation of a link, xyzw, and its angular velocity in its axes."""
        R_link, _ = self._mounted(link)
        turned = self._in_joint(_rotation(orientation))
        self._orientation = turned * Rotation.from_matrix(R_link.T)
        self._angular = R_link @ _finite(angular, 3)
        self._place, self._stamp = None, stamp

    def take_pose(
        self, pose: ArrayLike, twist: ArrayLike, *, stamp: float, link: str = ''
    ) -> None:
        """Take position and orientation of a link, (7,), and its twist in its axes."""
        R_link, p_link = self._mounted(link)
        numbers, rates = _finite(pose, 7), _finite(twist, 6)
        body = self.robot.structure.bodies[self._body]
        self._orientation = self._in_joint(_rotation(numbers[3:])) * Rotation.from_matrix(R_link.T)
        self._angular = R_link @ rates[3:]
        position = body['R'].T @ (numbers[:3] - body['p']) - self._orientation.apply(p_link)
        linear = R_link @ rates[:3] - np.cross(self._angular, p_link)
        self._place, self._stamp = (position, linear), stamp

    def _in_joint(self, orientation: Rotation) -> Rotation:
        """Return an orientation in the world as one in the frame of the joint."""
        R = self.robot.structure.bodies[self._body]['R']
        return Rotation.from_matrix(R.T) * orientation

    def _mounted(self, link: str) -> tuple[Vector, Vector]:
        """Return how a link sits on the base: rotation and position."""
        if not link:
            return np.identity(3), np.zeros(3)
        body, R, p = self.robot.link_frame(link)
        if body != self._body:
            raise StateError(
                f'link {link!r} is not fixed to the base',
                where=self.robot.name,
                repair=f'Measure a link that joint {self.joint!r} carries.',
            )
        return np.array(R), np.array(p)

    # --- what is -------------------------------------------------------------------------------
    def join(
        self, names: Sequence[str], position: Vector, velocity: Vector, *, stamp: float
    ) -> Joined:
        """Return a state of joints with the base at its stamp; raise where the base is silent."""
        late = stamp - self._stamp
        if not abs(late) <= self.timeout:
            raise StateError(
                'no message about the base has arrived yet'
                if self._stamp == -np.inf
                else f'the last message about the base is {late:.3g} s older than this state',
                where=self.robot.name,
                repair=f'Publish it at least every {self.timeout:g} s, stamped by the same clock.',
            )
        q, v = self._completed(names, position, velocity, stamp)
        in_q, in_v = self.robot.joint_slices(self.joint)
        place = self._place
        q[in_q.start + 3 : in_q.stop] = self._orientation.as_quat()
        v[in_v.start + 3 : in_v.stop] = self._angular
        if place is not None:
            q[in_q.start : in_q.start + 3], v[in_v.start : in_v.start + 3] = place
        else:
            v[in_v.start : in_v.start + 3] = 0.0
        step = np.zeros(self.robot.nv)
        step[in_v] = late * v[in_v]
        q = integrate(self.robot, q, step)
        if place is None:
            self._stand(q, v)
        joined = [*names, self.joint]
        self._names = self._names if joined == self._names else joined
        return (
            self._names,
            np.concatenate([position, q[in_q]]),
            np.concatenate([velocity, v[in_v]]),
        )

    def _completed(
        self, names: Sequence[str], position: Vector, velocity: Vector, stamp: float
    ) -> tuple[Vector, Vector]:
        """
        Return a state with the joints that are measured now.

        The feet hold the base by way of passive joints. These go on with their last velocities;
        where too much time has passed for that, the loops are closed anew.
        """
        robot, known = self.robot, self._known()
        q = robot.neutral() if known is None else known[0].copy()
        v = np.zeros(robot.nv) if known is None else known[1].copy()
        passed = np.inf if known is None else stamp - known[2]
        follows, is_recent = self._place is None, 0.0 <= passed <= self.timeout
        if follows and is_recent:
            step = passed * v
            step[robot.joint_slices(self.joint)[1]] = 0.0
            q = integrate(robot, q, step)
        first, held = [0, 0], {}
        for name in names:
            slices = robot.joint_slices(name)
            ends = [first[k] + slices[k].stop - slices[k].start for k in (0, 1)]
            rates = velocity[first[1] : ends[1]]
            q[slices[0]] = held[name] = position[first[0] : ends[0]]
            v[slices[1]] = np.where(np.isnan(rates), v[slices[1]], rates)
            first = ends
        if (
            follows
            and not is_recent
            and any(robot.is_connected(name) for name in robot.loop_names)
        ):
            q = assemble(robot, held, start=None if known is None else q, limits=False)
        return q, v

    def _stand(self, q: Vector, v: Vector) -> None:
        """Put the base where the feet hold it, in place."""
        robot, gaps, slips = self.robot, [], []
        for loop in robot.description.loops:
            if loop.type not in HOLDS_A_POINT or not robot.is_connected(loop.name):
                continue
            ends = [(loop.parent, loop.parent_origin), (loop.child, loop.child_origin)]
            (ground, anchor), (foot, point) = sorted(
                ends, key=lambda end: robot.link_frame(end[0])[0] != 0
            )
            if robot.link_frame(ground)[0] != 0 or robot.link_frame(foot)[0] == 0:
                continue
            at = [
                link_placement(robot, q, link) @ [*origin.xyz, 1.0]
                for link, origin in ((ground, anchor), (foot, point))
            ]
            gaps.append(at[0][:3] - at[1][:3])
            slips.append(jacobian(robot, q, foot, point=point.xyz)[:3] @ v)
        if gaps:
            in_q, in_v = robot.joint_slices(self.joint)
            R = robot.structure.bodies[self._body]['R']
            turned = Rotation.from_quat(q[in_q.start + 3 : in_q.stop])
            q[in_q.start : in_q.start + 3] += R.T @ np.mean(gaps, axis=0)
            v[in_v.start : in_v.start + 3] -= turned.inv().apply(R.T @ np.mean(slips, axis=0))


def _finite(values: ArrayLike, count: int) -> Vector:
    numbers: Vector = np.array(values, dtype=float)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise StateError(
            f'the base needs {count} finite numbers, not {numbers}',
            where='base',
            repair='Do not publish a message without them.',
        )
    return numbers


def _rotation(values: ArrayLike) -> Rotation:
    numbers = _finite(values, 4)
    if abs(float(np.linalg.norm(numbers)) - 1.0) > UNIT_SLACK:
        raise StateError(
            f'the orientation {numbers} of the base is not a unit quaternion',
            where='base',
            repair='Give x y z w of length 1.',
        )
    return Rotation.from_quat(numbers)
