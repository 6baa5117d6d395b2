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
The action `~/follow_joint_trajectory` (control_msgs/FollowJointTrajectory) of torque_node.

A goal is followed as a message on `reference` would be, from its stamp on, or at once. Its result
says what became of it: joints that are unknown (INVALID_JOINTS), points beyond limits or poses
that cannot be reached (INVALID_GOAL), a stamp whose trajectory is over (OLD_HEADER_TIMESTAMP), an
error beyond a tolerance on the way, or a fault (PATH_TOLERANCE_VIOLATED), and one that is still
there when `goal_time_tolerance` is over (GOAL_TOLERANCE_VIOLATED); `error_string` has the reason
in words. Positions and velocities have tolerances; zero means the default, none on the way and
GOAL_TOLERANCES there, and -1 none. A goal that is cancelled, or stopped by a tolerance, ends in a
pose that is held. The newest goal wins, or a message on `reference`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse

from closed_chain_dynamics.control.asked_points import check_names
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.messages.bounded import MOST_TRAJECTORY_POINTS
from closed_chain_dynamics.ros.messages.measured_states import seconds
from closed_chain_dynamics.ros.references_ahead import OVER, arrays_of
from closed_chain_dynamics.ros.trajectory_goal import Goal, beyond, refused_goal, tolerances

if TYPE_CHECKING:
    from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode

__all__ = ['TrajectoryAction', 'action_type']

FEEDBACK_EVERY = 0.05  # of the stamps [s]
STOP_WITHIN = 0.3  # time in which a goal that is cancelled comes to rest [s]
GOAL_TOLERANCES = (0.01, 0.1)  # of positions [rad, m] and velocities [rad/s, m/s], by default


def action_type() -> Any:
    """Return the type control_msgs/FollowJointTrajectory, or say that there is none."""
    try:
        return import_module('control_msgs.action').FollowJointTrajectory
    except ImportError:
        raise ClosedChainError(
            'the action needs control_msgs, which is not installed',
            where="parameter 'trajectory_action'",
            repair='Install control_msgs of your ROS distribution, or without one: '
            'python -m closed_chain_dynamics.ros.interface_setup',
        ) from None


