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
Links that are fixed to each other become one body, moved by one joint.

Each link keeps its name and its placement in the body. A body's frame is the child link's frame
turned so that the joint axis is z, which makes the kernels' revolute and prismatic joints cheap.
Bodies are numbered depth first, brothers in the order of their joints' names: the order in which
Pinocchio numbers them.
"""

from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics.arrays import Matrix
from closed_chain_dynamics.description.elements import Description, Inertia, Joint, JointType
from closed_chain_dynamics.description.rotations import rotation_to

__all__ = ['Body', 'Placement', 'grow']

Placement = tuple[int, Matrix, Matrix]  # body, R (3, 3) and p (3,) in it


@dataclass
class Body:
    """A set of links that are fixed to each other, moved by one joint (None for the world)."""

    joint: Joint | None = None
    parent: int = 0
    R: Matrix = field(default_factory=lambda: np.eye(3))  # of the joint, in the parent body
    p: Matrix = field(default_factory=lambda: np.zeros(3))
    mass: float = 0.0
    first_moment: Matrix = field(default_factory=lambda: np.zeros(3))
    second_moment: Matrix = field(default_factory=lambda: np.zeros((3, 3)))
    lift: float = 0.0  # mass whose weight something outside carries
    lift_moment: Matrix = field(default_factory=lambda: np.zeros(3))

    def add(self, inertia: Inertia, R: Matrix, p: Matrix, lifted: float) -> None:
        """Add the inertia of a link at R, p in the body; a share of its weight is lifted."""
        com = p + R @ inertia.origin.position
        self.mass += inertia.mass
        self.first_moment += inertia.mass * com
        self.lift += lifted * inertia.mass
        self.lift_moment += lifted * inertia.mass * com
        self.second_moment += R @ inertia.tensor @ R.T + inertia.mass * _parallel_axis(com)

    def inertia_about_com(self) -> tuple[float, Matrix, Matrix]:
        """Return mass, centre of mass (3,) and the inertia about it (3, 3), in body axes."""
        if self.mass == 0.0:
            return 0.0, np.zeros(3), self.second_moment
        com = self.first_moment / self.mass
        return self.mass, com, self.second_moment - self.mass * _parallel_axis(com)


def _parallel_axis(r: Matrix) -> Matrix:
    shift: Matrix = (r @ r) * np.eye(3) - np.outer(r, r)
    return shift


def grow(description: Description) -> tuple[list[Body], dict[str, Placement]]:
    """Walk the tree depth first; return the bodies, the world first, and where links stand."""
    children: dict[str, list[Joint]] = {}
    for joint in sorted(description.joints, key=lambda joint: joint.name):
        children.setdefault(joint.parent, []).append(joint)
    described = {link.name: link for link in description.links}
    bodies, links = [Body()], {}
    # link, the joint that moves it, the body that carries the joint, and where in that body
    stack: list[tuple[str, Joint | None, int, Matrix, Matrix]] = [
        (description.root, None, 0, np.eye(3), np.zeros(3))
    ]
    while stack:
        name, mover, number, R, p = stack.pop()
        if mover is not None and mover.type is not JointType.FIXED:
            axial = mover.type.nv == 1 or mover.type is JointType.PLANAR
            R_axis = rotation_to(mover.axis) if axial else np.eye(3)
            bodies.append(Body(mover, number, R @ R_axis, p))
            number, R, p = len(bodies) - 1, R_axis.T, np.zeros(3)
        links[name] = (number, R, p)
        link = described[name]
        if link.inertia is not None:
            bodies[number].add(link.inertia, R, p, link.gravcomp)
        # last in, first out: brothers are pushed in reverse
        for joint in reversed(children.get(name, [])):
            origin = joint.origin
            stack.append(
                (joint.child, joint, number, R @ origin.rotation, p + R @ origin.position)
            )
    return bodies, links
