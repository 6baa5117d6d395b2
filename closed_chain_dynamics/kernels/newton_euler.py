"""
Newton-Euler inverse dynamics of the tree: motion outwards, forces inwards (paper 3, section II).

In world axes at one point the inward recursion is a plain sum. The force F that a joint passes on
to its body falls out for every joint, whether it moves anything or not.
"""

from .kinematics import check_state, motion, placements
from .layout import (
    BODY_F,
    BODY_I,
    BODY_W,
    DAMPING,
    DOF_BODY,
    DOF_F,
    DOF_I,
    DOF_W,
    INERTIA,
    MASS,
    N_BODIES,
    NQ,
    NV,
    OK,
    PARENT,
    WRONG_SIZE,
    A,
    C,
    F,
    P,
    V,
    kernel,
    table,
)


@kernel
def body_forces(mi, mf, w):
    """Compute the force that each body's motion needs: Newton (5), (7) and Euler (8)."""
    body_f, body_w = table(mf, mi, BODY_F), table(w, mi, BODY_W)
    for k in range(6):
        body_w[0, F + k] = 0.0
    for i in range(1, mi[N_BODIES]):
        row, t = body_w[i], body_f[i]
        cx, cy, cz = row[C], row[C + 1], row[C + 2]
        ox, oy, oz = row[V + 3], row[V + 4], row[V + 5]
        ax, ay, az = row[A + 3], row[A + 4], row[A + 5]
        vx = row[V] + oy * cz - oz * cy
        vy = row[V + 1] + oz * cx - ox * cz
        vz = row[V + 2] + ox * cy - oy * cx
        m = t[MASS]
        fx = m * (row[A] + ay * cz - az * cy + oy * vz - oz * vy)
        fy = m * (row[A + 1] + az * cx - ax * cz + oz * vx - ox * vz)
        fz = m * (row[A + 2] + ax * cy - ay * cx + ox * vy - oy * vx)
        # Euler's equation in body axes: turning two vectors is cheaper than turning a tensor
        r0, r1, r2, r3, r4, r5 = row[0], row[1], row[2], row[3], row[4], row[5]
        r6, r7, r8 = row[6], row[7], row[8]
        wx = r0 * ox + r3 * oy + r6 * oz
        wy = r1 * ox + r4 * oy + r7 * oz
        wz = r2 * ox + r5 * oy + r8 * oz
        bx = r0 * ax + r3 * ay + r6 * az
        by = r1 * ax + r4 * ay + r7 * az
        bz = r2 * ax + r5 * ay + r8 * az
        ixx, ixy, ixz = t[INERTIA], t[INERTIA + 1], t[INERTIA + 2]
        iyy, iyz, izz = t[INERTIA + 3], t[INERTIA + 4], t[INERTIA + 5]
        hx = ixx * wx + ixy * wy + ixz * wz
        hy = ixy * wx + iyy * wy + iyz * wz
        hz = ixz * wx + iyz * wy + izz * wz
        nx = ixx * bx + ixy * by + ixz * bz + wy * hz - wz * hy
        ny = ixy * bx + iyy * by + iyz * bz + wz * hx - wx * hz
        nz = ixz * bx + iyz * by + izz * bz + wx * hy - wy * hx
        row[F], row[F + 1], row[F + 2] = fx, fy, fz
        row[F + 3] = r0 * nx + r1 * ny + r2 * nz + cy * fz - cz * fy
        row[F + 4] = r3 * nx + r4 * ny + r5 * nz + cz * fx - cx * fz
        row[F + 5] = r6 * nx + r7 * ny + r8 * nz + cx * fy - cy * fx


@kernel
def apply_wrenches(mi, w, wrenches):
    """
    Take external wrenches off the forces needed, and return their power.

    `wrenches`: (n, 6), world axes at each body's origin.
    """
    body_w = table(w, mi, BODY_W)
    power = 0.0
    for i in range(wrenches.shape[0]):
        row, f = body_w[i], wrenches[i]
        x, y, z = row[P], row[P + 1], row[P + 2]
        mx, my, mz = (
            f[3] + y * f[2] - z * f[1],
            f[4] + z * f[0] - x * f[2],
            f[5] + x * f[1] - y * f[0],
        )
        for k in range(3):
            row[F + k] -= f[k]
            power += f[k] * row[V + k]
        row[F + 3], row[F + 4], row[F + 5] = row[F + 3] - mx, row[F + 4] - my, row[F + 5] - mz
        power += mx * row[V + 3] + my * row[V + 4] + mz * row[V + 5]
    return power


@kernel
def pass_forces_inwards(mi, w):
    """Add every body's force to its parent's, Eq. (7)."""
    body_i, body_w = table(mi, mi, BODY_I), table(w, mi, BODY_W)
    for i in range(mi[N_BODIES] - 1, 0, -1):
        up, row = body_w[body_i[i, PARENT]], body_w[i]
        for k in range(F, F + 6):
            up[k] += row[k]


@kernel
def project_forces(mi, w, tau):
    """Write each joint's share of the force it passes on, the first term of Eq. (9)."""
    dof_i, body_w, dof_w = table(mi, mi, DOF_I), table(w, mi, BODY_W), table(w, mi, DOF_W)
    for j in range(mi[NV]):
        f, s = body_w[dof_i[j, DOF_BODY]], dof_w[j]
        tau[j] = (
            s[0] * f[F]
            + s[1] * f[F + 1]
            + s[2] * f[F + 2]
            + s[3] * f[F + 3]
            + s[4] * f[F + 4]
            + s[5] * f[F + 5]
        )


@kernel
def tree_forces(mi, mf, w, v, a, wrenches):
    """Compute F of every joint after `placements`, Eqs. (2) to (8) of paper 3."""
    motion(mi, mf, w, v, a, 1.0)
    body_forces(mi, mf, w)
    if wrenches.size:
        apply_wrenches(mi, w, wrenches)
    pass_forces_inwards(mi, w)


@kernel
def compute_newton_euler(mi, mf, w, q, v, a, wrenches, tau):
    """Write tau_O of the tree with joint damping, Eq. (9)."""
    if q.size != mi[NQ] or v.size != mi[NV] or a.size != mi[NV]:
        return WRONG_SIZE
    status = check_state(mi, q, v, a)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    tree_forces(mi, mf, w, v, a, wrenches)
    project_forces(mi, w, tau)
    dof_f = table(mf, mi, DOF_F)
    for j in range(mi[NV]):
        tau[j] += dof_f[j, DAMPING] * v[j]
    return OK


@kernel
def compute_joint_wrenches(mi, mf, w, q, v, a, wrenches, out):
    """Write the force and moment that every joint passes on, at the joint, (n, 6) world axes."""
    status = check_state(mi, q, v, a)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    tree_forces(mi, mf, w, v, a, wrenches)
    body_w = table(w, mi, BODY_W)
    for i in range(mi[N_BODIES]):
        row = body_w[i]
        fx, fy, fz = row[F], row[F + 1], row[F + 2]
        x, y, z = row[P], row[P + 1], row[P + 2]
        out[i, 0], out[i, 1], out[i, 2] = fx, fy, fz
        out[i, 3] = row[F + 3] - (y * fz - z * fy)
        out[i, 4] = row[F + 4] - (z * fx - x * fz)
        out[i, 5] = row[F + 5] - (x * fy - y * fx)
    return OK
