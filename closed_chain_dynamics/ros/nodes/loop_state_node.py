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
`loop_state_node`: partial joint states in, complete ones that close the loops out.

Takes                         Type                            What
measured_joint_states         sensor_msgs/JointState          best effort; some joints
measured_multi_dof_joint_states  sensor_msgs/MultiDOFJointState  joints of several degrees, if any
contact/state                 std_msgs/String, latched        JSON {joint: closed?}, of the owner
contact/connect, contact/cut  std_msgs/String                 the name of a loop or tree joint;
                                                              see contacts.py for who decides

Gives                         Type                            When
joint_states                  sensor_msgs/JointState          all joints of one degree, with the
                                                              stamp of what was measured
multi_dof_joint_states        sensor_msgs/MultiDOFJointState  the others, if there are any
/tf                           tf2_msgs/TFMessage              links on joints of several degrees:
                                                              robot_state_publisher knows none
diagnostics                   diagnostic_msgs/DiagnosticArray once a second, and when it gets lost

Passive joints follow from the loops, through dead points and singular poses on the branch of the
motion. Joints that contradict each other meet in least squares; by how much they do is in the
diagnostics. A pose that is not continuous with the last one is not believed before it comes
`confirm` times in a row: until then nothing is published and diagnostics says 'lost'. Old,
repeated, reordered and bad messages are refused, counted and named.
"""

from collections.abc import Callable, Sequence
from functools import partial
import sys
import time
from typing import Any

from sensor_msgs.msg import JointState, MultiDOFJointState

from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.completed_states import CompletedStates
from closed_chain_dynamics.ros.loop_state_report import LoopStateReport
from closed_chain_dynamics.ros.loop_state_settings import SETTINGS
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.contacts import Contacts
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, State, seconds
from closed_chain_dynamics.ros.messages.qos import LATEST
from closed_chain_dynamics.ros.running import run

__all__ = ['LoopStateNode', 'main']


class LoopStateNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.tracker: StateTracker | None = None
        self.measured: MeasuredStates | None = None
        super().__init__('loop_state_node', SETTINGS, changed=self._on_change, **options)
        self.completed = CompletedStates(self)
        for kind, topic, read in (
            (JointState, 'measured_joint_states', MeasuredStates.joint_states),
            (MultiDOFJointState, 'measured_multi_dof_joint_states', MeasuredStates.multi_dof),
        ):
            self.create_subscription(kind, topic, partial(self._take, read), LATEST, raw=True)
        self.contacts = Contacts(self, self._restructured)
        self.report = LoopStateReport(self)
        self.start()

    def use_model(self, robot: Mechanism) -> None:
        """Take a new model."""
        p = self.parameters
        self.tracker = StateTracker(
            robot,
            timeout=p.state_timeout,
            on_refusal=self.rejected,
            jump=p.jump,
            confirm=p.confirm,
        )
        self.tracker.stamps.other_clock = True  # nothing is driven by what this node says
        self.tracker.warm_up()
        self.measured = MeasuredStates(robot, self.rejected, on_frame=self.contacts.take_frame)
        self._restructured()
        self.contacts.use(self.tracker)

    def _restructured(self) -> None:
        assert self.tracker is not None and self.measured is not None  # there is a model
        self.completed.use(self.tracker.robot, self.parameters.frame_prefix)
        self.measured.restructured()

    def forget(self) -> None:
        """Give up the model."""
        self.tracker = self.measured = None
        self.contacts.use(None)

    def _on_change(self, names: set[str]) -> None:
        if self.tracker:
            self.tracker.stamps.timeout = self.parameters.state_timeout

    # --- what comes in ---------------------------------------------------------------------------
    def _take(self, read: Callable[[MeasuredStates, bytes], State | None], raw: bytes) -> None:
        """Complete a state and pass it on."""
        if not (self.active and self.tracker and self.measured):
            return
        now = time.monotonic()
        self.contacts.look()  # before, as nothing is driven by how long this takes
        state = read(self.measured, raw)
        if state is None:
            return
        stamp, names, position, velocity = state
        when, self.tracker.stamps.simulated = seconds(stamp), self.is_simulated
        age = 1e-9 * self.get_clock().now().nanoseconds - when
        if self.tracker.take(names, position, velocity, stamp=when, age=age):
            self.report.take_good(now)
            found = self.tracker.state
            assert found is not None and found.q is not None  # what was just taken
            self.completed.publish(when, found.q, found.v)
        self.report.after_state(self.tracker.state)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(LoopStateNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
