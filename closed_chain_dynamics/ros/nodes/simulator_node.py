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
`simulator_node`: the mechanism in motion, in real time, at a factor of it, or step by step.

Takes                         Type                            What
actuator_torques              sensor_msgs/JointState          name and effort, by actuator [N m, N]
joint_commands                sensor_msgs/JointState          the same from ros2_control, by
                                                              topic_based_ros2_control
contact/connect, contact/cut  std_msgs/String                 the name of a loop or tree joint, or
                                                              name@time [s of simulated time]
external_wrench               geometry_msgs/WrenchStamped     on link frame_id, in its axes

Gives                         Type                            When
joint_states                  sensor_msgs/JointState          every period; joints of one degree
multi_dof_joint_states        sensor_msgs/MultiDOFJointState  every period; the other joints
/clock                        rosgraph_msgs/Clock             every period
contact/state                 std_msgs/String, latched        JSON {joint: closed?}, on change
contact/events                std_msgs/String                 JSON, one per event or refusal
robot_description             std_msgs/String, latched        once, if parameter `model` is given
/tf                           tf2_msgs/TFMessage              at `scene_rate`, if anybody listens
/tf_static                    tf2_msgs/TFMessage              once, latched
markers                       visualization_msgs/MarkerArray  at `scene_rate`, if anybody listens
joint_wrenches/<joint>        geometry_msgs/WrenchStamped     at `scene_rate`, if anybody listens
diagnostics                   diagnostic_msgs/DiagnosticArray once a second

Services: `pause` (std_srvs/SetBool), `step` (Trigger; one period of a simulation that is paused)
and `reset` (Trigger).

All stamps are simulated time, which begins at 0 (as a stamp 1 ns), also after `reset`. A joint of
several degrees is a transform in its joint frame and a twist in the child's axes; a tree joint
that is cut is the pose of its child in the world. An event is {time, kind, name, mobility_before,
mobility_after, energy_lost [J], impulse [N s]}, a refusal {time, kind: refused, name, wanted,
reason}. A wrench in a joint is what it passes on to its child, in the frame of the child link, or
`loop/<name>`.

In step with its controller (parameter `lockstep`; the default with real_time_factor 0) a period
begins only when torques with the stamp of its state have come: see lockstep.py. Then the frame_id
of joint_states has the text of contact/state.

Parameters and bounds: simulator_settings.py. Torques that nobody renews for `torque_timeout` of
simulated time become zero. Bad names, sizes and numbers are refused as a whole, counted and named
in diagnostics. Inputs act from the next period on; an impossible event changes nothing. A step
that fails stops time; `reset` recovers.
"""

from collections.abc import Sequence
import sys
from typing import Any

from rclpy.clock import Clock, ClockType

from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.ros.managed_node import ManagedNode
from closed_chain_dynamics.ros.messages.simulation_messages import SimulationMessages
from closed_chain_dynamics.ros.passing_time import PassingTime
from closed_chain_dynamics.ros.running import run
from closed_chain_dynamics.ros.simulator_inputs import SimulatorInputs
from closed_chain_dynamics.ros.simulator_report import SimulatorReport
from closed_chain_dynamics.ros.simulator_services import SimulatorServices
from closed_chain_dynamics.ros.simulator_settings import SETTINGS
from closed_chain_dynamics.simulation.driven_simulation import DrivenSimulation

__all__ = ['SimulatorNode', 'main']


class SimulatorNode(ManagedNode):
    """See the top of this file."""

    def __init__(self, **options: Any) -> None:
        self.driven: DrivenSimulation | None = None
        self._timer: Any = None  # of rclpy, while the node is active
        super().__init__('simulator_node', SETTINGS, changed=self._on_change, **options)
        self.passing, self.report = PassingTime(self), SimulatorReport(self)
        self.messages = SimulationMessages(self)
        self.inputs, self.asked = SimulatorInputs(self), SimulatorServices(self)
        self.start()

    def use_model(self, robot: Mechanism) -> None:
        """Take a new model, from its start."""
        self.driven = DrivenSimulation(robot, self.parameters, self.passing.dt)
        self.driven.warm_up()
        if self.active:
            self._show()

    def begin(self) -> None:
        """Show the model and let time pass."""
        if self.driven:
            self._show()
        self._restart_timer()

    def _show(self) -> None:
        assert self.driven is not None  # what is shown
        self.messages.in_step = self.passing.is_in_step()
        self.messages.show(self.driven)
        self.passing.lockstep.ask(self.messages.stamp)

    def end(self) -> None:
        """Let no time pass."""
        self.destroy_timer(self._timer)
        self._timer = None

    def forget(self) -> None:
        """Give up the model."""
        self.driven = None

    def _restart_timer(self) -> None:
        if self._timer:
            self.destroy_timer(self._timer)
        self.passing.resume()
        # On steady time: ROS time is what this node makes.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(self.passing.pace.wall_period, self._tick, clock=steady)
        self.report.begin()

    def _on_change(self, names: set[str]) -> None:
        self.passing.lockstep.patience = self.parameters.lockstep_timeout
        if 'real_time_factor' in names and self.active:
            self._restart_timer()

    def _tick(self) -> None:
        """Take the periods that are due, and report once in a while."""
        self.passing.go_on()
        self.report.publish_if_due()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code."""
    return run(SimulatorNode, args=args)


if __name__ == '__main__':
    sys.exit(main())
