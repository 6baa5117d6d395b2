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
import sys
import time
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState, MultiDOFJointState

from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.contacts import Contacts
from closed_chain_dynamics.ros.messages.frames import Frames, joints_unknown_to_others
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, State, seconds
from closed_chain_dynamics.ros.messages.qos import LATEST, PUBLISHED_STATE
from closed_chain_dynamics.ros.messages.state_messages import StateMessages
from closed_chain_dynamics.ros.parameters import Setting
from closed_chain_dynamics.ros.running import run

__all__ = ['LoopStateNode', 'main']

REPORT_EVERY = 1.0  # diagnostics [s]
SETTINGS = [
    Setting(
        'jump',
        0.3,
        'distance from the foreseen pose that is not believed [rad, or lengths]',
        low=1e-3,
        high=10.0,
        fixed=True,
    ),
    Setting(
        'confirm', 3, 'states in a row that make a jump believed', low=1, high=1000, fixed=True
    ),
    Setting('state_timeout', 0.1, 'age from which a state is refused [s]', low=1e-3, high=60.0),
    Setting(
        'contradiction',
        0.02,
        'difference to the loops that is worth a warning [rad, or lengths]',
        low=0.0,
        high=10.0,
    ),
    Setting(
        'frame_prefix', '', 'before all frames of tf: for several robots in one graph', fixed=True
    ),
    Setting(
        'connect_gap', CONNECT_GAP, 'largest gap that a connection closes [m]', low=0.0, high=10.0
    ),
    Setting(
        'connect_angle',
        CONNECT_ANGLE,
        'largest misalignment that it closes [rad]',
        low=0.0,
        high=3.15,
    ),
]


class LoopStateNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.tracker: StateTracker | None = None
        self.measured: MeasuredStates | None = None
        self._frames: Frames | None = None
        super().__init__('loop_state_node', SETTINGS, changed=self._on_change, **options)
        self._came = -np.inf
        self._said: str | None = None
        self._single = self.create_publisher(JointState, 'joint_states', PUBLISHED_STATE)
        self._multi = self.create_publisher(
            MultiDOFJointState, 'multi_dof_joint_states', PUBLISHED_STATE
        )
        self.create_subscription(
            JointState,
            'measured_joint_states',
            lambda raw: self._take(MeasuredStates.joint_states, raw),
            LATEST,
            raw=True,
        )
        self.create_subscription(
            MultiDOFJointState,
            'measured_multi_dof_joint_states',
            lambda raw: self._take(MeasuredStates.multi_dof, raw),
            LATEST,
            raw=True,
        )
        self.contacts = Contacts(self, self._restructured)
        self.create_timer(REPORT_EVERY, self._report)
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
        robot = self.tracker.robot
        self._messages, self._efforts = StateMessages(robot), np.zeros(len(robot.actuator_names))
        if self._frames:
            self._frames.close()
        unknown, prefix = joints_unknown_to_others(robot), self.parameters.frame_prefix
        self._frames = Frames(self, unknown, self._messages.stamp, prefix)
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
        state = read(self.measured, raw)
        if state is None:
            return
        stamp, names, position, velocity = state
        when = seconds(stamp)
        age = 1e-9 * self.get_clock().now().nanoseconds - when
        if self.tracker.take(names, position, velocity, stamp=when, age=age):
            self._came = now
            found = self.tracker.state
            assert found is not None and found.q is not None  # what was just taken
            self._messages.fill(when, found.q, found.v, self._efforts)
            self._single.publish(self._messages.joint_states)
            if self._messages.multi_dof and self._frames:
                self._multi.publish(self._messages.multi_dof)
                self._frames.publish(self.tracker.robot, found.q)
        if self.tracker.state and self.tracker.state.status != self._said:
            self._report()

    # --- what goes out ---------------------------------------------------------------------------
    def _report(self) -> None:
        if not self.tracker:
            self.diagnostics.publish(
                'warning',
                getattr(self.source, 'problem', 'not configured'),
                self.rejected.values(),
            )
            return
        state = self.tracker.state
        self._said = state.status if state else None
        shown = state.describe() if state and self.tracker.is_known else {}
        if state is None or time.monotonic() - self._came > self.parameters.state_timeout:
            level, message = 'stale', 'no good measured_joint_states'
        elif state.status == 'lost':
            level, message = 'error', 'lost: the joints are not where they can have moved to'
        elif state.residual > self.parameters.contradiction:
            level, message = 'warning', f'{state.worst_name} contradicts the loops'
        else:
            level, message = 'ok', state.status
        self.diagnostics.publish(
            level,
            message,
            {**shown, **self.contacts.values(), **self.rejected.values()},
            self.tracker.robot.name,
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(LoopStateNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
