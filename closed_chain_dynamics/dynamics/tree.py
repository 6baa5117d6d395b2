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
Kinematics and dynamics of the tree that remains when every loop is cut virtually.

All spatial quantities are (linear, angular) in world axes; those of a link are at its origin.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.outside_forces import acting
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism

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

_newton_euler = kernels.Strict(kernels.compute_newton_euler)
_mass_matrix = kernels.Strict(kernels.compute_mass_matrix)


def integrate(robot: Mechanism, q: ArrayLike, step: ArrayLike) -> Vector:
    """Return q moved along a tangent step, (nq,); exact on the manifold, Eq. (39)."""
    q, step = robot.vector(q, robot.nq, 'q'), robot.vector(step, robot.nv, 'step')
    status = kernels.check_state(robot.handle, q, step, step)
    if status:
        robot.raise_for(status, q, step)
    out = np.empty(robot.nq)
    kernels.integrate(robot.handle, q, step, out)
    return out


def difference(robot: Mechanism, q_from: ArrayLike, q_to: ArrayLike) -> Vector:
    """Return the tangent step that leads from one configuration to another, (nv,)."""
    one, two = robot.vector(q_from, robot.nq, 'q'), robot.vector(q_to, robot.nq, 'q')
    for q in (one, two):
        status = kernels.check_state(robot.handle, q, q, q)
        if status:
            robot.raise_for(status, q)
    out = np.empty(robot.nv)
    kernels.difference(robot.handle, one, two, out)
    return out


def body_placements(robot: Mechanism, q: ArrayLike) -> Matrix:
    """Return R (row by row) and p of every body in the world, (n, 12)."""
    q = robot.vector(q, robot.nq, 'q')
    out = np.empty((len(robot.model.bodies), 12))
    status = kernels.compute_placements(robot.handle, q, out)
    if status:
        robot.raise_for(status, q)
    return out


def _link_matrix(robot: Mechanism, bodies: Matrix, link: str) -> Matrix:
    body, R, p = robot.link_frame(link)
    R_body, p_body = bodies[body, :9].reshape(3, 3), bodies[body, 9:]
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R_body @ R, p_body + R_body @ p
    return X


def link_placement(robot: Mechanism, q: ArrayLike, link: str) -> Matrix:
    """Return the placement of a link in the world, a 4 x 4 homogeneous matrix."""
    return _link_matrix(robot, body_placements(robot, q), link)


def link_placements(robot: Mechanism, q: ArrayLike) -> dict[str, Matrix]:
    """Return the placement of every link in the world, {name: (4, 4)}."""
    bodies = body_placements(robot, q)
    return {link: _link_matrix(robot, bodies, link) for link in robot.link_names}


