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
Consistency of a recorded motion: can it be one of this model?

Encoders and markers are measured joint by joint, with offsets and noise, and nothing makes them
agree with the loops. Here is how far they disagree, which joint would explain it if it were left
out, what limits the record breaks, and which forces its motion would need that no actuator gives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.tree import difference, integrate
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.recording.log_files import Path, write_columns
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.studies.motion.moving import Motion, move
from closed_chain_dynamics.studies.motion.torques import (
    BEYOND,
    MotionTorques,
    beyond,
    motion_torques,
)
from closed_chain_dynamics.studies.motion.tracks import Progress, Tracks

__all__ = ['Consistency', 'Suspect', 'smoothed', 'study_consistency']

Array = NDArray[np.float64]

CLOSED_WITHIN = 1e-3  # gap up to which a loop counts as closed [m or rad]
MOST_FITTED = 200  # samples that the search for a culprit looks at
ITERATIONS = 30  # of Gauss-Newton: few are needed, the gaps are small
STILL = 1e-13  # a step of Gauss-Newton below this changes nothing [rad or m]
EXPLAINS = 0.5  # share of the gap that a culprit may leave
CLEARLY = 2.0  # by this factor a culprit is better than the next one
SHARE = 0.05  # residual that is put down to measurement, of what gravity and inertia need


@dataclass(frozen=True)
class Suspect:
    """A joint, and what happens when its record is left out and the loops decide it instead."""

    joint: str
    remaining: float  # share of the gap that is still there
    offset: float  # where the loops want it, minus the record: mean over time [rad or m]
    spread: float  # and standard deviation; small beside the mean: a constant offset


@dataclass(repr=False)
class Consistency:
    """
    What a record says about itself; arrays have one row per sample.

    `gaps`: {loop or coupling: (samples, 2)} [m, rad]; `suspects`: best explanation first;
    `exceeded`: dicts of joint, kind (range, speed, effort), limit, value, time; `motion`: the
    nearest one that closes the loops, and `torques` that it needs;
    `residual`: {coordinate: (peak, rms, share)} of forces that no actuator gives.
    """

    robot: Mechanism
    tracks: Tracks
    filled: list[str]  # joints that were not measured
    recorded: Array  # (samples, nq): as measured, these as the loops want them
    gaps: dict[str, Array]
    tolerance: float
    suspects: list[Suspect]
    exceeded: list[dict[str, Any]]
    motion: Motion
    torques: MotionTorques
    residual: dict[str, tuple[float, float, float]]

    @property
    def widest(self) -> Array:
        """Return the largest gap of all loops over time, (samples,) [m or rad]."""
        closed = np.zeros(len(self.tracks.time))
        widest: Array = np.max([closed, *(gap.max(axis=1) for gap in self.gaps.values())], axis=0)
        return widest

    @property
    def culprit(self) -> str | None:
        """Return the joint that explains the gaps, or None where none or several do."""
        if not self.suspects or self.suspects[0].remaining > EXPLAINS:
            return None
        alike = [
            each
            for each in self.suspects
            if each.remaining <= CLEARLY * self.suspects[0].remaining + 1e-6
        ]
        alike.sort(key=lambda each: each.spread)  # a constant offset is likelier than one that
        if len(alike) > 1 and alike[1].spread < CLEARLY * alike[0].spread + 1e-9:  # moves
            return None
        return alike[0].joint

    def moved(self) -> dict[str, float]:
        """Return {joint: how far its record is from the motion that closes the loops}."""
        steps = np.abs(
            [difference(self.robot, *each) for each in zip(self.recorded, self.motion.q)]
        )
        return {
            joint: float(steps[:, self.robot.joint_slices(joint)[1]].max())
            for joint in self.tracks.joints
        }

    @property
    def verdicts(self) -> dict[str, bool]:
        """Return {question: whether the answer is good}."""
        kinds = {each['kind'] for each in self.exceeded}
        return {
            'loops': bool(self.widest.max() <= self.tolerance),
            'range': 'range' not in kinds,
            'speed': 'speed' not in kinds,
            'effort': 'effort' not in kinds,
            'forces': all(share <= SHARE for _, _, share in self.residual.values()),
        }

    def __repr__(self) -> str:
        failed = [name for name, good in self.verdicts.items() if not good]
        return (
            f'Consistency({self.robot.name}, {len(self.tracks.time)} samples, '
            f'failed={failed}, culprit={self.culprit!r})'
        )

    def _repr_html_(self) -> str:
        verdicts = [(name, 'yes' if good else 'no') for name, good in self.verdicts.items()]
        suspects = [
            (each.joint, f'{100.0 * each.remaining:.2g} %', f'{each.offset:.4g}')
            for each in self.suspects
        ]
        heads = ('joint', 'gap left without its record', 'the loops want it moved by')
        return shown(
            f'consistency of a record with {self.robot.name}',
            [*verdicts, ('largest gap', f'{self.widest.max():.3g} m or rad')],
            [('suspects', heads, suspects)],
        )

    def to_csv(self, path: Path) -> None:
        """Write the motion that closes the loops: time, q and v."""
        robot, motion = self.robot, self.motion
        write_columns(
            path,
            [
                ('time', motion.time),
                *(
                    (f'{what}:{name}', column)
                    for what, names, values in (
                        ('q', position_names(robot), motion.q),
                        ('v', robot.coordinate_names, motion.v),
                    )
                    for name, column in zip(names, values.T)
                ),
            ],
        )


