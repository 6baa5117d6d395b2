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
Forces between a moving model and the ground: what the motion needs, and what contacts can give.

What no actuator gives, Z^T tau_G with S Z = 0 (at the root of a free body: force and moment), has
to come from the contacts: Z^T W^T (tau_O - sum J_i^T f_i) = 0, each f_i within its friction cone.
The forces here leave least of it, and of these are the smallest. A cone is taken as the pyramid of
CONE_EDGES edges within it, which is stricter by 2 % between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import jacobian, joint_wrenches, link_placement
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.ground import ContactPoint, Ground, contact_points, touching
from closed_chain_dynamics.studies.motion.moving import Motion
from closed_chain_dynamics.studies.support_polygon import inside

__all__ = ['GroundForces', 'ground_forces', 'passive_directions', 'pyramid', 'weight_of']

CONE_EDGES = 16  # of the pyramid in a friction cone
FORCE_COST = 1e-6  # what forces count beside what is not met, so that they are unique
WEIGHT_SHARE = 0.05  # of the weight: what is not met up to this is put down to the measurement
ENDLESS_FRICTION = 1e3  # friction without end, to tell slipping from tipping


@dataclass(repr=False)
class GroundForces:
    """
    Forces on the ground's contacts; arrays have one row per sample.

    `needed` (samples, 6): force, and moment about the origin of the world, that the motion needs
    from outside beside gravity [N, N m]; `forces` (samples, contacts, 3) that the contacts can
    give of it [N]; `unmet` (samples,): what is left, over the weight (moments: and `length`).
    """

    robot: Mechanism
    motion: Motion
    ground: Ground
    points: Array
    touches: NDArray[np.bool_]
    needed: Array
    forces: Array
    unmet: Array
    length: float
    slips: NDArray[np.bool_]  # friction without end would do

    @cached_property
    def zmp(self) -> Array:
        """Return the zero-moment point on the ground, (samples, 2) [m]; NaN where none pushes."""
        F, h = self.needed[:, :3], self.ground.height
        with np.errstate(divide='ignore', invalid='ignore'):
            x = (h * F[:, 0] - self.needed[:, 4]) / F[:, 2]
            y = (h * F[:, 1] + self.needed[:, 3]) / F[:, 2]
        pushes = F[:, 2] > WEIGHT_SHARE * self.weight
        return np.where(pushes[:, None], np.column_stack([x, y]), np.nan)

    @cached_property
    def margin(self) -> Array:
        """Return how far within the feet the zero-moment point is, (samples,) [m]; NaN: none."""
        return np.array(
            [
                inside(point, each[there, :2]) if there.any() else math.nan
                for point, each, there in zip(self.zmp, self.points, self.touches)
            ]
        )

    @property
    def weight(self) -> float:
        """Return the weight of the model [N]."""
        return weight_of(self.robot)

    @cached_property
    def friction(self) -> Array:
        """Return the friction that the needed force asks for as a whole, (samples,)."""
        F = self.needed
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.where(F[:, 2] > 0.0, np.hypot(F[:, 0], F[:, 1]) / F[:, 2], math.nan)

    def breaks(self) -> list[dict[str, Any]]:
        """Return where the motion is not possible: dicts of begin, end, reason, share."""
        found: list[dict[str, Any]] = []
        broken = self.unmet > WEIGHT_SHARE
        for k in np.flatnonzero(broken):
            reason, time = self._reason(int(k)), float(self.motion.time[k])
            share = float(self.unmet[k])
            if found and broken[k - 1] and found[-1]['reason'] == reason:
                found[-1] |= {'end': time, 'share': max(share, found[-1]['share'])}
                found[-1]['frames'] += 1
            else:
                found.append(
                    {'begin': time, 'end': time, 'reason': reason, 'share': share, 'frames': 1}
                )
        return found

    def _reason(self, k: int) -> str:
        if not self.touches[k].any():
            return 'nothing touches the ground, and something holds it'
        if self.needed[k, 2] < 0.0:
            return 'the ground would have to pull'
        if self.slips[k]:
            return 'the feet would slip'
        return 'it would tip over: the zero-moment point is not within the feet'

    def wrenches(self) -> list[dict[str, Array]]:
        """Return what the contacts put on links at each sample, as inverse dynamics takes it."""
        found: list[dict[str, Array]] = []
        for q, points, forces in zip(self.motion.q, self.points, self.forces):
            acting: dict[str, Array] = {}
            for each, p, f in zip(self.ground.contacts, points, forces):
                arm = p - link_placement(self.robot, q, each.link)[:3, 3]
                wrench = acting.setdefault(each.link, np.zeros(6))
                wrench += np.hstack([f, np.cross(arm, f)])
            found.append(acting)
        return found


