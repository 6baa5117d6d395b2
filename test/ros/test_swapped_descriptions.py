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

"""Another `robot_description` while torques flow: loaded beside the turns, then taken at once."""

import json
from threading import Event
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from helpers.ros_helpers import PATIENCE, Heard, latched, ros  # skips this without rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

import closed_chain_dynamics as ccd
from closed_chain_dynamics.model import library
from closed_chain_dynamics.ros.messages.measured_states import seconds
from closed_chain_dynamics.ros.model_source import MODEL_SETTINGS, NodeModel
from closed_chain_dynamics.ros.parameters import Parameters

__all__ = ['ros']  # a fixture: pytest finds it by its name here

SHOULDERS = ['left_shoulder', 'right_shoulder']
TIMEOUT = 5.0  # of states; the pauses of a busy machine are shorter [s]
MANY = 250  # four-bars on each other, which take seconds to load: no pause of a test is as long
ANSWERS = 3  # at least, while they are loaded
MASS = '<mass value="0.4"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/>'


def ladder(count):
    """Return the text of parallelograms of one motor each, every one on the coupler below it."""
    parts, below = ['<link name="base"/>'], 'base'
    for k in range(count):
        for name, parent, x, z in (
            ('crank', below, 0.0, 0.0 if k == 0 else 0.02),
            ('coupler', f'crank{k}', 0.0, 0.15),
            ('rocker', below, 0.3, 0.0 if k == 0 else 0.02),
        ):
            role = 'actuated' if name == 'crank' else 'passive'
            parts.append(
                f'<link name="{name}{k}"><inertial>{MASS}</inertial></link>'
                f'<joint name="{name}{k}" type="revolute" cc:role="{role}"><axis xyz="0 1 0"/>'
                f'<origin xyz="{x} 0 {z}"/><parent link="{parent}"/><child link="{name}{k}"/>'
                '<limit effort="9" velocity="9" lower="-1" upper="1"/></joint>'
            )
        parts.append(
            f'<constraint name="loop{k}" type="spherical"><parent link="coupler{k}"/>'
            f'<child link="rocker{k}"/><parent_origin xyz="0.3 0 0"/>'
            '<child_origin xyz="0 0 0.15"/></constraint>'
        )
        below = f'coupler{k}'
    inside = ''.join(parts)
    return f'<robot name="ladder" xmlns:cc="urn:closed_chain_dynamics">{inside}</robot>'


class Bench:
    """A torque_node that holds the five-bar of a description, with states that do not stop."""

    def __init__(self, ros, **parameters):
        self.ros, self.sent, self.answered = ros, {}, {}
        given = {'state_timeout': TIMEOUT, 'mode': 'gravity_compensation', 'watchdog': False}
        self.node = ros.start('torque_node', {**given, **parameters})
        self.torques, self.commands = (
            Heard(),
            ros.listen(Float64MultiArray, 'effort_controller/commands', 1000),
        )
        ros.node.create_subscription(JointState, 'actuator_torques', self._take, 1000)
        self.outlet = ros.publisher(String, 'robot_description', latched())
        self.states = ros.publisher(JointState, 'joint_states')
        ros.wait_for_reader(self.states)
        self.velocity = [0.0, 0.0]
        self.position = list(map(float, ccd.assemble(ccd.load('five_bar'))[[0, 2]]))
        self.describe(library.find('five_bar').read_text())
        ros.wait(lambda: self.send() and np.any(self.torques[-1].effort), 'torques')

    def _take(self, message):
        self.torques.append(message)
        self.answered.setdefault(seconds(message.header.stamp), time.monotonic())

    def describe(self, text):
        """Publish a description, and wait until the node has it."""
        self.outlet.publish(String(data=text))
        self.ros.until_taken('torque_node')

    def send(self):
        """Publish a state of now; return whether torques have come."""
        message = JointState(name=SHOULDERS, position=self.position, velocity=self.velocity)
        message.header.stamp = self.ros.node.get_clock().now().to_msg()
        self.sent[seconds(message.header.stamp)] = time.monotonic()
        self.states.publish(message)
        self.ros.spin(0.01)
        return bool(self.torques)

    def clear(self):
        """Forget what was said."""
        for each in (self.torques, self.commands, self.sent, self.answered):
            each.clear()

    def until_motors(self, count):
        """Send states until the torques are those of a model with so many motors."""
        self.ros.wait(
            lambda: self.send() and len(self.torques[-1].name) == count, f'{count} motors'
        )


