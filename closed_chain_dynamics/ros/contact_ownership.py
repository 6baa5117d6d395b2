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

"""Who owns the contacts: a node says what was decided while nobody else does."""

from collections.abc import Mapping
import json
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from closed_chain_dynamics.ros.messages.qos import LATCHED

__all__ = ['ContactOwnership']


class ContactOwnership:
    """Publishes `contact/state` for a node, unless somebody else does."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._publisher: Any = None  # while the node owns the contacts

    def tell(self, closed: Mapping[str, bool | None]) -> None:
        """Publish what was decided, {name: closed?}; None is not decided yet."""
        if not self.is_ours():
            return
        if self._publisher is None:
            self._publisher = self._node.create_publisher(String, 'contact/state', LATCHED)
        decided = {name: each for name, each in closed.items() if each is not None}
        self._publisher.publish(String(data=json.dumps(decided)))

    def is_ours(self) -> bool:
        """Return whether nobody else publishes contact/state; give way to who does."""
        others = self._node.count_publishers('contact/state') - (self._publisher is not None)
        if others > 0 and self._publisher is not None:
            self._node.destroy_publisher(self._publisher)
            self._publisher = None
        return bool(others <= 0)

    def said_it(self) -> bool:
        """Return whether what comes on contact/state are the words of the node itself."""
        return self._publisher is not None and self.is_ours()
