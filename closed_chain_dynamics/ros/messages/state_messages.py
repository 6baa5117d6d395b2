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
States of joints as messages and back: JointState and MultiDOFJointState.

A joint of one degree of freedom is in the first, any other in the second, with the transform of
its child in the joint frame, its twist in the child's axes, and what its motors do as a wrench.
Messages are made once per structure and filled in place: they go out a thousand times a second.
"""

from array import array
from collections.abc import Iterable
from typing import Any

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Transform, Twist, Wrench
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState, MultiDOFJointState

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.description.rotations import rotation_to
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.rotations import quaternion_about

__all__ = [
    'StateMessages',
    'multi_dof_states',
    'set_duration',
    'set_quaternion',
    'set_stamp',
    'set_vector',
]

NANOSECONDS = 10**9


def set_stamp(stamp: Time, seconds: float) -> None:
    """Write a time [s] into a builtin_interfaces/Time; zero, which means no time, as 1 ns."""
    stamp.sec, stamp.nanosec = divmod(max(round(seconds * NANOSECONDS), 1), NANOSECONDS)


def set_duration(duration: Duration, seconds: float) -> None:
    """Write a time that passes [s] into a builtin_interfaces/Duration."""
    duration.sec, duration.nanosec = divmod(round(seconds * NANOSECONDS), NANOSECONDS)


def set_vector(vector: Any, values: Iterable[float]) -> None:
    """Write three numbers into a Vector3 or Point."""
    vector.x, vector.y, vector.z = map(float, values)


def set_quaternion(quaternion: Any, values: Iterable[float]) -> None:
    """Write x y z w into a Quaternion."""
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = map(float, values)


class StateMessages:
    """The messages of one mechanism in one structure; all share one stamp."""

    def __init__(self, robot: Mechanism, stamp: Time | None = None) -> None:
        self.stamp = stamp or Time()
        places = {name: robot.joint_slices(name) for name in robot.joint_names}
        single = [name for name, (_, in_v) in places.items() if in_v.stop - in_v.start == 1]
        self._in_q = np.array([places[name][0].start for name in single], dtype=int)
        self._in_v = np.array([places[name][1].start for name in single], dtype=int)
        self._motors = _motors(robot)
        self._efforts = np.zeros(robot.nv)
        self.joint_states = JointState(name=single)
        self.joint_states.header.stamp = self.stamp
        self._views = []
        for field in ('position', 'velocity', 'effort'):
            setattr(self.joint_states, field, array('d', [0.0] * len(single)))
            # what the message holds now may be a copy of what it was given
            self._views.append(
                np.frombuffer(getattr(self.joint_states, field)) if single else np.zeros(0)
            )
        self._joints = [
            _WideJoint(robot, name, *places[name]) for name in places if name not in single
        ]
        self.multi_dof = (
            MultiDOFJointState(
                joint_names=[each.name for each in self._joints],
                transforms=[each.transform for each in self._joints],
                twist=[each.twist for each in self._joints],
                wrench=[each.wrench for each in self._joints],
            )
            if self._joints
            else None
        )
        if self.multi_dof:
            self.multi_dof.header.stamp = self.stamp

    def fill(self, time: float, q: Vector, v: Vector, tau: Vector) -> None:
        """Write a state and the torques of the actuators into the messages."""
        set_stamp(self.stamp, time)
        efforts = self._efforts
        efforts[self._motors[1]] = tau[self._motors[0]]
        position, velocity, effort = self._views
        np.take(q, self._in_q, out=position)
        np.take(v, self._in_v, out=velocity)
        np.take(efforts, self._in_v, out=effort)
        for joint in self._joints:
            joint.fill(q, v, efforts)


def _motors(robot: Mechanism) -> tuple[NDArray[np.int_], ...]:
    """Return the actuators on joints of the tree: their numbers and their places in v."""
    names = {name: k for k, name in enumerate(robot.coordinate_names)}
    pairs = [(k, names[name]) for k, name in enumerate(robot.actuator_names) if name in names]
    return tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)


class _WideJoint:
    """One joint of several degrees of freedom and its part of the message."""

    def __init__(self, robot: Mechanism, name: str, in_q: slice, in_v: slice) -> None:
        self.name, self._in_q, self._in_v = name, in_q, in_v
        self.transform, self.twist, self.wrench = Transform(), Twist(), Wrench()
        width = in_q.stop - in_q.start
        self._fill = {7: self._fill_free, 4: self._fill_spherical}[width]
        if width == 4 and robot.is_planar(name):
            joint = next(each for each in robot.description.joints if each.name == name)
            self._R_axis, self._fill = rotation_to(joint.axis), self._fill_planar

    def fill(self, q: Vector, v: Vector, efforts: Vector) -> None:
        self._fill(q[self._in_q], v[self._in_v], efforts[self._in_v])

    def _fill_free(self, q: Vector, v: Vector, effort: Vector) -> None:
        set_vector(self.transform.translation, q[:3])
        set_quaternion(self.transform.rotation, q[3:])
        self._set_rates(v[:3], v[3:], effort[:3], effort[3:])

    def _fill_spherical(self, q: Vector, v: Vector, effort: Vector) -> None:
        set_quaternion(self.transform.rotation, q)
        self._set_rates(None, v, None, effort)

    def _fill_planar(self, q: Vector, v: Vector, effort: Vector) -> None:
        R = self._R_axis
        set_vector(self.transform.translation, R[:, :2] @ q[:2])
        turned = quaternion_about(R[:, 2], np.arctan2(q[3], q[2]))
        set_quaternion(self.transform.rotation, turned)
        self._set_rates(
            R[:, :2] @ v[:2], R[:, 2] * v[2], R[:, :2] @ effort[:2], R[:, 2] * effort[2]
        )

    def _set_rates(
        self, linear: Vector | None, angular: Vector, force: Vector | None, torque: Vector
    ) -> None:
        if linear is not None and force is not None:
            set_vector(self.twist.linear, linear)
            set_vector(self.wrench.force, force)
        set_vector(self.twist.angular, angular)
        set_vector(self.wrench.torque, torque)


def multi_dof_states(
    robot: Mechanism, message: MultiDOFJointState
) -> dict[str, tuple[Vector, Vector | None]]:
    """
    Return {joint: (its part of q, its part of v)} of a MultiDOFJointState.

    Without twists the part of v is None. Unknown names, wrong sizes, joints of one degree and
    numbers that are not finite raise, with the reason.
    """
    names = message.joint_names
    if len(message.transforms) != len(names) or len(message.twist) not in (0, len(names)):
        raise StateError(
            f'{len(names)} names with {len(message.transforms)} transforms and '
            f'{len(message.twist)} twists',
            where='multi_dof_joint_states',
        )
    states = {}
    for k, name in enumerate(names):
        if name not in robot.joint_names:
            raise NameNotFound('joint', name, robot.joint_names, where='multi_dof_joint_states')
        at, turned = message.transforms[k].translation, message.transforms[k].rotation
        pose = np.array([at.x, at.y, at.z, turned.x, turned.y, turned.z, turned.w])
        rate = None
        if message.twist:
            linear, angular = message.twist[k].linear, message.twist[k].angular
            rate = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
        if not np.all(np.isfinite(pose)) or (rate is not None and not np.all(np.isfinite(rate))):
            raise StateError(
                f'the state of joint {name!r} is not finite', where='multi_dof_joint_states'
            )
        states[name] = _parts(robot, name, pose, rate)
    return states


def _parts(
    robot: Mechanism, name: str, pose: Vector, rate: Vector | None
) -> tuple[Vector, Vector | None]:
    """Return the parts of q and v that a pose (7,) and a twist (6,) in the joint frame are."""
    width = robot.joint_slices(name)[0]
    width = width.stop - width.start
    size = np.linalg.norm(pose[3:])
    if not 0.5 < size < 2.0:
        raise StateError(
            f'the orientation of joint {name!r} is not a unit quaternion: length {size:.3g}',
            where='multi_dof_joint_states',
        )
    pose[3:] /= size
    if width == 7:
        return pose, rate
    if width == 1:
        raise StateError(
            f'joint {name!r} has one degree of freedom',
            where=robot.name,
            repair='Give it in joint_states.',
        )
    if not robot.is_planar(name):
        return pose[3:], None if rate is None else rate[3:]
    joint = next(each for each in robot.description.joints if each.name == name)
    R = rotation_to(joint.axis)
    angle = 2.0 * np.arctan2(pose[3:6] @ R[:, 2], pose[6])
    part = np.array([*pose[:3] @ R[:, :2], np.cos(angle), np.sin(angle)])
    return part, None if rate is None else np.array([*rate[:3] @ R[:, :2], rate[3:] @ R[:, 2]])
