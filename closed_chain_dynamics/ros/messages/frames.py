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

"""Where links are, as tf: transforms of some joints, made once and filled in place."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
import numpy as np
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.description.elements import Joint
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.tracks import link_tracks
from closed_chain_dynamics.ros.messages.qos import TF
from closed_chain_dynamics.ros.messages.rotations import quaternion_of
from closed_chain_dynamics.ros.messages.state_messages import set_quaternion, set_vector

__all__ = ['Frames', 'joints_unknown_to_others', 'place']


def joints_unknown_to_others(robot: Mechanism) -> list[Joint]:
    """
    Return the joints of which joint_states says nothing, and so robot_state_publisher knows none.

    Those of several degrees of freedom: the ball joint that carries a rod, a floating base, and a
    joint that was cut.
    """
    return [
        joint
        for joint in robot.description.joints
        if joint.name in robot.joint_names
        and robot.joint_slices(joint.name)[1].stop - robot.joint_slices(joint.name)[1].start > 1
    ]


def place(transform: Any, quaternion: Vector, position: Vector) -> None:
    """Write a rotation, x y z w, and a position into a Transform."""
    set_quaternion(transform.rotation, quaternion)
    set_vector(transform.translation, position)


class Frames:
    """Publishes on /tf where the children of some joints are; `prefix` stands before frames."""

    def __init__(self, node: Node, joints: Sequence[Joint], stamp: Time, prefix: str = '') -> None:
        self._node, self._joints = node, list(joints)
        self._tf = node.create_publisher(TFMessage, '/tf', TF) if joints else None
        self._message = TFMessage()
        for joint in joints:
            made = TransformStamped(child_frame_id=prefix + joint.child)
            made.header.stamp, made.header.frame_id = stamp, prefix + joint.parent
            self._message.transforms.append(made)

    def close(self) -> None:
        """Give the publisher back."""
        if self._tf is not None:
            self._node.destroy_publisher(self._tf)
            self._tf = None

    def publish(self, robot: Mechanism, q: Vector) -> None:
        """Publish a pose, if anybody listens; `robot` is one that may be computed with."""
        if self._tf is None or not self._tf.get_subscription_count():
            return
        tracks = link_tracks(robot, [q])
        R_parent, p_parent = _stacked(tracks, [joint.parent for joint in self._joints])
        R_child, p_child = _stacked(tracks, [joint.child for joint in self._joints])
        to_parent = R_parent.transpose(0, 2, 1)
        turned = map(quaternion_of, to_parent @ R_child)
        at = (to_parent @ (p_child - p_parent)[..., None])[..., 0]
        for stamped, quaternion, position in zip(self._message.transforms, turned, at):
            place(stamped.transform, quaternion, position)
        self._tf.publish(self._message)


def _stacked(tracks: Mapping[str, Any], links: Iterable[str]) -> tuple[Vector, Vector]:
    """Return rotations (n, 3, 3) and positions (n, 3) of links."""
    return (
        np.stack([tracks[link][0][0] for link in links]),
        np.stack([tracks[link][1][0] for link in links]),
    )
