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

"""torque_node as a process of its own, with the test at the other end of DDS."""

from functools import partial
import json
import time

from diagnostic_msgs.msg import DiagnosticArray
from helpers.ros_helpers import latched, own_domain, ros  # skips this file where there is no rclpy
from helpers.torque_benches import PERIOD, SHOULDERS, newest, trajectory
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['ros']  # a fixture: pytest finds it by its name here
EFFORT = 20.0  # of both motors of the five-bar [N m]
TIMEOUT = 1.0  # of states; the pauses of a busy machine are shorter [s]
LATE = 60.0  # only a broken node notices later [s]


class Bench:
    """A torque_node under test, with what goes in and what comes out."""

    def __init__(self, ros, **parameters):
        self.ros, self.robot, self.sent = ros, ccd.load('five_bar'), []
        self.node = ros.start(
            'torque_node', {'model': 'five_bar', 'state_timeout': TIMEOUT, **parameters}
        )
        self.torques = ros.listen(JointState, 'actuator_torques', 10)
        self.diagnostics = ros.listen(DiagnosticArray, 'diagnostics')
        self.states = ros.publisher(JointState, 'joint_states')
        self.references = ros.publisher(JointTrajectory, 'reference')
        ros.wait_for_reader(self.states)
        ros.wait_for_reader(self.references)
        ros.wait(lambda: self.torques, 'torques')
        ros.make_known('torque_node')
        self.q = ccd.assemble(self.robot)

    def send(self, *, names=SHOULDERS, position=None, velocity=None, stamp=None):
        """Publish a joint state, by default a good one of now."""
        message = JointState(name=list(names))
        message.position = list(map(float, self.q[[0, 2]] if position is None else position))
        message.velocity = (
            [0.0] * len(message.position) if velocity is None else list(map(float, velocity))
        )
        stamp = self.ros.node.get_clock().now().nanoseconds if stamp is None else stamp
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self.states.publish(message)
        self.sent = self.sent[-1000:] + [message]
        return message

    def stream(self, duration, **options):
        """Publish states for a while; return the torques that came."""
        self.torques.clear()
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self.send(**options)
            self.ros.spin(PERIOD)
        return [np.array(each.effort) for each in self.torques]

    def hold(self):
        """Ask for the pose that the states tell; wait for the torques that hold it."""
        expected = ccd.inverse_dynamics(self.robot, self.q, np.zeros(4), np.zeros(4)).tau_A
        self.references.publish(trajectory(SHOULDERS, [(1000.0, self.q[[0, 2]])]))
        self.ros.wait(
            lambda: self.stream(0.05) and np.allclose(self.torques[-1].effort, expected),
            'torques that hold the pose',
        )
        return expected

    def told(self, key):
        """Wait until diagnostics has a value by this name, and return it."""
        return self.ros.wait(lambda: newest(self.diagnostics, key), f'{key!r} in diagnostics')

    def until_torques(self):
        """Publish good states until there are torques."""
        self.ros.wait(lambda: np.any((self.stream(0.05) or [0.0])[-1]), 'torques')

    def until_told(self, text):
        """Publish good states until the message of diagnostics has a text."""
        self.diagnostics.clear()
        self.ros.wait(lambda: self.stream(0.05) and self.says(text), f'{text!r} in diagnostics')

    def says(self, text):
        """Return whether the newest message of diagnostics has a text."""
        return self.diagnostics and text in self.diagnostics[-1].status[0].message


@pytest.fixture(scope='module')
def bench(tmp_path_factory):
    """Return a Bench that several tests share: each leaves it as it was."""
    with own_domain(tmp_path_factory.mktemp('torque_node')) as ros:
        yield Bench(ros, command_order=SHOULDERS[::-1], joint_commands=True)


def test_torques_answer_the_state_and_are_those_of_inverse_dynamics(bench):
    """By name, with the stamp of the state, and again in the order of the effort controller."""
    ros = bench.ros
    commands = ros.listen(Float64MultiArray, 'effort_controller/commands')
    single = ros.listen(Float64MultiArray, f'{SHOULDERS[1]}_effort_controller/commands')
    expected = bench.hold()
    same = partial(np.allclose, rtol=1e-6, atol=0.0)
    ros.wait(
        lambda: (
            bench.stream(0.05)
            and same(bench.torques[-1].effort, expected)
            and same(commands[-1].data, expected[::-1])
            and same(single[-1].data, expected[1:])
        ),
        'the same on all topics',
    )
    stamps = [each.header.stamp for each in bench.sent]
    assert all(each.header.stamp in stamps for each in bench.torques if np.any(each.effort))
    assert bench.torques[-1].name == SHOULDERS


