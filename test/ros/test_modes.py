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

"""The modes of torque_node for an exoskeleton, over DDS: changed live, without a step."""

import json
import shlex
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped  # noqa: I100
from helpers.page_blocks import DOCS, blocks
from helpers.ros_helpers import ASK_AGAIN, latched, ros  # skips this file without rclpy
import numpy as np
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import closed_chain_dynamics as ccd

__all__ = ['ros']  # a fixture: pytest finds it by its name here

POSE = {'hip': 0.3, 'knee': 0.4, 'ankle_pitch': 0.2, 'ankle_roll': 0.1}
PERIOD = 0.002  # of the stamps of states that the test publishes, however busy it is [s]
UNANSWERED = 0.1  # until a state counts as lost [s]
TIMEOUT = 2.0  # of what is heard beside the joints [s]
NEVER = 10.0  # pauses of a busy machine are shorter: no state is missed [s]
SETTLED = 1.0  # after so long a leg that was not held would have moved [s]
BLEND = 0.5
LATE = 120.0  # only a broken node takes as long [s]
WRENCH = [10.0, -20.0, 60.0, 0.5, 1.0, -0.5]  # on the foot, in its axes


class LegBench:
    """A torque_node with the leg of an exoskeleton that stands still, and what goes in and out."""

    def __init__(self, ros, **parameters):
        self.ros, self.robot = ros, ccd.load('exo_leg')
        self.q = ccd.assemble(self.robot, POSE, start=np.zeros(self.robot.nq))
        self.node = ros.start(
            'torque_node',
            {
                'model': 'exo_leg',
                'mode': 'transparent',
                'blend': BLEND,
                'state_timeout': NEVER,
                'other_clock': True,  # stamps are those of the test
                'wrench_timeout': TIMEOUT,
                'human_timeout': TIMEOUT,
                **parameters,
            },
        )
        self.stamps = 0  # how many states were sent
        self.torques = ros.listen(JointState, 'actuator_torques', 1000)
        self.safety = ros.listen(String, 'safety_state', latched())
        self.states = ros.publisher(JointState, 'joint_states')
        self.wrenches = ros.publisher(WrenchStamped, 'external_wrench')
        self.human = ros.publisher(JointState, 'human_torques')
        for each in (self.states, self.wrenches, self.human):
            ros.wait_for_reader(each)

    def send(self):
        """Publish the state of the motors, now."""
        names = self.robot.actuator_names
        places = [self.robot.joint_slices(name)[0].start for name in names]
        message = JointState(name=names, position=self.q[places].tolist(), velocity=[0.0] * 4)
        self.stamps += 1
        message.header.stamp = Time(nanoseconds=10**9 + round(1e9 * PERIOD) * self.stamps).to_msg()
        self.states.publish(message)
        # The next one once this is answered: a node that is busy would miss some, and weaken its
        # springs because states come so far apart. One that is lost is not waited for.
        end = time.monotonic() + UNANSWERED
        while time.monotonic() < end and not self._is_answered(seconds(message)):
            self.ros.spin(PERIOD)

    def _is_answered(self, stamp):
        return self.torques and seconds(self.torques[-1]) >= stamp

    def push(self, numbers=WRENCH, link='foot'):
        """Publish a wrench on a link."""
        message = WrenchStamped()
        message.header.frame_id = link
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = map(float, numbers)
        self.wrenches.publish(message)

    def until(self, expected, also=lambda: None):
        """Publish until torques are as expected."""
        self.torques.clear()

        def come():
            also()
            self.send()
            return self.torques and np.allclose(self.torques[-1].effort, expected, atol=1e-6)

        self.ros.wait(come, f'torques {expected}')

    def set(self, name, value):
        """Change a parameter as `ros2 param set` does; return the answer."""
        kinds = {
            str: (ParameterType.PARAMETER_STRING, 'string_value'),
            float: (ParameterType.PARAMETER_DOUBLE, 'double_value'),
            list: (ParameterType.PARAMETER_STRING_ARRAY, 'string_array_value'),
        }
        kind, field = kinds[type(value)]
        request = SetParameters.Request(
            parameters=[Parameter(name=name, value=ParameterValue(type=kind, **{field: value}))]
        )
        # again, where an answer is lost, before the last state is old
        service = '/torque_node/set_parameters'
        return self.ros.call(SetParameters, service, request, again=ASK_AGAIN).results[0]

    def needed(self, **options):
        """Return the torques that hold the pose."""
        zero = np.zeros(self.robot.nv)
        return ccd.inverse_dynamics(self.robot, self.q, zero, zero, **options).tau_A

    def is_told(self, state, cause=''):
        """Return whether the newest safety state is as said."""
        told = json.loads(self.safety[-1].data) if self.safety else {}
        return told.get('state') == state and cause in told.get('cause', '')


