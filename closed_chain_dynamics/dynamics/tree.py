"""
Kinematics and dynamics of the tree that remains when every loop is cut virtually.

All spatial quantities are (linear, angular) in world axes; those of a link are at its origin.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels import layout as at

__all__ = [
    'center_of_mass',
    'difference',
    'energy',
    'integrate',
    'jacobian',
    'jacobian_bias',
    'joint_wrenches',
    'link_accelerations',
    'link_placement',
    'link_placements',
    'link_velocities',
    'mass_matrix',
    'momentum',
    'newton_euler',
]

NO_WRENCHES = np.zeros((0, 6))
_newton_euler = kernels.Strict(kernels.compute_newton_euler)
_mass_matrix = kernels.Strict(kernels.compute_mass_matrix)


def integrate(robot, q, step):
    """Return q moved along a tangent step, (nq,); exact on the manifold, Eq. (39) of paper 2."""
    q, step = robot.vector(q, robot.nq, 'q'), robot.vector(step, robot.nv, 'step')
    status = kernels.check_state(robot.mi, q, step, step)
    if status:
        robot.raise_for(status, q, step)
    out = np.empty(robot.nq)
    kernels.integrate(robot.mi, q, step, out)
    return out


def difference(robot, q_from, q_to):
    """Return the tangent step that leads from one configuration to another, (nv,)."""
    q_from, q_to = robot.vector(q_from, robot.nq, 'q'), robot.vector(q_to, robot.nq, 'q')
    for q in (q_from, q_to):
        status = kernels.check_state(robot.mi, q, q, q)
        if status:
            robot.raise_for(status, q)
    out = np.empty(robot.nv)
    kernels.difference(robot.mi, q_from, q_to, out)
    return out


def _body_placements(robot, q):
    q = robot.vector(q, robot.nq, 'q')
    out = np.empty((robot.mi[at.N_BODIES], 12))
    status = kernels.compute_placements(robot.mi, robot.mf, robot.w, q, out)
    if status:
        robot.raise_for(status, q)
    return out


def _link_matrix(robot, bodies, link):
    body, R, p = robot.link_frame(link)
    R_body, p_body = bodies[body, :9].reshape(3, 3), bodies[body, 9:]
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R_body @ R, p_body + R_body @ p
    return X


def link_placement(robot, q, link):
    """Return the placement of a link in the world, a 4 x 4 homogeneous matrix."""
    return _link_matrix(robot, _body_placements(robot, q), link)


def link_placements(robot, q):
    """Return the placement of every link in the world, {name: (4, 4)}."""
    bodies = _body_placements(robot, q)
    return {link: _link_matrix(robot, bodies, link) for link in robot.link_names}


def _body_motion(robot, q, v, a):
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    a = robot.vector(a, robot.nv, 'a')
    out = np.empty((robot.mi[at.N_BODIES], 12))
    status = kernels.compute_motion(robot.mi, robot.mf, robot.w, q, v, a, out)
    if status:
        robot.raise_for(status, q, v, a)
    return out, robot.table(at.BODY_W)[:, at.R : at.R + 9]


def link_velocities(robot, q, v):
    """Return linear and angular velocity of every link at its origin, {name: (6,)}."""
    bodies, rotations = _body_motion(robot, q, v, np.zeros(robot.nv))
    velocities = {}
    for link in robot.link_names:
        body, _, p = robot.link_frame(link)
        r = rotations[body].reshape(3, 3) @ p
        omega = bodies[body, 3:6]
        velocities[link] = np.concatenate([bodies[body, :3] + np.cross(omega, r), omega])
    return velocities


def link_accelerations(robot, q, v, a):
    """Return classical linear and angular acceleration of every link origin, {name: (6,)}."""
    bodies, rotations = _body_motion(robot, q, v, a)
    accelerations = {}
    for link in robot.link_names:
        body, _, p = robot.link_frame(link)
        r = rotations[body].reshape(3, 3) @ p
        velocity, omega = bodies[body, :3], bodies[body, 3:6]
        linear, alpha = bodies[body, 6:9], bodies[body, 9:12]
        at_link = velocity + np.cross(omega, r)
        accelerations[link] = np.concatenate(
            [linear + np.cross(alpha, r) + np.cross(omega, at_link), alpha]
        )
    return accelerations


def _jacobian(robot, q, v, link, point):
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    body, R, p = robot.link_frame(link)
    point = robot.vector(point, 3, 'point')
    if not np.all(np.isfinite(point)):
        raise StateError(f'the point on link {link!r} is not finite', where=robot.name)
    out = np.empty((6, robot.nv + 1))
    status = kernels.compute_jacobian(robot.mi, robot.mf, robot.w, q, v, body, p + R @ point, out)
    if status:
        robot.raise_for(status, q, v)
    return out


def jacobian(robot, q, link, *, point=(0.0, 0.0, 0.0)):
    """Return the Jacobian of a point of a link, (6, nv): linear, then angular, world axes."""
    return _jacobian(robot, q, robot._zeros, link, point)[:, :-1].copy()


def jacobian_bias(robot, q, v, link, *, point=(0.0, 0.0, 0.0)):
    """Return J' v of a point of a link, (6,): its acceleration at zero joint acceleration."""
    return _jacobian(robot, q, v, link, point)[:, -1].copy()


