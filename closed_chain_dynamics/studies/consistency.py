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
out, what limits the record breaks, which forces its motion would need that neither an actuator nor
the ground gives, and the nearest motion that is possible.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.tree import difference
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.recording.log_files import Path, write_columns
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.studies.ground import Ground
from closed_chain_dynamics.studies.ground_forces import GroundForces, ground_forces, weight_of
from closed_chain_dynamics.studies.motion.marker_fit import MarkerFit
from closed_chain_dynamics.studies.motion.moving import Motion, move
from closed_chain_dynamics.studies.motion.torques import (
    MET_IN_MOTION,
    MotionTorques,
    beyond,
    motion_torques,
)
from closed_chain_dynamics.studies.motion.tracks import Tracks
from closed_chain_dynamics.studies.nearest_motion import NearestMotion, nearest_motion
from closed_chain_dynamics.studies.record_poses import (
    completed_tracks,
    filled_poses,
    nearest_closed,
)
from closed_chain_dynamics.studies.suspects import Suspect, culprit_of, find_suspects

__all__ = ['MEASURED_SHARE', 'Consistency', 'study_consistency']

CLOSED_WITHIN = 1e-3  # gap up to which a loop counts as closed [m or rad]
NEARLY = 1e-9  # gaps below this are rounding: the record is its own nearest motion [m or rad]
MEASURED_SHARE = 0.05  # residual that is put down to measurement, of what gravity and inertia need
SKIN = 0.03  # how far markers may be from where the model has them: skin moves that much [m]


@dataclass(repr=False)
class Consistency:
    """
    What a record says about itself; arrays have one row per sample.

    `gaps`: {loop or coupling: (samples, 2)} [m, rad]; `suspects`: best explanation first;
    `exceeded`: dicts of joint, kind (range, speed, effort), limit, value, time; `motion`: the
    nearest one that closes the loops, and `torques` that it needs beside the `ground`;
    `residual`: {coordinate: (peak, rms, share)} of forces that nobody gives; `nearest`: the
    nearest motion that needs no such forces, where it was asked for.
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
    markers: MarkerFit | None = None
    ground: GroundForces | None = None
    nearest: NearestMotion | None = None

    @property
    def widest(self) -> Array:
        """Return the largest gap of all loops over time, (samples,) [m or rad]."""
        closed = np.zeros(len(self.tracks.time))
        widest: Array = np.max([closed, *(gap.max(axis=1) for gap in self.gaps.values())], axis=0)
        return widest

    @property
    def culprit(self) -> str | None:
        """Return the joint that explains the gaps, or None where none or several do."""
        return culprit_of(self.suspects)

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
        of_markers = {'markers': self.markers.rms <= SKIN} if self.markers else {}
        of_ground = {'ground': not self.ground.breaks()} if self.ground else {}
        return {
            **of_markers,
            'loops': bool(self.widest.max() <= self.tolerance),
            'range': 'range' not in kinds,
            'speed': 'speed' not in kinds,
            'effort': 'effort' not in kinds,
            'forces': all(share <= MEASURED_SHARE for _, _, share in self.residual.values()),
            **of_ground,
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
        """Write the nearest motion that is possible, or that closes the loops: time, q and v."""
        robot = self.robot
        motion = self.nearest.motion if self.nearest else self.motion
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
    markers: MarkerFit | None = None,
    ground: Ground | None = None,
    nearest: bool = False,
    progress: Progress | None = None,
) -> Consistency:
    """
    Return the Consistency of Tracks that were recorded; `start`: a pose near their begin.

    `markers`: the fit that the tracks come from; `ground`: what may stand on it; `nearest`:
    whether to look for the nearest motion that is possible.
    """
    measured = [*tracks.joints]
    filled = [joint for joint in robot.joint_names if joint not in measured]
    q = filled_poses(robot, tracks, start)
    samples = [robot.loop_gaps(each) for each in q]
    gaps = {name: np.array([each[name] for each in samples]) for name in samples[0]}
    widest = max((float(gap.max()) for gap in gaps.values()), default=0.0)
    poses = nearest_closed(robot, measured, q) if widest > NEARLY else q
    motion = move(robot, completed_tracks(robot, tracks, poses), poses[0], progress=progress)
    forces = ground_forces(robot, motion, ground) if ground else None
    torques = motion_torques(robot, motion, forces.wrenches() if forces else None)
    exceeded = _exceeded(robot, tracks) + [
        each for each in torques.exceeded() if each['kind'] == 'effort'
    ]
    possible = None
    if nearest:
        there = forces.touches if forces else np.zeros((len(motion.time), 0), dtype=bool)
        possible = nearest_motion(robot, motion, ground or Ground(()), there, progress=progress)
    return Consistency(
        robot,
        tracks,
        filled,
        q,
        gaps,
        tolerance,
        find_suspects(robot, measured, filled, q) if widest > tolerance else [],
        exceeded,
        motion,
        torques,
        _residual(torques),
        markers,
        forces,
        possible,
    )


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
        peak = float(np.nanmax(np.abs(values)))
        if peak > MET_IN_MOTION * weight_of(
            robot
        ):  # the rest is rounding where the ground carries it
            found[name] = (peak, _rms(values), _rms(values) / scale)
    return found


def _rms(values: Array) -> float:
    return float(np.sqrt(np.nanmean(np.square(values))))