def study_consistency(
    robot: Mechanism,
    tracks: Tracks,
    *,
    start: Array,
    tolerance: float = CLOSED_WITHIN,
    progress: Progress | None = None,
) -> Consistency:
    """Return the Consistency of Tracks that were recorded; `start`: a pose near their begin."""
    measured = [*tracks.joints]
    filled = [joint for joint in robot.joint_names if joint not in measured]
    q = _filled(robot, tracks, start)
    samples = [robot.loop_gaps(each) for each in q]
    gaps = {name: np.array([each[name] for each in samples]) for name in samples[0]}
    motion = move(robot, _complete(robot, tracks, q), q[0], progress=progress)
    torques = motion_torques(robot, motion)
    exceeded = _exceeded(robot, tracks) + [
        each for each in torques.exceeded() if each['kind'] == 'effort'
    ]
    opened = any(gap.max() > tolerance for gap in gaps.values())
    return Consistency(
        robot,
        tracks,
        filled,
        q,
        gaps,
        tolerance,
        _suspects(robot, measured, filled, q) if opened else [],
        exceeded,
        motion,
        torques,
        _residual(torques),
    )


def _fit(robot: Mechanism, q: Array, free: NDArray[np.bool_]) -> Array:
    """Return the pose whose loops are least open, when only some coordinates may move."""
    error = constraint_jacobian(robot, q)[1]
    if not (error.size and free.any()):
        return q
    for _ in range(ITERATIONS):
        J_C = constraint_jacobian(robot, q)[0]
        step = np.zeros(robot.nv)
        step[free] = np.linalg.lstsq(J_C[:, free], -error, rcond=1e-9)[0]
        if np.abs(step).max() < STILL:
            break
        for half in range(ITERATIONS):
            tried = integrate(robot, q, 0.5**half * step)
            new = constraint_jacobian(robot, tried)[1]
            if new @ new < error @ error:
                q, error = tried, new
                break
        else:
            break
    return q


def _coordinates_of(robot: Mechanism, joints: Iterable[str]) -> NDArray[np.bool_]:
    """Return which coordinates belong to some joints, bool (nv,)."""
    mine = np.zeros(robot.nv, dtype=bool)
    for joint in joints:
        mine[robot.joint_slices(joint)[1]] = True
    return mine


def _filled(robot: Mechanism, tracks: Tracks, q: Array) -> Array:
    """Return the poses, (samples, nq): as measured, the other joints as the loops want them."""
    free = _coordinates_of(
        robot, [joint for joint in robot.joint_names if joint not in tracks.joints]
    )
    poses = []
    for k in range(len(tracks.time)):
        q = q.copy()
        for joint, track in tracks.joints.items():
            q[robot.joint_slices(joint)[0]] = track[0][k]
        q = _fit(robot, q, free)
        poses.append(q)
    return np.array(poses)


def _suspects(
    robot: Mechanism, measured: Sequence[str], filled: Sequence[str], poses: Array
) -> list[Suspect]:
    """Return Suspects, best explanation first: every joint is left out once."""
    poses = poses[:: max(1, math.ceil(len(poses) / MOST_FITTED))]
    J_C = np.array([constraint_jacobian(robot, q)[0] for q in poses])
    before = _open(robot, poses)
    found = []
    for joint in measured:
        mine = robot.joint_slices(joint)[1]
        if not np.abs(J_C[:, :, mine]).max(initial=0.0) > BEYOND:  # no loop goes through it
            continue
        free = _coordinates_of(robot, [joint, *filled])
        closed = np.array([_fit(robot, q, free) for q in poses])
        moved = np.array([difference(robot, a, b)[mine] for a, b in zip(poses, closed)])
        worst = int(np.argmax(np.abs(moved.mean(axis=0))))
        found.append(
            Suspect(
                joint,
                _open(robot, closed) / before,
                float(moved[:, worst].mean()),
                float(moved[:, worst].std()),
            )
        )
    return sorted(found, key=lambda each: each.remaining)


