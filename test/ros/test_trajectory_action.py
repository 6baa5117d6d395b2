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
The action ~/follow_joint_trajectory of torque_node, over DDS.

A simulator in step with torque_node: the motion does not depend on how busy the machine is.
"""

import signal
import sys

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from helpers.ros_helpers import latched, newest, own_domain, ros  # skips this without rclpy
import numpy as np
import pytest
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.trajectory_action import action_type

# made at set-up where there is no distribution
pytest.importorskip('control_msgs', reason='control_msgs is not installed here')
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from control_msgs.msg import JointTolerance  # noqa: E402

__all__ = ['ros']  # a fixture: pytest finds it by its name here

Result = FollowJointTrajectory.Result
RATE = 250.0  # states and torques per second, as in the demonstration [Hz]
HEARD = 0.3  # after this a message has been heard, where nothing else is to be done [s]
AT_REST = 1e-4  # for long, so slow a start does not lead to a limit [rad/s]
FOR_LONG = 3600.0  # of simulated time, which runs fast: nobody reaches the end of it [s]


def duration(seconds):
    """Return a Duration."""
    return Duration(sec=int(seconds), nanosec=round(seconds % 1.0 * 1e9))


def goal(names, *points, path=(), end=(), patience=0.0):
    """Return a goal; points: (time, positions); tolerances: (name, position, velocity)."""
    made = FollowJointTrajectory.Goal(
        trajectory=JointTrajectory(joint_names=list(names)), goal_time_tolerance=duration(patience)
    )
    for when, positions in points:
        made.trajectory.points.append(
            JointTrajectoryPoint(
                positions=list(map(float, positions)), time_from_start=duration(when)
            )
        )
    made.path_tolerance, made.goal_tolerance = (
        [JointTolerance(name=n, position=p, velocity=v) for n, p, v in each]
        for each in (path, end)
    )
    return made


class Leg:
    """Simulator and torque_node of the leg, and a client of the action."""

    def __init__(self, ros):
        self.ros = ros
        self.simulator = ros.start(
            'simulator_node',
            {
                'model': 'exo_leg',
                'start_paused': True,
                'lockstep': 'on',
                'lockstep_timeout': 3600.0,
                'real_time_factor': 0.0,
                'rate': RATE,
            },
        )
        self.node = ros.start(
            'torque_node',
            {'use_sim_time': True, 'wall_timeout': 3600.0, 'trajectory_action': True},
        )
        self.states = ros.listen(JointState, 'joint_states', 5000)
        self.safety = ros.listen(String, 'safety_state', latched())
        self.references = ros.publisher(JointTrajectory, 'reference')
        self.client = ActionClient(
            ros.node,
            FollowJointTrajectory,
            'torque_node/follow_joint_trajectory',
            feedback_sub_qos_profile=QoSProfile(depth=1000),  # none is lost meanwhile
        )
        ros.wait_for_reader(self.references)
        ros.wait(self.client.server_is_ready, 'the action')
        ros.wait(lambda: self.states and self.safety, 'both nodes')
        ros.make_known('torque_node')
        self.feedback = []
        names = ['hip', 'knee', 'left_crank', 'right_crank']
        self.references.publish(goal(names, (0.01, [0.0] * 4)).trajectory)
        ros.until_taken('torque_node')  # before time passes, which runs fast
        self.pause(False)
        ros.wait(lambda: self.safety and '"active"' in self.safety[-1].data, 'torques')

    def pause(self, paused):
        """Let time stand still, or go on."""
        self.ros.call(SetBool, 'pause', SetBool.Request(data=paused))

    def send(self, request):
        """Send a goal; return its handle."""
        self.feedback.clear()
        sent = self.client.send_goal_async(
            request, feedback_callback=lambda told: self.feedback.append(told.feedback)
        )
        self.ros.wait(sent.done, 'an answer to a goal')
        assert sent.result().accepted
        return sent.result()

    def result(self, handle):
        """Return status and result of a goal."""
        asked = handle.get_result_async()
        self.ros.wait(asked.done, 'a result', progress=lambda: newest(self.states)[0])
        return asked.result().status, asked.result().result

    def ask(self, *arguments, **options):
        """Send a goal and wait for its result."""
        return self.result(self.send(goal(*arguments, **options)))

    def at(self, name):
        """Return where a joint is."""
        return newest(self.states)[1][name]


@pytest.fixture(scope='module')
def leg(tmp_path_factory):
    """Return a Leg that the tests share."""
    with own_domain(tmp_path_factory.mktemp('leg')) as domain:
        made = Leg(domain)
        yield made
        made.client.destroy()


def test_a_goal_is_followed_with_feedback_and_ends_well(leg):
    status, result = leg.ask(['knee', 'hip'], (0.3, [0.3, 0.1]), (0.6, [0.25, 0.0]))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
    assert result.error_code == Result.SUCCESSFUL
    assert leg.at('knee') == pytest.approx(0.25, abs=0.01)
    told = leg.feedback[-1]
    assert list(told.joint_names) == ['knee', 'hip'] and len(leg.feedback) >= 5
    np.testing.assert_allclose(
        np.subtract(told.desired.positions, told.actual.positions), told.error.positions
    )
    moved = np.ptp([each.desired.positions[0] for each in leg.feedback])
    assert 0.25 < moved < 0.35  # from 0 to 0.3, and back


def test_a_joint_that_the_loops_move_may_be_asked_for(leg):
    status, result = leg.ask(['ankle_pitch'], (0.3, [0.1]))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string
    assert leg.ask(['ankle_pitch'], (0.3, [0.0]))[0] == GoalStatus.STATUS_SUCCEEDED


@pytest.mark.parametrize(
    'names, positions, code, words',
    [
        (['elbow'], [0.1], Result.INVALID_JOINTS, "no joint named 'elbow'"),
        (['hip'], [2.5], Result.INVALID_GOAL, 'limit'),
        (['ankle_pitch'], [2.0], Result.INVALID_GOAL, 'ankle_pitch'),
        (['hip', 'hip'], [0.1, 0.1], Result.INVALID_GOAL, 'twice'),
        (['hip'], [np.nan], Result.INVALID_GOAL, 'finite'),
        (['hip'], [0.1, 0.2], Result.INVALID_GOAL, 'positions'),
    ],
)
def test_a_goal_that_cannot_be_is_aborted_with_code_and_reason(leg, names, positions, code, words):
    before = leg.at('hip')
    status, result = leg.ask(names, (0.3, positions))
    assert status == GoalStatus.STATUS_ABORTED
    assert (result.error_code, words in result.error_string) == (code, True), result
    assert leg.at('hip') == pytest.approx(before, abs=0.01)


def test_tolerances_that_make_no_sense_are_told(leg):
    for tolerance, words in ((('elbow', 0.1, 0.0), 'elbow'), (('hip', -3.0, 0.0), '-3')):
        status, result = leg.ask(['hip'], (0.3, [0.1]), path=[tolerance])
        assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
        assert words in result.error_string


def test_an_error_beyond_the_path_tolerance_stops_the_motion(leg):
    status, result = leg.ask(['hip'], (0.3, [0.2]), path=[('hip', 1e-12, 0.0)])
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert "position of 'hip'" in result.error_string
    assert leg.at('hip') < 0.15
    assert leg.ask(['hip'], (0.3, [0.0]))[0] == GoalStatus.STATUS_SUCCEEDED


def test_an_end_that_is_not_reached_within_its_time_is_told(leg):
    status, result = leg.ask(['hip'], (0.1, [0.1]), end=[('hip', 1e-14, 0.0)], patience=0.1)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.GOAL_TOLERANCE_VIOLATED
    assert 'at the end' in result.error_string


def test_a_goal_that_is_cancelled_ends_in_a_pose_that_is_held(leg):
    handle = leg.send(goal(['hip'], (FOR_LONG, [0.8])))
    leg.ros.wait(lambda: leg.feedback, 'feedback')
    cancelled = handle.cancel_goal_async()
    leg.ros.wait(cancelled.done, 'the cancellation')
    status, result = leg.result(handle)
    assert status == GoalStatus.STATUS_CANCELED and 'held' in result.error_string
    begin = newest(leg.states)[0]
    leg.ros.wait(lambda: newest(leg.states)[0] > begin + 0.5, 'time', progress=lambda: begin)
    at = leg.at('hip')
    leg.ros.wait(lambda: newest(leg.states)[0] > begin + 0.7, 'time', progress=lambda: begin)
    assert leg.at('hip') == pytest.approx(at, abs=1e-3)
    assert at < 0.7
    assert '"active"' in leg.safety[-1].data


def test_a_goal_can_be_cancelled_while_no_states_come(leg):
    """There is no turn then in which anything could be looked at."""
    handle = leg.send(goal(['hip'], (FOR_LONG, [0.8])))
    leg.ros.wait(lambda: leg.feedback, 'feedback')
    leg.simulator.send_signal(signal.SIGSTOP)
    leg.ros.until_quiet(leg.states)
    cancelled, asked = handle.cancel_goal_async(), handle.get_result_async()
    leg.ros.wait(cancelled.done, 'the cancellation')
    leg.ros.wait(asked.done, 'a result', timeout=60.0)
    assert asked.result().status == GoalStatus.STATUS_CANCELED
    leg.simulator.send_signal(signal.SIGCONT)
    leg.ros.wait(lambda: leg.states, 'states')
    begin, at = newest(leg.states)[0], leg.at('hip')
    leg.ros.wait(lambda: newest(leg.states)[0] > begin + 0.5, 'time', progress=lambda: begin)
    assert leg.at('hip') == pytest.approx(at, abs=2e-2)


def test_the_newest_goal_wins_and_a_reference_too(leg):
    first = leg.send(goal(['hip'], (FOR_LONG, [0.5])))
    second = leg.send(goal(['hip'], (FOR_LONG, [0.4])))
    status, result = leg.result(first)
    assert status == GoalStatus.STATUS_ABORTED and 'another goal' in result.error_string
    leg.ros.wait(lambda: leg.feedback, 'feedback')
    leg.references.publish(goal(['hip'], (0.3, [0.0])).trajectory)
    status, result = leg.result(second)
    assert status == GoalStatus.STATUS_ABORTED and 'another reference' in result.error_string


def test_a_reference_that_comes_before_the_first_turn_of_a_goal_ends_it(leg):
    leg.ros.wait(lambda: max(map(abs, leg.states[-1].velocity)) < AT_REST, 'a leg at rest')
    leg.pause(True)
    handle = leg.send(goal(['hip'], (FOR_LONG, [0.5])))
    # accepted is not yet taken, and a reference that comes before that would be the older one
    leg.ros.wait(lambda: handle.status == GoalStatus.STATUS_EXECUTING, 'a goal that is taken')
    leg.ros.spin(HEARD)
    leg.references.publish(goal(['hip'], (0.1, [0.0])).trajectory)
    leg.ros.spin(HEARD)  # what is heard later ends the goal as well
    leg.pause(False)
    status, result = leg.result(handle)
    assert status == GoalStatus.STATUS_ABORTED and 'another reference' in result.error_string


def test_a_goal_of_the_past_is_told(leg):
    request = goal(['hip'], (0.1, [0.1]))
    leg.ros.wait(lambda: newest(leg.states)[0] > 1.0, 'a second')
    request.trajectory.header.stamp.nanosec = 1
    status, result = leg.result(leg.send(request))
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.OLD_HEADER_TIMESTAMP


def test_nothing_was_written_but_what_was_refused(leg):
    assert leg.node.is_running()
    assert 'Traceback' not in leg.node.output()


def test_without_control_msgs_the_action_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)  # importing it fails
    with pytest.raises(ClosedChainError, match='the action needs control_msgs'):
        action_type()
