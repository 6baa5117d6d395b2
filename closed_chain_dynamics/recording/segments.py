"""Samples of a log that share one structure, and what they say about a joint."""

import numpy as np

from closed_chain_dynamics.dynamics.constraints import loop_kinematics
from closed_chain_dynamics.errors import NameNotFound

__all__ = ['Segment', 'joint_part', 'joint_width', 'position_names']

POSITION_SUFFIXES = {
    7: (':x', ':y', ':z', ':qx', ':qy', ':qz', ':qw'),
    4: (':qx', ':qy', ':qz', ':qw'),
    1: ('',),
}
PLANAR_SUFFIXES = (':x', ':y', ':cos', ':sin')


def position_names(robot):
    """Return a name for every number of q: the joint's own, or joint:x, ... where it has more."""
    names = []
    for joint in robot.joint_names:
        places = robot.joint_slices(joint)[0]
        width = places.stop - places.start  # that of a free joint where the joint is cut
        planar = width == 4 and robot.is_planar(joint)
        suffixes = PLANAR_SUFFIXES if planar else POSITION_SUFFIXES[width]
        names += [joint + suffix for suffix in suffixes]
    return names


class Segment:
    """Samples of one structure, collected piece by piece and joined when they are looked at."""

    def __init__(self, template, structure, wrenches):
        self.template, self.structure, self.wrenches = template, structure, wrenches
        self._pieces = {'rows': [], 'q': [], 'v': [], 'lost': [], 'tau': []}

    def add(self, **pieces):
        """Add samples."""
        for name, piece in pieces.items():
            self._pieces[name].append(piece)

    def __len__(self):
        return sum(map(len, self._pieces['rows']))

    def get(self, name):
        """Return 'rows', 'q', 'v', 'lost' or 'tau', an array with one row per sample."""
        pieces = self._pieces[name]
        if len(pieces) > 1:
            pieces[:] = [np.concatenate(pieces)]
        return pieces[0]

    def mechanism(self):
        """Return a mechanism that is connected as this one was."""
        robot = self.template.copy()
        robot.restructure(self.structure)
        return robot

    def names(self, what):
        """Return the names of the columns of q, v or tau."""
        robot = self.mechanism()
        return {
            'q': position_names,
            'v': lambda _: robot.coordinate_names,
            'tau': lambda _: robot.actuator_names,
        }[what](robot)


def joint_width(robot, name, place):
    """Return how many numbers a joint, of tree or loop, has in q (place 0) or in v (1)."""
    if name in robot.joint_names:
        kind = robot.model.body_joints[robot.model.joints[name]].type
        return (kind.nq, kind.nv)[place]
    if name in robot.loop_names:
        return len(_loop_places(robot, name))
    raise NameNotFound('joint', name, [*robot.joint_names, *robot.loop_names], where=robot.name)


def joint_part(segment, name, place):
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


def _loop_places(robot, name):
    return [
        k
        for k, each in enumerate(robot.loop_coordinate_names)
        if each == name or each.startswith(name + ':')
    ]
