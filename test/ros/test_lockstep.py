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

"""Simulator and controller in step: the same motion, bit for bit, however busy the machine is."""

from contextlib import nullcontext
import json
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from helpers.busy_machine import busy
from helpers.ros_helpers import own_domain, ros  # skips this file where there is no rclpy
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.ros.demo_programme import (
    JOINTS,
    OPEN_HANDS,
    ROUND,
    START,
    changes,
    wanted_motion,
)
from closed_chain_dynamics.ros.lockstep import SAY_AGAIN, Lockstep
from closed_chain_dynamics.ros.messages.measured_states import seconds
from closed_chain_dynamics.ros.messages.state_messages import set_stamp
from closed_chain_dynamics.ros.references_ahead import ReferencesAhead
from closed_chain_dynamics.simulation.driven_simulation import DrivenSimulation

__all__ = ['ros']  # a fixture: pytest finds it by its name here

UNTIL = 3.5  # of the programme: the left hand has let go and gripped again [s]


class Watch:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def test_an_answer_is_awaited_and_missed_after_a_time():
    watch = Watch()
    lockstep = Lockstep(1.0, watch)
    lockstep.ask((0, 1))
    watch.now = 100.0
    assert not lockstep.is_ready() and lockstep.waited == 100.0  # nobody has ever answered
    assert not lockstep.answer((0, 2)) and not lockstep.is_ready()  # another state's
    assert lockstep.answer((0, 1)) and lockstep.is_ready() and lockstep.waited == 0.0
    assert not lockstep.answer((0, 1))  # once is enough
    lockstep.ask((0, 5))
    assert not lockstep.shall_say_again()
    watch.now += 1.01 * SAY_AGAIN
    assert lockstep.shall_say_again() and not lockstep.shall_say_again()
    watch.now += 0.9
    assert not lockstep.is_ready() and lockstep.missed == 0
    watch.now += 0.1
    assert lockstep.is_ready() and lockstep.is_ready() and lockstep.missed == 1
    lockstep.ask((0, 9))
    assert not lockstep.is_ready()


def demonstration(folder, on_machine):
    """
    Return the states by stamp, the events and the last diagnostics of a part of the demo.

    `on_machine`: what kind of machine its programs run on, a context manager of them.
    """
    with own_domain(folder) as ros:
        heard = ros.listen(JointState, 'joint_states', QoSProfile(depth=5000))
        events = ros.listen(String, 'contact/events', 100)
        said = ros.listen(DiagnosticArray, 'diagnostics', 100)
        nodes = ros.up('swing', '--demo', '--no-viewer', '--rate', '200', '--factor', '0')

        def time():
            return seconds(heard[-1].header.stamp) if heard else 0.0

        with on_machine(nodes.values()):
            # an event is overtaken by states, and lost where its node ends before it has come
            ros.wait(lambda: time() > UNTIL and events[1:], 'the time', progress=time)
        for each in nodes.values():
            assert each.end() == 0, each.output()
        states = {
            seconds(each.header.stamp): (*each.position, *each.velocity, *each.effort)
            for each in heard
        }
        return states, [json.loads(each.data) for each in events], said


def test_the_demonstration_is_the_same_on_a_busy_machine(tmp_path):
    first, first_events, _ = demonstration(tmp_path, nullcontext)
    second, second_events, said = demonstration(tmp_path, busy)
    common = {time for time in first.keys() & second.keys() if time <= UNTIL}
    # The test may stand still, too, and miss what is said meanwhile. What has parted stays apart.
    assert len(common) > 100 and max(common) > OPEN_HANDS['left_hand'][1]
    for time in sorted(common):
        assert first[time] == second[time], f'they part at {time} s'
    assert np.ptp([first[time] for time in common], axis=0).max() > 0.5  # it does move
    kinds = [(each['time'], each['kind'], each['name']) for each in first_events]
    assert [each[1:] for each in kinds[:2]] == [('cut', 'left_hand'), ('connect', 'left_hand')]
    assert kinds[:2] == [(each['time'], each['kind'], each['name']) for each in second_events[:2]]
    values = {
        pair.key: pair.value for array in said for pair in array.status[0].values
    }  # the last of each
    assert values['lockstep'] == 'on' and values['periods without an answer'] == '0'


