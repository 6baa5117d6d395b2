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

"""The life of simulator_node: bad starts, lifecycle, kills, and company in one process."""

import json
import signal

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from helpers.ros_helpers import latched, ros  # skips this file where there is no rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description.writer import to_xml
from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['ros']  # a fixture: pytest finds it by its name here


def test_it_comes_back_after_kill(ros):
    """A simulator that was killed starts anew; who listens hears it again, latched topics too."""
    parameters = {'model': 'four_bar', 'rate': 100.0}
    first = ros.start('simulator_node', parameters)
    heard = ros.listen(JointState, 'joint_states', 10)
    ros.wait(lambda: heard and seconds(heard[-1].header.stamp) > 0.5, 'half a second')
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    ros.until_quiet(heard)
    second = ros.start('simulator_node', {**parameters, 'start_paused': True})
    ros.wait(lambda: heard, 'joint_states')
    assert seconds(heard[0].header.stamp) == 1e-9
    state = ros.listen(String, 'contact/state', latched())
    ros.wait(lambda: state, 'contact/state for who comes late')
    assert json.loads(state[0].data) == {'coupler_rocker': True}
    second._popen.send_signal(signal.SIGINT)
    assert second.end(signal.SIGINT) == 0, second.output()  # launchers send more than one


@pytest.mark.parametrize(
    'parameters, culprit',
    [
        ({'model': 'four_baar'}, 'four_bar'),
        ({'model': 'four_bar', 'rate': -1.0}, 'rate'),
        ({'model': 'four_bar', 'initial_positions': ['crank']}, 'crank'),
        ({'model': 'four_bar', 'integrator': 'magic'}, 'integrator'),
    ],
)
def test_a_bad_start_ends_with_one_line(ros, parameters, culprit):
    """Exit code 1, the culprit by name, no traceback."""
    process = ros.start('simulator_node', parameters)
    assert process.wait() == 1
    assert culprit in process.output() and 'Traceback' not in process.output()


def test_a_manager_takes_the_steps_of_the_lifecycle(ros):
    """Unconfigured, inactive, active; a model from robot_description; nothing while inactive."""
    process = ros.start('simulator_node', {'autostart': False, 'rate': 100.0})
    states = ros.listen(JointState, 'joint_states')

    def change(transition):
        return ros.call(
            ChangeState,
            'simulator_node/change_state',
            ChangeState.Request(transition=Transition(id=transition)),
            once='simulator_node',
        ).success

    assert change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)
    assert not states  # there is no model yet
    outlet = ros.publisher(String, 'robot_description', latched())
    outlet.publish(String(data=to_xml(ccd.load('five_bar').description)))
    ros.wait(lambda: states, 'joint states')
    assert set(states[-1].name) == set(ccd.load('five_bar').joint_names)
    assert change(Transition.TRANSITION_DEACTIVATE)
    ros.until_quiet(states)
    assert change(Transition.TRANSITION_ACTIVATE)
    ros.wait(lambda: states, 'joint states again')
    assert change(Transition.TRANSITION_DEACTIVATE) and change(Transition.TRANSITION_CLEANUP)
    assert process.end() == 0, process.output()


def test_nodes_share_a_process(ros):
    """Simulator and controller composed in one process: states are answered with torques."""
    ros.environment['PYTHONPATH'] = str(ros.folder)
    (ros.folder / 'both.py').write_text(
        'import sys\n'
        'from closed_chain_dynamics.ros.running import run\n'
        'from closed_chain_dynamics.ros.nodes.simulator_node import SimulatorNode\n'
        'from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode\n'
        'sys.exit(run(SimulatorNode, TorqueNode, args=sys.argv[1:]))\n'
    )
    process = ros.run(
        'both',
        '--ros-args',
        '-p',
        'simulator_node:model:=five_bar',
        '-p',
        'simulator_node:rate:=100.0',
        '-p',
        'simulator_node:start_paused:=true',  # it would fall until the controller hears of it
        '-p',
        'torque_node:mode:=gravity_compensation',
        '-p',
        'torque_node:use_sim_time:=true',
        '-p',
        'torque_node:wall_timeout:=3600.0',  # between two steps, however long they take to come
    )
    torques = ros.listen(JointState, 'actuator_torques')
    safety = ros.listen(String, 'safety_state', latched())
    ros.wait(lambda: safety and json.loads(safety[-1].data)['state'] == 'active', 'a law')
    # the answer to the first state was perhaps given before the test could hear it
    ros.wait(lambda: ros.call(Trigger, 'step') and torques and any(torques[-1].effort), 'torques')
    ros.wait(lambda: {'simulator_node', 'torque_node'} <= set(ros.node.get_node_names()), 'both')
    assert process.end(signal.SIGTERM) == 0, process.output()


def test_a_second_clock_is_told(ros):
    """Two simulators that both publish /clock: time would jump to and fro, and nobody know why."""
    parameters = {'model': 'four_bar', 'rate': 100.0}
    said = ros.listen(DiagnosticArray, '/left/diagnostics', 100)
    ros.start('simulator_node', parameters, {'__ns': '/left'})

    def level():
        return said[-1].status[0].level, said[-1].status[0].message

    ros.wait(lambda: level()[0] == DiagnosticStatus.OK, 'one simulator')
    second = ros.start('simulator_node', parameters, {'__ns': '/right'})
    ros.wait(lambda: level()[0] == DiagnosticStatus.WARN, 'the warning')
    assert 'another node publishes /clock' in level()[1] and 'publish_clock' in level()[1]
    assert second.end() == 0, second.output()
    ros.wait(lambda: level()[0] == DiagnosticStatus.OK, 'one simulator')
