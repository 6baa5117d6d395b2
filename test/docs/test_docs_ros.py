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

"""The ROS commands of the tutorial, typed as they stand there: nodes in processes, over DDS."""

import math
import os
import re
import shlex

from helpers.page_blocks import DOCS, blocks
from helpers.ros_helpers import ros  # first: it skips this module where there is no ROS 2
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

__all__ = ['ros']  # a fixture: pytest finds it by its name here

ARRIVED = 1e-3  # of the motor, after the end of its reference [rad]
CLOSED = 1e-9  # of the loop, from what is published [m]
# a machine that is busy is no robot that says nothing, and no controller that is gone
PATIENT = {
    'simulator_node': ['-p', 'lockstep_timeout:=3600.0'],
    'torque_node': ['-p', 'wall_timeout:=3600.0'],
}
OWN = 'ros2 run closed_chain_dynamics '


def commands():
    """Return the ROS commands of the tutorial, in order."""
    return [
        line[2:]
        for kind, _, text in blocks(DOCS / 'pages' / 'tutorial.md')
        if kind == 'console'
        for line in text.splitlines()
        if line.startswith('$ ros2')
    ]


def reference():
    """Return the message that the tutorial publishes."""
    line = next(each for each in commands() if '/reference' in each)
    content = yaml.safe_load(shlex.split(line)[-1])
    message = JointTrajectory(joint_names=content['joint_names'])
    for given in content['points']:
        point = JointTrajectoryPoint(positions=given['positions'])
        point.time_from_start.sec = given['time_from_start']['sec']
        message.points.append(point)
    return message


def test_the_lift_of_the_tutorial_follows_its_reference(ros, tmp_path, monkeypatch):
    for _, title, text in blocks(DOCS / 'pages' / 'tutorial.md'):
        if title:
            (tmp_path / title).write_text(text)
    monkeypatch.chdir(tmp_path)
    ros.environment['PYTHONPATH'] = os.pathsep.join(
        [str(DOCS.parent), os.environ.get('PYTHONPATH', '')]
    )
    heard = ros.listen(JointState, 'joint_states')
    for line in commands()[:2]:
        assert line.startswith(OWN)
        node, *words = shlex.split(line[len(OWN) :])
        ros.run(f'closed_chain_dynamics.ros.nodes.{node}', *words, *PATIENT[node])
    message, outlet = reference(), ros.publisher(JointTrajectory, 'reference')
    ros.wait_for_reader(outlet)
    ros.next(ros.listen(JointState, 'actuator_torques'), 'torques: the node is active')
    ros.wait(lambda: heard and heard[-1].header.stamp.sec, 'both to run for a second')
    first = heard[-1]
    motor = list(first.name).index('motor')
    outlet.publish(message)
    goal = message.points[-1].positions[0]
    ros.wait(
        lambda: (
            abs(heard[-1].position[motor] - goal) < ARRIVED
            and abs(heard[-1].velocity[motor]) < ARRIVED
        ),
        f'the motor at {goal} rad',
        progress=lambda: heard[-1].header.stamp,
    )
    angle = heard[-1].position[motor]
    height = heard[-1].position[list(first.name).index('guide')]
    assert (
        abs(height - 0.1 * math.sin(angle) - (0.09 - (0.1 * math.cos(angle)) ** 2) ** 0.5) < CLOSED
    )


def test_the_other_nodes_of_the_tutorial_are_nodes_of_the_package():
    names = {re.match(rf'{OWN}(\w+)', line)[1] for line in commands() if line.startswith(OWN)}
    assert names == {'simulator_node', 'torque_node', 'loop_state_node'}