def lengths(messages):
    """Return the lengths of commands, each once as long as it lasts."""
    found = [len(each.data) for each in messages]
    return [n for k, n in enumerate(found) if k == 0 or found[k - 1] != n]


def test_states_are_answered_until_the_swap_and_the_old_motors_get_zero(ros):
    """Nothing of mixed length is sent; a signal ends the node while the next one is loaded."""
    bench = Bench(ros)
    bench.clear()
    bench.outlet.publish(String(data=ladder(MANY)))
    bench.until_motors(MANY)
    old = [each for each in bench.torques if list(each.name) == SHOULDERS]
    *answers, last = old
    assert not np.any(last.effort) and all(np.any(each.effort) for each in answers)
    waited = [
        bench.answered[stamp] - when
        for stamp, when in bench.sent.items()
        if stamp in bench.answered
    ]
    assert len(waited) >= ANSWERS and max(waited) < TIMEOUT
    assert [len(each.name) for each in bench.torques] == sorted(
        len(each.effort) for each in bench.torques
    )
    ros.wait(lambda: len(bench.commands[-1].data) == MANY, 'commands')
    assert lengths(bench.commands) == [2, MANY]
    assert not np.any([each.data for each in bench.commands if len(each.data) == 2][-1])
    bench.describe(ladder(MANY + 1))
    assert bench.node.end() == 0, bench.node.output()


def with_a_fault(ros):
    """Return a bench in fault whose cause is gone, its safety states, and a look at the newest."""
    bench = Bench(ros)
    safety = ros.listen(String, 'safety_state', latched(10))

    def state():
        bench.send()
        return json.loads(safety[-1].data)['state'] if safety else ''

    ros.wait(lambda: state() in ('active', 'degraded'), 'torques of the law')
    bench.velocity = [1e3, 0.0]  # far beyond its limit
    ros.wait(lambda: state() == 'fault', 'a fault')
    bench.velocity = [0.0, 0.0]
    return bench, safety, state


def until_cleared(ros, bench, state):
    """Clear the fault, and wait until the law gives torques again."""

    def is_cleared():  # which takes a model, and a good state
        bench.send()
        return ros.call(Trigger, 'clear_fault').success

    ros.wait(is_cleared, 'the fault is cleared')
    ros.wait(lambda: state() != 'fault' and np.any(bench.torques[-1].effort), 'torques again')


def test_a_fault_outlives_another_description(ros):
    """Whoever publishes one must not clear it: that takes the service."""
    bench, safety, state = with_a_fault(ros)
    cause = json.loads(safety[-1].data)['cause']
    safety.clear()  # before: the node may take the other model at once
    bench.describe(library.find('five_bar').read_text().replace('name="five_bar"', 'name="other"'))
    ros.wait(lambda: state(), 'the safety state of the other model')
    bench.torques.clear()
    for _ in range(20):
        assert state() == 'fault' and json.loads(safety[-1].data)['cause'] == cause
    assert not any(np.any(each.effort) for each in bench.torques)
    until_cleared(ros, bench, state)


