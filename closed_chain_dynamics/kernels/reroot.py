"""
Cutting a joint of the tree, and undoing it (paper 2, section V-B).

The part beyond the cut becomes a child of the world through a free joint; parent and child of all
other joints stay as they are. The numbers of velocities change, so everything that points at one
is indexed anew; the arrays have room for it from the start.
"""

import numpy as np

from .coordinates import solve_constraints
from .impact import nearest_motion
from .kinematics import motion, placements
from .layout import (
    ACTUATOR_DOF,
    ACTUATOR_I,
    ACTUATOR_ON_LOOP,
    BODY_F,
    BODY_I,
    BODY_W,
    CLUSTER_DOFS,
    COUPLING_ACTIVE,
    COUPLING_I,
    COUPLING_N_TERMS,
    COUPLING_TERM,
    DIRECTORY,
    DOF_ACTUATOR,
    DOF_BODY,
    DOF_F,
    DOF_F_COLUMNS,
    DOF_I,
    DOF_I_COLUMNS,
    DOF_PARENT,
    DOF_PREFERENCE,
    DOF_W,
    DOF_W_COLUMNS,
    FREE,
    HOME_ACTUATORS,
    HOME_BODY,
    HOME_COUPLINGS,
    HOME_DOF,
    HOME_DOF_F,
    HOME_IV,
    HOME_PARENT,
    HOME_SPRINGS,
    HOME_TERMS,
    HOME_TREE,
    HOME_TYPE,
    IQ,
    IV,
    LENGTH,
    LOWER,
    N_ACTUATORS,
    N_BODIES,
    N_COUPLINGS,
    N_DOF,
    N_SPRINGS,
    N_VECTORS,
    NQ,
    NV,
    ORIGIN,
    PARENT,
    PRISMATIC,
    REVOLUTE,
    SCALE,
    SPHERICAL,
    SPRING_DOF,
    SPRING_I,
    SPRING_IQ,
    SPRING_TYPE,
    TERM_DOF,
    TERM_I,
    TERM_IQ,
    TREE_P,
    TREE_R,
    TYPE,
    UPPER,
    VECTORS,
    WORLD_F,
    WORLD_W,
    ZERO,
    P,
    V,
    kernel,
    table,
)
from .structure import build_clusters


@kernel
def _resize(mi, number, rows, columns):
    k = DIRECTORY + 3 * number
    mi[k + 1], mi[k + 2] = rows, columns


@kernel
def _dofs(kind):
    if kind <= PRISMATIC:
        return 1, 1
    if kind == SPHERICAL:
        return 4, 3
    return (7, 6) if kind == FREE else (4, 3)


@kernel
def index_anew(mi, mf, w):
    """Give every body its places in q and v, and point everything else at them."""
    body_i, home = table(mi, mi, BODY_I), table(mi, mi, HOME_BODY)
    nq = nv = 0
    for i in range(1, mi[N_BODIES]):
        in_q, in_v = _dofs(body_i[i, TYPE])
        body_i[i, IQ], body_i[i, IV], body_i[i, N_DOF] = nq, nv, in_v
        nq, nv = nq + in_q, nv + in_v
    mi[NQ], mi[NV] = nq, nv
    _resize(mi, DOF_I, nv, DOF_I_COLUMNS)
    _resize(mi, DOF_F, nv, DOF_F_COLUMNS)
    _resize(mi, DOF_W, nv, DOF_W_COLUMNS)
    _resize(mi, VECTORS, N_VECTORS, nv)
    _resize(mi, CLUSTER_DOFS, 1, nv)
    table(w, mi, VECTORS)[ZERO, :] = 0.0  # of another length, it reaches into other numbers
    dof_i, dof_f = table(mi, mi, DOF_I), table(mf, mi, DOF_F)
    home_dof, home_dof_f = table(mi, mi, HOME_DOF), table(mf, mi, HOME_DOF_F)
    length = table(mf, mi, WORLD_F)[0, LENGTH]
    live = np.full(home_dof.shape[0], -1)
    for i in range(1, mi[N_BODIES]):
        up, first = body_i[i, PARENT], body_i[i, IV]
        for k in range(body_i[i, N_DOF]):
            j = first + k
            dof_i[j, DOF_BODY] = i
            dof_i[j, DOF_PARENT] = j - 1 if k else body_i[up, IV] + body_i[up, N_DOF] - 1
            if up == 0 and k == 0:
                dof_i[j, DOF_PARENT] = -1
            if is_home(body_i, home, i):
                h = home[i, HOME_IV] + k
                live[h] = j
                dof_i[j, DOF_PREFERENCE], dof_i[j, DOF_ACTUATOR] = home_dof[h, 0], home_dof[h, 1]
                dof_f[j, :] = home_dof_f[h]
            else:
                dof_i[j, DOF_PREFERENCE], dof_i[j, DOF_ACTUATOR] = 0, -1
                dof_f[j, :] = 0.0
                dof_f[j, LOWER], dof_f[j, UPPER] = -np.inf, np.inf
                dof_f[j, SCALE] = length if k < 3 else 1.0
    _point_anew(mi, live)