def test_modes_are_changed_live_without_a_step(ros):
    """Transparent, with a person's torque, then an impedance: every way is a smooth one."""
    bench = LegBench(ros)
    held = bench.needed()
    bench.until(held)  # a transparent leg at rest carries its weight, without any reference
    ros.wait(lambda: bench.is_told('active'), 'active')
    refused = bench.set('mode', 'impedance')
    assert not refused.successful and 'joint=stiffness,damping' in refused.reason

    assert bench.set('assist_share', 0.4).successful and bench.set('mode', 'assist').successful
    person = JointState(name=['ankle_pitch', 'hip'], effort=[8.0, 20.0])
    c = ccd.coordinates(bench.robot, bench.q)
    tau_h = np.zeros(bench.robot.nv)
    for name, torque in zip(person.name, person.effort):
        tau_h[bench.robot.joint_slices(name)[1]] = torque
    helped = held + 0.4 * np.linalg.solve(c.S.T, c.W.T @ tau_h)
    bench.until(helped, lambda: bench.human.publish(person))
    assert steepest(bench.torques) <= 1.5 / BLEND * np.abs(helped - held).max() * 1.05
    # by the stamps: a busy machine may answer some of the states only
    assert seconds(bench.torques[-1]) - seconds(bench.torques[0]) > 0.5 * BLEND

    assert bench.set('impedance', ['ankle_pitch=80,0.6', 'hip=300,5']).successful
    assert bench.set('mode', 'impedance').successful
    bench.until(held)
    assert steepest(bench.torques) <= 1.5 / BLEND * np.abs(helped - held).max() * 1.05
    moved = ccd.assemble(bench.robot, {**POSE, 'hip': 0.35}, start=bench.q)
    e, bench.q = moved - bench.q, moved
    expected = bench.needed()
    expected[bench.robot.actuator_names.index('hip')] -= 300.0 * e[0]
    # a spring about where it was switched on
    bench.until(expected, lambda: bench.human.publish(person))
    ros.wait(
        lambda: bench.send() or bench.human.publish(person) or bench.is_told('active'), 'active'
    )


def steepest(messages):
    """Return the largest change of torques in a second, by the stamps of the states."""
    messages = [each for each in messages if each.header.stamp.sec]
    times = np.array([seconds(each) for each in messages])
    efforts = np.array([each.effort for each in messages])
    apart = np.maximum(np.diff(times), PERIOD)[:, None]
    return float((np.abs(np.diff(efforts, axis=0)) / apart).max())


