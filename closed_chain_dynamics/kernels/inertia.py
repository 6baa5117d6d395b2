"""
Mass matrix of the tree by composite inertias, energies, momentum and centre of mass.

In world axes at the common point a rigid inertia is ten numbers, and composite inertias are sums
of them, with no change of frame. Articulated inertias fill the 6 x 6 matrix: 36 numbers a row.
"""

from .kinematics import check_state, motion, placements
from .layout import (
    BODY_F,
    BODY_I,
    BODY_IA,
    BODY_W,
    DOF_BODY,
    DOF_I,
    DOF_PARENT,
    DOF_W,
    GRAVITY,
    INERTIA,
    KINETIC,
    MASS,
    N_BODIES,
    NQ,
    NV,
    OK,
    ORIGIN,
    PARENT,
    POTENTIAL,
    WORLD_F,
    WORLD_W,
    WRONG_SIZE,
    C,
    U,
    V,
    kernel,
    table,
)


@kernel
def body_inertias(mi, mf, w):
    """Write the rigid inertia of every body: mass, first moment, second moment (xx xy ... zz)."""
    body_f, body_w, body_ia = table(mf, mi, BODY_F), table(w, mi, BODY_W), table(w, mi, BODY_IA)
    for k in range(10):
        body_ia[0, k] = 0.0
    for i in range(1, mi[N_BODIES]):
        row, t, out = body_w[i], body_f[i], body_ia[i]
        r0, r1, r2, r3, r4, r5 = row[0], row[1], row[2], row[3], row[4], row[5]
        r6, r7, r8 = row[6], row[7], row[8]
        ixx, ixy, ixz = t[INERTIA], t[INERTIA + 1], t[INERTIA + 2]
        iyy, iyz, izz = t[INERTIA + 3], t[INERTIA + 4], t[INERTIA + 5]
        # T = R I, then I_world = T R^T
        t0, t1, t2 = (
            r0 * ixx + r1 * ixy + r2 * ixz,
            r0 * ixy + r1 * iyy + r2 * iyz,
            r0 * ixz + r1 * iyz + r2 * izz,
        )
        t3, t4, t5 = (
            r3 * ixx + r4 * ixy + r5 * ixz,
            r3 * ixy + r4 * iyy + r5 * iyz,
            r3 * ixz + r4 * iyz + r5 * izz,
        )
        t6, t7, t8 = (
            r6 * ixx + r7 * ixy + r8 * ixz,
            r6 * ixy + r7 * iyy + r8 * iyz,
            r6 * ixz + r7 * iyz + r8 * izz,
        )
        m, x, y, z = t[MASS], row[C], row[C + 1], row[C + 2]
        mx, my, mz = m * x, m * y, m * z
        jxx = t0 * r0 + t1 * r1 + t2 * r2 + my * y + mz * z
        jxy = t0 * r3 + t1 * r4 + t2 * r5 - mx * y
        jxz = t0 * r6 + t1 * r7 + t2 * r8 - mx * z
        jyy = t3 * r3 + t4 * r4 + t5 * r5 + mx * x + mz * z
        jyz = t3 * r6 + t4 * r7 + t5 * r8 - my * z
        jzz = t6 * r6 + t7 * r7 + t8 * r8 + mx * x + my * y
        out[0], out[1], out[2], out[3] = m, mx, my, mz
        out[4], out[5], out[6], out[7], out[8], out[9] = jxx, jxy, jxz, jyy, jyz, jzz


@kernel
def expand_inertia(row):
    """Write out ten numbers of a rigid inertia as the 6 x 6 matrix they stand for."""
    m, x, y, z = row[0], row[1], row[2], row[3]
    xx, xy, xz, yy, yz, zz = row[4], row[5], row[6], row[7], row[8], row[9]
    row[0], row[1], row[2], row[3], row[4], row[5] = m, 0.0, 0.0, 0.0, z, -y
    row[6], row[7], row[8], row[9], row[10], row[11] = 0.0, m, 0.0, -z, 0.0, x
    row[12], row[13], row[14], row[15], row[16], row[17] = 0.0, 0.0, m, y, -x, 0.0
    row[18], row[19], row[20], row[21], row[22], row[23] = 0.0, -z, y, xx, xy, xz
    row[24], row[25], row[26], row[27], row[28], row[29] = z, 0.0, -x, xy, yy, yz
    row[30], row[31], row[32], row[33], row[34], row[35] = -y, x, 0.0, xz, yz, zz


@kernel
def rigid_momentum(inertia, x, y, z, ox, oy, oz):
    """Return the momentum of a rigid inertia of ten numbers with velocity (x y z, o)."""
    m, hx, hy, hz = inertia[0], inertia[1], inertia[2], inertia[3]
    return (
        m * x + oy * hz - oz * hy,
        m * y + oz * hx - ox * hz,
        m * z + ox * hy - oy * hx,
        hy * z - hz * y + inertia[4] * ox + inertia[5] * oy + inertia[6] * oz,
        hz * x - hx * z + inertia[5] * ox + inertia[7] * oy + inertia[8] * oz,
        hx * y - hy * x + inertia[6] * ox + inertia[8] * oy + inertia[9] * oz,
    )