@kernel
def is_home(body_i, home, i):
    """Return whether a body is joined as it was described."""
    return body_i[i, PARENT] == home[i, HOME_PARENT] and body_i[i, TYPE] == home[i, HOME_TYPE]


@kernel
def _point_anew(mi, live):
    """Point actuators, springs and couplings at their coordinates; -1 where it has been cut."""
    body_i, dof_i = table(mi, mi, BODY_I), table(mi, mi, DOF_I)
    actuator_i, spring_i = table(mi, mi, ACTUATOR_I), table(mi, mi, SPRING_I)
    for k in range(mi[N_ACTUATORS]):
        if not actuator_i[k, ACTUATOR_ON_LOOP]:
            actuator_i[k, ACTUATOR_DOF] = live[table(mi, mi, HOME_ACTUATORS)[k, 0]]
    for k in range(mi[N_SPRINGS]):
        if spring_i[k, SPRING_TYPE] == 1:
            j = live[table(mi, mi, HOME_SPRINGS)[k, 0]]
            spring_i[k, SPRING_DOF] = j
            if j >= 0:
                spring_i[k, SPRING_IQ] = body_i[dof_i[j, DOF_BODY], IQ]
    coupling_i, term_i = table(mi, mi, COUPLING_I), table(mi, mi, TERM_I)
    for k in range(mi[N_COUPLINGS]):
        first = coupling_i[k, COUPLING_TERM]
        coupling_i[k, COUPLING_ACTIVE] = table(mi, mi, HOME_COUPLINGS)[k, 0]
        for t in range(first, first + coupling_i[k, COUPLING_N_TERMS]):
            j = live[table(mi, mi, HOME_TERMS)[t, 0]]
            term_i[t, TERM_DOF] = j
            if j >= 0:
                term_i[t, TERM_IQ] = body_i[dof_i[j, DOF_BODY], IQ]
            else:
                coupling_i[k, COUPLING_ACTIVE] = 0


@kernel
def set_free(mi, mf, i):
    """Hang a body on the world by a free joint."""
    body_i, body_f = table(mi, mi, BODY_I), table(mf, mi, BODY_F)
    body_i[i, PARENT], body_i[i, TYPE] = 0, FREE
    for k in range(12):
        body_f[i, TREE_R + k] = 1.0 if k == 0 or k == 4 or k == 8 else 0.0


@kernel
def set_home(mi, mf, i):
    """Join a body as it was described."""
    body_i, body_f = table(mi, mi, BODY_I), table(mf, mi, BODY_F)
    home, tree = table(mi, mi, HOME_BODY), table(mf, mi, HOME_TREE)
    body_i[i, PARENT], body_i[i, TYPE] = home[i, HOME_PARENT], home[i, HOME_TYPE]
    for k in range(12):
        body_f[i, TREE_R + k] = tree[i, k]


