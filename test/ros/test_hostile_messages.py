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

import math

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Quaternion, Transform, Twist, Vector3, Wrench, WrenchStamped
from helpers.ros_helpers import latched, ros  # skips this file where there is no rclpy
import pytest
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, MultiDOFJointState, Range
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import closed_chain_dynamics as ccd
from closed_chain_dynamics.model import library

__all__ = ['ros']  # a fixture: pytest finds it by its name here

SIZE_OF_CLOCK = 12  # bytes, serialized
MOST_SAID = 100_000  # characters
LONG = 'x' * 1_000_000
HUGE = (math.nan, math.inf, -1e308, 1e308)
CUT_OFF = serialize_message(JointState(name=['crank'], position=[1.0]))[:17]
BYTES = [start[:length] for length in (4, 9, 17) for start in (CUT_OFF, b'\xff' * 17)]


def points(*rows, names=('crank',), seconds=1):
    """Return a trajectory."""
    made = JointTrajectory(joint_names=list(names))
    for number, row in enumerate(rows):
        made.points.append(JointTrajectoryPoint(positions=list(row)))
        made.points[-1].time_from_start.sec = seconds * (number + 1)
    return made


def said(name, key='real-time factor', value='much'):
    """Return diagnostics of a node that is none."""
    status = DiagnosticStatus(name=name, message=name, values=[KeyValue(key=key, value=value)])
    return DiagnosticArray(status=[status])


def states(value):
    """Return a joint state with a number everywhere."""
    return JointState(name=['crank'], position=[value], velocity=[value], effort=[value])


def wrench(link, value):
    """Return a wrench with a number in it."""
    made = WrenchStamped(wrench=Wrench(force=Vector3(x=value)))
    made.header.frame_id = link
    return made


HOSTILE = {
    JointState: [
        JointState(),
        JointState(name=['crank', 'crank'], position=[1.0, 1.0], effort=[1.0, 1.0]),
        JointState(name=['nobody'], position=[1.0], velocity=[1.0], effort=[1.0]),
        JointState(name=['crank'], position=[1.0, 2.0], velocity=[1.0] * 3, effort=[1.0] * 4),
        JointState(name=[f'joint {k}' for k in range(3000)], position=[0.0] * 3000),
        JointState(name=[LONG], position=[0.0], effort=[0.0]),
        JointState(position=[0.0] * 50000),
        *map(states, HUGE),
    ],
    MultiDOFJointState: [
        MultiDOFJointState(joint_names=['crank']),
        MultiDOFJointState(joint_names=['crank', 'nobody'], transforms=[Transform()] * 5),
        MultiDOFJointState(joint_names=[LONG], transforms=[Transform()], twist=[Twist()]),
        MultiDOFJointState(
            joint_names=['crank'],
            transforms=[Transform(translation=Vector3(x=math.nan), rotation=Quaternion(w=0.0))],
        ),
    ],
    JointTrajectory: [
        JointTrajectory(),
        points([1.0, 2.0]),
        points([1.0], names=['nobody']),
        points([1.0], names=[LONG]),
        points([1.0], [2.0], seconds=-1),
        points(*[[1.0]] * 3000),
        *(points([value]) for value in HUGE),
        points([1e6], seconds=2**30),
    ],
    String: [
        *(String(data=text) for text in ('', '{', '[]', '{"a": 1}', LONG, '[' * 10000)),
        String(data='{"crank": null}'),
        *(String(data=f'coupler_rocker@{time}') for time in ('nan', '1e400', '-1', '1e300', '')),
        *(String(data=text) for text in ('nobody', '@', 'coupler_rocker\n', '\u202e')),
    ],
    WrenchStamped: [wrench(link, value) for link in ('', 'nobody', 'crank') for value in HUGE[:3]],
    Range: [Range(range=value) for value in (math.nan, math.inf, -math.inf, -1.0)],
    DiagnosticArray: [
        DiagnosticArray(),
        DiagnosticArray(status=[DiagnosticStatus(name=f'node {k}') for k in range(300)]),
        said('simulator_node'),
        said('/torque_node', LONG[:60000], LONG[:60000]),
    ],
    Clock: [Clock(), Clock(clock=Time(sec=-(2**31))), Clock(clock=Time(sec=2**31 - 1))],
}
CONTACTS = {'contact/connect': String, 'contact/cut': String}
FOUR_BAR = {'model': 'four_bar'}
TOPICS = {
    'torque_node': (
        FOUR_BAR,
        {
            'joint_states': JointState,
            'multi_dof_joint_states': MultiDOFJointState,
            'reference': JointTrajectory,
            'human_torques': JointState,
            'external_wrench': WrenchStamped,
            'contact/state': String,
            **CONTACTS,
        },
    ),
    'loop_state_node': (
        FOUR_BAR,
        {
            'measured_joint_states': JointState,
            'measured_multi_dof_joint_states': MultiDOFJointState,
            'contact/state': String,
            **CONTACTS,
        },
    ),
    'simulator_node': (
        FOUR_BAR,
        {
            'actuator_torques': JointState,
            'joint_commands': JointState,
            'external_wrench': WrenchStamped,
            **CONTACTS,
        },
    ),
    'contact_node': (
        {'force_contacts': ['foot'], 'height_contacts': ['hand']},
        {'wrench/foot': WrenchStamped, 'height/hand': Range, 'contact/state': String},
    ),
    'viewer_node': (
        {**FOUR_BAR, 'port': 0},
        {'contact/state': String, 'diagnostics': DiagnosticArray},
    ),
    'demo_node': ({}, {'/clock': Clock, 'contact/state': String, 'diagnostics': DiagnosticArray}),
}


