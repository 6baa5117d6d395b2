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
`viewer_node`: a live system in the browser, on this machine alone unless `host` says otherwise.

Takes                   Type                             What
joint_states            sensor_msgs/JointState           best effort, while a browser looks
multi_dof_joint_states  sensor_msgs/MultiDOFJointState   the same, of the same stamp
actuator_torques        sensor_msgs/JointState           name and effort, to be plotted [N m, N]
contact/state           std_msgs/String, latched         JSON {joint: closed?}
robot_description       std_msgs/String, latched         unless parameter `model` names a model
diagnostics             diagnostic_msgs/DiagnosticArray  what is not ok is shown

Gives                   Type                             When
contact/connect, contact/cut  std_msgs/String            the name, when its button is pressed
external_wrench         geometry_msgs/WrenchStamped      a push at a link, when asked for
reference               trajectory_msgs/JointTrajectory  where a motor shall go, by its slider
diagnostics             diagnostic_msgs/DiagnosticArray  once a second: address, browsers

The page is at the address in the log and, without its token, in diagnostics; a port that is taken
gives way to the next. Until the first joint state comes, the model is shown at rest, with sliders
that move it along its loops; after that nothing but the messages moves it. Joints that no message
names stay where they were. States are looked at thirty times a second and only while a browser is
open: of what came in between, the newest is shown. Without states for `state_timeout` the page
says so. Bad messages are refused, counted and named in diagnostics.

Where a simulator is at the other end, tab Move has buttons for its services `pause`, `step` and
`reset`, its speed and a push, and the real-time factor stands above. Where a controller reads
references, it has sliders for the motors too, which move at most at a quarter of their fastest.
"""

from collections.abc import Sequence
import sys
from typing import TYPE_CHECKING, Any

from rclpy.clock import Clock, ClockType
from std_msgs.msg import String

from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.controller_client import ControllerClient
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.diagnostics import REPORT_EVERY
from closed_chain_dynamics.ros.messages.qos import COMMAND
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.simulator_client import SimulatorClient
from closed_chain_dynamics.ros.viewer_feed import ViewerFeed
from closed_chain_dynamics.ros.viewer_settings import SETTINGS
from closed_chain_dynamics.viewer import open_view
from closed_chain_dynamics.viewer.live import LiveSource

if TYPE_CHECKING:  # it needs viser, which open_view asks for
    from closed_chain_dynamics.viewer.window import Window

__all__ = ['ViewerNode', 'main']

VISITORS_LOOK_EVERY = 0.2  # at whether somebody looks [s]


class ViewerNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.view: Window | None = None
        super().__init__('viewer_node', SETTINGS, **options)
        self._feed = ViewerFeed(self)
        self.simulator, self._controller = SimulatorClient(self), ControllerClient(self)
        self._ask = {
            kind: self.create_publisher(String, f'contact/{kind}', COMMAND)
            for kind in ('connect', 'cut')
        }
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(REPORT_EVERY, self._report, clock=steady)
        self.create_timer(VISITORS_LOOK_EVERY, self._look, clock=steady)
        self.start()

    def use_model(self, robot: Mechanism) -> None:
        """Show a new model."""
        self.forget()
        self._live = LiveSource(
            robot, self._feed.hand_over, self._wanted, self.simulator, self._controller
        )
        self._feed.use(self._live.robot)
        self.view = open_view(self._live, port=self.parameters.port, host=self.parameters.host)
        self.get_logger().info(f'{robot.name} is shown at {self.view.address}')

    def forget(self) -> None:
        """Close the page."""
        if self.view is not None:
            self.view.stop()
            self.view = None

    def stop(self) -> None:
        """End: close the page first."""
        self.forget()
        super().stop()

    def _look(self) -> None:
        self._feed.streams.listen(self.view is not None and self.active and self.view.browsers > 0)

    def _wanted(self, kind: str, name: str) -> None:
        self._ask[kind].publish(String(data=name))

    def _report(self) -> None:
        if self.view is None:
            self.diagnostics.publish(
                'stale',
                self.source.problem if self.source else 'not configured',
                self.rejected.values(),
            )
            return
        self.diagnostics.publish(
            'ok',
            f'at {self.view.place}',
            {'browsers': self.view.browsers, 'live': self._live.heard, **self.rejected.values()},
            self._live.robot.name,
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(ViewerNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
