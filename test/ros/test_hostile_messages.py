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

"""What no sender means: bytes that are no message, descriptions that are no XML or a path."""

from diagnostic_msgs.msg import DiagnosticArray
from helpers.ros_helpers import latched, ros  # skips this file where there is no rclpy
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from closed_chain_dynamics.model import library

__all__ = ['ros']  # a fixture: pytest finds it by its name here

CUT_OFF = serialize_message(JointState(name=['crank'], position=[1.0]))[:17]


@pytest.mark.parametrize(
    'node, topics',
    [
        ('torque_node', {'joint_states': JointState, 'reference': JointTrajectory}),
        ('loop_state_node', {'measured_joint_states': JointState}),
        ('simulator_node', {'actuator_torques': JointState}),
    ],
)
def test_bytes_that_are_no_message_end_no_node(ros, node, topics):
    process = ros.start(node, {'model': 'four_bar'})
    said = ros.listen(DiagnosticArray, 'diagnostics', 10)
    for topic, kind in topics.items():
        outlet = ros.publisher(kind, topic)
        ros.wait_for_reader(outlet)
        for length in (4, 9, len(CUT_OFF)):
            outlet.publish(CUT_OFF[:length])
            outlet.publish(b'\xff' * length)
    ros.until_taken(node)
    ros.next(said, 'diagnostics afterwards')
    assert process.is_running() and 'Traceback' not in process.output()
    assert process.end() == 0, process.output()


@pytest.mark.parametrize('text', ['path', 'x' * 300, '', 'swing'])
def test_a_description_that_is_no_xml_is_refused_and_no_path_is_opened(ros, text):
    """Neither the path of a file that exists nor the name of a shipped model is a description."""
    process = ros.start('torque_node')
    said = ros.listen(DiagnosticArray, 'diagnostics', 10)
    outlet = ros.publisher(String, 'robot_description', latched())
    ros.wait_for_reader(outlet)
    outlet.publish(String(data=str(library.find('four_bar')) if text == 'path' else text))
    ros.wait(
        lambda: said and 'it is no XML' in said[-1].status[0].message, 'the refusal in diagnostics'
    )
    outlet.publish(String(data=library.find('four_bar').read_text()))
    ros.wait(lambda: said[-1].status[0].hardware_id == 'four_bar', 'the model that is one')
    assert process.end() == 0, process.output()
