"""
Idle degrees of freedom: a rod between two ball joints that spins about itself.

Such a spin is a generalized coordinate like any other, and yet it is of no use: it moves one body,
or a chain of bodies such as the two halves of a strut, in place. The definition here: a velocity
that respects the loops, that no actuator feels, in which every body outside the chain stands
still, and every centre of mass inside it too (almost: rods are not balanced).
"""

from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.kernels import layout as at

__all__ = ['IdleMotion', 'Motions', 'idle_motions']

STILL = 1e-7  # a body that moves by less than this share of the fastest stands still
IDLE_ARM = 0.05  # centre of mass off the axis, as a share of the typical length


@dataclass(frozen=True)
class IdleMotion:
    """A body that can spin in place: its link, and the axis in words, in axes of that link."""

    link: str
    axis: str


class Motions:
    """Motion subspaces and body velocities of a mechanism in the pose of its Coordinates."""

    def __init__(self, c):
        robot = self.robot = c.robot
        self.c, self.length = c, robot.table(at.WORLD_F)[0, at.LENGTH]
        out = np.empty((robot.mi[at.N_BODIES], 12))
        kernels.compute_placements(robot.mi, robot.mf, robot.w, c.q, out)
        self.rotation = out[:, :9].reshape(-1, 3, 3)
        self.subspaces = robot.table(at.DOF_W)[:, at.S_W : at.S_W + 6].copy()  # (nv, 6)
        self.com = robot.table(at.BODY_W)[:, at.C : at.C + 3].copy()  # at the same point

    def dofs(self, cluster):
        """Return the places in v of the joints of a cluster."""
        row = self.robot.table(at.CLUSTER_I)[cluster]
        first = row[at.CLUSTER_DOF]
        return self.robot.table(at.CLUSTER_DOFS)[0, first : first + row[at.CLUSTER_N_DOFS]]

    def columns(self, cluster):
        """Return the motion subspaces of the joints of a cluster, (n, 6), at one point."""
        return self.subspaces[self.dofs(cluster)]

    def body_velocities(self, W):
        """Return linear velocity of the centre of mass and angular velocity, (n, 6, k)."""
        body_i = self.robot.table(at.BODY_I)
        V = np.zeros((len(body_i), 6, W.shape[1]))
        for i in range(1, len(body_i)):
            own = slice(body_i[i, at.IV], body_i[i, at.IV] + body_i[i, at.N_DOF])
            V[i] = V[body_i[i, at.PARENT]] + self.subspaces[own].T @ W[own]
        V[:, :3] += np.cross(V[:, 3:], self.com[:, :, None], axis=1)
        return V


def idle_motions(motions):
    """Return every IdleMotion of a mechanism, cluster by cluster."""
    robot, found = motions.robot, []
    for cluster in range(robot.mi[at.N_CLUSTERS]):
        if robot.table(at.CLUSTER_I)[cluster, at.CLUSTER_N_ROWS]:
            found += _idle_in_cluster(motions, cluster)
    return found


def _idle_in_cluster(motions, cluster):
    c, robot = motions.c, motions.robot
    mine = {robot.coordinate_names[j] for j in motions.dofs(cluster)}
    columns = [k for k, name in enumerate(c.independent) if name in mine]
    if not columns:
        return []
    V = motions.body_velocities(c.W[:, columns])
    V[:, :3] /= motions.length
    size = max(np.abs(V).max(), 1e-300)
    lever = c.S[:, columns] * (size / max(np.abs(c.S).max(initial=0.0), 1e-300))
    found = []
    for chain in _chains(robot, cluster):
        others = np.delete(V, chain, axis=0).reshape(-1, len(columns))
        null = _null_space(np.vstack([others, lever]), STILL * size)
        if null.shape[1]:
            found += _spins(motions, chain, V[chain] @ null)
    return found


def _null_space(matrix, tolerance):
    _, sigma, V = np.linalg.svd(matrix)
    return V[int(np.sum(sigma > tolerance)) :].T


def _spins(motions, chain, V):
    """Return the spins among the velocities of a chain's bodies, (bodies, 6, k)."""
    mass = motions.robot.table(at.BODY_F)[chain, at.MASS]
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


def _named(motions, body, omega):
    """Return an IdleMotion by the link that the joint of a body moves."""
    link = motions.robot._packing.bodies[body].joint.child
    _, R, _ = motions.robot.link_frame(link)
    axis = R.T @ motions.rotation[body].T @ (omega / np.linalg.norm(omega))
    largest = int(np.argmax(np.abs(axis)))
    if abs(axis[largest]) > 1.0 - 1e-6:
        return IdleMotion(link, 'xyz'[largest])
    axis = axis * np.sign(axis[largest])
    return IdleMotion(link, '(' + ' '.join(f'{x + 0.0:.2f}' for x in axis) + ')')


def _chains(robot, cluster):
    """
    Return lists of bodies that hang together within a cluster between its branching bodies.

    Joints and loops of the cluster are edges; a body with three or more of them branches, and is a
    list of its own. What carries the cluster is outside.
    """
    body_i, loop_i = robot.table(at.BODY_I), robot.table(at.LOOP_I)
    bodies = np.flatnonzero(body_i[1:, at.CLUSTER] == cluster) + 1
    edges = [(int(body), int(body_i[body, at.PARENT])) for body in bodies]
    edges += [
        (int(loop[at.LOOP_BODY_1]), int(loop[at.LOOP_BODY_2]))
        for loop in loop_i
        if loop[at.LOOP_CLUSTER] == cluster
    ]
    degree = dict.fromkeys(bodies.tolist(), 0)
    for edge in edges:
        for end in edge:
            if end in degree:
                degree[end] += 1
    leader = {body: body for body in degree}

    def lead(body):
        while leader[body] != body:
            body = leader[body]
        return body

    for one, two in edges:
        if degree.get(one, 3) < 3 and degree.get(two, 3) < 3:
            leader[lead(one)] = lead(two)
    chains = {}
    for body in degree:
        chains.setdefault(lead(body), []).append(body)
    return list(chains.values())
