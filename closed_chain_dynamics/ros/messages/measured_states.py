"""
Measured joints out of messages: names, positions as in q, velocities, and why not.

JointState has the joints of one degree of freedom; MultiDOFJointState, where somebody publishes
it, the others, and a state is complete when both with the same stamp are there. Names that the
model does not have are left out, counted and named; a message with a wrong size, a name twice or
a number that is not finite is refused as a whole.
"""

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState, MultiDOFJointState

from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.ros.messages.raw_states import read_joint_state, read_multi_dof
from closed_chain_dynamics.ros.messages.state_messages import multi_dof_states

__all__ = ['MeasuredStates', 'seconds']

UNIT = 1e-9  # a quaternion whose square is closer to one is taken as it is


def seconds(stamp):
    """Return a builtin_interfaces/Time, or a pair (sec, nanosec), in seconds."""
    sec, nanosec = stamp if isinstance(stamp, tuple) else (stamp.sec, stamp.nanosec)
    return sec + 1e-9 * nanosec


class MeasuredStates:
    """
    Turns the bytes of messages into states; `reject(reason, text)` is told what is bad.

    `wanted`: joints that have to be there. Messages come in through `joint_states` and
    `multi_dof`; both return ((sec, nanosec), names, positions, velocities) or None. Velocities
    that were not given are nan. `patience`: how long the other half of a state is waited for
    once there was one [s].
    """

    def __init__(self, robot, reject, *, wanted=(), patience=0.1):
        self.robot, self._reject, self._wanted = robot, reject, list(wanted)
        self._patience, self._multi_came = patience, -np.inf
        self._read_single, self._read_multi = read_joint_state(), read_multi_dof()
        self.restructured()

    def restructured(self):
        """Take note that joints were connected or cut."""
        self._names, self._problem, self._single = None, None, []
        self._multi_names, self._places = None, None
        self._half, self._multi = None, None

    def joint_states(self, raw, now):
        """Take the bytes of a JointState that arrived now [s]; return the state if complete."""
        stamp, names, (position, velocity) = self._unpack(raw)
        if names is not self._names and names != self._names:
            self._plan(list(names))
        self._names = names  # the same list as long as names stay
        if self._problem:
            return self._reject(*self._problem)
        count = len(names)
        if len(position) != count or len(velocity) not in (0, count):
            return self._reject(
                'wrong size',
                f'joint_states: {count} names with {len(position)} '
                f'positions and {len(velocity)} velocities',
            )
        if self._unknown:
            self._reject(
                'unknown joint',
                f'joint_states: {", ".join(self._unknown)} left out, '
                'not in the model as joints of one degree',
            )
        position = position[self._places]
        rates = velocity[self._places] if len(velocity) else np.full(len(position), np.nan)
        bad = ~np.isfinite(position + rates if len(velocity) else position)
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            return self._reject(
                'not finite',
                f'joint_states: {self._single[k]!r} is at {position[k]} with velocity {rates[k]}',
            )
        self._half = stamp, self._single, position, rates
        if now - self._multi_came > self._patience:
            return self._checked(self._half)
        return self._pair()

    def _unpack(self, raw):
        """Return stamp, names, positions and velocities."""
        read = self._read_single.read(raw)
        if read:
            stamp, names, (position, velocity, _) = read
            return stamp, names, (position[:, 0], velocity[:, 0])
        message = deserialize_message(raw, JointState)
        stamp = message.header.stamp
        return (
            (stamp.sec, stamp.nanosec),
            list(message.name),
            (np.array(message.position, dtype=float), np.array(message.velocity, dtype=float)),
        )

    def multi_dof(self, raw, now):
        """Take the bytes of a MultiDOFJointState; return the state if it is complete."""
        self._multi = self._quick_multi(raw)
        if self._multi is None:
            message = deserialize_message(raw, MultiDOFJointState)
            try:
                parts = multi_dof_states(self.robot, message)
            except ClosedChainError as error:
                return self._reject('multi_dof_joint_states', str(error))
            rates = [
                np.full(self._size_in_v(name), np.nan) if v is None else v
                for name, (_, v) in parts.items()
            ]
            stamp, nothing = message.header.stamp, np.zeros(0)
            self._multi = (
                (stamp.sec, stamp.nanosec),
                list(parts),
                np.concatenate([nothing, *(q for q, _ in parts.values())]),
                np.concatenate([nothing, *rates]),
            )
        self._multi_came = now
        return self._pair()

    def _quick_multi(self, raw):
        """Return stamp, names, positions and velocities; None where something is unusual."""
        read = self._read_multi.read(raw)
        if read is None:
            return None
        stamp, names, (transforms, twists, _) = read
        if names is not self._multi_names:
            self._plan_multi(names)
        if self._in_transforms is None or not len(transforms) == len(twists) == len(names):
            return None
        position = transforms.ravel()[self._in_transforms]
        velocity = twists.ravel()[self._in_twists]
        squares = np.einsum('ij,ij->i', transforms[:, 3:], transforms[:, 3:])
        good = np.abs(squares - 1.0).max(initial=0.0) < UNIT and np.isfinite(
            position.sum() + velocity.sum()
        )
        return (stamp, names, position, velocity) if good else None

    def _plan_multi(self, names):
        """Note where the parts of q and v stand in the numbers of free and spherical joints."""
        self._multi_names, self._in_transforms = names, None
        robot, in_q, in_v = self.robot, [], []
        for k, name in enumerate(names):
            if (
                name not in robot.joint_names
                or names.count(name) > 1
                or self._size_in_v(name) == 1
                or robot.is_planar(name)
            ):
                return
            first = 0 if self._size_in_v(name) == 6 else 3
            in_q += range(7 * k + first, 7 * k + 7)
            in_v += range(6 * k + first, 6 * k + 6)
        self._in_transforms, self._in_twists = np.array(in_q, int), np.array(in_v, int)

    def _pair(self):
        """Return both halves together if they are of the same time."""
        if self._half is None or self._multi is None or self._half[0] != self._multi[0]:
            return None
        (stamp, names, position, velocity), (_, more, q, v) = self._half, self._multi
        self._half = None
        if self._joined[:2] != (names, more):
            self._joined = names, more, [*names, *more]
        return self._checked(
            (stamp, self._joined[2], np.concatenate([position, q]), np.concatenate([velocity, v]))
        )

    _joined = None, None, None  # names of both halves, and together

    def _size_in_v(self, name):
        in_v = self.robot.joint_slices(name)[1]
        return in_v.stop - in_v.start

    def _checked(self, state):
        missing = [name for name in self._wanted if name not in state[1]]
        if missing:
            return self._reject('missing joint', f'joint_states: {", ".join(missing)} missing')
        return state

    def _plan(self, names):
        """Note where the joints of the model stand in messages with these names."""
        robot = self.robot
        known = {
            name: place
            for place, name in enumerate(names)
            if name in robot.joint_names and self._size_in_v(name) == 1
        }
        loops = set(robot.loop_coordinate_names)  # coordinates of cut joints follow from the tree
        self._unknown = [name for name in names if name not in known and name not in loops]
        self._single, self._problem = list(known), None
        self._places = np.array(list(known.values()), dtype=int)
        if len(set(names)) < len(names):
            twice = next(name for k, name in enumerate(names) if name in names[:k])
            self._problem = 'wrong size', f'joint_states: {twice!r} is named twice'
        elif not known and names:
            self._problem = (
                'unknown joint',
                f'joint_states: none of {", ".join(names[:5])} is in the model',
            )
