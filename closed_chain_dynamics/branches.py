"""Names for the ways in which a mechanism can be assembled."""

import numpy as np

from .closure import Closure
from .coordinates import coordinates
from .errors import ClosedChainError
from .kernels import layout as at
from .starts import put_hint
from .tree_dynamics import difference

__all__ = ['name_branch']

INDEPENDENT = 1e-3   # share of a row's length that must be new for it to count as independent
SINGULAR = 1e-9      # determinant of rows of unit length below which it has no sign


def name_branch(robot, q):
    """Return the nearest hint and a sign per cluster with loops, such as 'elbow_up +'."""
    robot = robot.copy()
    signs = _signs(robot, q)
    nearest, hint = (False, -np.inf), ''
    for each in robot.description.assemblies:
        pose = _closed_hint(robot, q, each)
        step = difference(robot, pose, q)
        around = robot.table(at.DOF_F)[:, at.SCALE] == 1.0   # angles count once round
        step[around] = np.remainder(step[around] + np.pi, 2.0 * np.pi) - np.pi
        try:
            same = _signs(robot, pose) == signs
        except ClosedChainError:   # a hint that does not close names no branch, only a place
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

    Of redundant rows the first independent ones count: they are the same all along a branch.
    """
    c = coordinates(robot, q)
    dependent = robot.table(at.DOF_I)[:, at.DOF_DEPENDENT] == 1
    loop_i, signs = robot.table(at.LOOP_I), ''
    for cluster in range(robot.mi[at.N_CLUSTERS]):
        rows = [row for loop in loop_i if loop[at.LOOP_ACTIVE] and loop[at.LOOP_CLUSTER] == cluster
                for row in range(loop[at.LOOP_ROW], loop[at.LOOP_ROW] + loop[at.LOOP_N_ROWS])]
        if not rows:
            continue
        rows += [coupling[at.COUPLING_ROW] for coupling in robot.table(at.COUPLING_I)
                 if coupling[at.COUPLING_ACTIVE] and coupling[at.COUPLING_CLUSTER] == cluster]
        mine = np.zeros(robot.nv, dtype=bool)
        closure = Closure(robot, cluster, mine, False)
        mine[closure.dofs] = True
        J_S = c.J_C[np.ix_(rows, np.flatnonzero(mine & dependent))]
        det = np.linalg.det(_first_independent(J_S)) if J_S.size else 1.0
        signs += '0' if abs(det) < SINGULAR else '+' if det > 0.0 else '-'
    return signs


def _first_independent(J_S):
    """Return as many rows as there are columns, of unit length, each new beside those before."""
    chosen, basis = [], []
    for row in J_S:
        length = np.linalg.norm(row)
        if length == 0.0 or len(chosen) == J_S.shape[1]:
            continue
        rest = row / length
        for direction in basis:
            rest = rest - (rest @ direction) * direction
        if np.linalg.norm(rest) > INDEPENDENT:
            basis.append(rest / np.linalg.norm(rest))
            chosen.append(row / length)
    if len(chosen) < J_S.shape[1]:
        return np.zeros((1, 1))   # close to a singularity
    return np.array(chosen)