def programme(told, again=(), reported=()):
    """
    Return poses and torques of a part of the demo, in this process, after every period.

    `told`: periods before which all references are said; `again`: those whose state comes four
    times; `reported`: those after which diagnostics are made.
    """
    settings = SimpleNamespace(
        initial_positions=[],
        initial_velocities=START,
        integrator='rk4',
        torque_timeout=0.5,
        push_duration=0.1,
        connect_gap=0.02,
        connect_angle=0.05,
        limits=True,
    )
    driven = DrivenSimulation(ccd.load('swing'), settings, 1e-3)
    own, ahead = ccd.load('swing'), ReferencesAhead()
    loop = ControlLoop(TorqueController(own), TorqueGuard(own))
    for when, kind, name in changes(0):
        driven.ask(kind, f'{name}@{when!r}')
    seen, last = [], -np.inf
    for period in range(300):
        now = driven.sim.time or 1e-9
        loop.follow(driven.connections())
        if period in told:
            for number in range(3):
                ahead.take(round_of_the_programme(number), loop, last)
        ahead.hand_over(loop, now)
        tau = loop.take_state(own.joint_names, driven.sim.q, driven.sim.v, stamp=now, now=now)
        for _ in range(3 if period in again else 0):
            tau = loop.turn_again(now, now)
        if period in reported:
            loop.describe()
        driven.set_torques(own.actuator_names, loop.guard.tau if tau is None else tau)
        driven.advance(5)
        last = now
        seen.append((*driven.sim.q, *driven.torques))
    assert loop.safety.state == 'active'
    return seen


def test_a_reference_that_was_over_long_ago_begins_no_motion():
    """From a bag, or of another clock; one that is a little late does."""
    own, ahead, refused = ccd.load('swing'), ReferencesAhead(), []
    loop = ControlLoop(
        TorqueController(own), TorqueGuard(own), on_refusal=lambda *told: refused.append(told)
    )
    state = own.joint_names, ccd.assemble(own), np.zeros(own.nv)
    late = 3.0 * ROUND
    loop.take_state(*state, stamp=late, now=late)
    ahead.take(round_of_the_programme(0), loop, late)
    assert refused[-1][0] == 'reference' and 'it was over before it came' in refused[-1][1]
    assert not loop.is_asked
    ahead.take(round_of_the_programme(2), loop, late + 0.2)  # its end, and a little more
    assert loop.is_asked, refused


def round_of_the_programme(number):
    """Return what the demonstration says of a round."""
    message = JointTrajectory(joint_names=JOINTS)
    for moment in np.arange(0.0, ROUND, 0.05):
        position, velocity, acceleration = wanted_motion(moment)
        point = JointTrajectoryPoint(
            positions=position, velocities=velocity, accelerations=acceleration
        )
        set_stamp(point.time_from_start, moment)
        message.points.append(point)
    message.points[0].time_from_start.nanosec = 0
    set_stamp(message.header.stamp, ROUND * number)
    return message


def test_how_often_and_when_something_is_said_changes_no_bit():
    """What a busy machine changes: references said again, states said again, diagnostics."""
    once = programme({0})
    assert np.ptp([each[-1] for each in once]) > 1.0  # torques of the law
    assert programme({0, 100, 255, 280}) == once
    assert programme({0}, again={1, 7, 100, 259, 261}, reported={5, 100, 260, 270}) == once


def test_the_first_answer_does_not_depend_on_what_was_sent_before_it(ros):
    """A fallback at simulated time 0, of a node that waited, is not the begin of a change."""
    ros.start(
        'torque_node', {'model': 'five_bar', 'mode': 'gravity_compensation', 'use_sim_time': True}
    )
    torques = ros.listen(JointState, 'actuator_torques', 100)
    states = ros.publisher(JointState, 'joint_states')
    ros.wait_for_reader(states)
    ros.wait(lambda: len(torques) > 2, 'the fallback, again')
    q = ccd.assemble(ccd.load('five_bar'))

    def answer(nanoseconds):
        message = JointState(name=['left_shoulder', 'right_shoulder'], velocity=[0.0, 0.0])
        message.position = [float(q[0]), float(q[2])]
        message.header.stamp.nanosec = nanoseconds
        message.header.frame_id = '{"tip": true}'

        def answered():
            states.publish(message)  # again, as a simulator does: one may be lost
            ros.spin(SAY_AGAIN)
            return next((a for a in torques if a.header.stamp.nanosec == nanoseconds), None)

        return ros.wait(answered, 'an answer')

    assert not np.any(answer(1).effort)
    assert np.all(answer(5_000_000).effort)