def test_bad_states_are_refused_counted_and_named(bench):
    """And none of them gives a torque of its own."""
    bench.hold()
    now = bench.ros.node.get_clock().now().nanoseconds
    bad = {
        'not finite': dict(position=[np.nan, 1.0]),
        'wrong size': dict(position=[1.0]),
        'unknown joint': dict(names=['elbow', 'wrist']),
        'missing joint': dict(names=['left_shoulder'], position=bench.q[:1]),
        'stale': dict(stamp=now - 100 * 10**9),
        'lost': dict(position=[0.0, 3.0]),
    }
    for reason, options in bad.items():
        bench.torques.clear()
        stamp = bench.send(**options).header.stamp
        bench.ros.until_taken('torque_node')
        assert not any(each.header.stamp == stamp for each in bench.torques), reason
        bench.stream(0.03)

    def has_repeated():
        """Send a state twice: the second one counts where the first was not late."""
        twice = bench.send()
        bench.ros.until_taken('torque_node')
        bench.states.publish(twice)
        bench.ros.until_taken('torque_node')
        return newest(bench.diagnostics, 'rejected: repeated')

    bench.ros.wait(has_repeated, 'a state that is repeated')
    for reason in (*bad, 'repeated'):
        assert int(bench.told(f'rejected: {reason}')) >= 1
    bench.until_torques()


def test_states_that_stop_give_zero_within_the_timeout_and_it_recovers(bench):
    """As when the simulator or a driver dies: kill -9 says no good-bye either."""
    bench.hold()

    def answered():
        """Send one more; return its stamp where torques answer it, however busy the machine."""
        stamp = bench.send().header.stamp
        bench.ros.spin(PERIOD)
        good = any(np.any(each.effort) and each.header.stamp == stamp for each in bench.torques)
        return stamp if good else None

    stopped = bench.ros.wait(answered, 'an answer')
    bench.torques.clear()
    zero = bench.ros.wait(  # those of the watchdog, where the node stood still, have no stamp
        lambda: next(
            (
                each
                for each in bench.torques
                if not np.any(each.effort) and seconds(each.header.stamp)
            ),
            None,
        ),
        'zero',
    )
    waited = seconds(zero.header.stamp) - seconds(stopped)
    assert 0.8 * TIMEOUT < waited < TIMEOUT + LATE
    bench.ros.wait(lambda: bench.says('timeout'), 'the timeout in diagnostics')
    bench.until_told('computed_torque')
    bench.until_torques()


def test_dropped_repeated_reordered_and_late_states_give_no_bad_torque(bench):
    """A network of the worst kind: finite, within effort and rate, or zero."""
    bench.hold()
    rng, kept, before = np.random.default_rng(3), [], np.zeros(2)
    bench.torques.clear()

    def send_any():
        nonlocal kept
        kind = rng.integers(0, 6)
        if kind == 0 and kept:
            bench.states.publish(kept[rng.integers(0, len(kept))])  # again, or out of order
        elif kind == 1:
            bench.send(stamp=bench.ros.node.get_clock().now().nanoseconds - 10**11)  # late
        elif kind == 2:
            bench.send(position=rng.choice([np.nan, np.inf, 1e300], 2))
        elif kind > 2:
            kept = kept[-20:] + [bench.send()]
        bench.ros.spin(0.002)

    for _ in range(300):
        send_any()
    bench.ros.wait(lambda: send_any() or len(bench.torques) > 10, 'torques')
    bench.ros.until_taken('torque_node')
    for each in bench.torques:
        tau = np.array(each.effort)
        assert np.isfinite(tau).all() and np.abs(tau).max() <= EFFORT
        # a pause of the guard counts as 10 ms at most: 100 efforts per second times that
        assert not tau.any() or np.abs(tau - before).max() <= EFFORT + 1e-9
        before = tau


def test_references_that_do_not_fit_are_refused(bench):
    """Unknown joints, wrong sizes, times that do not rise; the old reference is followed."""
    expected = bench.hold()
    for bad in (
        trajectory(['elbow'], [(1.0, [0.0])]),
        trajectory(SHOULDERS, [(1.0, [0.0])]),
        trajectory(SHOULDERS, [(1.0, [0.0, 0.0]), (0.5, [0.0, 0.0])]),
        trajectory(SHOULDERS, [(1.0, [np.nan, 0.0])]),
        JointTrajectory(),
    ):
        bench.references.publish(bad)
    bench.ros.wait(lambda: int(bench.told('rejected: reference')) >= 5, 'five refusals')
    bench.ros.wait(
        lambda: (
            bench.stream(0.05)
            and np.allclose(bench.torques[-1].effort, expected, rtol=1e-6, atol=0.0)
        ),
        'the torques of the old reference',
    )


