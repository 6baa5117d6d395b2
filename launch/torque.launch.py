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
Torques for a real robot that ros2_control drives, and its complete joint states for RViz.

  ros2 launch closed_chain_dynamics torque.launch.py model:=robot.urdf \
      commands:=/my_effort_controller/commands

The effort controller takes its joints in the order of torque_node's parameter `command_order`,
which has to be that of the controller. robot_state_publisher shows the whole mechanism when it
reads the complete states: remap its joint_states to joint_states_complete. Joints of several
degrees are on multi_dof_joint_states_complete; torque_node reads none of the two.
"""

from closed_chain_dynamics.ros import composition
from closed_chain_dynamics.ros.launching import describe, is_true, rviz

ARGUMENTS = {
    'model': ('', 'a file, or a shipped model; empty: from topic robot_description'),
    'joint_states': ('joint_states', 'measured joint states, of joint_state_broadcaster'),
    'commands': ('effort_controller/commands', 'what the effort controller listens to'),
    'complete': ('joint_states_complete', 'where joint states go out with the passive joints'),
    'contacts': ('true', 'contact_node: connections and cuts from wrench sensors'),
    'rviz': ('false', 'RViz with model, TF, markers and wrenches'),
    'namespace': ('', 'of all nodes'),
}


def programs(given):
    """Return what to start."""
    return composition.hardware(
        given['model'],
        joint_states=given['joint_states'],
        commands=given['commands'],
        complete=given['complete'],
        contacts=is_true(given['contacts']),
    )


def generate_launch_description():
    """Return what `ros2 launch` starts."""
    return describe(ARGUMENTS, programs, rviz('rviz'))