class Stepping:
    """A simulator that is answered by the test, or not."""

    def __init__(self, ros, **parameters):
        self.ros = ros
        ros.start('simulator_node', {'model': 'four_bar', 'rate': 100.0, **parameters})
        self.states = ros.listen(JointState, 'joint_states', 1000)
        self.said = ros.listen(DiagnosticArray, 'diagnostics', 100)
        self.torques = ros.publisher(JointState, 'actuator_torques')
        ros.wait_for_reader(self.torques)
        ros.wait(lambda: self.states, 'a state')

    def answer(self, stamp, effort):
        """Send torques for a state."""
        message = JointState(name=['crank'], effort=[effort])
        message.header.stamp = stamp
        self.torques.publish(message)

    def until_later(self, stamp, efforts):
        """Send torques, by stamp, until there is a state after another; return that."""

        def later():
            for which, effort in efforts:
                self.answer(which, effort)  # again: one may be lost, and the first one counts
            self.ros.spin(SAY_AGAIN)
            after = seconds(stamp) + 1e-6
            return next((each for each in self.states if seconds(each.header.stamp) > after), None)

        return self.ros.wait(later, 'a later state')

    def value(self, key):
        """Return what the next diagnostics says."""
        status = self.ros.next(self.said, 'diagnostics').status[0]
        return {each.key: each.value for each in status.values}[key]


def test_time_waits_for_torques_with_the_stamp_of_the_state(ros):
    """Each answer brings one period, with exactly these torques; others change nothing."""
    stepping = Stepping(ros, lockstep='on', real_time_factor=0.0, lockstep_timeout=3600.0)
    robot = ccd.load('four_bar')
    sim = ccd.Simulation(robot, ccd.assemble(robot))
    state = stepping.states[0]
    for turn in range(5):
        wrong = JointState().header.stamp
        wrong.sec = 77
        stamp = state.header.stamp
        state = stepping.until_later(stamp, [(wrong, 1000.0), (stamp, 0.1 * turn)])
        sim.run(0.01, {'crank': 0.1 * turn})
        assert list(state.position) == list(sim.q) and list(state.velocity) == list(sim.v)
        assert state.effort[0] == 0.1 * turn
        assert json.loads(state.header.frame_id) == {'coupler_rocker': True}
    assert stepping.value('periods without an answer') == '0'
    last = seconds(state.header.stamp)
    assert all(seconds(each.header.stamp) <= last for each in stepping.states)


def test_time_goes_on_without_an_answer_after_the_bound_and_counts_it(ros):
    stepping = Stepping(ros, lockstep='on', lockstep_timeout=0.05)
    ros.wait(lambda: len(stepping.states) > 3, 'the state said again')
    assert {seconds(each.header.stamp) for each in stepping.states} == {1e-9}  # for ever, at first
    first = stepping.states[0].header.stamp
    stepping.until_later(first, [(first, 0.0)])
    ros.wait(lambda: seconds(stepping.states[-1].header.stamp) > 0.035, 'time to pass')
    ros.wait(lambda: int(stepping.value('periods without an answer')) >= 3, 'them to be counted')


def test_as_fast_as_it_goes_needs_no_controller(ros):
    """Time passes faster than on the wall; `pause`, `step` and `reset` work as ever."""
    ros.start('simulator_node', {'model': 'four_bar', 'rate': 100.0, 'real_time_factor': 0.0})
    states = ros.listen(JointState, 'joint_states', 10)
    said = ros.listen(DiagnosticArray, 'diagnostics', 100)

    def factor():
        values = {each.key: each.value for array in said for each in array.status[0].values}
        return float(values.get('real-time factor', 0.0))

    ros.wait(lambda: factor() > 1.5, 'a time that runs')
    assert ros.call(SetBool, 'pause', SetBool.Request(data=True)).success
    assert ros.call(Trigger, 'reset').success
    ros.wait(lambda: seconds(states[-1].header.stamp) == 1e-9, 'the start')
    states.clear()
    assert ros.call(Trigger, 'step').success
    # not the last one: where an answer is lost, a step more is asked for
    stepped = pytest.approx(0.01)
    ros.wait(lambda: any(seconds(each.header.stamp) == stepped for each in states), 'a step')