def test_impossible_contacts_change_nothing_and_possible_ones_do(bench):
    """Cut and connect go by name; each refusal has its reason."""
    bench.hold()
    topics = {kind: bench.ros.publisher(String, f'contact/{kind}') for kind in ('connect', 'cut')}
    for publisher in topics.values():
        bench.ros.wait_for_reader(publisher)
    bench.ros.make_known('torque_node')
    topics['cut'].publish(String(data='tpi'))
    topics['connect'].publish(String(data='tip'))
    bench.stream(0.1)
    assert int(bench.told('rejected: contact/cut')) == 1
    assert int(bench.told('rejected: contact/connect')) == 1
    topics['cut'].publish(String(data='tip'))
    bench.ros.until_taken('torque_node')
    names, q = bench.robot.joint_names, bench.q
    bench.robot.cut('tip')
    # without the loop the lower bars hang on the shoulders alone: nothing holds the elbows
    bench.ros.wait(
        lambda: (
            bench.stream(0.1, names=names, position=q)
            and [
                value
                for array in bench.diagnostics[-3:]
                for value in array.status[0].values
                if value.key.startswith('residual: ')
            ]
        ),
        'a residual of the elbows, which no motor holds',
    )
    assert all(np.isfinite(each.effort).all() for each in bench.torques)
    assert ccd.coordinates(bench.robot, q).mobility == 4
    bench.robot.connect('tip')
    topics['connect'].publish(String(data='tip'))
    bench.hold()


def test_parameters_are_described_and_checked_on_change(bench):
    """Bounds, choices and what does not fit the model are refused with a reason."""
    bench.ros.wait(lambda: bench.torques, 'torques')
    answer = bench.ros.call(
        DescribeParameters,
        '/torque_node/describe_parameters',
        DescribeParameters.Request(names=['kp', 'mode', 'fallback']),
    )
    assert all(each.description for each in answer.descriptors)
    assert answer.descriptors[0].floating_point_range[0].to_value == 1e6

    def change(name, **value):
        request = SetParameters.Request(
            parameters=[Parameter(name=name, value=ParameterValue(**value))]
        )
        return bench.ros.call(SetParameters, '/torque_node/set_parameters', request).results[0]

    number, text = ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_STRING
    assert change('kp', type=number, double_value=100.0).successful
    reason = change('kp', type=number, double_value=-1.0).reason
    assert 'kp' in reason and 'range' in reason
    assert 'one of' in change('mode', type=text, string_value='pid').reason
    wrong = change(
        'joint_gains',
        type=ParameterType.PARAMETER_STRING_ARRAY,
        string_array_value=['left_sholder=1,2'],
    )
    assert not wrong.successful and "'left_shoulder'" in wrong.reason
    assert change('mode', type=text, string_value='gravity_compensation').successful
    bench.until_told('gravity_compensation')
    for name in ('kp', 'mode'):  # as they were
        value = (
            {'type': number, 'double_value': 400.0}
            if name == 'kp'
            else {'type': text, 'string_value': 'computed_torque'}
        )
        assert change(name, **value).successful


def step(ros, number):
    """Ask for a transition of the lifecycle; return whether it was taken."""
    return ros.call(
        ChangeState,
        '/torque_node/change_state',
        ChangeState.Request(transition=Transition(id=number)),
        once='torque_node',
    ).success


def test_a_deactivated_node_sends_zero_and_then_nothing(bench):
    """It says so, and goes on when it is activated again and asked anew: not where it was."""
    ros, safety = bench.ros, bench.ros.listen(String, 'safety_state', latched())
    bench.hold()
    assert step(ros, Transition.TRANSITION_DEACTIVATE)
    ros.wait(lambda: not np.any(bench.torques[-1].effort), 'zero torques')
    ros.wait(lambda: json.loads(safety[-1].data)['cause'] == 'not active', 'its safety state')
    assert bench.stream(0.2) == []
    assert step(ros, Transition.TRANSITION_ACTIVATE)
    ros.wait(
        lambda: bench.stream(0.1) and json.loads(safety[-1].data)['cause'] == 'no reference yet',
        'the question what to do',
    )
    assert not np.any([each.effort for each in bench.torques])
    bench.hold()


@pytest.mark.parametrize('number', [Transition.TRANSITION_CONFIGURE, 200])
def test_a_transition_that_the_state_does_not_have_is_refused(bench, number):
    """One that is taken already, or that nobody knows: torques go on, and the node answers."""
    bench.hold()
    assert not step(bench.ros, number)
    bench.torques.clear()
    bench.until_torques()
    bench.ros.wait(lambda: 'refused: there is no transition' in bench.node.output(), 'a line')


def test_generated_code_gives_the_torques_of_inverse_dynamics(ros):
    pytest.importorskip('casadi', reason='generated code needs CasADi')
    bench = Bench(ros, compiled=True)
    bench.hold()
    bench.ros.wait(
        lambda: bench.stream(0.05) and newest(bench.diagnostics, 'torques by') == 'generated code',
        'torques by generated code',
    )


def test_a_bad_model_or_parameter_ends_with_one_line(ros):
    """Exit code 1, no traceback."""
    for parameters, word in (
        ({'model': 'fve_bar'}, 'five_bar'),
        ({'model': 'five_bar', 'kd': -1.0}, "'kd'"),
        ({'model': 'five_bar', 'command_order': ['elbow']}, 'elbow'),
    ):
        node = ros.start('torque_node', parameters)
        assert node.wait() == 1
        assert word in node.output() and 'Traceback' not in node.output()