@kernel
def _quaternion(m, q, k):
    """Write the quaternion of a rotation matrix (row by row) to q[k:], by the largest element."""
    t = m[0] + m[4] + m[8]
    if t >= max(m[0], m[4], m[8]):
        x, y, z, w = m[7] - m[5], m[2] - m[6], m[3] - m[1], 1.0 + t
    elif m[0] >= m[4] and m[0] >= m[8]:
        x, y, z, w = 1.0 + 2.0 * m[0] - t, m[1] + m[3], m[2] + m[6], m[7] - m[5]
    elif m[4] >= m[8]:
        x, y, z, w = m[1] + m[3], 1.0 + 2.0 * m[4] - t, m[5] + m[7], m[2] - m[6]
    else:
        x, y, z, w = m[2] + m[6], m[5] + m[7], 1.0 + 2.0 * m[8] - t, m[3] - m[1]
    length = np.sqrt(x * x + y * y + z * z + w * w)
    q[k], q[k + 1], q[k + 2], q[k + 3] = x / length, y / length, z / length, w / length


@kernel
def _carry_over(mi, old_iq, old_iv, skip, q, v, q_new, v_new):
    """Copy the state of every joint but one to its new place."""
    body_i = table(mi, mi, BODY_I)
    for i in range(1, mi[N_BODIES]):
        if i != skip:
            in_q, in_v = _dofs(body_i[i, TYPE])
            for k in range(in_q):
                q_new[body_i[i, IQ] + k] = q[old_iq[i] + k]
            for k in range(in_v):
                v_new[body_i[i, IV] + k] = v[old_iv[i] + k]


@kernel
def compute_free(mi, mf, w, q, v, i, q_new, v_new):
    """Cut the joint of body i from the tree; write the same state in the new coordinates."""
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    body_i, row, world = table(mi, mi, BODY_I), table(w, mi, BODY_W)[i], table(w, mi, WORLD_W)[0]
    old_iq, old_iv = body_i[:, IQ].copy(), body_i[:, IV].copy()
    here = row.copy()
    set_free(mi, mf, i)
    index_anew(mi, mf, w)
    build_clusters(mi)
    _carry_over(mi, old_iq, old_iv, i, q, v, q_new, v_new)
    k, j = body_i[i, IQ], body_i[i, IV]
    ox, oy, oz = here[V + 3], here[V + 4], here[V + 5]
    x, y, z = here[P], here[P + 1], here[P + 2]
    vx, vy, vz = (
        here[V] + oy * z - oz * y,
        here[V + 1] + oz * x - ox * z,
        here[V + 2] + ox * y - oy * x,
    )
    for r in range(3):
        q_new[k + r] = here[P + r] + world[ORIGIN + r]
        a, b, c = here[r], here[3 + r], here[6 + r]
        v_new[j + r] = a * vx + b * vy + c * vz
        v_new[j + 3 + r] = a * ox + b * oy + c * oz
    _quaternion(here, q_new, k + 3)