def test_a_fault_outlives_a_node_that_is_configured_anew(ros):
    bench, safety, state = with_a_fault(ros)
    for transition in (
        Transition.TRANSITION_DEACTIVATE,
        Transition.TRANSITION_CLEANUP,
        Transition.TRANSITION_CONFIGURE,
        Transition.TRANSITION_ACTIVATE,
    ):
        request = ChangeState.Request(transition=Transition(id=transition))
        answer = ros.call(ChangeState, '/torque_node/change_state', request, once='torque_node')
        assert answer.success
    safety.clear()
    bench.torques.clear()
    ros.wait(lambda: bench.send() and bench.torques, 'torques of the node')
    for _ in range(20):
        assert state() in ('', 'fault')
    assert not any(np.any(each.effort) for each in bench.torques)
    until_cleared(ros, bench, state)


def test_a_wrong_description_changes_nothing_and_is_named(ros):
    """One that cannot be read, and one that the parameters do not fit: torques flow on."""
    bench = Bench(ros, command_order=SHOULDERS)
    reports = ros.listen(DiagnosticArray, 'diagnostics')

    def reported(text, level):
        bench.send()
        last = reports[-1].status[0] if reports else None
        return last and text in last.message and last.level == level

    wrong = ladder(2).replace('<child link="rocker1"/>', '<child link="rokcer1"/>')
    for text, why in ((wrong, 'rokcer1'), (ladder(2), "parameter 'command_order'")):
        bench.clear()
        bench.describe(text)
        ros.wait(lambda why=why: bench.send() and why in bench.node.output(), why)
        bench.send()
        ros.wait(lambda: bench.commands, 'commands')
        assert all(np.any(each.effort) for each in bench.torques)
        assert lengths(bench.commands) == [2]
        ros.wait(lambda why=why: reported(why, DiagnosticStatus.WARN), f'a warning of {why}')
    bench.describe(library.find('five_bar').read_text())
    ros.wait(lambda: reported('five_bar', DiagnosticStatus.OK), 'all is well again')
    assert 'Traceback' not in bench.node.output()


def test_the_newest_good_description_wins_when_several_come(ros):
    """Those before it are not taken, nor is the wrong one that came after it."""
    used, loaded = [], Event()

    def prepare(robot):  # the first one takes until the others have come
        assert loaded.wait(PATIENCE)
        return len(robot.actuator_names)

    outlet = ros.publisher(String, 'robot_description', latched())
    parameters = Parameters(ros.node, MODEL_SETTINGS)
    model = NodeModel(ros.node, parameters, prepare, used.append, print)
    for text in (ladder(2), ladder(3), ladder(4), ladder(5).replace('base', 'case', 1)):
        outlet.publish(String(data=text))
        ros.wait(lambda text=text: model._heard == text, 'it has come')
    assert not used
    loaded.set()
    ros.wait(lambda: used, 'one is taken')
    ros.spin(0.1)
    assert used == [4]
    model.close()


def test_a_node_takes_good_descriptions_one_after_the_other(ros):
    """Some of them may be passed over, but none is taken after a newer one, and no wrong one."""
    bench = Bench(ros)
    bench.clear()
    for text in (ladder(3), ladder(4), ladder(5).replace('base', 'case', 1)):
        bench.describe(text)
    bench.until_motors(4)
    ros.wait(lambda: 'robot_description: ' in bench.node.output(), 'the refusal')
    bench.describe(ladder(MANY))
    bench.describe(library.find('five_bar').read_text())
    bench.until_motors(2)
    for _ in range(20):
        bench.send()
    ros.wait(lambda: len(bench.commands[-1].data) == 2, 'commands of the last one')
    found = lengths(bench.commands)
    assert found[-1] == 2
    assert found[:-1] == [n for n in (2, 3, 4, MANY) if n in found[:-1]]


def test_a_description_that_does_not_fit_the_start_of_a_simulator_ends_nothing(ros):
    process = ros.start('simulator_node', {'initial_positions': ['nobody=1.0']})
    outlet = ros.publisher(String, 'robot_description', latched())
    outlet.publish(String(data=ladder(1)))
    ros.wait(lambda: 'nobody' in process.output(), 'the reason')
    ros.spin(0.2)
    assert process.is_running() and 'Traceback' not in process.output()
