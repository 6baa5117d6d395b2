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
Idle degrees of freedom: a rod between two ball joints that spins about itself.

Such a spin is a generalized coordinate like any other, and yet it is of no use: it moves one body,
or a chain of bodies such as the two halves of a strut, in place. The definition here: a velocity
that respects the loops, that no actuator feels, in which every body outside the chain stands
still, and every centre of mass inside it too (almost: rods are not balanced).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.model.mechanism import Mechanism

if TYPE_CHECKING:
    from closed_chain_dynamics.dynamics.generalized_coordinates import Cluster, Coordinates

__all__ = ['IdleMotion', 'Motions', 'idle_motions']

STANDS_STILL = 1e-7  # a body that moves by less than this share of the fastest stands still
IDLE_ARM = 0.05  # centre of mass off the axis, as a share of the typical length


@dataclass(frozen=True)
class IdleMotion:
    """A body that can spin in place: its link, and the axis in words, in axes of that link."""

    link: str
    axis: str


class Motions:
    """Motion subspaces and body velocities of a mechanism in the pose of its Coordinates."""

    def __init__(self, c: 'Coordinates') -> None:
        robot = self.robot = c.robot
        self.c, self.length = c, float(robot.structure.world['length'])
        out = np.empty((len(robot.model.bodies), 12))
        kernels.compute_placements(robot.handle, c.q, out)
        self.rotation: Matrix = out[:, :9].reshape(-1, 3, 3)
        self.subspaces: Matrix = robot.workspace.columns['s'][: robot.nv].copy()  # (nv, 6)
        self.com: Matrix = robot.workspace.moving['c'].copy()  # at the same point

    def body_velocities(self, W: Matrix) -> Matrix:
        """Return linear velocity of the centre of mass and angular velocity, (n, 6, k)."""
        bodies = self.robot.structure.bodies
        V = np.zeros((len(bodies), 6, W.shape[1]))
        for i in range(1, len(bodies)):
            own = slice(bodies['iv'][i], bodies['iv'][i] + bodies['n_dof'][i])
            V[i] = V[bodies['parent'][i]] + self.subspaces[own].T @ W[own]
        V[:, :3] += np.cross(V[:, 3:], self.com[:, :, None], axis=1)
        return V


def idle_motions(motions: Motions) -> list[IdleMotion]:
    """Return every IdleMotion of a mechanism, cluster by cluster."""
    return [idle for cluster in motions.c.clusters for idle in _idle_in_cluster(motions, cluster)]


def _idle_in_cluster(motions: Motions, cluster: 'Cluster') -> list[IdleMotion]:
    c, robot = motions.c, motions.robot
    columns = np.flatnonzero(np.isin(c.places, cluster.dofs))
    if not columns.size:
        return []
    V = motions.body_velocities(c.W[:, columns])
    V[:, :3] /= motions.length
    size = max(np.abs(V).max(), 1e-300)
    lever = c.S[:, columns] * (size / max(np.abs(c.S).max(initial=0.0), 1e-300))
    found = []
    for chain in _chains(robot, cluster.number):
        others = np.delete(V, chain, axis=0).reshape(-1, len(columns))
        null = _null_space(np.vstack([others, lever]), STANDS_STILL * size)
        if null.shape[1]:
            found += _spins(motions, chain, V[chain] @ null)
    return found


def _null_space(matrix: Matrix, tolerance: float) -> Matrix:
    _, sigma, Vt = np.linalg.svd(matrix)
    return np.asarray(Vt[int(np.sum(sigma > tolerance)) :].T)


def _spins(motions: Motions, chain: list[int], V: Matrix) -> list[IdleMotion]:
    """Return the spins among the velocities of a chain's bodies, (bodies, 6, k)."""
    mass = motions.robot.model.bodies['mass'][chain]
    slides = (V[:, :3] * (mass > 0.0)[:, None, None]).reshape(-1, V.shape[2])
    found = []
    for x in np.linalg.svd(slides)[2][::-1]:  # those that slide least first
        omega = V[:, 3:] @ x
        turn = np.linalg.norm(omega, axis=1).max()
        if turn > 0.0 and np.linalg.norm(slides @ x) <= IDLE_ARM * turn:
            # the heaviest body gives its name; gimbal rings in a joint have no mass to speak of
            k = int(np.argmax(mass * (np.linalg.norm(omega, axis=1) > IDLE_ARM * turn)))
            found.append(_named(motions, chain[k], omega[k]))
    return found


def _named(motions: Motions, body: int, omega: Vector) -> IdleMotion:
    """Return an IdleMotion by the link that the joint of a body moves."""
    joint = motions.robot.model.body_joints[body]
    assert joint is not None  # only the world has none
    link = joint.child
    _, R, _ = motions.robot.link_frame(link)
    axis = R.T @ motions.rotation[body].T @ (omega / np.linalg.norm(omega))
    largest = int(np.argmax(np.abs(axis)))
    if abs(axis[largest]) > 1.0 - 1e-6:
        return IdleMotion(link, 'xyz'[largest])
    axis = axis * np.sign(axis[largest])
    return IdleMotion(link, '(' + ' '.join(f'{x + 0.0:.2f}' for x in axis) + ')')


def _chains(robot: Mechanism, cluster: int) -> list[list[int]]:
    """
    Return lists of bodies that hang together within a cluster between its branching bodies.

    Joints and loops of the cluster are edges; a body with three or more of them branches, and is a
    list of its own. What carries the cluster is outside.
    """
    structure = robot.structure
    bodies = np.flatnonzero(structure.bodies['cluster'][1:] == cluster) + 1
    edges = [(int(body), int(structure.bodies['parent'][body])) for body in bodies]
    edges += [
        (int(loop['body_1']), int(loop['body_2']))
        for loop in structure.loops
        if loop['cluster'] == cluster
    ]
    degree = dict.fromkeys(bodies.tolist(), 0)
    for edge in edges:
        for end in edge:
            if end in degree:
                degree[end] += 1
    leader = {body: body for body in degree}

    def lead(body: int) -> int:
        while leader[body] != body:
            body = leader[body]
        return body

    for one, two in edges:
        if degree.get(one, 3) < 3 and degree.get(two, 3) < 3:
            leader[lead(one)] = lead(two)
    chains: dict[int, list[int]] = {}
    for body in degree:
        chains.setdefault(lead(body), []).append(body)
    return list(chains.values())
