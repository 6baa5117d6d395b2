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
Bytes of messages, as nodes read them.

Where a quick reader and ROS both read a message, they have to read the same.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from geometry_msgs.msg import Transform, Twist
import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.law import TorqueController
from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.ros.messages.bounded import read_bounded, read_text, read_trajectory
from closed_chain_dynamics.ros.messages.joint_commands import commanded_efforts
from closed_chain_dynamics.ros.messages.measured_states import MeasuredStates, seconds
from closed_chain_dynamics.ros.messages.raw_states import read_joint_state, read_multi_dof
from closed_chain_dynamics.ros.references_ahead import ReferencesAhead

__all__ = ['READERS', 'ReadersDisagree', 'seeds']


class ReadersDisagree(Exception):
    """The quick reader and ROS read different things out of the same bytes."""


def _nobody(reason: str, text: str) -> None:
    assert isinstance(reason, str) and isinstance(text, str) and len(text) < 2**17


@cache
def _four_bar() -> ccd.Mechanism:
    return ccd.load('four_bar')


@cache
def _figure() -> ccd.Mechanism:
    return ccd.load('swing')


def _joint_states(path: Path) -> None:
    raw, robot = path.read_bytes(), _four_bar().copy()
    quick = read_joint_state().read(raw)
    if quick is not None:
        _compare(quick, raw, JointState, ('position', 'velocity', 'effort'))
    state = MeasuredStates(robot, _nobody, wanted=('crank',)).joint_states(raw)
    if state is not None:
        stamp, names, position, velocity = state
        tracker = StateTracker(robot)
        tracker.take(names, position, velocity, stamp=seconds(stamp))
        if tracker.state is not None and not np.isfinite(tracker.state.q).all():
            raise ReadersDisagree(f'a state that is not finite came out: {tracker.state.q}')


def _multi_dof(path: Path) -> None:
    raw, robot = path.read_bytes(), _figure().copy()
    quick = read_multi_dof().read(raw)
    if quick is not None:
        _compare(quick, raw, MultiDOFJointState, ())
    states = MeasuredStates(robot, _nobody)
    states.multi_dof(raw)
    states.joint_states(raw)  # as if somebody had remapped it


def _compare(quick, raw: bytes, kind, names: tuple[str, ...]) -> None:
    try:
        message = deserialize_message(raw, kind)
    except RuntimeError:
        return  # a reader of bytes may be more patient: what is missing behind is not looked at
    stamp, joints, arrays = quick
    said = message.header.stamp
    same = stamp == (said.sec, said.nanosec) and joints == list(
        message.name if kind is JointState else message.joint_names
    )
    for name, array in zip(names, arrays):
        same = same and np.array_equal(array[:, 0], getattr(message, name), equal_nan=True)
    if not same:
        raise ReadersDisagree(f'{stamp} {joints} {arrays}\n{message}')


def _trajectory(path: Path) -> None:
    message = read_trajectory(path.read_bytes(), _nobody)
    if message is None:
        return
    loop, ahead = _loop(), ReferencesAhead()
    loop.take_state(['crank'], [1.0], [0.0], stamp=0.0, now=0.0)
    ahead.take(message, loop, 0.0)
    tau = loop.take_state(['crank'], [1.0], [0.0], stamp=1e-3, now=1e-3)
    if not np.isfinite(tau).all():
        raise ReadersDisagree(f'a torque that is not finite came out: {tau}')


def _loop() -> ControlLoop:
    robot = _four_bar().copy()
    return ControlLoop(TorqueController(robot), TorqueGuard(robot))


def _text(path: Path) -> None:
    read_text(path.read_bytes(), 'contact/state', _nobody)


def _commands(path: Path) -> None:
    message = read_bounded(path.read_bytes(), JointState, 'joint_commands', _nobody)
    if message is not None:
        commanded_efforts(message, ['crank'])


READERS: dict[str, Callable[[Path], None]] = {
    'joint_states': _joint_states,
    'multi_dof': _multi_dof,
    'trajectory': _trajectory,
    'text': _text,
    'commands': _commands,
}


def seeds(name: str) -> list[bytes]:
    """Return good messages of a kind."""
    point = JointTrajectoryPoint(positions=[1.0], velocities=[0.0])
    joints = JointState(name=['crank', 'coupler'], position=[1.0, 0.2], velocity=[0.1, 0.0])
    several = MultiDOFJointState(joint_names=['base'], transforms=[Transform()], twist=[Twist()])
    good = {
        'joint_states': [joints, JointState(name=['crank'], position=[1.0])],
        'multi_dof': [several, MultiDOFJointState()],
        'trajectory': [JointTrajectory(joint_names=['crank'], points=[point])],
        'text': [String(data='coupler_rocker'), String(data='{"coupler_rocker": true}')],
        'commands': [JointState(name=['crank', 'coupler'], effort=[1.0])],
    }
    return [bytes(serialize_message(each)) for each in good[name]]
