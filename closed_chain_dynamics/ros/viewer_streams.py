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
The streams that viewer_node looks at: bytes that are only kept, until a picture is due.

They are listened to while somebody looks: a thousand messages a second cost.
"""

from collections import deque
import time
from typing import Any

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState, MultiDOFJointState

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, seconds
from closed_chain_dynamics.ros.messages.qos import STREAM
from closed_chain_dynamics.ros.messages.state_messages import multi_dof_states

__all__ = ['ViewerStreams']

KEPT_MESSAGES = 10  # messages of a stream that halves of one state are looked for in
STAMP_BYTES = slice(4, 12)  # of a serialized message that begins with a header
STREAMS = {
    'joint_states': JointState,
    'multi_dof_joint_states': MultiDOFJointState,
    'actuator_torques': JointState,
}


class ViewerStreams:
    """Keeps the newest messages for a node, which has `rejected`; `came`: the last state [s]."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._subscriptions: list[Any] = []
        self._raw: dict[str, deque[bytes]] = {
            topic: deque(maxlen=KEPT_MESSAGES) for topic in STREAMS
        }
        self.came = 0.0  # on the clock of the machine

    def listen(self, watched: bool) -> None:
        """Subscribe while somebody looks."""
        if watched and not self._subscriptions:
            self._subscriptions = [
                self._node.create_subscription(
                    kind,
                    topic,
                    lambda raw, kept=self._raw[topic]: kept.append(raw),
                    STREAM,
                    raw=True,
                )
                for topic, kind in STREAMS.items()
            ]
        elif not watched and self._subscriptions:
            for each in self._subscriptions:
                self._node.destroy_subscription(each)
            self._subscriptions = []

    def torques(self) -> dict[str, float] | None:
        """Return the newest torques by name, None where there are no new ones."""
        kept = self._raw['actuator_torques']
        if not kept:
            return None
        message = self._deserialized(kept[-1], JointState)
        kept.clear()
        if message is None or len(message.name) != len(message.effort):
            return None
        return dict(zip(message.name, message.effort))

    def joints(
        self, measured: MeasuredStates, robot: Mechanism
    ) -> tuple[dict[str, Any], float] | None:
        """Return the newest state whose halves, if there are two, have one stamp, and that [s]."""
        single, multi = (list(self._raw[topic]) for topic in list(STREAMS)[:2])
        other = {raw[STAMP_BYTES]: raw for raw in multi}
        raw = next(
            (raw for raw in reversed(single) if not other or raw[STAMP_BYTES] in other), None
        )
        if raw is None:
            return None
        self._raw['joint_states'].clear()
        self.came = time.monotonic()
        state = measured.joint_states(raw)
        if state is None:
            return None
        stamp, *parts = state
        joints = {name: (q, v if v == v else None) for name, q, v in zip(*parts)}
        others = self._deserialized(other[raw[STAMP_BYTES]], MultiDOFJointState) if other else None
        if others is not None:
            try:
                joints.update(multi_dof_states(robot, others))
            except ClosedChainError as error:
                self._node.rejected('multi_dof_joint_states', str(error))
        return joints, seconds(stamp)

    def _deserialized(self, raw: bytes, kind: Any) -> Any:
        """Return a message, None where the bytes are none."""
        try:
            return deserialize_message(raw, kind)
        except RuntimeError as error:  # what the middleware raises is one
            self._node.rejected('malformed', f'{kind.__name__}: {error}')
            return None