def test_a_measured_wrench_is_carried_and_missed(ros):
    """Degraded until it is heard, and again when it stays away; the law goes on without it."""
    bench = LegBench(ros, wrench_links=['foot'], mode='gravity_compensation')
    held = bench.needed()
    bench.until(held)
    ros.wait(lambda: bench.send() or bench.is_told('degraded', 'sensors'), 'degraded')
    R = ccd.link_placement(bench.robot, bench.q, 'foot')[:3, :3]
    world = np.concatenate([R @ WRENCH[:3], R @ WRENCH[3:]])
    bench.until(bench.needed(wrenches={'foot': world}), bench.push)
    ros.wait(lambda: bench.send() or bench.push() or bench.is_told('active'), 'active')
    silent = time.monotonic()  # before the last good one, however long the next lines take
    bench.push()
    bench.push([np.nan] * 6)  # is refused, and the last good one counts
    bench.push(link='thigh')  # of nobody's business
    bench.until(held)
    assert time.monotonic() - silent > 0.5 * TIMEOUT
    assert bench.is_told('degraded', 'sensors')


# --- the page about it ---------------------------------------------------------------------------
PAGE = DOCS / 'pages' / 'exo_leg.md'


def page_block(kind, part):
    """Return the block of the page that has a part."""
    return next(
        text for each, title, text in blocks(PAGE) if each == kind and part in text + title
    )


def test_the_commands_of_the_page_make_a_leg_that_yields(ros):
    """`closed-chain up` as the page has it, a push, and the change that the page makes."""
    line = page_block('console', '--torque mode=impedance').strip().removeprefix('$ ')
    words = [word for word in shlex.split(line)[1:] if word != '--viewer']
    torques = ros.listen(JointState, 'actuator_torques')
    states = ros.listen(JointState, 'joint_states')
    said = ros.listen(DiagnosticArray, 'diagnostics')
    safety = ros.listen(String, 'safety_state', latched())
    up = ros.run('closed_chain_dynamics.cli', *words, '--rate', '200')
    ros.wait(lambda: is_said(said, 'impedance of exo_leg'), 'an impedance')
    ros.wait(lambda: torques and np.any(torques[-1].effort), 'torques')

    def hip():
        return dict(zip(states[-1].name, states[-1].position))['hip']

    def since(message):
        return seconds(states[-1]) - seconds(message)

    ros.wait(lambda: safety and json.loads(safety[-1].data)['state'] == 'active', 'active')
    first = ros.wait(lambda: states, 'a state')[-1]
    ros.wait(
        lambda: since(first) > SETTLED and np.abs(states[-1].velocity).max() < 1e-3,
        'a leg that is held',
    )
    start = hip()
    wrenches = ros.publisher(WrenchStamped, 'external_wrench')
    ros.wait_for_reader(wrenches)
    push = WrenchStamped()
    push.header.frame_id, push.wrench.torque.y = 'thigh', -15.0
    ros.wait(lambda: wrenches.publish(push) or abs(hip() - start) > 0.05, 'a leg that yields')
    ros.wait(lambda: abs(hip() - start) < 0.01, 'a leg that comes back')
    # a busy machine may just weaken the springs for a while; a fault would not end
    ros.wait(lambda: json.loads(safety[-1].data)['state'] == 'active', 'active, as before')
    change = subprocess.run(
        [sys.executable, '-c', page_block('text', 'change.py')],
        env=ros.environment,
        capture_output=True,
        text=True,
        timeout=LATE,
    )
    assert 'successful=True' in change.stdout, change.stdout + change.stderr
    ros.wait(lambda: is_said(said, 'transparent of exo_leg'), 'the other mode')
    assert up.end() == 0, up.output()


def seconds(message):
    """Return the time of a message [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def is_said(diagnostics, text):
    """Return whether the controller says a text in its newest message."""
    mine = [
        status.message
        for array in diagnostics
        for status in array.status
        if 'torque_node' in status.name
    ]
    return mine and text in mine[-1]


def test_the_nodes_of_the_page_take_their_parameters(ros):
    """As two programs, with the words that the page has."""
    said = ros.listen(DiagnosticArray, 'diagnostics')
    for line in page_block('text', 'two terminals').strip().splitlines():
        program, *words = shlex.split(line)
        ros.run(f'closed_chain_dynamics.ros.nodes.{program}', *words)
    ros.wait(lambda: is_said(said, 'impedance of exo_leg'), 'an impedance')
