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
The leg of an exoskeleton over DDS: references that must not be followed, and what is said of them.

A simulator in step with torque_node: the motion does not depend on how busy the machine is.
"""

from contextlib import suppress
import itertools
import json
import os
import signal
import time

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from helpers.controlled_runs import DEAD_POINT, loose_leg
from helpers.ros_helpers import (  # skips this file where there is no rclpy
    ASK_AGAIN,
    latched,
    newest,
    own_domain,
    ros,
)
import numpy as np
import pytest
from rcl_interfaces.msg import Log
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from closed_chain_dynamics.model import library

__all__ = ['ros']  # a fixture: pytest finds it by its name here

ZONE = 0.05  # before limits, and most that is allowed beyond [rad]
CRANK, CRANK_SPEED, HIP = 1.2, 12.0, 1.0  # limits of the file [rad, rad/s]
FOLLOWED = 0.4  # simulated time that a reference is given [s]
NEVER = 10.0  # pauses of a busy machine are shorter: no state is missed [s]
OTHER_CLOCK = {'other_clock': True}
PERIOD = 5_000_000  # between the stamps of states that the test sends [ns]
RARELY = 250.0  # states and torques per second, as in the demonstration [Hz]


def trajectory(names, positions, when):
    """Return a JointTrajectory of one point."""
    point = JointTrajectoryPoint(
        positions=list(map(float, positions)),
        time_from_start=Duration(sec=int(when), nanosec=round(when % 1.0 * 1e9)),
    )
    return JointTrajectory(joint_names=list(names), points=[point])


class Leg:
    """Simulator and torque_node of the leg, and all that they say."""

    def __init__(self, ros, model='exo_leg', factor=0.0, **parameters):
        self.ros = ros
        self.simulator = ros.start(
            'simulator_node',
            {
                'model': model,
                'start_paused': True,
                'lockstep': 'on',
                'lockstep_timeout': 3600.0,
                'real_time_factor': factor,
                'rate': RARELY,
            },
        )
        # a machine that is busy for seconds is no simulator that says nothing
        self.node = ros.start(
            'torque_node', {'use_sim_time': True, 'wall_timeout': 3600.0, **parameters}
        )
        self.states = ros.listen(JointState, 'joint_states', 5000)
        self.diagnostics = ros.listen(DiagnosticArray, 'diagnostics')
        self.safety = ros.listen(String, 'safety_state', latched())
        self.logs = ros.listen(Log, '/rosout', latched(100))  # also what was written before
        self.references = ros.publisher(JointTrajectory, 'reference')
        ros.wait_for_reader(self.references)
        ros.wait(lambda: self.states and self.safety, 'both nodes')
        self.ask(['hip', 'knee', 'left_crank', 'right_crank'], [0.0] * 4, 0.01)
        self.pause(False)
        ros.wait(
            lambda: self.state() == 'active', 'torques that hold the pose', progress=self.time
        )

    def ask(self, names, positions, when):
        """Publish a reference."""
        self.references.publish(trajectory(names, positions, when))

    def pause(self, paused):
        """Let time stand still, or go on."""
        self.ros.call(SetBool, 'pause', SetBool.Request(data=paused))

    def state(self):
        """Return the safety state that was published last."""
        return json.loads(self.safety[-1].data)['state'] if self.safety else ''

    def text(self):
        """Return why the safety state is what it is, in words."""
        return json.loads(self.safety[-1].data)['text'] if self.safety else ''

    def run(self):
        """Let the leg move for a while; return the largest positions and speeds by joint."""
        end = self.time() + FOLLOWED
        self.states.clear()
        self.until(end)
        names = self.states[-1].name
        position = np.abs([state.position for state in self.states]).max(axis=0)
        speed = np.abs([state.velocity for state in self.states]).max(axis=0)
        return dict(zip(names, position)), dict(zip(names, speed))

    def until(self, end):
        """Let simulated time pass."""
        self.ros.wait(lambda: self.time() > end, 'simulated time', progress=self.time)

    def time(self):
        """Return the simulated time [s]."""
        stamp = self.states[-1].header.stamp if self.states else None
        return 0.0 if stamp is None else stamp.sec + 1e-9 * stamp.nanosec

    def of_torque_node(self):
        """Return what diagnostics of torque_node say."""
        return [
            status
            for array in self.diagnostics
            for status in array.status
            if status.name == 'torque_node'
        ]


@pytest.fixture(scope='module')
def leg(tmp_path_factory):
    """Return a Leg that several tests share: each leaves it as it was."""
    with own_domain(tmp_path_factory.mktemp('leg')) as domain:
        made = Leg(domain)
        made.pause(True)
        yield made


@pytest.fixture
def going(leg):
    """Return that leg, whose time goes on during the test alone: it takes all of a core."""
    leg.pause(False)
    yield leg
    leg.pause(True)


@pytest.mark.parametrize(
    'names, position, words',
    [
        (['hip'], [2.5], "'hip' is commanded to 2.5, and its limits are -0.6 to 1"),
        (['ankle_pitch', 'ankle_roll'], [0.75, 0.0], "'ankle_pitch' is commanded to 0.75"),
        (['ankle_pitch', 'ankle_roll'], [2.0, 0.0], "'ankle_pitch' is commanded to 2"),
        (['ankle_pitch', 'ankle_roll'], [0.55, 0.3], "'right_crank' is at"),
        (['hip'], [1e6], "'hip' is commanded to 1e+06"),
    ],
)
def test_references_beyond_what_the_leg_can_are_refused_in_words(going, names, position, words):
    """No joint beyond its limit by more than the soft zone, no speed beyond; told everywhere."""
    leg = going
    leg.logs.clear()
    leg.diagnostics.clear()
    leg.ask(names, position, 1.0)
    leg.ros.wait(lambda: words in leg.text(), 'the refusal in safety_state', progress=leg.time)
    assert leg.state() == 'degraded'
    positions, speeds = leg.run()
    for crank in ('left_crank', 'right_crank'):
        assert positions[crank] < CRANK + ZONE and speeds[crank] < CRANK_SPEED
    assert positions['hip'] < HIP
    leg.ros.wait(
        lambda: (
            leg.of_torque_node()
            and leg.of_torque_node()[-1].level == DiagnosticStatus.WARN
            and words in leg.of_torque_node()[-1].message
        ),
        'the refusal in diagnostics',
    )
    leg.ros.wait(lambda: any(words in each.msg for each in leg.logs), 'the refusal in /rosout')
    leg.ask(['hip', 'knee', 'left_crank', 'right_crank'], [0.0] * 4, 1.0)
    # as many turns as it takes, of a machine however busy
    leg.ros.wait(
        lambda: leg.state() == 'active', 'a reference that is followed', progress=leg.time
    )
    leg.run()


@pytest.mark.parametrize('is_stream', [False, True])
def test_the_dead_point_of_crank_and_rod_is_refused_on_the_way(ros, tmp_path, is_stream):
    """Both cranks are asked for 1.8 rad, where the leg is well again: it lies on the way."""
    (tmp_path / 'loose_leg.urdf').write_text(loose_leg())
    # as fast as it goes, time would run away from who sends a stream on a busy machine; and who
    # sends it may stand still for longer than a point of it usually counts
    factor = 1.0 if is_stream else 0.0
    law = {'singularity': 'refuse', 'reference_timeout': NEVER}
    leg = Leg(ros, str(tmp_path / 'loose_leg.urdf'), factor, **law)
    asked = ['left_crank', 'right_crank', 'hip', 'knee']
    if is_stream:
        for angle in np.linspace(0.0, 1.8, 60):
            leg.ask(asked, [angle, angle, 0.0, 0.0], 0.0)
            end = leg.time() + 0.02
            leg.until(end)
    else:
        leg.ask(asked, [1.8, 1.8, 0.0, 0.0], 1.0)
    refused = 'degraded', 'fault'
    ros.wait(lambda: leg.state() in refused, 'a refusal, or a fault', progress=leg.time)
    said = json.loads(leg.safety[-1].data)['text']
    assert 'left_heel, right_heel' in said and 'singular' in said, said
    end = leg.time() + FOLLOWED
    leg.until(end)
    farthest = max(
        abs(each.position[list(each.name).index(crank)])
        for each in leg.states
        for crank in ('left_crank', 'right_crank')
    )
    assert farthest < DEAD_POINT and (is_stream == (farthest > 1.0))
    ros.wait(lambda: any('left_heel, right_heel' in each.msg for each in leg.logs), 'in /rosout')


RATE = 0.2  # of torques [effort limits per second]
LARGE = 2.0  # torques that take many turns to grow [N m]


def test_a_node_that_is_killed_leaves_zero_torques(ros):
    """The watchdog lives on for a moment, and says so; so it does when the node is stopped."""
    description = library.find('exo_leg').read_text()
    settings = {'state_timeout': 0.2, 'mode': 'gravity_compensation', 'rate_limit': RATE}
    node = ros.start('torque_node', settings)
    outlet = ros.publisher(String, 'robot_description', latched())
    outlet.publish(String(data=description))
    torques = ros.listen(JointState, 'actuator_torques', 10)
    commands = ros.listen(Float64MultiArray, 'effort_controller/commands', 10)
    states = ros.publisher(JointState, 'joint_states')
    ros.wait_for_reader(states)

    def send():
        message = JointState(name=['hip', 'knee', 'left_crank', 'right_crank'])
        message.position, message.velocity = [0.3, 0.2, 0.1, 0.1], [0.0] * 4
        message.header.stamp = ros.node.get_clock().now().to_msg()
        states.publish(message)
        ros.spin(0.005)
        return torques and np.any(torques[-1].effort)

    def publishers():
        return ros.node.count_publishers('actuator_torques') == 2

    def holds():
        return send() and np.abs(torques[-1].effort).max() > LARGE

    ros.wait(publishers, 'node and watchdog')
    for how, expected in ((signal.SIGSTOP, 'does not answer'), (signal.SIGKILL, 'is gone')):
        ros.wait(holds, 'torques that carry the leg')
        ros.until_taken('torque_node')  # no torque is on its way when the node is stopped
        os.kill(node.pid, how)
        torques.clear()
        commands.clear()
        ros.wait(
            lambda: (
                torques
                and commands
                and not np.any(torques[-1].effort)
                and not np.any(commands[-1].data)
            ),
            'zero from the watchdog',
        )
        # it sends them first, and speaks then
        ros.wait(lambda text=expected: text in node.output(), expected)
        if how == signal.SIGSTOP:
            # zero is what acts now: torques grow from there, not from before
            send()
            os.kill(node.pid, signal.SIGCONT)
            ros.wait(send, 'torques again')
            first = next(each.effort for each in torques if np.any(each.effort))
            assert np.abs(first).max() < 0.5 * LARGE


def test_another_description_gives_zero_to_the_old_actuators(ros):
    node = ros.start('torque_node', {'state_timeout': 1.0, 'mode': 'gravity_compensation'})
    outlet = ros.publisher(String, 'robot_description', latched())
    outlet.publish(String(data=library.find('exo_leg').read_text()))
    # all of them: torques of the next model must not push the last of this one out
    torques = ros.listen(JointState, 'actuator_torques', 1000)
    states = ros.publisher(JointState, 'joint_states')
    ros.wait_for_reader(states)
    ros.wait(lambda: torques, 'the first torques')
    names = list(torques[-1].name)

    def send():
        message = JointState(name=names, position=[0.3, 0.2, 0.1, 0.1], velocity=[0.0] * 4)
        message.header.stamp = ros.node.get_clock().now().to_msg()
        states.publish(message)
        ros.spin(0.005)
        return np.any(torques[-1].effort)

    ros.wait(send, 'torques')
    outlet.publish(String(data=library.find('five_bar').read_text()))
    ros.wait(lambda: len(torques[-1].name) == 2, 'torques of the other model')
    last = [each for each in torques if list(each.name) == names][-1]
    assert not np.any(last.effort)
    assert node.end() == 0, node.output()


def test_large_messages_do_not_hold_up_the_turns(ros):
    """A hundred thousand points, a megabyte of contacts, 1500 joints: refused by their length."""
    node = ros.start('torque_node', {'model': 'five_bar'})
    said = ros.listen(DiagnosticArray, 'diagnostics')
    large = {
        'reference': JointTrajectory(
            joint_names=['left_shoulder'], points=[JointTrajectoryPoint(positions=[0.0])] * 100_000
        ),
        'contact/state': String(data='x' * 1_000_000),
        'joint_states': JointState(
            name=[f'joint_{k}' for k in range(1500)], position=[0.0] * 1500
        ),
    }
    outlets = []
    for topic, message in large.items():
        outlet = ros.publisher(type(message), topic, latched() if 'contact' in topic else 10)
        ros.wait_for_reader(outlet)
        outlets.append((outlet, message))

    def refused():
        for outlet, message in outlets:  # again: a reader with best effort may miss a part of one
            with suppress(RuntimeError):  # no room while the one before is still being sent
                outlet.publish(message)
        ros.spin(0.5)
        return said and any(
            pair.key == 'rejected: too large' and int(pair.value) >= 3
            for pair in said[-1].status[0].values
        )

    ros.wait(refused, 'three refusals')
    assert node.end() == 0, node.output()


def test_a_fault_is_cleared_by_the_service_when_its_cause_is_gone(ros):
    """A hip that is measured beyond its limit."""
    # stamps are those of the test: it sends as often as a busy machine lets it
    node = ros.start('torque_node', {'model': 'exo_leg', 'state_timeout': NEVER, **OTHER_CLOCK})
    stamps = itertools.count(1)
    safety = ros.listen(String, 'safety_state', latched())
    said = ros.listen(DiagnosticArray, 'diagnostics')
    states = ros.publisher(JointState, 'joint_states')
    ros.wait_for_reader(states)

    references = ros.publisher(JointTrajectory, 'reference')
    ros.wait_for_reader(references)

    def send(hip):
        message = JointState(name=['hip', 'knee', 'left_crank', 'right_crank'])
        message.position, message.velocity = [hip, 0.2, 0.1, 0.1], [0.0] * 4
        message.header.stamp = Time(nanoseconds=10**9 + next(stamps) * PERIOD).to_msg()
        states.publish(message)
        ros.spin(1e-9 * PERIOD)
        return json.loads(safety[-1].data)['state'] if safety else ''

    ros.wait(lambda: send(1.1) == 'degraded', 'what is wrong, before anything is driven')
    ros.wait(lambda: send(0.9) == 'ready', 'ready by itself')
    references.publish(trajectory(['hip'], [0.9], 0.1))
    # on a busy machine these states come too seldom for the whole of the gains, which is told
    ros.wait(
        lambda: send(0.9) == 'active' or 'slow turns' in safety[-1].data,
        'torques that hold the pose',
    )
    ros.wait(lambda: send(1.1) == 'fault', 'the fault')
    assert "'hip' is at 1.1 rad or m, beyond its limit of 1" in safety[-1].data
    ros.wait(
        lambda: send(1.1) and said[-1].status[0].level == DiagnosticStatus.ERROR, 'level error'
    )
    # again, where an answer is lost, before the last state is old
    answer = ros.call(Trigger, 'clear_fault', again=ASK_AGAIN)
    assert not answer.success and 'beyond its limit' in answer.message
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        assert send(0.9) == 'fault'  # it does not go away by itself
    assert ros.call(Trigger, 'clear_fault', again=ASK_AGAIN).success
    ros.wait(lambda: send(0.9) == 'ready', 'ready')
    assert node.end() == 0, node.output()


def test_two_robots_in_one_graph_have_frames_and_clocks_of_their_own(ros):
    """Names by namespace, frames by prefix; their times begin apart, and both are controlled."""
    frames = ros.listen(TFMessage, '/tf', 100)
    for name in ('left', 'right'):
        mine = {'__ns': f'/{name}', '/clock': 'clock'}
        states = ros.listen(JointState, f'/{name}/joint_states', 10)
        safety = ros.listen(String, f'/{name}/safety_state', latched(100))
        model = {'model': 'four_bar', 'frame_prefix': f'{name}/'}
        law = {'mode': 'gravity_compensation', 'use_sim_time': True, 'frame_prefix': f'{name}/'}
        ros.start('simulator_node', model, mine)
        ros.wait(lambda states=states: newest(states)[0] > 1.0, 'a second of its time')
        ros.start('torque_node', {**law, 'state_timeout': 0.5}, mine)
        # once: where a node stands still meanwhile, joints that swing on have jumped
        ros.wait(
            lambda safety=safety: any('"active"' in each.data for each in safety),
            f'torques of the {name} one',
        )
    assert ros.node.count_publishers('/clock') == 0
    expected = {
        f'{name}/{link}_link'
        for name in ('left', 'right')
        for link in ('crank', 'coupler', 'rocker')
    }

    def seen():
        return {each.child_frame_id for message in frames for each in message.transforms}

    ros.wait(lambda: seen() >= expected, 'the frames of both')
    assert seen() == expected
