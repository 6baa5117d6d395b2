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
What viewer_node feeds its view with: messages are only kept, and handed over for each picture.

Keeping happens in the thread of the node, handing over in that of the view.
"""

from functools import partial
import time
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from std_msgs.msg import String

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.bounded import subscribe
from closed_chain_dynamics.ros.messages.contacts import read_state
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATCHED
from closed_chain_dynamics.ros.viewer_streams import ViewerStreams
from closed_chain_dynamics.viewer.live import LiveSource

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.viewer_node import ViewerNode

__all__ = ['ViewerFeed']

MOST_OTHERS = 100  # nodes whose diagnostics are shown
LEVEL_OK = 0  # level of diagnostics, as a byte


class ViewerFeed:
    """Keeps what a viewer_node hears, and gives it to a `LiveSource`; `streams`: of states."""

    def __init__(self, node: 'ViewerNode') -> None:
        self._node, self.streams = node, ViewerStreams(node)
        self._others: dict[str, str] = {}  # what nodes have to say that is not ok
        self._structure: str | None = None
        listen = partial(subscribe, node, node.rejected)
        listen(String, 'contact/state', self._on_structure, LATCHED)
        listen(DiagnosticArray, 'diagnostics', self._on_diagnostics, COMMAND)

    def use(self, robot: Mechanism) -> None:
        """Read states of a new model."""
        self._measured = MeasuredStates(robot, self._node.rejected, pairs=False)

    def _on_structure(self, message: String) -> None:
        self._structure = message.data

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        own = self._node.get_fully_qualified_name().lstrip('/')
        for status in message.status:
            self._node.simulator.take(status)
            if len(self._others) >= MOST_OTHERS and status.name not in self._others:
                continue
            level = status.level[0] if isinstance(status.level, bytes) else status.level
            self._others[status.name] = (
                ''
                if level == LEVEL_OK or status.name == own
                else f'{status.name}: {status.message}'
            )

    def hand_over(self, live: LiveSource) -> None:
        """Give the view what has come in since the last picture."""
        structure, self._structure = self._structure, None
        if structure is not None:
            self._take_structure(live, structure)
        state = self.streams.joints(self._measured, live.robot)
        if state is not None and state[0]:
            live.take_joints(*state)
        torques = self.streams.torques()
        if torques is not None:
            live.take_torques(torques)
        notes = [note for note in self._others.values() if note]
        timeout = self._node.parameters.state_timeout
        if live.heard and time.monotonic() - self.streams.came > timeout:
            notes.append('No joint states come in any more.')
        live.take_notes(notes)

    def _take_structure(self, live: LiveSource, text: str) -> None:
        closed = read_state(text)
        if closed is None:
            self._node.rejected('contact/state', 'contact/state is not JSON {name: true or false}')
            return
        try:
            live.take_structure(closed)
        except ClosedChainError as error:
            self._node.rejected('contact/state', str(error))
        self._measured.restructured()
