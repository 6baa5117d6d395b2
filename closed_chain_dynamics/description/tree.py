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

"""The tree of a description: who carries whom, paths, and directions of axes at zero."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description.elements import Joint, JointType

__all__ = ['ONE_DOF', 'Tree', 'parallel', 'turning_axis']

ONE_DOF = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
TURNING_TYPES = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PLANAR)
NOT_TURNING = (JointType.FIXED, JointType.PRISMATIC)
PARALLEL = 1e-6  # sine of the angle below which two axes count as parallel


class Tree:
    """Tables over the joints of a description whose structure has been checked."""

    def __init__(self, joints: Iterable[Joint]) -> None:
        self.joints = tuple(joints)
        self.joint_above = {joint.child: joint for joint in self.joints}
        self.joints_below: dict[str, list[Joint]] = {}
        for joint in self.joints:
            self.joints_below.setdefault(joint.parent, []).append(joint)

    def joints_to_root(self, link: str) -> list[Joint]:
        """Return the joints from a link up to the root."""
        joints = []
        while link in self.joint_above:
            joints.append(self.joint_above[link])
            link = joints[-1].parent
        return joints

    def path(self, start: str, end: str) -> list[tuple[Joint, int]]:
        """Return pairs (joint, +1 down or -1 up) that lead from one link to another."""
        up, down = self.joints_to_root(start), self.joints_to_root(end)
        while up and down and up[-1] is down[-1]:
            up.pop()
            down.pop()
        return [(joint, -1) for joint in up] + [(joint, 1) for joint in reversed(down)]

    def nearest_common_ancestor(self, first: str, second: str) -> str:
        """Return the last link that both chains from the root share."""
        links = {first} | {joint.parent for joint in self.joints_to_root(first)}
        chain = [second] + [joint.parent for joint in self.joints_to_root(second)]
        return next(link for link in chain if link in links)

    def axis_in_root(self, joint: Joint) -> NDArray[np.float64]:
        """Return the axis of a joint in the axes of the root with all joints at zero, (3,)."""
        axis = np.array(joint.axis)
        for above in [joint, *self.joints_to_root(joint.parent)]:
            axis = above.origin.rotation @ axis
        return axis

    def outward(self, root: str) -> list[Joint]:
        """Return all joints, each after those that carry it."""
        joints = list(self.joints_below.get(root, ()))
        for joint in joints:
            joints.extend(self.joints_below.get(joint.child, ()))
        return joints


def parallel(first: NDArray[np.float64], second: NDArray[np.float64]) -> int:
    """Return +1 or -1 for axes along or against each other, 0 for any other angle."""
    if np.linalg.norm(np.cross(first, second)) > PARALLEL:
        return 0
    return 1 if np.dot(first, second) > 0 else -1


def turning_axis(tree: Tree, link: str) -> NDArray[np.float64] | None:
    """
    Return the one axis, in link axes, that a link can ever turn about.

    None when it can turn about several; a zero vector when it never turns.
    """
    # Rotations between axes that are parallel leave the common direction as it is at zero.
    rotation, axis = np.eye(3), np.zeros(3)
    for joint in tree.joints_to_root(link):
        if joint.type in TURNING_TYPES:
            here = rotation @ np.array(joint.axis)
            if axis.any() and not parallel(axis, here):
                return None
            axis = here
        elif joint.type not in NOT_TURNING:
            return None
        rotation = rotation @ joint.origin.rotation.T
    return axis
