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

"""Links, and the joints between them, as arrays: for what is computed link by link."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.description import Description
from closed_chain_dynamics.description.bodies import Placement

__all__ = ['LinkTable']

LinkRows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LinkTable:
    """
    Constants of all links, parents first, and of all joints: those of the tree, then the loops.

    Placements and inertias are in the axes of the body, or of the link.
    """

    index: Mapping[str, int]  # link name -> row
    parent: LinkRows  # row of the parent link, -1 for the root, (n,)
    body: LinkRows  # that each link is part of, (n,)
    rotation: Matrix  # of the link in its body, (n, 3, 3)
    point: Matrix  # its origin in the body, (n, 3)
    mass: Vector  # (n,) [kg]
    com: Matrix  # centre of mass in the link's axes, (n, 3)
    tensor: Matrix  # inertia about it, (n, 3, 3)
    weight: Vector  # mass whose weight nothing outside carries, (n,)
    children: LinkRows  # of all joints, (j,)
    parents: LinkRows  # (j,)
    frame_rotation: Matrix  # of the joint's frame on the child, (j, 3, 3)
    frame_point: Matrix  # (j, 3)

    @classmethod
    def of(cls, description: Description, links: Mapping[str, Placement]) -> 'LinkTable':
        """Return the table of a description whose links are placed in bodies."""
        index = {name: k for k, name in enumerate(links)}
        n, joints = len(index), description.all_joints
        mass, com, tensor = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
        weight = np.zeros(n)
        for link in description.links:
            if link.inertia is not None:
                k, inertia = index[link.name], link.inertia
                mass[k], com[k], tensor[k] = inertia.mass, inertia.origin.xyz, inertia.tensor
                weight[k] = (1.0 - link.gravcomp) * inertia.mass
        parent = np.full(n, -1)
        for joint in description.joints:
            parent[index[joint.child]] = index[joint.parent]
        frame_rotation = np.tile(np.eye(3), (len(joints), 1, 1))
        frame_point = np.zeros((len(joints), 3))
        for k, loop in enumerate(description.loops, start=len(description.joints)):
            frame_rotation[k] = loop.child_origin.rotation
            frame_point[k] = loop.child_origin.xyz
        placements = list(links.values())
        return cls(
            index,
            parent,
            np.array([body for body, _, _ in placements]),
            np.array([R for _, R, _ in placements]),
            np.array([p for _, _, p in placements]),
            mass,
            com,
            tensor,
            weight,
            np.array([index[joint.child] for joint in joints], dtype=int),
            np.array([index[joint.parent] for joint in joints], dtype=int),
            frame_rotation,
            frame_point,
        )
