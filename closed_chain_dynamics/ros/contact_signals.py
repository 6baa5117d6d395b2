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

"""What contact_node measures: forces and heights, one number for each contact and instant."""

from collections.abc import Callable
from functools import partial
import math
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Range

from closed_chain_dynamics.ros.messages.bounded import subscribe
from closed_chain_dynamics.ros.messages.measured_states import seconds
from closed_chain_dynamics.ros.messages.qos import STREAM

__all__ = ['ContactSignals']

Take = Callable[[str, float, float], None]  # name, stamp [s], force [N] or height [m]


class ContactSignals:
    """
    Listens for a node, and hands on what comes in the order of its stamps.

    The node has parameters `force_contacts`, `height_contacts`, `force_axis` and `timeout`, and
    `rejected`. `stamps`: of the last signals, by contact.
    """

    def __init__(self, node: Any, take: Take) -> None:
        self._node, self._take = node, take
        self.stamps: dict[str, float] = {}
        listen = partial(subscribe, node, node.rejected)
        for name in node.parameters.force_contacts:
            listen(WrenchStamped, f'wrench/{name}', partial(self._on_wrench, name), STREAM)
        for name in node.parameters.height_contacts:
            listen(Range, f'height/{name}', partial(self._on_range, name), STREAM)

    def _on_wrench(self, name: str, message: WrenchStamped) -> None:
        self._come(name, message, self._force(message))

    def _on_range(self, name: str, message: Range) -> None:
        self._come(name, message, message.range)

    def _force(self, message: WrenchStamped) -> float:
        """Return the part of a force that counts [N]."""
        force, axis = message.wrench.force, self._node.parameters.force_axis
        if axis == 'norm':
            return math.hypot(force.x, force.y, force.z)
        return abs(float(getattr(force, axis)))

    def _come(self, name: str, message: Any, value: float) -> None:
        stamp = seconds(message.header.stamp) or time.monotonic()
        last = self.stamps.get(name, -math.inf)
        if last - self._node.parameters.timeout < stamp <= last:
            self._node.rejected(
                'out of order', f'{name}: a stamp {last - stamp:.3g} s before the last'
            )
            return
        self.stamps[name] = stamp
        self._take(name, stamp, value)
