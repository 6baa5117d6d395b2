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

"""The forces that a whole motion needs, and what they say about the motors."""

from collections.abc import Mapping, Sequence
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.description.elements import Limit
from closed_chain_dynamics.dynamics.constraints import actuator_rows, loop_limits, loop_positions
from closed_chain_dynamics.dynamics.inverse import InverseDynamics, inverse_dynamics
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.recording.log_files import Path, write_columns
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.studies.motion.moving import Motion

__all__ = ['BEYOND', 'MET_IN_MOTION', 'MotionTorques', 'beyond', 'motion_torques']

BEYOND = 1e-9  # share of a limit by which it must be exceeded to be told
# Share of the largest force of a motion up to which a residual is rounding: poses are closed to
# about 1e-10 rad or m, and stiff springs and high accelerations multiply that.
MET_IN_MOTION = 1e-6


class MotionTorques:
    """
    Torques of a motion; arrays have one row per sample.

    `tau_A`, `rates`: torque and speed of every actuator, (samples, actuators); `power` [W] that
    all of them give; `loop_q`: positions of connected loop joints, {name: (samples,)}; `tau_G`,
    `residual`: {coordinate: (samples,)}, NaN while the coordinate is not a generalized one;
    `singular`: bool, (samples,).
    """

    def __init__(
        self, robot: Mechanism, motion: Motion, results: Sequence[InverseDynamics]
    ) -> None:
        self.robot, self.motion = robot, motion
        self.tau_A = np.array([each.tau_A for each in results])
        self.rates = np.array([actuator_rows(robot, q) @ v for q, v in zip(motion.q, motion.v)])
        self.power = (self.tau_A * self.rates).sum(axis=1)
        at = [loop_positions(robot, q) for q in motion.q]
        self.loop_q = {name: np.array([each[name] for each in at]) for name in loop_limits(robot)}
        self.singular = np.array([each.singular for each in results])
        self.tau_G, self.residual = (
            self._by_coordinate(results, what) for what in ('tau_G', 'residual')
        )
        forces = [*self.tau_G.values(), self.tau_A]
        self.largest = max(float(np.nanmax(np.abs(each), initial=0.0)) for each in forces)
        self.unmet = {  # coordinate: place of the largest residual
            name: int(np.nanargmax(np.abs(values)))
            for name, values in self.residual.items()
            if np.nanmax(np.abs(values)) > MET_IN_MOTION * self.largest
        }

    def __repr__(self) -> str:
        return (
            f'MotionTorques({self.robot.name}, {len(self.motion.time)} samples, '
            f'largest force {self.largest:.4g})'
        )

    def _repr_html_(self) -> str:
        limits = self.limits()
        rows = [
            (name, f'{tau[np.argmax(np.abs(tau))]:.4g}', f'{limits[name].effort:g}')
            for name, tau in zip(self.robot.actuator_names, self.tau_A.T)
        ]
        facts = [
            ('samples', len(self.motion.time)),
            ('power', f'{self.power[np.argmax(np.abs(self.power))]:.4g} W at most'),
            ('given by no actuator', ', '.join(self.unmet) or 'nothing'),
        ]
        heads = ('actuator', 'largest torque [N m or N]', 'limit')
        return shown(f'torques of {self.robot.name}', facts, [('', heads, rows)])

    def _by_coordinate(
        self, results: Sequence[InverseDynamics], what: str
    ) -> dict[str, NDArray[np.float64]]:
        series: dict[str, NDArray[np.float64]] = {}
        for k, each in enumerate(results):
            for name, value in zip(each.coordinates.independent, getattr(each, what)):
                series.setdefault(name, np.full(len(results), np.nan))[k] = value
        return series

    def limits(self) -> dict[str, Limit]:
        """Return {actuator: Limit} of every actuator's joint, tree or loop."""
        model = self.robot.description
        joints = {joint.name: joint.limit for joint in model.all_joints}
        # an actuator of a joint with several coordinates is named joint:wx
        return {
            name: joints[name if name in joints else name.rpartition(':')[0]]
            for name in self.robot.actuator_names
        }

    def exceeded(self) -> list[dict[str, Any]]:
        """Return what goes beyond a limit: dicts of joint, kind, limit, value and time."""
        found: list[dict[str, Any]] = []
        time = self.motion.time
        for k, (name, limit) in enumerate(self.limits().items()):
            found += beyond(name, 'effort', time, np.abs(self.tau_A[:, k]), limit.effort)
            found += beyond(name, 'speed', time, np.abs(self.rates[:, k]), limit.velocity)
        for joint in self.robot.description.joints:
            if joint.name in self.robot.joint_names and joint.type.nq == 1:
                q = self.motion.q[:, self.robot.joint_slices(joint.name)[0]][:, 0]
                found += _out_of_range(joint.name, time, q, joint.limit)
        for name, limit in loop_limits(self.robot).items():
            found += _out_of_range(name, time, self.loop_q[name], limit)
        return found

    def to_csv(self, path: Path) -> None:
        """Write one line per sample: time, q, v, a, torques, power, tau_G and residuals."""
        robot, motion = self.robot, self.motion
        columns = [('time', motion.time)]
        for what, names, values in (
            ('q', position_names(robot), motion.q),
            ('v', robot.coordinate_names, motion.v),
            ('a', robot.coordinate_names, motion.a),
            ('tau', robot.actuator_names, self.tau_A),
        ):
            columns += [(f'{what}:{name}', column) for name, column in zip(names, values.T)]
        for k, name in enumerate(robot.actuator_names):
            if name in self.loop_q:  # a motor on the joint that closes a loop
                columns += [(f'q:{name}', self.loop_q[name]), (f'v:{name}', self.rates[:, k])]
        columns.append(('power', self.power))
        columns += [
            (f'{what}:{name}', values)
            for what in ('tau_G', 'residual')
            for name, values in getattr(self, what).items()
        ]
        write_columns(path, columns)


def _out_of_range(
    joint: str, time: NDArray[np.float64], q: NDArray[np.float64], limit: Limit
) -> list[dict[str, Any]]:
    upper = beyond(joint, 'range', time, q, limit.upper)
    return upper + beyond(joint, 'range', time, -q, -limit.lower, -1.0)


def beyond(
    joint: str,
    kind: str,
    time: NDArray[np.float64],
    values: NDArray[np.float64],
    limit: float,
    sign: float = 1.0,
) -> list[dict[str, Any]]:
    """Return where values go furthest beyond a limit, as a dict in a list, or an empty list."""
    worst = int(np.argmax(values))
    if not math.isfinite(limit) or values[worst] <= limit + BEYOND * max(abs(limit), 1.0):
        return []
    return [
        {
            'joint': joint,
            'kind': kind,
            'limit': sign * limit + 0.0,
            'value': float(sign * values[worst]),
            'time': float(time[worst]),
        }
    ]


def motion_torques(
    robot: Mechanism,
    motion: Motion,
    wrenches: Sequence[Mapping[str, ArrayLike]] | None = None,
    **options: Any,
) -> MotionTorques:
    """
    Return the MotionTorques of a Motion; for the options see `inverse_dynamics`.

    `wrenches`: what acts on links from outside, a dict as `inverse_dynamics` takes it per sample.
    """
    results = []
    acting = wrenches or [{}] * len(motion.time)
    for q, v, a, each in zip(motion.q, motion.v, motion.a, acting):
        results.append(inverse_dynamics(robot, q, v, a, wrenches=each, **options))
        _ = results[-1].coordinates  # kept now: a later pose may choose others
    return MotionTorques(robot, motion, results)
