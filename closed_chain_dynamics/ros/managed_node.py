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
The base of nodes with a lifecycle: configured they have a model, active they publish.

With parameter `autostart`, the default, a node takes both steps by itself, and a bad model or
parameter ends the program with one line; without, a manager or `ros2 lifecycle` takes them, and
what is bad is logged and leaves the node unconfigured.
"""

from collections.abc import Callable, Iterable
import time
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy._rclpy_pybind11 import RCLError
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.messages.diagnostics import Diagnostics, Rejections
from closed_chain_dynamics.ros.model_source import MODEL_SETTINGS, NodeModel
from closed_chain_dynamics.ros.parameters import Parameters, Setting

__all__ = ['ManagedNode']

AUTOSTART = Setting(
    'autostart', True, 'configure and activate automatically at the start', fixed=True
)


class ManagedNode(LifecycleNode):
    """
    A node with a lifecycle, a model, parameters and diagnostics.

    A child gives its settings, has `use_model(robot)`, and may have `prepare_model(robot)`, which
    makes of a model what `use_model` takes then, `begin()`, called when it becomes active,
    `end()`, called when it is active no longer and can still publish, and `forget()`, called when
    the model is given up. Its `__init__` ends with `self.start()`.
    """

    def __init__(
        self,
        name: str,
        settings: Iterable[Setting],
        *,
        check: Callable[[Parameters], None] | None = None,
        changed: Callable[[set[str]], None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self._change_state = self._service_change_state.callback
        self._service_change_state.callback = self._on_change_state
        self.parameters = Parameters(
            self, [AUTOSTART, *MODEL_SETTINGS, *settings], check=check, changed=changed
        )
        self.diagnostics, self.rejected = Diagnostics(self), Rejections(self)
        self.source: NodeModel | None = None
        self.active = False
        self._problem: ClosedChainError | None = None

    def start(self) -> None:
        """Configure and activate, unless somebody else is to do it."""
        if self.parameters.autostart:
            self.trigger_configure()
            if self._problem:
                raise self._problem
            self.trigger_activate()

    def stop(self) -> None:
        """Send the last commands, before the node is destroyed."""
        if self.active:
            self.trigger_deactivate()

    # --- time ----------------------------------------------------------------------------------
    @property
    def is_simulated(self) -> bool:
        """Return whether time is what /clock says."""
        return bool(self.get_clock().ros_time_is_active)

    def now(self) -> float:
        """Return the time that timeouts count in, now [s]."""
        return self.clock_time(True) if self.is_simulated else time.monotonic()

    def clock_time(self, simulated: bool) -> float:
        """Return the time that stamps are in, now [s]; `simulated`: what `is_simulated` says."""
        # asking the machine takes a tenth of the time of asking ROS, which asks the machine
        return float(1e-9 * self.get_clock().now().nanoseconds) if simulated else time.time()

    # --- transitions ---------------------------------------------------------------------------
    def _on_change_state(
        self, request: ChangeState.Request, response: ChangeState.Response
    ) -> ChangeState.Response:
        """Refuse a transition that the present state does not have; rclpy would end the node."""
        try:
            changed: ChangeState.Response = self._change_state(request, response)
            return changed
        except RCLError:
            wanted = request.transition.label or request.transition.id
            text = f'refused: there is no transition {wanted!r} from the present state'
            self.get_logger().warning(text, throttle_duration_sec=1.0)
            response.success = False
            return response

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Load the model, or listen for it."""
        self._problem = None
        try:
            self.source = NodeModel(
                self, self.parameters, self.prepare_model, self.use_model, self.rejected
            )
        except ClosedChainError as error:
            self._problem = error
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Begin to publish."""
        result = super().on_activate(state)
        self.active = True
        self.begin()
        return result

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Publish no longer."""
        self.end()
        self.active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Give up the model."""
        if self.source is not None:
            self.source.close()
        self.forget()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: Any) -> TransitionCallbackReturn:
        """Send the last commands, whatever the state was."""
        if self.active:
            self.end()
            self.active = False
        return TransitionCallbackReturn.SUCCESS

    def prepare_model(self, robot: Mechanism) -> Any:
        """Return what `use_model` takes, or raise; in a thread, while the node goes on."""
        return robot

    def use_model(self, made: Any) -> None:
        """Take a new model."""
        raise NotImplementedError

    def begin(self) -> None:
        """Become active."""

    def end(self) -> None:
        """Be active no longer."""

    def forget(self) -> None:
        """Give up the model."""
