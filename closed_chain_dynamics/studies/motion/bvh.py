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
BVH files: a skeleton, and the angles of its joints frame by frame.

HIERARCHY: a joint has an OFFSET from its parent and CHANNELS, positions along and rotations about
its axes in degrees, in the order in which they are multiplied: R = R_1 R_2 R_3. An End Site has an
offset only. MOTION: number of frames, time of a frame, one line of channels per frame.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.log_files import Path

__all__ = ['ALONG', 'Bvh', 'read_bvh']

CHANNELS = tuple(f'{axis}{kind}' for kind in ('position', 'rotation') for axis in 'XYZ')
ALONG = 0.1  # where on its axes points tell how a joint is turned [m]


@dataclass
class _Bone:
    """A joint, or an end, of the skeleton."""

    name: str
    parent: int
    offset: Array = field(default_factory=lambda: np.zeros(3))
    channels: list[str] = field(default_factory=list)
    first: int = 0  # its first channel in a line of numbers


@dataclass(eq=False)
class Bvh:
    """A skeleton and its motion; `values`: the channels, (frames, channels)."""

    joints: list[_Bone]
    time: Array
    values: Array

    def placements(self) -> list[tuple[str, Array, Array]]:
        """Return (name, R, p) of every joint and end: (frames, 3, 3), and (frames, 3)."""
        found: list[tuple[str, Array, Array]] = []
        for joint in self.joints:
            R = np.tile(np.eye(3), (len(self.time), 1, 1))
            p = np.tile(joint.offset, (len(self.time), 1))
            for k, channel in enumerate(joint.channels):
                axis, column = 'XYZ'.index(channel[0]), self.values[:, joint.first + k]
                if channel.endswith('position'):
                    p[:, axis] += column
                else:
                    turn = np.zeros((len(column), 3))
                    turn[:, axis] = np.radians(column)
                    R = R @ Rotation.from_rotvec(turn).as_matrix()
            if joint.parent >= 0:
                _, R_parent, p_parent = found[joint.parent]
                p = p_parent + np.einsum('kij,kj->ki', R_parent, p)
                R = R_parent @ R
            found.append((joint.name, R, p))
        return found

    def markers(self, scale: float, turn: Array) -> tuple[list[str], Array]:
        """
        Return names and points, (frames, markers, 3) [m], that tell where the skeleton is.

        A joint gives its centre, by its name, and the points 'name+x', '+y' and '+z' on its axes;
        an end gives its place as 'name+end'. `scale`: metres per unit; `turn` (3, 3): from the
        axes of the file to those of the model, of joints too.
        """
        names, points = [], []
        for joint, (name, R, p) in zip(self.joints, self.placements()):
            names.append(name)
            centre = scale * p @ turn.T
            points.append(centre)
            if joint.channels:
                axes = turn @ R @ turn.T
                names += [f'{name}+{axis}' for axis in 'xyz']
                points += [centre + ALONG * axes[:, :, axis] for axis in range(3)]
        return names, np.stack(points, axis=1)


def read_bvh(path: Path) -> Bvh:
    """Return the Bvh of a file."""
    try:
        with open(path, encoding='utf-8-sig') as file:
            words = iter(file.read().split())
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, 'strerror', None) or error
        raise _refused(path, str(why)) from None
    try:
        joints = _hierarchy(words)
        _expect(words, 'MOTION', 'Frames:')
        frames = int(next(words))
        _expect(words, 'Frame', 'Time:')
        period = float(next(words))
        values = np.array([float(each) for each in words])
    except StopIteration:
        raise _refused(path, 'it ends too early') from None
    except ValueError as error:
        raise _refused(path, str(error)) from None
    width = sum(len(each.channels) for each in joints)
    if frames * width != values.size or not np.all(np.isfinite(values)) or not period > 0.0:
        raise _refused(
            path,
            f'{frames} frames of {width} channels are {frames * width} numbers, and it has '
            f'{values.size}, or the time of a frame is not positive',
        )
    return Bvh(joints, period * np.arange(frames, dtype=float), values.reshape(frames, width))


def _refused(path: Path, why: str) -> ClosedChainError:
    return ClosedChainError(
        f'this BVH file cannot be read: {why}',
        file=path,
        repair='Export it again: HIERARCHY with ROOT, JOINT, OFFSET, CHANNELS and End Site, then '
        'MOTION with Frames and Frame Time.',
    )


def _expect(words: Iterator[str], *wanted: str) -> None:
    for each in wanted:
        word = next(words)
        if word.lower() != each.lower():
            raise ValueError(f'{each!r} should stand where {word!r} is')


def _hierarchy(words: Iterator[str]) -> list[_Bone]:
    """Return the joints and ends, parents first."""
    _expect(words, 'HIERARCHY', 'ROOT')
    joints: list[_Bone] = []
    within = [-1]  # parents that are open, the innermost last

    def begin(name: str) -> None:
        joints.append(_Bone(name, within[-1]))
        within.append(len(joints) - 1)
        _expect(words, '{')

    begin(next(words))
    channels = 0
    while len(within) > 1:
        word, joint = next(words), joints[within[-1]]
        if word == 'OFFSET':
            joint.offset = np.array([float(next(words)) for _ in range(3)])
        elif word == 'CHANNELS':
            joint.channels = [next(words) for _ in range(int(next(words)))]
            unknown = [each for each in joint.channels if each not in CHANNELS]
            if unknown:
                raise ValueError(f'{joint.name} has a channel {unknown[0]!r}')
            joint.first, channels = channels, channels + len(joint.channels)
        elif word == 'JOINT':
            begin(next(words))
        elif word == 'End':
            _expect(words, 'Site')
            begin(f'{joint.name}+end')
        elif word == '}':
            within.pop()
        else:
            raise ValueError(f'{word!r} is no part of a joint')
    return joints