class TrajectoryAction:
    """Follows the goals of an action with the control loop of a torque_node."""

    def __init__(self, node: 'TorqueNode') -> None:
        self._node, self._type = node, action_type()
        self._goal: Goal | None = None
        self._server = ActionServer(
            node,
            self._type,
            '~/follow_joint_trajectory',
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    # --- goals -----------------------------------------------------------------------------------
    def _on_goal(self, request: Any) -> GoalResponse:
        ready = self._node.active and self._node.loop is not None
        return GoalResponse.ACCEPT if ready else GoalResponse.REJECT

    async def _execute(self, handle: Any) -> Any:
        """Follow a goal; return its result when it has ended."""
        loop, result = self._node.loop, self._type.Result
        if loop is None:
            return self._aborted(handle, result.INVALID_GOAL, 'there is no model')
        self.give_up('another goal came')
        try:
            check_names(loop.robot, handle.request.trajectory.joint_names)
        except ClosedChainError as error:
            return self._aborted(handle, result.INVALID_JOINTS, str(error))
        if self._is_over(handle.request.trajectory):
            return self._aborted(handle, result.OLD_HEADER_TIMESTAMP, OVER)
        try:
            goal = self._read(handle)
        except ClosedChainError as error:
            return self._aborted(handle, result.INVALID_GOAL, str(error))
        if not self._take(goal):
            return self._aborted(handle, result.INVALID_GOAL, loop.asked.refused)
        self._goal, goal.number = goal, loop.asked.count
        code, text = await goal.done
        if code is None:
            handle.canceled()
            return result(error_string=text)
        if code != result.SUCCESSFUL:
            return self._aborted(handle, code, text)
        handle.succeed()
        return result(error_code=code)

    def _aborted(self, handle: Any, code: int, text: str) -> Any:
        handle.abort()
        self._node.rejected('action', text)
        return self._type.Result(error_code=code, error_string=text)

    def _is_over(self, trajectory: Any) -> bool:
        start = seconds(trajectory.header.stamp)
        if not start or not trajectory.points:
            return False
        return start + seconds(trajectory.points[-1].time_from_start) < self._node.turns.last

    def _read(self, handle: Any) -> Goal:
        """Return what a request asks for, or raise."""
        request = handle.request
        trajectory, names = request.trajectory, list(request.trajectory.joint_names)
        if request.multi_dof_trajectory.points:
            raise refused_goal(
                'joints of several degrees of freedom cannot be commanded', 'Name other joints.'
            )
        if len(trajectory.points) > MOST_TRAJECTORY_POINTS:
            raise refused_goal(
                f'the goal has {len(trajectory.points)} points',
                f'Send at most {MOST_TRAJECTORY_POINTS}.',
            )
        return Goal(
            handle,
            names,
            tolerances(names, request.path_tolerance, (np.inf, np.inf)),
            tolerances(names, request.goal_tolerance, GOAL_TOLERANCES),
            seconds(request.goal_time_tolerance),
        )

    def _take(self, goal: Goal) -> bool:
        loop = self._node.loop
        assert loop is not None  # there is a model
        trajectory = goal.handle.request.trajectory
        self._node.turns.ahead.clear()
        return loop.take_reference(
            *arrays_of(trajectory), start=seconds(trajectory.header.stamp) or None
        )

    # --- turns -----------------------------------------------------------------------------------
    def after_turn(self, stamp: float) -> None:
        """Look at what has become of the goal, after torques were sent for a state."""
        self.look_for_cancel()
        goal, loop = self._goal, self._node.loop
        if goal is None or loop is None:
            return
        result, reference = self._type.Result, loop.reference
        if loop.asked.count != goal.number:
            self._end(result.INVALID_GOAL, 'another reference came')
        elif loop.safety.is_fault:
            self._end(result.PATH_TOLERANCE_VIOLATED, str(loop.safety))
        elif loop.asked.problem:
            self._end(result.INVALID_GOAL, loop.asked.problem)
        elif loop.asked.waiting is None and not loop.reason:
            asked, start = reference.followed
            if asked is None:
                self._end(result.INVALID_GOAL, 'the reference was dropped')
            else:
                self._look(goal, stamp, stamp - start - asked.duration)

    def look_for_cancel(self) -> None:
        """End a goal that is cancelled; also while no states come, and no turns are taken."""
        goal = self._goal
        if goal is not None and goal.handle.is_cancel_requested:
            self._stop(goal, self._node.turns.last)
            self._end(None, 'cancelled: the pose is held')

    def _look(self, goal: Goal, stamp: float, over: float) -> None:
        """Compare a state with what is asked for; `over`: time since its end [s]."""
        loop, result = self._node.loop, self._type.Result
        assert loop is not None and loop.state is not None  # there was a turn
        robot, names = loop.robot, goal.names
        in_q, in_v = ([robot.joint_slices(name)[k].start for name in names] for k in range(2))
        q_d, v_d, a_d = loop.reference.at(stamp)
        desired = np.array([q_d[in_q], v_d[in_v]])
        actual = np.array([loop.state.known_q[in_q], loop.state.v[in_v]])
        error = desired - actual
        if stamp >= goal.told + FEEDBACK_EVERY or stamp < goal.told:
            goal.told = stamp
            self._tell(goal, stamp, (*desired, a_d[in_v]), actual, error)
        worst = beyond(error, goal.path, names) if over < 0.0 else ''
        if worst:
            self._stop(goal, stamp)
            self._end(result.PATH_TOLERANCE_VIOLATED, f'{worst} on the way')
        elif over >= 0.0:
            worst = beyond(error, goal.end, names)
            if not worst:
                self._end(result.SUCCESSFUL, '')
            elif over > goal.patience:
                self._end(result.GOAL_TOLERANCE_VIOLATED, f'{worst} at the end')

    def _tell(self, goal: Goal, stamp: float, desired: Any, actual: Any, error: Any) -> None:
        feedback = self._type.Feedback(joint_names=goal.names)
        feedback.header.stamp.sec = int(stamp)
        feedback.header.stamp.nanosec = int(1e9 * (stamp % 1.0))
        for point, numbers in (
            (feedback.desired, desired),
            (feedback.actual, actual),
            (feedback.error, error),
        ):
            fields = ('positions', 'velocities', 'accelerations')
            for name, values in zip(fields, numbers):
                setattr(point, name, values.tolist())
        goal.handle.publish_feedback(feedback)

    def _stop(self, goal: Goal, stamp: float) -> None:
        """Let a motion come to rest where it leads within a short time, or at once."""
        loop = self._node.loop
        if loop is None or not loop.reference:
            return
        robot = loop.robot
        q_d, v_d, _ = loop.reference.at(stamp)
        ends = []
        for name in goal.names:
            in_q, in_v = robot.joint_slices(name)
            ends.append(float(q_d[in_q][0] + v_d[in_v][0] * STOP_WITHIN / 3.0))
        zero = [0.0] * len(ends)
        if not loop.take_reference(goal.names, [STOP_WITHIN], [ends], [zero]):
            loop.reference.rebase(stamp)

    def _end(self, code: int | None, text: str) -> None:
        goal, self._goal = self._goal, None
        if goal is not None:
            goal.done.set_result((code, text))

    def give_up(self, why: str) -> None:
        """End a goal that is followed no longer."""
        self._end(self._type.Result.INVALID_GOAL, why)