def body_motion(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[Matrix, NDArray[np.void], Vector]:
    """
    Return how bodies move, where they are, and the point from which the latter is measured.

    Velocity and acceleration at each body's own origin, (n, 12), without gravity; its record of
    placement, (n,).
    """
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    a = robot.vector(a, robot.nv, 'a')
    out = np.empty((len(robot.model.bodies), 12))
    status = kernels.compute_motion(robot.handle, q, v, a, out)
    if status:
        robot.raise_for(status, q, v, a)
    workspace = robot.workspace
    return out, workspace.moving.copy(), workspace.totals['origin'].copy()


def link_velocities(robot: Mechanism, q: ArrayLike, v: ArrayLike) -> dict[str, Vector]:
    """Return linear and angular velocity of every link at its origin, {name: (6,)}."""
    bodies, places, _ = body_motion(robot, q, v, np.zeros(robot.nv))
    velocities = {}
    for link in robot.link_names:
        body, _, p = robot.link_frame(link)
        r = places['R'][body] @ p
        omega = bodies[body, 3:6]
        velocities[link] = np.concatenate([bodies[body, :3] + np.cross(omega, r), omega])
    return velocities


def link_accelerations(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> dict[str, Vector]:
    """Return classical linear and angular acceleration of every link origin, {name: (6,)}."""
    bodies, places, _ = body_motion(robot, q, v, a)
    accelerations = {}
    for link in robot.link_names:
        body, _, p = robot.link_frame(link)
        r = places['R'][body] @ p
        velocity, omega = bodies[body, :3], bodies[body, 3:6]
        linear, alpha = bodies[body, 6:9], bodies[body, 9:12]
        at_link = velocity + np.cross(omega, r)
        accelerations[link] = np.concatenate(
            [linear + np.cross(alpha, r) + np.cross(omega, at_link), alpha]
        )
    return accelerations


def _jacobian(robot: Mechanism, q: ArrayLike, v: ArrayLike, link: str, point: ArrayLike) -> Matrix:
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    body, R, p = robot.link_frame(link)
    point = robot.vector(point, 3, 'point')
    if not np.all(np.isfinite(point)):
        raise StateError(f'the point on link {link!r} is not finite', where=robot.name)
    out = np.empty((6, robot.nv + 1))
    status = kernels.compute_jacobian(robot.handle, q, v, body, p + R @ point, out)
    if status:
        robot.raise_for(status, q, v)
    return out


def jacobian(
    robot: Mechanism, q: ArrayLike, link: str, *, point: ArrayLike = (0.0, 0.0, 0.0)
) -> Matrix:
    """Return the Jacobian of a point of a link, (6, nv): linear, then angular, world axes."""
    return np.array(_jacobian(robot, q, np.zeros(robot.nv), link, point)[:, :-1])


def jacobian_bias(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, link: str, *, point: ArrayLike = (0.0, 0.0, 0.0)
) -> Vector:
    """Return J' v of a point of a link, (6,): its acceleration at zero joint acceleration."""
    return np.array(_jacobian(robot, q, v, link, point)[:, -1])


def newton_euler(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> Vector:
    """
    Return the joint forces of the tree alone, (nv,), by Newton-Euler (Li et al., (2) to (9)).

    M a + h with the damping of the joints, but without other passive forces and without loops.
    (tau_O, which the closed chain needs, is in `inverse_dynamics`.)
    """
    if not wrenches:
        return _newton_euler_force(robot, q, v, a)
    with acting(robot, wrenches):
        return _newton_euler_force(robot, q, v, a)


def _newton_euler_force(robot: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Vector:
    force = np.empty(robot.nv)
    try:  # the usual case costs nothing: the kernel itself looks at types and sizes
        status = _newton_euler.call(robot.handle, q, v, a, force)
    except TypeError:
        status = at.WRONG_SIZE
    if status == at.WRONG_SIZE:
        q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
        a = robot.vector(a, robot.nv, 'a')
        status = _newton_euler.checked(robot.handle, q, v, a, force)
    if status:
        robot.raise_for(status, np.asarray(q), np.asarray(v), np.asarray(a))
    return force


def joint_wrenches(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> dict[str, Vector]:
    """Return the force and moment of each tree joint on its child, {joint: (6,)}."""
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    a = robot.vector(a, robot.nv, 'a')
    out = np.empty((len(robot.model.bodies), 6))
    with acting(robot, wrenches):
        status = kernels.compute_joint_wrenches(robot.handle, q, v, a, out)
    if status:
        robot.raise_for(status, q, v, a)
    return {joint: out[body] for joint, body in robot.model.joints.items()}


def mass_matrix(robot: Mechanism, q: ArrayLike) -> Matrix:
    """Return the mass matrix M of the tree, (nv, nv), by composite inertias."""
    M = np.empty((robot.nv, robot.nv))
    try:
        status = _mass_matrix.call(robot.handle, q, M)
    except TypeError:
        status = at.WRONG_SIZE
    if status == at.WRONG_SIZE:
        q = robot.vector(q, robot.nq, 'q')
        status = _mass_matrix.checked(robot.handle, q, M)
    if status:
        robot.raise_for(status, np.asarray(q))
    return M


def _totals(robot: Mechanism, q: ArrayLike, v: ArrayLike) -> Vector:
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    out = np.empty(11)
    status = kernels.compute_totals(robot.handle, q, v, out)
    if status:
        robot.raise_for(status, q, v)
    return out


def energy(robot: Mechanism, q: ArrayLike, v: ArrayLike) -> tuple[float, float]:
    """Return kinetic and gravitational potential energy [J]."""
    kinetic, potential = _totals(robot, q, v)[:2].tolist()
    return kinetic, potential


def momentum(robot: Mechanism, q: ArrayLike, v: ArrayLike) -> Vector:
    """Return linear momentum, and angular momentum about the centre of mass, (6,)."""
    return np.array(_totals(robot, q, v)[5:])


def center_of_mass(robot: Mechanism, q: ArrayLike) -> Vector:
    """Return the centre of mass of everything that moves, (3,) [m]."""
    return np.array(_totals(robot, q, np.zeros(robot.nv))[2:5])
