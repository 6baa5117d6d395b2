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

"""What RViz shows of a mechanism in motion: tf, markers, and the wrench in every joint."""

from collections.abc import Iterable
import re
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, TransformStamped, WrenchStamped
import numpy as np
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.description.elements import Description, Joint, JointType, LoopJoint
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.joint_reactions import reactions
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.frames import Frames, place
from closed_chain_dynamics.ros.messages.qos import LATCHED, PUBLISHED_STATE
from closed_chain_dynamics.ros.messages.rotations import quaternion_of
from closed_chain_dynamics.ros.messages.state_messages import set_vector
from closed_chain_dynamics.viewer.observation import Observation, Snapshot, observe

__all__ = ['SceneMessages']

METRES_PER_NEWTON = 0.001  # length of the arrows
SPHERE_SIZE, ARROW_WIDTH, LINE_WIDTH = 0.04, 0.02, 0.008  # of spheres, arrows and lines [m]
GREEN, RED, BLUE, ORANGE = ((0.1, 0.7, 0.2), (0.9, 0.1, 0.1), (0.2, 0.4, 1.0), (1.0, 0.55, 0.0))
STATE_COLOURS = {'closed': GREEN, 'sticking': GREEN, 'sliding': ORANGE, 'open': RED}


class SceneMessages:
    """
    Publishes the scene of a node; what costs much only if somebody listens.

    `prefix` stands before all frames, so that two robots in one tree of transforms do not collide.
    """

    def __init__(self, node: Node, robot: Mechanism, stamp: Time, prefix: str = '') -> None:
        self._node, self._stamp, self._prefix = node, stamp, prefix
        self._static = node.create_publisher(TFMessage, '/tf_static', LATCHED)
        self._markers = node.create_publisher(MarkerArray, 'markers', PUBLISHED_STATE)
        self._wrenches: dict[str, tuple[Any, WrenchStamped]] = {}  # publisher and message
        model = robot.description
        self._root = robot.link_names[0]
        moving = [joint for joint in model.joints if joint.type is not JointType.FIXED]
        self._frames = Frames(node, moving, stamp, prefix)
        joints: list[Joint | LoopJoint] = [*model.joints, *model.loops]
        for joint in joints:
            topic = 'joint_wrenches/' + re.sub(r'\W', '_', joint.name)
            message = WrenchStamped()
            message.header.stamp = stamp
            frame = f'loop/{joint.name}' if joint in model.loops else joint.child
            message.header.frame_id = prefix + frame
            self._wrenches[joint.name] = (
                node.create_publisher(WrenchStamped, topic, PUBLISHED_STATE),
                message,
            )
        self._publish_static(model)

    def close(self) -> None:
        """Give the publishers back."""
        self._frames.close()
        for publisher in (
            self._static,
            self._markers,
            *(publisher for publisher, _ in self._wrenches.values()),
        ):
            self._node.destroy_publisher(publisher)

    def _publish_static(self, model: Description) -> None:
        """Publish fixed joints, and the frame of each loop joint on its child."""
        fixed = [
            (joint.parent, joint.child, joint.origin)
            for joint in model.joints
            if joint.type is JointType.FIXED
        ]
        fixed += [(loop.child, f'loop/{loop.name}', loop.child_origin) for loop in model.loops]
        message = TFMessage()
        for parent, child, origin in fixed:
            transform = self._transform(parent, child)
            place(transform.transform, quaternion_of(origin.rotation), origin.position)
            message.transforms.append(transform)
        self._static.publish(message)

    def publish(
        self, robot: Mechanism, q: Vector, v: Vector, tau: Vector, wrenches: dict[str, Vector]
    ) -> None:
        """Publish a state; `robot` is a mechanism that may be computed with."""
        self._frames.publish(robot, q)
        if self._markers.get_subscription_count():
            seen = observe(Snapshot(robot, q, v, tau, wrenches=wrenches))
            self._markers.publish(self._drawn(robot, seen))
        listened = [
            name
            for name, (publisher, _) in self._wrenches.items()
            if publisher.get_subscription_count()
        ]
        if listened:
            self._publish_wrenches(robot, q, v, tau, wrenches, listened)

    def _publish_wrenches(
        self,
        robot: Mechanism,
        q: Vector,
        v: Vector,
        tau: Vector,
        wrenches: dict[str, Vector],
        names: list[str],
    ) -> None:
        try:
            acceleration = forward_dynamics(robot, q, v, tau, wrenches=wrenches).acceleration
            found = reactions(
                robot, q, v, acceleration, tau, wrenches=wrenches or None, frame='joint'
            )
        except ClosedChainError:
            return  # a pose without an answer; what comes next has one again
        for name in names:
            publisher, message = self._wrenches[name]
            set_vector(message.wrench.force, found[name].force)
            set_vector(message.wrench.torque, found[name].moment)
            publisher.publish(message)

    # --- markers ---------------------------------------------------------------------------------
    def _drawn(self, robot: Mechanism, seen: Observation) -> MarkerArray:
        """Return loops, springs and the forces in loops and contacts as markers."""
        array = MarkerArray(markers=[Marker(action=Marker.DELETEALL)])
        for loop in seen.loops:
            shape = Marker.LINE_LIST if loop.state == 'open' else Marker.SPHERE_LIST
            array.markers.append(
                self._marker('loops', shape, STATE_COLOURS[loop.state], loop.ends)
            )
        for ends in seen.springs:
            array.markers.append(self._marker('springs', Marker.LINE_STRIP, BLUE, ends))
        for force in seen.forces:
            if force.kind != 'joint' and np.any(force.vector):
                tip = force.point + METRES_PER_NEWTON * force.vector
                array.markers.append(
                    self._marker(f'{force.kind}_forces', Marker.ARROW, ORANGE, (force.point, tip))
                )
        for number, marker in enumerate(array.markers):
            marker.id = number
        return array

    def _marker(
        self, namespace: str, shape: int, colour: tuple[float, float, float], points: Iterable[Any]
    ) -> Marker:
        marker = Marker(ns=namespace, type=shape, action=Marker.ADD)
        marker.header.frame_id = self._prefix + self._root
        marker.header.stamp = self._stamp
        marker.pose.orientation.w = 1.0
        sizes = {
            Marker.SPHERE_LIST: (SPHERE_SIZE, SPHERE_SIZE, SPHERE_SIZE),
            Marker.ARROW: (ARROW_WIDTH, 2.0 * ARROW_WIDTH, 0.0),
        }
        set_vector(marker.scale, sizes.get(shape, (LINE_WIDTH, 0.0, 0.0)))
        marker.color = ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=1.0)
        marker.points = [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in points]
        return marker

    def _transform(self, parent: str, child: str) -> TransformStamped:
        made = TransformStamped(child_frame_id=self._prefix + child)
        made.header.stamp, made.header.frame_id = self._stamp, self._prefix + parent
        return made
