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
The methods of integration: Runge-Kutta and Euler on the manifold.

Rotations advance by the exponential of Eq. (39) of Nakamura and Yamane. Within a step the unknown
is the rotation vector u since its start, R = R_0 exp(u), whose rate is u' = J_r(u)^-1 omega: with
it a method keeps its full order, where adding angular velocities would leave only the second.
"""

import numpy as np

from . import records as at
from .compiling import kernel
from .constraint_rows import constraint_matrix
from .coordinates import solve_constraints
from .forward import forward_dynamics, forward_dynamics_again
from .kinematics import motion, placements
from .manifold import rotate_step
from .vectors import add, cross, inner, minus, norm, put, times

STAGES = 7  # rows of room that a step, and closing the loops, need
FAIR_ANGLE = 1e-2  # below it the series is exact to rounding: the next term is angle^4 / 30240


@kernel
def _three(x, k):
    """Return three numbers of an array as a vector."""
    return x[k], x[k + 1], x[k + 2]


@kernel
def _rotation_rate(u, omega):
    """Return J_r(u)^-1 omega, the rate of a rotation vector whose body turns with omega."""
    angle = norm(u)
    if angle < FAIR_ANGLE:
        e = 1.0 / 12.0 + angle * angle / 720.0
    else:
        half = 0.5 * angle
        e = (1.0 - half * np.cos(half) / np.sin(half)) / (angle * angle)
    turn = cross(u, omega)
    return add(add(omega, times(0.5, turn)), times(e, cross(u, turn)))


@kernel
def _turned(q, k, a):
    """Return a vector turned by the quaternion at q[k:]."""
    axis, w = _three(q, k), q[k + 3]
    turn = times(2.0 / (inner(axis, axis) + w * w), cross(axis, a))
    return add(add(a, times(w, turn)), cross(axis, turn))


@kernel
def local_rate(m, q, v, u, rate):
    """Write the rate of the local coordinates u that `advance` moves a configuration by."""
    for body in at.bodies(m)[1:]:
        joint, k, j = body.joint, body.iq, body.iv
        if joint <= at.PRISMATIC:
            rate[j] = v[j]
        elif joint == at.SPHERICAL:
            put(rate[j:], _rotation_rate(_three(u, j), _three(v, j)))
        elif joint == at.FREE:  # velocities are in the moving frame, positions are not
            put(rate[j:], _turned(q, k + 3, _three(v, j)))
            put(rate[j + 3 :], _rotation_rate(_three(u, j + 3), _three(v, j + 3)))
        else:  # PLANAR
            c, s = q[k + 2], q[k + 3]
            rate[j], rate[j + 1] = c * v[j] - s * v[j + 1], s * v[j] + c * v[j + 1]
            rate[j + 2] = v[j + 2]


@kernel
def advance(m, q, u, out):
    """Write q moved by local coordinates: rotations by their exponential, Eq. (39)."""
    for body in at.bodies(m)[1:]:
        joint, k, j = body.joint, body.iq, body.iv
        if joint <= at.PRISMATIC:
            out[k] = q[k] + u[j]
        elif joint == at.SPHERICAL:
            rotate_step(q, k, _three(u, j), out)
        elif joint == at.FREE:
            put(out[k:], add(_three(q, k), _three(u, j)))
            rotate_step(q, k + 3, _three(u, j + 3), out)
        else:  # PLANAR
            out[k], out[k + 1] = q[k] + u[j], q[k + 1] + u[j + 1]
            c, s = np.cos(u[j + 2]), np.sin(u[j + 2])
            x, y = q[k + 2] * c - q[k + 3] * s, q[k + 3] * c + q[k + 2] * s
            length = np.sqrt(x * x + y * y)
            out[k + 2], out[k + 3] = x / length, y / length


@kernel
def stage(m, q, v, u, slope):
    """Write the slope of a stage: rates of local coordinates, velocities and energy books."""
    status = forward_dynamics(m, q, v, slope[v.size : 2 * v.size])
    _note_rates(m, q, v, u, slope)
    return status


@kernel
def _first_stage(m, q, v, u, slope, settled):
    """
    Do the same at the start of a step, which may be `settled`: as closing the loops left it.

    Where it is not, it is settled first: so a run and as many single steps agree in every bit.
    """
    if not settled:
        placements(m, q)
        solve_constraints(m, q, v, False)
        motion(m, v, at.zeros(m), 1.0)
    status = forward_dynamics_again(m, q, v, slope[v.size : 2 * v.size])
    _note_rates(m, q, v, u, slope)
    return status


@kernel
def _note_rates(m, q, v, u, slope):
    """Write what a slope has beside accelerations."""
    nv, total = at.shape(m).nv, at.totals(m)
    local_rate(m, q, v, u, slope)
    slope[2 * nv], slope[2 * nv + 1] = total.power, total.dissipation


@kernel
def move(m, q, u, work):
    """Advance q in place by local coordinates."""
    moved = work[1, : at.shape(m).nq]
    advance(m, q, u, moved)
    for k in range(moved.size):
        q[k] = moved[k]


@kernel
def rk4_step(m, q, v, dt, books, work, settled):
    """
    Advance q, v and the energy books by one step of the classical Runge-Kutta method.

    `work` is (7, at least nq and 2 nv + 2): local coordinates, configuration and velocity of a
    stage, and four slopes.
    """
    nq, nv = at.shape(m).nq, at.shape(m).nv
    u, stage_q, stage_v = work[0, :nv], work[1, :nq], work[2, :nv]
    for j in range(nv):
        u[j], stage_v[j] = 0.0, v[j]
    for k in range(nq):
        stage_q[k] = q[k]
    for s in range(4):
        slope = work[3 + s]
        if s == 0:
            status = _first_stage(m, stage_q, stage_v, u, slope, settled)
        else:
            status = stage(m, stage_q, stage_v, u, slope)
        if status != at.OK:
            return status
        if s < 3:
            h = dt if s == 2 else 0.5 * dt
            for j in range(nv):
                u[j], stage_v[j] = h * slope[j], v[j] + h * slope[nv + j]
            advance(m, q, u, stage_q)
    total = work[3]
    for k in range(2 * nv + 2):
        total[k] = dt / 6.0 * (work[3, k] + 2.0 * work[4, k] + 2.0 * work[5, k] + work[6, k])
    for j in range(nv):
        v[j] += total[nv + j]
    books[0], books[1] = books[0] + total[2 * nv], books[1] + total[2 * nv + 1]
    move(m, q, total, work)
    return at.OK


@kernel
def euler_step(m, q, v, dt, books, work, settled):
    """Advance by one step of the semi-implicit Euler method: new velocities move the pose."""
    nv = at.shape(m).nv
    u, slope = work[0, :nv], work[3]
    u[:] = 0.0
    status = _first_stage(m, q, v, u, slope, settled)
    if status != at.OK:
        return status
    for j in range(nv):
        v[j] += dt * slope[nv + j]
    books[0] += dt * slope[2 * nv]
    books[1] += dt * slope[2 * nv + 1]
    velocity = work[2, :nv]
    _lead_theta_S(m, v, slope[nv : 2 * nv], 0.5 * dt, velocity)
    local_rate(m, q, velocity, u, slope)
    for j in range(nv):
        u[j] = dt * slope[j]
    move(m, q, u, work)
    return at.OK


@kernel
def _lead_theta_S(m, v, a, half, velocity):
    """
    Write velocities that keep the loops closed to second order; those of theta_G are v.

    Moving with v = v_0 + dt a instead of the mean of both leads astray by e = dt^2 / 2 a (less
    omega x v where velocities are in a moving frame), and the loops by what e_S differs from
    H e_G. Taking that off here saves a step of Newton's method afterwards: an eighth of the whole,
    at steps of 1 ms, on figure and humanoid of the benchmarks.
    """
    for j in range(velocity.size):
        velocity[j] = half * a[j]
    for body in at.bodies(m)[1:]:
        j = body.iv
        if body.joint == at.FREE:
            turn = times(half, cross(_three(v, j + 3), _three(v, j)))
            put(velocity[j:], minus(_three(velocity, j), turn))
        elif body.joint == at.PLANAR:
            velocity[j] += half * v[j + 2] * v[j + 1]
            velocity[j + 1] -= half * v[j + 2] * v[j]
    dof = at.cluster_dofs(m)
    for cluster in at.clusters(m)[: at.shape(m).n_clusters]:
        H, first = constraint_matrix(m, cluster), cluster.first_dof
        for s in range(cluster.rank):
            lead = -velocity[dof[first + s]]
            for g in range(cluster.rank, cluster.n_dofs):
                lead += H[s, g] * velocity[dof[first + g]]
            velocity[dof[first + s]] = lead + v[dof[first + s]]
    for j in range(velocity.size):
        if not at.dofs(m)[j].dependent:
            velocity[j] = v[j]
