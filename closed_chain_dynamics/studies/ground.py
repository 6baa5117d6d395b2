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

"""What carries a recorded motion: points of links that may touch the ground, and when they do."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.tree import jacobian, link_placement
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.motion.moving import Motion

__all__ = ['ContactPoint', 'Ground', 'contact_points', 'ground_of_model', 'touching']

MU = 0.7  # friction of shoes on a laboratory's floor, where nothing is said


@dataclass(frozen=True)
class ContactPoint:
    """A point of a link that may stand on the ground, in the axes of the link [m]."""

    name: str
    link: str
    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mu: float = MU


@dataclass(frozen=True)
class Ground:
    """
    A horizontal plane and the points that may stand on it.

    A point touches where it is less than `near` [m] above the plane and slower than `slow` [m/s].
    """

    contacts: tuple[ContactPoint, ...]
    height: float = 0.0
    near: float = 0.02
    slow: float = 0.25


def ground_of_model(robot: Mechanism) -> Ground | None:
    """Return the ground that the contacts of a model make, or None where it has none."""
    model, q = robot.description, robot.neutral()
    found, heights = [], []
    for loop in model.loops:
        if loop.contact is None or loop.contact.surface != 'plane' or loop.parent != model.root:
            continue
        X = link_placement(robot, q, loop.parent)
        normal = X[:3, :3] @ loop.parent_origin.rotation @ np.array(loop.contact.normal)
        if normal[2] > 1.0 - 1e-9:
            x, y, z = loop.child_origin.xyz
            found.append(ContactPoint(loop.name, loop.child, (x, y, z), loop.contact.mu))
            place = X[:3, 3] + X[:3, :3] @ loop.parent_origin.position
            heights.append(float(place[2]) + max(loop.contact.ball, loop.contact.wheel))
    return Ground(tuple(found), float(np.mean(heights))) if found else None


def contact_points(robot: Mechanism, poses: Array, contacts: Sequence[ContactPoint]) -> Array:
    """Return where the contacts are, (samples, contacts, 3) [m]."""
    points: Array = np.empty((len(poses), len(contacts), 3))
    for k, q in enumerate(poses):
        for i, each in enumerate(contacts):
            X = link_placement(robot, q, each.link)
            points[k, i] = X[:3, 3] + X[:3, :3] @ np.array(each.xyz)
    return points


def touching(robot: Mechanism, motion: Motion, ground: Ground) -> NDArray[np.bool_]:
    """Return which contacts touch, bool (samples, contacts)."""
    low = contact_points(robot, motion.q, ground.contacts)[:, :, 2] < ground.height + ground.near
    for k, i in zip(*np.nonzero(low)):
        each = ground.contacts[i]
        J = jacobian(robot, motion.q[k], each.link, point=each.xyz)[:3]
        low[k, i] = np.linalg.norm(J @ motion.v[k]) < ground.slow
    return low
