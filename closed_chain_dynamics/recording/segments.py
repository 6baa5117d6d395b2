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

"""Samples of a log that share one structure, and what they say about a joint."""

from collections.abc import Mapping

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.constraints import loop_kinematics
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.structure import Connections

__all__ = ['LogSegment', 'joint_part', 'joint_width', 'position_names']

WrenchesByLink = Mapping[str, Array]  # external ones, by link

POSITION_SUFFIXES = {
    7: (':x', ':y', ':z', ':qx', ':qy', ':qz', ':qw'),
    4: (':qx', ':qy', ':qz', ':qw'),
    1: ('',),
}
PLANAR_SUFFIXES = (':x', ':y', ':cos', ':sin')


def position_names(robot: Mechanism) -> list[str]:
    """Return a name for every number of q: the joint's own, or joint:x, ... where it has more."""
    names = []
    for joint in robot.joint_names:
        places = robot.joint_slices(joint)[0]
        width = places.stop - places.start  # that of a free joint where the joint is cut
        planar = width == 4 and robot.is_planar(joint)
        suffixes = PLANAR_SUFFIXES if planar else POSITION_SUFFIXES[width]
        names += [joint + suffix for suffix in suffixes]
    return names


class LogSegment:
    """Samples of one structure, collected piece by piece and joined when they are looked at."""

    def __init__(
        self, template: Mechanism, structure: Connections, wrenches: WrenchesByLink
    ) -> None:
        self.template, self.structure, self.wrenches = template, structure, wrenches
        self._pieces: dict[str, list[Array]] = {
            'rows': [],
            'q': [],
            'v': [],
            'lost': [],
            'tau': [],
        }

    def add(self, **pieces: Array) -> None:
        """Add samples."""
        for name, piece in pieces.items():
            self._pieces[name].append(piece)

    def __repr__(self) -> str:
        return f'LogSegment({self.template.name}, {len(self)} samples)'

    def __len__(self) -> int:
        return sum(map(len, self._pieces['rows']))

    def get(self, name: str) -> Array:
        """Return 'rows', 'q', 'v', 'lost' or 'tau', an array with one row per sample."""
        pieces = self._pieces[name]
        if len(pieces) > 1:
            pieces[:] = [np.concatenate(pieces)]
        return pieces[0]

    def mechanism(self) -> Mechanism:
        """Return a mechanism that is connected as this one was."""
        robot: Mechanism = self.template.copy()
        robot.restructure(self.structure)
        return robot

    def names(self, what: str) -> list[str]:
        """Return the names of the columns of q, v or tau."""
        robot = self.mechanism()
        if what == 'q':
            return position_names(robot)
        return list(robot.coordinate_names if what == 'v' else robot.actuator_names)


def joint_width(robot: Mechanism, name: str, place: int) -> int:
    """Return how many numbers a joint, of tree or loop, has in q (place 0) or in v (1)."""
    if name in robot.joint_names:
        joint = robot.model.body_joints[robot.model.joints[name]]
        assert joint is not None  # the world is moved by none, and has no name
        kind = joint.type
        return int((kind.nq, kind.nv)[place])
    if name in robot.loop_names:
        return len(_loop_places(robot, name))
    raise NameNotFound('joint', name, [*robot.joint_names, *robot.loop_names], where=robot.name)


def joint_part(segment: LogSegment, name: str, place: int) -> Array:
    """Return positions (place 0) or velocities (1) of a joint, (samples, numbers)."""
    robot = segment.mechanism()
    if name in robot.joint_names:
        return segment.get('qv'[place])[:, robot.joint_slices(name)[place]]
    mine = _loop_places(robot, name)
    values = np.empty((len(segment), len(mine)))
    for k, (q, v) in enumerate(zip(segment.get('q'), segment.get('v'))):
        L, positions = loop_kinematics(robot, q)
        values[k] = (L @ v if place else positions)[mine]
    return values


def _loop_places(robot: Mechanism, name: str) -> list[int]:
    return [
        k
        for k, each in enumerate(robot.loop_coordinate_names)
        if each == name or each.startswith(name + ':')
    ]
