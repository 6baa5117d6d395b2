"""Names for the ways in which a mechanism can be assembled."""

import numpy as np

from closed_chain_dynamics.assembly.closure import Closure
from closed_chain_dynamics.assembly.starts import put_hint
from closed_chain_dynamics.dynamics.coordinates import coordinates
from closed_chain_dynamics.dynamics.tree import difference
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.kernels import layout as at

__all__ = ['name_branch']

INDEPENDENT = 1e-3  # share of a row's length that must be new for it to count as independent
SINGULAR = 1e-12  # determinant below which it has no sign


def name_branch(robot, q):
    """Return the nearest hint and a sign per cluster with loops, such as 'elbow_up +'."""
    robot = robot.copy()
    signs = _signs(robot, q)
    nearest, hint = (False, -np.inf), ''
    for each in robot.description.assemblies:
        pose = _closed_hint(robot, q, each)
        step = difference(robot, pose, q)
        around = robot.table(at.DOF_F)[:, at.SCALE] == 1.0  # angles count once round
        step[around] = np.remainder(step[around] + np.pi, 2.0 * np.pi) - np.pi
        try:
            same = _signs(robot, pose) == signs
        except ClosedChainError:  # a hint that does not close names no branch, only a place
            same = False
        if (same, -np.linalg.norm(step)) > nearest:
            nearest, hint = (same, -np.linalg.norm(step)), each.name
    return ' '.join(part for part in (hint, signs) if part)


def _closed_hint(robot, q, assembly):
    """Return q with the joints of a hint put there, and closed from there."""
    pose = put_hint(robot, q, assembly)
    for cluster in range(robot.mi[at.N_CLUSTERS]):
        closure = Closure(robot, cluster, np.zeros(robot.nv, dtype=bool), False)
        if closure.units.size:
            pose = closure.close(pose, 1e-9)[0]
    return pose


def _signs(robot, q):
    """
    Return the sign of det(J_S) of every cluster with loops, as text: '+', '-' or '0'.

    Of redundant rows the first independent ones count, and theta_S is taken in one order at all
    poses, joints that nobody prefers as generalized coordinates first: a choice that depended on
    the pose would make the signs of two poses mean different things.
    """
    c = coordinates(robot, q)
    loop_i, preference = robot.table(at.LOOP_I), robot.table(at.DOF_I)[:, at.DOF_PREFERENCE]
    signs = ''
    for cluster, row in enumerate(robot.table(at.CLUSTER_I)[: robot.mi[at.N_CLUSTERS]]):
        rows = [
            r
            for loop in loop_i
            if loop[at.LOOP_ACTIVE] and loop[at.LOOP_CLUSTER] == cluster
            for r in range(loop[at.LOOP_ROW], loop[at.LOOP_ROW] + loop[at.LOOP_N_ROWS])
        ]
        if not rows:
            continue
        rows += [
            coupling[at.COUPLING_ROW]
            for coupling in robot.table(at.COUPLING_I)
            if coupling[at.COUPLING_ACTIVE] and coupling[at.COUPLING_CLUSTER] == cluster
        ]
        dofs = robot.table(at.CLUSTER_DOFS)[0][
            row[at.CLUSTER_DOF] : row[at.CLUSTER_DOF] + row[at.CLUSTER_N_DOFS]
        ]
        dofs = sorted(dofs, key=lambda j: (preference[j], -j))
        J = c.J_C[np.ix_(rows, dofs)]
        theta_S = _first_independent(J.T, row[at.CLUSTER_RANK])
        J_S = J[:, theta_S]
        J_S = J_S[_first_independent(J_S, len(theta_S))]
        det = np.linalg.det(J_S) if len(J_S) == row[at.CLUSTER_RANK] else 0.0
        signs += '0' if abs(det) < SINGULAR else '+' if det > 0.0 else '-'
    return signs


def _first_independent(rows, count):
    """Return the places of the first `count` rows that are each new beside those before."""
    chosen, basis = [], []
    for place, row in enumerate(rows):
        rest, length = row.copy(), np.linalg.norm(row)
        for direction in basis:
            rest -= (rest @ direction) * direction
        if len(chosen) < count and np.linalg.norm(rest) > INDEPENDENT * length:
            basis.append(rest / np.linalg.norm(rest))
            chosen.append(place)
    return chosen