def weight_of(robot: Mechanism) -> float:
    """Return the weight of a model [N]."""
    return float(robot.total_mass * np.linalg.norm(robot.gravity))


def pyramid(
    contacts: Sequence[ContactPoint], edges: int = CONE_EDGES, rough: float = 0.0
) -> Array:
    """Return edges of the pyramids in the cones, (contacts, 3, edges), each with 1 upwards."""
    angle = 2.0 * np.pi * np.arange(edges) / edges
    circle = np.array([np.cos(angle), np.sin(angle), np.zeros(edges)])
    up = np.array([0.0, 0.0, 1.0])[:, None]
    return np.array([up + (rough or each.mu) * circle for each in contacts]).reshape(-1, 3, edges)


def passive_directions(robot: Mechanism, q: Array, reference: Array | None = None) -> Array:
    """
    Return what no actuator moves, W Z with S Z = 0, (nv, count): free of units, orthonormal.

    `reference`: such directions of a pose nearby, of which the nearest are returned: smooth in q.
    """
    c = coordinates(robot, q)
    scale = robot.structure.dofs['scale']
    basis = np.linalg.qr(c.W / scale[:, None])[0]
    rates = np.linalg.lstsq(c.W, scale[:, None] * basis, rcond=None)[0]
    _, sizes, rows = np.linalg.svd(c.S @ rates if len(c.S) else np.zeros((1, rates.shape[1])))
    rank = int(np.sum(sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)))
    Z = basis @ rows[rank:].T
    if reference is not None:
        Z = Z @ (Z.T @ (reference / scale[:, None]))
    return np.asarray(scale[:, None] * Z)


def ground_forces(robot: Mechanism, motion: Motion, ground: Ground) -> GroundForces:
    """Return the GroundForces of a Motion."""
    points = contact_points(robot, motion.q, ground.contacts)
    touches = touching(robot, motion, ground)
    weight, length = weight_of(robot), float(robot.structure.world['length'])
    needed, forces, unmet, slips = [], np.zeros_like(points), [], []
    for k, (q, v, a) in enumerate(zip(motion.q, motion.v, motion.a)):
        needed.append(_support(robot, q, v, a))
        tau_O = inverse_dynamics(robot, q, v, a).tau_O
        Z = passive_directions(robot, q) / (weight * length)
        there = np.flatnonzero(touches[k])
        active = [ground.contacts[i] for i in there]
        J = np.array([jacobian(robot, q, each.link, point=each.xyz)[:3] for each in active])
        forces[k, there], left = _shared(Z.T @ tau_O, Z, J, active, weight)
        unmet.append(left)
        slips.append(
            left > WEIGHT_SHARE
            and _shared(Z.T @ tau_O, Z, J, active, weight, ENDLESS_FRICTION)[1] <= WEIGHT_SHARE
        )
    return GroundForces(
        robot, motion, ground, points, touches, np.array(needed), forces, np.array(unmet), length,
        np.array(slips),
    )  # fmt: skip


def _shared(
    wanted: Array,
    Z: Array,
    J: Array,
    contacts: Sequence[ContactPoint],
    weight: float,
    rough: float = 0.0,
) -> tuple[Array, float]:
    """Return the forces of contacts that give most of what is wanted, and what is left of it."""
    from scipy.optimize import nnls

    if not contacts or not wanted.size:
        return np.zeros((len(contacts), 3)), float(np.linalg.norm(wanted))
    edges = pyramid(contacts, rough=rough)
    count = edges.shape[2]
    give: Array = np.hstack([weight * Z.T @ j.T @ e for j, e in zip(J, edges)])
    alone = np.zeros((3 * len(contacts), count * len(contacts)))
    for i, e in enumerate(edges):
        alone[3 * i : 3 * i + 3, count * i : count * (i + 1)] = e
    rows = np.vstack([give, FORCE_COST * alone])
    found, _ = nnls(rows, np.append(wanted, np.zeros(len(alone))))
    left = float(np.linalg.norm(wanted - give @ found))
    return (weight * alone @ found).reshape(-1, 3), left


def _support(robot: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return force and moment about the world's origin that a motion needs beside gravity."""
    passed = joint_wrenches(robot, q, v, a)
    total = np.zeros(6)
    for joint in robot.description.joints:
        body = robot.model.joints.get(joint.name)
        if body and robot.model.bodies[body]['parent'] == 0:  # the world carries it
            p = link_placement(robot, q, joint.child)[:3, 3]
            f = passed[joint.name][:3]
            total += np.hstack([f, passed[joint.name][3:] + np.cross(p, f)])
    return total