def _open(robot: Mechanism, poses: Array) -> float:
    """Return the root mean square of the errors of all loops."""
    return math.sqrt(np.mean([np.sum(constraint_jacobian(robot, q)[1] ** 2) for q in poses]))


def _exceeded(robot: Mechanism, tracks: Tracks) -> list[dict[str, Any]]:
    """Return where the record leaves the range or the speed of a joint."""
    found: list[dict[str, Any]] = []
    for joint in robot.description.joints:
        if joint.name not in tracks.joints:
            continue
        positions, rates, _ = tracks.joints[joint.name]
        limit, time = joint.limit, tracks.time
        found += beyond(joint.name, 'speed', time, np.abs(rates).max(axis=1), limit.velocity)
        if positions.shape[1] == 1:
            found += beyond(joint.name, 'range', time, positions[:, 0], limit.upper)
            found += beyond(joint.name, 'range', time, -positions[:, 0], -limit.lower, -1.0)
    return found


def _complete(robot: Mechanism, tracks: Tracks, poses: Array) -> Tracks:
    """Return Tracks of all joints: those that were measured, and those that the loops gave."""
    from scipy.interpolate import CubicSpline

    complete = Tracks(tracks.time)
    for joint in robot.joint_names:
        place, mine = robot.joint_slices(joint)
        if joint in tracks.joints:
            complete.joints[joint] = tracks.joints[joint]
        else:  # in the tangent from the first pose, which for one coordinate is the angle itself
            moved = CubicSpline(
                tracks.time, np.array([difference(robot, poses[0], q)[mine] for q in poses])
            )
            complete.joints[joint] = (
                poses[:, place],
                moved(tracks.time, 1),
                moved(tracks.time, 2),
            )
    return complete


def _residual(torques: MotionTorques) -> dict[str, tuple[float, float, float]]:
    """
    Return {coordinate: (peak, rms, share)} of the forces that a motion needs and nobody gives.

    The share is of what gravity and springs need, plus what the motion adds to it: in a motion
    under gravity alone the two cancel, and the residual would be compared with itself.
    """
    robot, motion = torques.robot, torques.motion
    rest = np.zeros_like(motion.v)
    static = motion_torques(robot, Motion(motion.time, motion.q, rest, rest, [])).tau_G
    found: dict[str, tuple[float, float, float]] = {}
    for name in torques.unmet:
        values, needed = torques.residual[name], torques.tau_G[name]
        held = static.get(name, np.zeros(1))
        scale = _rms(held) + _rms(needed - np.nan_to_num(held))
        found[name] = (float(np.nanmax(np.abs(values))), _rms(values), _rms(values) / scale)
    return found


def _rms(values: Array) -> float:
    return float(np.sqrt(np.nanmean(np.square(values))))


def smoothed(tracks: Tracks, cutoff: float) -> Tracks:
    """Return Tracks without what is faster than a frequency [Hz]: Butterworth, there and back."""
    from scipy.interpolate import CubicSpline
    from scipy.signal import butter, sosfiltfilt

    time = tracks.time
    rate = (len(time) - 1) / (time[-1] - time[0])
    if not 0.0 < cutoff < rate / 2.0:
        raise StateError(
            f'a cutoff of {cutoff:g} Hz is not below half of the {rate:.4g} samples per second',
            repair='Give a lower one, or a higher --rate.',
        )
    if np.ptp(np.diff(time)) > 1e-3 / rate:
        raise StateError(
            'the samples are not evenly spaced, as a filter needs them',
            repair='Take even ones from the spline with --rate.',
        )
    stages = butter(2, cutoff, fs=rate, output='sos')  # twice: fourth order, without delay
    found = Tracks(time)
    for joint, (positions, *_) in tracks.joints.items():
        if positions.shape[1] > 1:
            raise StateError(
                f'the joint {joint!r} turns about more than one axis, and a filter takes one',
                repair='Smooth its record before.',
            )
        spline = CubicSpline(
            time,
            sosfiltfilt(
                stages, positions, axis=0, padlen=min(len(time) - 1, 3 * int(rate / cutoff))
            ),
        )
        found.joints[joint] = (spline(time), spline(time, 1), spline(time, 2))
    return found