def body_wrenches(robot, q, wrenches):
    """
    Return wrenches given by link, {link: (6,)} in world axes at the link origin, by body (n, 6).

    An empty argument gives the (0, 6) array that costs the kernels nothing.
    """
    if not wrenches:
        return NO_WRENCHES
    by_body = np.zeros((robot.mi[at.N_BODIES], 6))
    placements = _body_placements(robot, q)
    for link, wrench in wrenches.items():
        body, _, p = robot.link_frame(link)
        wrench = robot.vector(wrench, 6, f'wrench on link {link!r}')
        if not np.all(np.isfinite(wrench)):
            raise StateError(f'the wrench on link {link!r} is not finite', where=robot.name)
        r = placements[body, :9].reshape(3, 3) @ p
        by_body[body] += wrench
        by_body[body, 3:] += np.cross(r, wrench[:3])
    return by_body


def newton_euler(robot, q, v, a, *, wrenches=None):
    """Return tau_O of the tree, (nv,), by Newton-Euler with joint damping: paper 3, (2) to (9)."""
    forces = body_wrenches(robot, q, wrenches) if wrenches else NO_WRENCHES
    tau = np.empty(robot.nv)
    try:  # the usual case costs nothing: the kernel itself looks at types and sizes
        status = _newton_euler.call(robot.mi, robot.mf, robot.w, q, v, a, forces, tau)
    except TypeError:
        status = at.WRONG_SIZE
    if status == at.WRONG_SIZE:
        q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
        a = robot.vector(a, robot.nv, 'a')
        status = _newton_euler.checked(robot.mi, robot.mf, robot.w, q, v, a, forces, tau)
    if status:
        robot.raise_for(status, q, v, a)
    return tau


def joint_wrenches(robot, q, v, a, *, wrenches=None):
    """Return force and moment that each tree joint passes on to its child, {joint: (6,)}."""
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    a = robot.vector(a, robot.nv, 'a')
    out = np.empty((robot.mi[at.N_BODIES], 6))
    status = kernels.compute_joint_wrenches(
        robot.mi, robot.mf, robot.w, q, v, a, body_wrenches(robot, q, wrenches), out
    )
    if status:
        robot.raise_for(status, q, v, a)
    return {joint: out[number + 1] for number, joint in enumerate(robot.joint_names)}


def mass_matrix(robot, q):
    """Return the mass matrix M of the tree, (nv, nv), by composite inertias."""
    M = np.empty((robot.nv, robot.nv))
    try:
        status = _mass_matrix.call(robot.mi, robot.mf, robot.w, q, M)
    except TypeError:
        status = at.WRONG_SIZE
    if status == at.WRONG_SIZE:
        q = robot.vector(q, robot.nq, 'q')
        status = _mass_matrix.checked(robot.mi, robot.mf, robot.w, q, M)
    if status:
        robot.raise_for(status, q)
    return M


def _totals(robot, q, v):
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    out = np.empty(11)
    status = kernels.compute_totals(robot.mi, robot.mf, robot.w, q, v, out)
    if status:
        robot.raise_for(status, q, v)
    return out


def energy(robot, q, v):
    """Return kinetic and gravitational potential energy [J]."""
    return tuple(_totals(robot, q, v)[:2])


def momentum(robot, q, v):
    """Return linear momentum, and angular momentum about the centre of mass, (6,)."""
    return _totals(robot, q, v)[5:].copy()


def center_of_mass(robot, q):
    """Return the centre of mass of everything that moves, (3,) [m]."""
    return _totals(robot, q, robot._zeros)[2:5].copy()