@kernel
def inner(s, u):
    """Return S_w of one degree of freedom times the momentum of another."""
    return (
        s[0] * u[U]
        + s[1] * u[U + 1]
        + s[2] * u[U + 2]
        + s[3] * u[U + 3]
        + s[4] * u[U + 4]
        + s[5] * u[U + 5]
    )


@kernel
def compute_mass_matrix(mi, mf, w, q, M):
    """Write the mass matrix M of the tree, (nv, nv), by composite inertias."""
    if q.size != mi[NQ]:
        return WRONG_SIZE
    status = check_state(mi, q, q, q)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    body_inertias(mi, mf, w)
    body_i, dof_i = table(mi, mi, BODY_I), table(mi, mi, DOF_I)
    body_ia, dof_w = table(w, mi, BODY_IA), table(w, mi, DOF_W)
    for i in range(mi[N_BODIES] - 1, 0, -1):
        up, row = body_ia[body_i[i, PARENT]], body_ia[i]
        for k in range(10):
            up[k] += row[k]
    M[:] = 0.0
    for j in range(mi[NV]):
        column = dof_w[j]
        column[U], column[U + 1], column[U + 2], column[U + 3], column[U + 4], column[U + 5] = (
            rigid_momentum(
                body_ia[dof_i[j, DOF_BODY]],
                column[0],
                column[1],
                column[2],
                column[3],
                column[4],
                column[5],
            )
        )
        k = j
        while k >= 0:
            M[j, k] = M[k, j] = inner(dof_w[k], column)
            k = dof_i[k, DOF_PARENT]
    return OK


@kernel
def energies(mi, mf, w):
    """Compute kinetic and gravitational potential energy after `motion`; gravity acts on C."""
    body_f, body_w = table(mf, mi, BODY_F), table(w, mi, BODY_W)
    world, g = table(w, mi, WORLD_W)[0], table(mf, mi, WORLD_F)[0]
    kinetic = potential = 0.0
    for i in range(1, mi[N_BODIES]):
        row, t = body_w[i], body_f[i]
        cx, cy, cz = row[C], row[C + 1], row[C + 2]
        ox, oy, oz = row[V + 3], row[V + 4], row[V + 5]
        vx = row[V] + oy * cz - oz * cy
        vy = row[V + 1] + oz * cx - ox * cz
        vz = row[V + 2] + ox * cy - oy * cx
        wx = row[0] * ox + row[3] * oy + row[6] * oz
        wy = row[1] * ox + row[4] * oy + row[7] * oz
        wz = row[2] * ox + row[5] * oy + row[8] * oz
        kinetic += 0.5 * t[MASS] * (vx * vx + vy * vy + vz * vz)
        kinetic += (
            0.5 * (t[INERTIA] * wx * wx + t[INERTIA + 3] * wy * wy + t[INERTIA + 5] * wz * wz)
            + t[INERTIA + 1] * wx * wy
            + t[INERTIA + 2] * wx * wz
            + t[INERTIA + 4] * wy * wz
        )
        potential -= t[MASS] * (
            g[GRAVITY] * (cx + world[ORIGIN])
            + g[GRAVITY + 1] * (cy + world[ORIGIN + 1])
            + g[GRAVITY + 2] * (cz + world[ORIGIN + 2])
        )
    world[KINETIC], world[POTENTIAL] = kinetic, potential


@kernel
def compute_totals(mi, mf, w, q, v, out):
    """
    Write kinetic and potential energy, centre of mass, linear and angular momentum, (11,).

    The angular momentum is about the centre of mass, in world axes.
    """
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, v, 0.0)
    energies(mi, mf, w)
    body_inertias(mi, mf, w)
    body_f, body_w, body_ia = table(mf, mi, BODY_F), table(w, mi, BODY_W), table(w, mi, BODY_IA)
    world = table(w, mi, WORLD_W)[0]
    out[:] = 0.0
    out[0], out[1] = world[KINETIC], world[POTENTIAL]
    mass = 0.0
    for i in range(1, mi[N_BODIES]):
        m = body_f[i, MASS]
        mass += m
        for k in range(3):
            out[2 + k] += m * body_w[i, C + k]
        row = body_w[i]
        h = rigid_momentum(
            body_ia[i], row[V], row[V + 1], row[V + 2], row[V + 3], row[V + 4], row[V + 5]
        )
        for k in range(6):
            out[5 + k] += h[k]
    if mass > 0.0:
        for k in range(3):
            out[2 + k] /= mass
    px, py, pz, x, y, z = out[5], out[6], out[7], out[2], out[3], out[4]
    out[8] -= y * pz - z * py
    out[9] -= z * px - x * pz
    out[10] -= x * py - y * px
    for k in range(3):
        out[2 + k] += world[ORIGIN + k]
    return OK
