"""
Constraint forces: J_C^T lambda = tau_O - tau, what keeps the loops closed.

The right side is what the motion of the tree needs and neither actuators nor passive forces give.
Where rows of J_C are redundant, lambda is not unique; the one of least norm is given, and the null
space of J_C^T with it.
"""

import numpy as np

from . import kernels
from .coordinates import actuator_rows, constraint_jacobian
from .kernels import layout as at
from .tree_dynamics import body_wrenches, mass_matrix, NO_WRENCHES

__all__ = ['motion_residual', 'multipliers', 'solve_multipliers', 'tree_force']


def tree_force(robot, q, v, a, wrenches):
    """Return tau_O, (nv,): the motion's forces on the tree without passive ones and wrenches."""
    forces = body_wrenches(robot, q, wrenches) if wrenches else NO_WRENCHES
    out = np.empty(1 + 2 * robot.nv + len(robot.actuator_names))
    status = kernels.compute_inverse_dynamics(robot.mi, robot.mf, robot.w, q, v, a, forces, out)
    if status and status not in (at.UNSOLVED, at.SINGULAR):
        robot.raise_for(status, q, v, a)
    return out[1:1 + robot.nv]


def added(robot, extra):
    """Return forces on coordinates of the tree, (nv,), zero where none are given."""
    return np.zeros(robot.nv) if extra is None else robot.vector(extra, robot.nv, 'extra')


def motion_residual(f):
    """
    Return J_C^T lambda, the force of the constraints on the tree, (nv,), and its natural size.

    It is what the motion needs less what actuators, passive forces and wrenches give.
    """
    needed = tree_force(f.robot, f.q, f.v, f.acceleration, f.wrenches)
    given = actuator_rows(f.robot, f.q).T @ f.tau_A + added(f.robot, f.extra)
    # in free fall weight and inertia cancel: measure by the terms, not by their sum
    inertial = np.abs(mass_matrix(f.robot, f.q)) @ np.abs(f.acceleration)
    unit = max(np.abs(each).max(initial=0.0) for each in (needed, given, inertial))
    return needed - given, max(float(unit), 1e-300)


def multipliers(f):
    """Return lambda of least norm with J_C^T lambda = the constraints' force, (rows,)."""
    force = motion_residual(f)[0]
    return solve_multipliers(f.robot, constraint_jacobian(f.robot, f.q)[0], force)[0]


def solve_multipliers(robot, J_C, force):
    """
    Return lambda of least norm, (rows,), and N cluster by cluster, a list of (rows, k).

    Loops that share no joint have no column of J_C in common: one small problem per cluster. The
    ranks are those of the last computation, which must have been in this pose.
    """
    rows = len(J_C)
    solution, null, free = np.zeros(rows), [], np.ones(rows, dtype=bool)
    loop_i, coupling_i = robot.table(at.LOOP_I), robot.table(at.COUPLING_I)
    for c in range(robot.mi[at.N_CLUSTERS]):
        cluster = robot.table(at.CLUSTER_I)[c]
        if not cluster[at.CLUSTER_N_ROWS]:
            continue
        first, n, m = cluster[at.CLUSTER_DOF], cluster[at.CLUSTER_N_DOFS], cluster[at.CLUSTER_RANK]
        dofs = robot.table(at.CLUSTER_DOFS)[0, first:first + n]
        mine = [row for loop in loop_i[loop_i[:, at.LOOP_CLUSTER] == c]
                for row in range(loop[at.LOOP_ROW], loop[at.LOOP_ROW] + loop[at.LOOP_N_ROWS])]
        mine += list(coupling_i[coupling_i[:, at.COUPLING_CLUSTER] == c, at.COUPLING_ROW])
        U, sigma, V = np.linalg.svd(J_C[np.ix_(mine, dofs)])
        solution[mine] = U[:, :m] @ ((V[:m] @ force[dofs]) / sigma[:m])
        block = np.zeros((rows, len(mine) - m))
        block[mine] = U[:, m:]
        null.append(block)
        free[mine] = False
    null.append(np.eye(rows)[:, free])   # a loop from a body to itself: no joint feels its rows
    return solution, [block for block in null if block.shape[1]]
