"""
Constraint forces: J_C^T lambda = tau_O - tau, what keeps the loops closed.

The right side is what the motion of the tree needs and neither actuators nor passive forces give.
Where rows of J_C are redundant, lambda is not unique; the one of least norm is given, and the null
space of J_C^T with it.

A contact that slides drags with K f_n, and f_n is one of the lambda: where a motion is given, both
are found together, as Eqs. (20) and (21) of paper 3 do where the motion is not.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.contact_forces import REST_SPEED
from closed_chain_dynamics.dynamics.coordinates import actuator_rows, constraint_jacobian
from closed_chain_dynamics.dynamics.tree import (
    NO_WRENCHES,
    body_wrenches,
    jacobian,
    link_placement,
    mass_matrix,
)
from closed_chain_dynamics.kernels import layout as at
from closed_chain_dynamics.model.friction_lock import locked_error

__all__ = ['drag', 'motion_residual', 'multipliers', 'solve_multipliers', 'tree_force']

DRAGGED = 1e-12  # share of the largest drag to which all are found
MOST_ROUNDS = 10  # one is enough unless a contact changes the side that it pushes to


def tree_force(robot, q, v, a, wrenches):
    """Return tau_O, (nv,): the motion's forces on the tree without passive ones and wrenches."""
    forces = body_wrenches(robot, q, wrenches) if wrenches else NO_WRENCHES
    out = np.empty(1 + 2 * robot.nv + len(robot.actuator_names))
    status = kernels.compute_inverse_dynamics(robot.mi, robot.mf, robot.w, q, v, a, forces, out)
    if status and status not in (at.UNSOLVED, at.SINGULAR):
        robot.raise_for(status, q, v, a)
    return out[1 : 1 + robot.nv]


def added(robot, extra):
    """Return forces on coordinates of the tree, (nv,), zero where none are given."""
    return np.zeros(robot.nv) if extra is None else robot.vector(extra, robot.nv, 'extra')


def motion_residual(f):
    """
    Return J_C^T lambda, the force of the constraints on the tree, (nv,), and its natural size.

    It is what the motion needs less what actuators, passive forces, friction and wrenches give.
    """
    robot = f.robot
    needed = tree_force(robot, f.q, f.v, f.acceleration, f.wrenches)
    given = actuator_rows(robot, f.q).T @ f.tau_A + added(robot, f.extra)
    if robot.mi[at.N_CONTACTS]:
        J_C, rest = constraint_jacobian(robot, f.q)[0], needed - given
        given = (
            given
            + drag(robot, f.q, f.v, lambda force: solve_multipliers(robot, J_C, rest - force)[0])[
                0
            ]
        )
    # in free fall weight and inertia cancel: measure by the terms, not by their sum
    inertial = np.abs(mass_matrix(robot, f.q)) @ np.abs(f.acceleration)
    unit = max(np.abs(each).max(initial=0.0) for each in (needed, given, inertial))
    return needed - given, max(float(unit), 1e-300)


def multipliers(f):
    """Return lambda of least norm with J_C^T lambda = the constraints' force, (rows,)."""
    force = motion_residual(f)[0]
    return solve_multipliers(f.robot, constraint_jacobian(f.robot, f.q)[0], force)[0]


def drag(robot, q, v, normal_forces):
    """
    Return the friction of sliding contacts: on the tree, (nv,), and on each child, {loop: (3,)}.

    `normal_forces(force)`: lambda, (rows,), when friction puts that force on the tree.
    """
    rough = [
        k
        for k, loop in enumerate(robot.table(at.LOOP_I))
        if loop[at.LOOP_ACTIVE]
        and loop[at.LOOP_MODE] == at.SLIDE
        and robot.table(at.LOOP_F)[k, at.MU] > 0.0
    ]
    if not rough:
        return np.zeros(robot.nv), {}
    loops, K = robot.table(at.LOOP_I)[rough], robot.table(at.LOOP_F)[rough, at.MU]
    ways = [_sliding(robot, q, v, k) for k in rough]
    levers = -np.array(
        [way @ _relative(robot, q, robot.description.loops[k]) for k, way in zip(rough, ways)]
    )
    size, rows = np.zeros(len(rough)), loops[:, at.LOOP_ROW]
    for _ in range(MOST_ROUNDS):
        normal = normal_forces(size @ levers)[rows]
        side = np.where((normal < 0.0) & (loops[:, at.LOOP_CONTACT] != at.UNILATERAL), -1.0, 1.0)
        missing = K * side * normal - size
        if np.abs(missing).max() <= DRAGGED * max(np.abs(normal).max(), 1e-300):
            return size @ levers, {
                robot.loop_names[k]: -force * way for k, force, way in zip(rough, size, ways)
            }
        change = np.column_stack(
            [normal_forces((size + unit) @ levers)[rows] - normal for unit in np.eye(len(rough))]
        )
        try:
            size = size + np.linalg.solve(
                np.eye(len(rough)) - (K * side)[:, None] * change, missing
            )
        except np.linalg.LinAlgError:
            break
    raise locked_error(robot)


def _sliding(robot, q, v, k):
    """Return the unit direction in which a contact slides; standing, the one noted for it."""
    kernels.compute_loop_placement(robot.mi, robot.mf, robot.w, q, v, k)
    frame, body_w, loop = (
        robot.table(at.LOOP_W)[k],
        robot.table(at.BODY_W),
        robot.table(at.LOOP_I)[k],
    )
    way = np.array(
        kernels.sliding_velocity(
            frame, body_w[loop[at.LOOP_BODY_1]], body_w[loop[at.LOOP_BODY_2]]
        )[:3]
    )
    speed = np.linalg.norm(way)
    if speed > REST_SPEED:
        return way / speed
    return frame[:9].reshape(3, 3) @ robot.table(at.LOOP_F)[k, at.DIRECTION : at.DIRECTION + 3]


def _relative(robot, q, loop):
    """Return the Jacobian of a loop's point on the child against the parent, (3, nv), world."""
    on_child = jacobian(robot, q, loop.child, point=loop.child_origin.position)[:3]
    X, Y = link_placement(robot, q, loop.parent), link_placement(robot, q, loop.child)
    point = Y[:3, :3] @ loop.child_origin.position + Y[:3, 3]
    return on_child - jacobian(robot, q, loop.parent, point=X[:3, :3].T @ (point - X[:3, 3]))[:3]


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
        dofs = robot.table(at.CLUSTER_DOFS)[0, first : first + n]
        mine = [
            row
            for loop in loop_i[loop_i[:, at.LOOP_CLUSTER] == c]
            for row in range(loop[at.LOOP_ROW], loop[at.LOOP_ROW] + loop[at.LOOP_N_ROWS])
        ]
        mine += list(coupling_i[coupling_i[:, at.COUPLING_CLUSTER] == c, at.COUPLING_ROW])
        U, sigma, V = np.linalg.svd(J_C[np.ix_(mine, dofs)])
        solution[mine] = U[:, :m] @ ((V[:m] @ force[dofs]) / sigma[:m])
        block = np.zeros((rows, len(mine) - m))
        block[mine] = U[:, m:]
        null.append(block)
        free[mine] = False
    null.append(np.eye(rows)[:, free])  # a loop from a body to itself: no joint feels its rows
    return solution, [block for block in null if block.shape[1]]
