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
Which joints are closed: as the owner of the contacts says, or commands where there is none.

`contact/state`, latched, is the word of whoever owns the contacts: a simulator, or contact_node
on a robot. Once it was heard, the structure is made equal to it, also for who starts late or
anew, and commands about the joints that it decides are wishes to the owner: they change nothing
here. Loop joints that it does not name, and all joints where nobody publishes it, follow
`contact/connect` and `contact/cut`.

A simulator in step with its controller writes the same text into the frame_id of its joint states,
because two topics may overtake each other: then a state is what its own frame_id says, and the
structure is changed before the state is answered. Otherwise changes are prepared beside the turns
of the node, and it takes them between two, by `look`.
"""

from collections.abc import Callable
import json
from typing import Any

from std_msgs.msg import String

from closed_chain_dynamics.control.asked_changes import Connect, Cut, Follow
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.control.structure_changes import StructureChanges
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.messages.bounded import read_text
from closed_chain_dynamics.ros.messages.qos import COMMAND, LATCHED
from closed_chain_dynamics.simulation.wishes import NOW, read_wish

__all__ = ['Contacts', 'read_state']


def read_state(text: str) -> dict[str, bool] | None:
    """Return {name: closed?} of a `contact/state`, or None where it is something else."""
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        return None
    good = isinstance(state, dict) and all(isinstance(each, bool) for each in state.values())
    return state if good else None


class Contacts:
    """
    Listens for a node, and keeps the structure of its ControlLoop or StateTracker up to date.

    `changed()` is called after each change; the node calls `look` between turns. It has `active`,
    `rejected`, and parameters `connect_gap` and `connect_angle`.
    """

    def __init__(self, node: Any, changed: Callable[[], None]) -> None:
        self._node, self._changed = node, changed
        self._holder: ControlLoop | StateTracker | None = None
        self._ahead: StructureChanges | None = None
        self._state: dict[str, bool] | None = None
        self._is_in_step = False
        node.create_subscription(String, 'contact/state', self._on_state, LATCHED, raw=True)
        for kind in ('connect', 'cut'):
            node.create_subscription(
                String,
                f'contact/{kind}',
                lambda raw, kind=kind: self._on_command(kind, raw),
                COMMAND,
                raw=True,
            )

    def use(self, holder: ControlLoop | StateTracker | None) -> None:
        """Take a new ControlLoop or StateTracker, or None; what was heard before holds for it."""
        self._holder = holder
        self._ahead = None if holder is None else StructureChanges(holder, self._node.rejected)
        self._follow()

    def look(self) -> None:
        """Take what was prepared, if anything is: between two turns."""
        if self._ahead is not None and self._ahead.take():
            self._changed()

    def take_frame(self, frame: str) -> None:
        """Follow the frame_id of joint states, where it says what is closed."""
        self._is_in_step = frame.startswith('{')
        if not self._is_in_step:
            return
        if self._ahead is not None and self._ahead.settle():  # what was asked for before
            self._changed()
        if self._hear(frame):
            self._follow()

    def _on_state(self, raw: bytes) -> None:
        text = read_text(raw, 'contact/state', self._node.rejected)
        if text is not None and not self._is_in_step and self._hear(text):
            assert self._state is not None  # what was just heard
            if self._ahead is not None:
                self._ahead.ask(Follow('contact/state', self._state))

    def _hear(self, text: str) -> bool:
        """Take the word of the owner; return whether it is one."""
        state = read_state(text)
        if state is None:
            self._node.rejected('contact/state', 'contact/state is not JSON {name: true or false}')
            return False
        self._state = state
        return True

    def _follow(self) -> None:
        if self._holder and self._state is not None and self._holder.follow(self._state):
            self._changed()

    def _on_command(self, kind: str, raw: bytes) -> None:
        topic = f'contact/{kind}'
        text = read_text(raw, topic, self._node.rejected)
        if text is None or not (self._node.active and self._holder and self._ahead):
            return
        chosen, robot = self._node.parameters, self._holder.robot
        try:
            name, when = read_wish(text, {*robot.loop_names, *robot.joint_names})
            if self._is_decided(name):
                return
            if when > NOW:
                self._node.rejected(topic, f'{text!r} has a time, and only a simulator waits')
                return
            if kind == 'connect':
                self._ahead.ask(Connect(topic, name, chosen.connect_gap, chosen.connect_angle))
            else:
                self._ahead.ask(Cut(topic, name))
        except ClosedChainError as error:
            self._node.rejected(topic, str(error))

    def _is_decided(self, name: str) -> bool:
        """Return whether a joint is the owner's: tree joints are named only while they are cut."""
        assert self._holder is not None  # commands without it are left out
        return self._state is not None and (
            name in self._state or name in self._holder.robot.joint_names
        )

    def values(self) -> dict[str, str]:
        """Return what diagnostics shows."""
        assert self._holder is not None  # a node without a model has nothing to show
        robot = self._holder.robot
        cut = [name for name in robot.joint_names if not (self._state or {}).get(name, True)]
        cut += [name for name in robot.loop_names if not robot.is_connected(name)]
        return {
            'contacts as told by': 'commands' if self._state is None else 'contact/state',
            'open': ', '.join(cut) or 'none',
        }