def is_published(outlet, message):
    """Publish, and tell whether there was room for it: a busy reader makes some later."""
    try:
        outlet.publish(message)
    except RuntimeError as error:
        assert 'cannot publish data' in str(error)
        return False
    return True


@pytest.mark.parametrize('node', TOPICS)
def test_no_message_ends_a_node_or_brings_a_bad_torque(ros, node):
    """All that is hostile, on every topic; then the node lives, answers, and ends in order."""
    parameters, topics = TOPICS[node]
    process = ros.start(node, parameters)
    torques = ros.listen(JointState, 'actuator_torques', 100) if node == 'torque_node' else []
    for topic, kind in topics.items():
        outlet = ros.publisher(kind, topic, latched(100))
        ros.wait_for_reader(outlet)
        # a type of fixed size takes no longer message, whatever it says
        broken = [each for each in BYTES if kind is not Clock or len(each) < SIZE_OF_CLOCK]
        for message in (*broken, *HOSTILE[kind], *broken):
            ros.wait(lambda: is_published(outlet, message), f'room for {topic}')
        ros.until_taken(node)
        assert process.is_running(), f'{topic}: {process.output()}'
    assert 'Traceback' not in process.output(), process.output()
    assert len(process.output()) < MOST_SAID, 'a log that a stranger can fill'
    limit = ccd.load('four_bar').description.joints[0].limit.effort
    assert all(abs(each) <= limit for torque in torques for each in torque.effort)
    assert process.end() == 0, process.output()


@pytest.mark.parametrize('node', ['simulator_node', 'contact_node', 'viewer_node'])
def test_bytes_that_are_no_message_are_counted(ros, node):
    """Also by nodes that let the middleware read: an executor drops them without a word."""
    parameters, topics = TOPICS[node]
    process, heard = ros.start(node, parameters), ros.listen(DiagnosticArray, 'diagnostics', 100)
    for topic, kind in topics.items():
        outlet = ros.publisher(kind, topic, latched(100))

        def counted():
            outlet.publish(BYTES[0])  # again and again: some readers may miss one
            ros.spin(0.1)
            shown = {
                each.key: each.value
                for status in heard[-1].status
                if status.name == node
                for each in status.values
            }
            told = shown.get('last rejection', '')
            return 'rejected: malformed' in shown and told.startswith(f'{topic}: ')

        ros.wait(counted, f'{topic} in diagnostics')
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
    assert 'files and shipped models are for parameter model' in said[-1].status[0].message
    outlet.publish(String(data=library.find('four_bar').read_text()))
    ros.wait(lambda: said[-1].status[0].hardware_id == 'four_bar', 'the model that is one')
    assert process.end() == 0, process.output()
