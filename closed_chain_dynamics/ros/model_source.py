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

"""The model of a node: named by its parameter `model`, or latched on `robot_description`."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from std_msgs.msg import String

from closed_chain_dynamics.codegen.background import sharing_python
from closed_chain_dynamics.description.document import BEFORE_XML
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model import library
from closed_chain_dynamics.model.mechanism import Mechanism, load
from closed_chain_dynamics.ros.messages.bounded import subscribe
from closed_chain_dynamics.ros.messages.qos import LATCHED
from closed_chain_dynamics.ros.parameters import Parameters, Setting

__all__ = ['MODEL_SETTINGS', 'NodeModel']

MODEL_SETTINGS = [
    Setting(
        'model',
        '',
        'file or name of a shipped model; empty: from topic robot_description',
        fixed=True,
    ),
    Setting('actuated', [], 'actuated joints; empty: those of the model', fixed=True),
    Setting(
        'root_joint',
        'fixed',
        'how the root link is attached to the world',
        choices=('fixed', 'floating'),
        fixed=True,
    ),
    Setting(
        'gravity',
        [],
        'acceleration of gravity in world axes [m/s^2]; empty: that of the model, or standard',
        fixed=True,
        item=float,
    ),
]


LOADED_LOOK_EVERY = 0.005  # whether a description has been loaded [s]
MOST_DESCRIPTIONS = 5  # descriptions that wait; older ones are forgotten
SHOWN_OF_DESCRIPTION = 40  # characters of a text that is refused


class _Loading(Thread):
    """Loads a description while the node goes on: `made`, or the `error` that came of it."""

    def __init__(
        self, text: str, make: Callable[[str], Any], values: dict[str, Any], older: int
    ) -> None:
        super().__init__(daemon=True)  # the end of the program does not wait for it
        self.text, self._make = text, make
        self.values = values  # the parameters that it is made with
        self.older = older  # descriptions that wait and came before it
        self.made: Any = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        """Load it, and let the node have its turns meanwhile: they wait for Python's lock."""
        with sharing_python():
            try:
                self.made = self._make(self.text)
            except Exception as error:  # told where the node can hear it
                self.error = error


class NodeModel:
    """
    Loads the model of a node and hands it on.

    `prepare(robot)` makes of a model what the node needs, or raises; `use(made)` takes that. A
    model that parameter `model` names is used at once, and raises where it is bad. One from the
    topic is loaded and prepared in a thread, so that the node goes on with what it has until
    `use` is called, between two messages; a bad one is logged and kept in `problem`, and what is
    no message goes to `reject(name, text)`. The newest that is good wins.
    """

    def __init__(
        self,
        node: Node,
        parameters: Parameters,
        prepare: Callable[[Mechanism], Any],
        use: Callable[[Any], None],
        reject: Callable[[str, str], None],
    ) -> None:
        self._node, self._parameters = node, parameters
        self._prepare, self._use = prepare, use
        self._heard: str | None = None
        self._waiting: list[str] = []  # to be loaded, the newest first
        self.problem = 'waiting for a model on topic robot_description'
        self._loading: _Loading | None = None
        self._good: _Loading | None = None  # while a newer one is loaded
        self._subscription: Subscription | None = None
        self._timer: Timer | None = None
        if parameters.model:
            use(self._load(library.find(parameters.model)))
            self.problem = ''
        else:
            self._subscription = subscribe(
                node, reject, String, 'robot_description', self._on_description, LATCHED
            )

    def _load(self, source: str | Path) -> Any:
        chosen = self._parameters
        return self._prepare(
            load(
                source,
                root_joint=chosen.root_joint,
                actuated=chosen.actuated or None,
                gravity=chosen.gravity or None,
            )
        )

    def _on_description(self, message: String) -> None:
        if message.data == self._heard:
            return
        self._heard = message.data
        # A text from the network is never a path: no file is opened, and no macro is run.
        if not message.data.lstrip(BEFORE_XML).startswith('<'):
            self.problem = (
                f'robot_description: it is no XML: {message.data[:SHOWN_OF_DESCRIPTION]!r}. '
                'Publish the text of a model; files and shipped models are for parameter model.'
            )
            self._node.get_logger().error(self.problem, throttle_duration_sec=1.0)
            return
        self._waiting.append(message.data)
        if not self._loading:
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._timer = self._node.create_timer(LOADED_LOOK_EVERY, self._look, clock=steady)
            self._begin()
        elif len(self._waiting) > MOST_DESCRIPTIONS:
            del self._waiting[0]
            self._loading.older -= 1

    def _begin(self) -> None:
        """Load the newest one; those before it are needed only where it is bad."""
        text, values = self._waiting.pop(), self._parameters.as_dict()
        self._loading = _Loading(text, self._load, values, len(self._waiting))

    def _look(self) -> None:
        """Use what was loaded, unless a newer description or other parameters have come."""
        done = self._loading
        if done is None or done.is_alive():
            return
        if done.error is None:
            self._good = done
            del self._waiting[: max(done.older, 0)]
        elif isinstance(done.error, ClosedChainError):
            self._refuse(done.error)
        else:
            raise done.error
        good = self._good
        if good and good.values != self._parameters.as_dict():  # what was made does not fit them
            self._good = None
            self._waiting.insert(0, good.text)
        if self._waiting:
            self._begin()
            return
        self._loading = self._good = None
        self._end_timer()
        try:
            if good:
                self._use(good.made)
        except ClosedChainError as error:
            self._refuse(error)
        else:
            self.problem = self.problem if done.error else ''

    def _refuse(self, error: ClosedChainError) -> None:
        self.problem = f'robot_description: {error}'
        self._node.get_logger().error(self.problem)

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def close(self) -> None:
        """Listen no longer, and use nothing that is still being loaded."""
        self._end_timer()
        self._loading = self._good = None
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