@kernel
def _joint_position(mi, mf, w, i, q_new):
    """Write the position of a body's joint that comes nearest to where the body is."""
    body_i, body_w, t = table(mi, mi, BODY_I), table(w, mi, BODY_W), table(mf, mi, BODY_F)[i]
    up, row, k = body_w[body_i[i, PARENT]], body_w[i], body_i[i, IQ]
    joint, relative, p = np.empty(9), np.empty(9), np.empty(3)
    for r in range(3):
        for c in range(3):
            joint[3 * r + c] = (
                up[3 * r] * t[TREE_R + c]
                + up[3 * r + 1] * t[TREE_R + 3 + c]
                + up[3 * r + 2] * t[TREE_R + 6 + c]
            )
    d = np.empty(3)
    for r in range(3):
        d[r] = (
            row[P + r]
            - up[P + r]
            - up[3 * r] * t[TREE_P]
            - up[3 * r + 1] * t[TREE_P + 1]
            - up[3 * r + 2] * t[TREE_P + 2]
        )
    for r in range(3):
        p[r] = joint[r] * d[0] + joint[3 + r] * d[1] + joint[6 + r] * d[2]
        for c in range(3):
            relative[3 * r + c] = (
                joint[r] * row[c] + joint[3 + r] * row[3 + c] + joint[6 + r] * row[6 + c]
            )
    kind = body_i[i, TYPE]
    angle = np.arctan2(relative[3] - relative[1], relative[0] + relative[4])
    gap = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    tilt = np.arccos(min(max(relative[8], -1.0), 1.0))
    if kind == REVOLUTE:
        law = table(mf, mi, DOF_F)[body_i[i, IV]]
        if np.isfinite(law[LOWER]) and np.isfinite(law[UPPER]):
            # the whole turns that bring it nearest to the middle of its range
            middle = 0.5 * (law[LOWER] + law[UPPER])
            angle += 2.0 * np.pi * np.round((middle - angle) / (2.0 * np.pi))
        q_new[k] = angle
    elif kind == PRISMATIC:
        q_new[k] = p[2]
        gap, tilt = np.sqrt(p[0] * p[0] + p[1] * p[1]), max(tilt, abs(angle))
    elif kind == SPHERICAL:
        _quaternion(relative, q_new, k)
        tilt = 0.0
    elif kind == FREE:
        q_new[k], q_new[k + 1], q_new[k + 2] = p[0], p[1], p[2]
        _quaternion(relative, q_new, k + 3)
        gap = tilt = 0.0
    else:
        q_new[k], q_new[k + 1] = p[0], p[1]
        q_new[k + 2], q_new[k + 3] = np.cos(angle), np.sin(angle)
        gap = abs(p[2])
    return gap, tilt


@kernel
def compute_home(mi, mf, w, q, v, i, q_new, v_new):
    """
    Join body i to the tree again as it was described, and let the connection catch the motion.

    Writes the new state; returns a status, and the gap [m] and tilt [rad] that were closed.
    """
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    body_i, body_w, world = table(mi, mi, BODY_I), table(w, mi, BODY_W), table(w, mi, WORLD_W)[0]
    old_iq, old_iv = body_i[:, IQ].copy(), body_i[:, IV].copy()
    velocities, origin = body_w[:, V : V + 6].copy(), world[ORIGIN : ORIGIN + 3].copy()
    set_home(mi, mf, i)
    index_anew(mi, mf, w)
    build_clusters(mi)
    _carry_over(mi, old_iq, old_iv, i, q, v, q_new, v_new)
    gap, tilt = _joint_position(mi, mf, w, i, q_new)
    placements(mi, mf, w, q_new)
    # momenta of the bodies as they moved before, about the origin as it is now
    x, y, z = (
        world[ORIGIN] - origin[0],
        world[ORIGIN + 1] - origin[1],
        world[ORIGIN + 2] - origin[2],
    )
    for b in range(mi[N_BODIES]):
        ox, oy, oz = velocities[b, 3], velocities[b, 4], velocities[b, 5]
        body_w[b, V] = velocities[b, 0] + oy * z - oz * y
        body_w[b, V + 1] = velocities[b, 1] + oz * x - ox * z
        body_w[b, V + 2] = velocities[b, 2] + ox * y - oy * x
        body_w[b, V + 3], body_w[b, V + 4], body_w[b, V + 5] = ox, oy, oz
    solve_constraints(mi, mf, w, q_new, v_new, False)
    return nearest_motion(mi, mf, w, v_new), gap, tilt


@kernel
def compute_layout(mi, mf, w, free):
    """Set bodies free or join them as flagged, and index everything anew."""
    for i in range(1, mi[N_BODIES]):
        if free[i]:
            set_free(mi, mf, i)
        else:
            set_home(mi, mf, i)
    index_anew(mi, mf, w)
    build_clusters(mi)
