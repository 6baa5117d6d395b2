"""
Passive forces: damping, Coulomb friction, limit moments and springs, on tree and loop joints.

A force on a tree joint is a number in its coordinate. A spring between two points, or anything on
a loop joint, is a pair of opposite wrenches on two bodies, so it joins the Newton-Euler recursion.
"""

import numpy as np

from .layout import (
    BODY_I,
    BODY_W,
    CONTACT_DAMPING,
    CONTACT_NORMAL,
    CONTACT_STIFFNESS,
    DAMPING,
    DISSIPATION,
    DOF_BODY,
    DOF_F,
    DOF_I,
    FRICTION,
    FRICTION_FORCE,
    IQ,
    LOOP_ACTIVE,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_DOF,
    LOOP_DOF_F,
    LOOP_DOF_POSITION,
    LOOP_DOF_RATE,
    LOOP_DOF_W,
    LOOP_F,
    LOOP_I,
    LOOP_MODE,
    LOOP_N_DOFS,
    LOOP_P_2,
    LOWER,
    MU,
    N_DOF,
    N_LOOPS,
    N_SPRINGS,
    NORMAL_FORCE,
    NV,
    PASSIVE_JOINTS,
    PASSIVE_LOOPS,
    REST,
    SOFT,
    SPRING_BODY_1,
    SPRING_BODY_2,
    SPRING_DAMPING,
    SPRING_DOF,
    SPRING_F,
    SPRING_I,
    SPRING_IQ,
    SPRING_P_1,
    SPRING_TYPE,
    STIFFNESS,
    STOP_DAMPING,
    STOP_STIFFNESS,
    STOP_TRANSITION,
    UPPER,
    WORLD_W,
    F,
    P,
    V,
    kernel,
    table,
)
from .loop_frames import place_loop
from .loops import loop_coordinates
from .surfaces import sliding_velocity, surface_distance, surface_normal

# Coulomb friction changes its sign over this speed [rad/s or m/s]: tanh is exact to rounding
# above twenty times it
FRICTION_SPEED = 1e-3
CREEP_SPEED = 1e-2  # the same for a soft contact [m/s]


@kernel
def _stop_force(depth, rate, law):
    """
    Return elastic and damping moment of a limit entered by `depth`.

    Within the transition the stiffness rises linearly, so that the moment sets in smoothly.
    """
    t = law[STOP_TRANSITION]
    if depth <= 0.0:
        return 0.0, 0.0
    if depth < t:
        share = depth / t
        return 0.5 * law[STOP_STIFFNESS] * depth * share, law[STOP_DAMPING] * rate * share
    return law[STOP_STIFFNESS] * (depth - 0.5 * t), law[STOP_DAMPING] * rate


@kernel
def _stop_energy(depth, law):
    """Return the energy stored in a limit entered by `depth`."""
    t = law[STOP_TRANSITION]
    if depth <= 0.0:
        return 0.0
    if depth < t:
        return law[STOP_STIFFNESS] * depth**3 / (6.0 * t)
    beyond = depth - t
    return law[STOP_STIFFNESS] * (t * t / 6.0 + 0.5 * beyond * (t + beyond))


@kernel
def _depths(law, position):
    """Return how far a position is inside the zones of the upper and of the lower limit."""
    t = law[STOP_TRANSITION]
    return position - law[UPPER] + t, law[LOWER] + t - position


@kernel
def joint_force(law, position, rate, limited):
    """Return the passive force along one coordinate of a joint, and the power that it takes."""
    lost = -law[DAMPING] * rate
    if law[FRICTION] != 0.0:
        lost -= law[FRICTION] * np.tanh(rate / FRICTION_SPEED)
    stored = 0.0
    if limited and (law[STOP_STIFFNESS] != 0.0 or law[STOP_DAMPING] != 0.0):
        above, below = _depths(law, position)
        elastic, damping = _stop_force(above, rate, law)
        stored, lost = stored - elastic, lost - damping
        elastic, damping = _stop_force(below, -rate, law)
        stored, lost = stored + elastic, lost + damping
    return stored + lost, -lost * rate


@kernel
def push_apart(mi, w, one, two, covector, force):
    """Put a force along a covector on body two, and its opposite on body one."""
    body_w = table(w, mi, BODY_W)
    for k in range(6):
        body_w[two, F + k] -= covector[k] * force
        body_w[one, F + k] += covector[k] * force


@kernel
def _spring_ends(mi, mf, w, k, ends):
    """Write where the ends of a spring are and how they move, (2, 6)."""
    spring, law = table(mi, mi, SPRING_I)[k], table(mf, mi, SPRING_F)[k]
    for end in range(2):
        row = table(w, mi, BODY_W)[spring[SPRING_BODY_1 + end]]
        o = SPRING_P_1 + 3 * end
        for i in range(3):
            ends[end, i] = (
                row[P + i]
                + row[3 * i] * law[o]
                + row[3 * i + 1] * law[o + 1]
                + row[3 * i + 2] * law[o + 2]
            )
        x, y, z = ends[end, 0], ends[end, 1], ends[end, 2]
        ends[end, 3] = row[V] + row[V + 4] * z - row[V + 5] * y
        ends[end, 4] = row[V + 1] + row[V + 5] * x - row[V + 3] * z
        ends[end, 5] = row[V + 2] + row[V + 3] * y - row[V + 4] * x


@kernel
def _linear_spring(mi, mf, w, k):
    """Apply a spring-damper between two points; at zero length it has no direction, no force."""
    spring, law = table(mi, mi, SPRING_I)[k], table(mf, mi, SPRING_F)[k]
    ends = np.empty((2, 6))
    _spring_ends(mi, mf, w, k, ends)
    dx, dy, dz = ends[1, 0] - ends[0, 0], ends[1, 1] - ends[0, 1], ends[1, 2] - ends[0, 2]
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    if length < 1e-12:
        return
    dx, dy, dz = dx / length, dy / length, dz / length
    rate = (
        dx * (ends[1, 3] - ends[0, 3])
        + dy * (ends[1, 4] - ends[0, 4])
        + dz * (ends[1, 5] - ends[0, 5])
    )
    x, y, z = ends[1, 0], ends[1, 1], ends[1, 2]
    covector = np.array([dx, dy, dz, y * dz - z * dy, z * dx - x * dz, x * dy - y * dx])
    push_apart(
        mi,
        w,
        spring[SPRING_BODY_1],
        spring[SPRING_BODY_2],
        covector,
        -law[STIFFNESS] * (length - law[REST]) - law[SPRING_DAMPING] * rate,
    )
    table(w, mi, WORLD_W)[0, DISSIPATION] += law[SPRING_DAMPING] * rate * rate


@kernel
def _soft_contact(mi, mf, w, k):
    """
    Apply a soft contact: a spring-damper that pushes out of the surface and never pulls.

    The damping grows with the depth, so that the force sets in without a jump; friction is K f_n,
    smoothed at low speed.
    """
    loop, law, x = table(mi, mi, LOOP_I)[k], table(mf, mi, LOOP_F)[k], place_loop(mi, mf, w, k)
    surface_normal(loop, law, x)
    depth = -surface_distance(loop, law, x)
    x[NORMAL_FORCE] = 0.0
    for i in range(3):
        x[FRICTION_FORCE + i] = 0.0
    if depth <= 0.0:
        return
    body_w = table(w, mi, BODY_W)
    vx, vy, vz, away = sliding_velocity(x, body_w[loop[LOOP_BODY_1]], body_w[loop[LOOP_BODY_2]])
    elastic = law[CONTACT_STIFFNESS] * depth
    normal = max(elastic - law[CONTACT_DAMPING] * depth * away, 0.0)
    speed = np.sqrt(vx * vx + vy * vy + vz * vz)
    drag = law[MU] * normal * np.tanh(speed / CREEP_SPEED) / max(speed, 1e-300)
    fx, fy, fz = (
        normal * x[CONTACT_NORMAL] - drag * vx,
        normal * x[CONTACT_NORMAL + 1] - drag * vy,
        normal * x[CONTACT_NORMAL + 2] - drag * vz,
    )
    px, py, pz = x[LOOP_P_2], x[LOOP_P_2 + 1], x[LOOP_P_2 + 2]
    wrench = np.array([fx, fy, fz, py * fz - pz * fy, pz * fx - px * fz, px * fy - py * fx])
    push_apart(mi, w, loop[LOOP_BODY_1], loop[LOOP_BODY_2], wrench, 1.0)
    x[NORMAL_FORCE] = normal
    x[FRICTION_FORCE], x[FRICTION_FORCE + 1], x[FRICTION_FORCE + 2] = (
        -drag * vx,
        -drag * vy,
        -drag * vz,
    )
    table(w, mi, WORLD_W)[0, DISSIPATION] += (elastic - normal) * away + drag * speed * speed


@kernel
def add_passive_forces(mi, mf, w, q, v, tau):
    """Add passive forces: those of tree joints to tau, the others to the bodies' F."""
    body_i, dof_i, dof_f = table(mi, mi, BODY_I), table(mi, mi, DOF_I), table(mf, mi, DOF_F)
    world = table(w, mi, WORLD_W)[0]
    if mi[PASSIVE_JOINTS]:
        for j in range(mi[NV]):
            body = dof_i[j, DOF_BODY]
            single = body_i[body, N_DOF] == 1
            force, lost = joint_force(dof_f[j], q[body_i[body, IQ]], v[j], single)
            tau[j] += force
            world[DISSIPATION] += lost
    loop_i, loop_dof_w = table(mi, mi, LOOP_I), table(w, mi, LOOP_DOF_W)
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_ACTIVE] and loop_i[k, LOOP_MODE] == SOFT:
            _soft_contact(mi, mf, w, k)
        elif loop_i[k, LOOP_ACTIVE] and (mi[PASSIVE_LOOPS] or mi[N_SPRINGS]):
            loop_coordinates(mi, mf, w, k)
            for d in range(loop_i[k, LOOP_DOF], loop_i[k, LOOP_DOF] + loop_i[k, LOOP_N_DOFS]):
                row = loop_dof_w[d]
                force, lost = joint_force(
                    table(mf, mi, LOOP_DOF_F)[d],
                    row[LOOP_DOF_POSITION],
                    row[LOOP_DOF_RATE],
                    loop_i[k, LOOP_N_DOFS] == 1,
                )
                push_apart(mi, w, loop_i[k, LOOP_BODY_1], loop_i[k, LOOP_BODY_2], row, force)
                world[DISSIPATION] += lost
    spring_i, spring_f = table(mi, mi, SPRING_I), table(mf, mi, SPRING_F)
    for k in range(mi[N_SPRINGS]):
        spring, law = spring_i[k], spring_f[k]
        if spring[SPRING_TYPE] == 0:
            _linear_spring(mi, mf, w, k)
        elif spring[SPRING_TYPE] == 1:
            j = spring[SPRING_DOF]
            if j < 0:  # its joint has been cut
                continue
            tau[j] -= (
                law[STIFFNESS] * (q[spring[SPRING_IQ]] - law[REST]) + law[SPRING_DAMPING] * v[j]
            )
            world[DISSIPATION] += law[SPRING_DAMPING] * v[j] * v[j]
        else:
            d = spring[SPRING_DOF]
            loop = loop_i[spring[SPRING_BODY_1]]  # the loop that has this coordinate
            if loop[LOOP_ACTIVE]:
                row = loop_dof_w[d]
                push_apart(
                    mi,
                    w,
                    loop[LOOP_BODY_1],
                    loop[LOOP_BODY_2],
                    row,
                    -law[STIFFNESS] * (row[LOOP_DOF_POSITION] - law[REST])
                    - law[SPRING_DAMPING] * row[LOOP_DOF_RATE],
                )
                world[DISSIPATION] += law[SPRING_DAMPING] * row[LOOP_DOF_RATE] ** 2


@kernel
def passive_energy(mi, mf, w, q):
    """Return the energy stored in springs and limits, after `placements`."""
    body_i, dof_i, dof_f = table(mi, mi, BODY_I), table(mi, mi, DOF_I), table(mf, mi, DOF_F)
    loop_i, loop_dof_w = table(mi, mi, LOOP_I), table(w, mi, LOOP_DOF_W)
    energy = 0.0
    if mi[PASSIVE_JOINTS]:
        for j in range(mi[NV]):
            body = dof_i[j, DOF_BODY]
            if body_i[body, N_DOF] == 1 and dof_f[j, STOP_STIFFNESS] != 0.0:
                above, below = _depths(dof_f[j], q[body_i[body, IQ]])
                energy += _stop_energy(above, dof_f[j]) + _stop_energy(below, dof_f[j])
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_ACTIVE] and loop_i[k, LOOP_MODE] == SOFT:
            depth = -surface_distance(
                loop_i[k], table(mf, mi, LOOP_F)[k], place_loop(mi, mf, w, k)
            )
            if depth > 0.0:
                energy += 0.5 * table(mf, mi, LOOP_F)[k, CONTACT_STIFFNESS] * depth * depth
        elif loop_i[k, LOOP_ACTIVE] and (mi[PASSIVE_LOOPS] or mi[N_SPRINGS]):
            loop_coordinates(mi, mf, w, k)
            d = loop_i[k, LOOP_DOF]
            if loop_i[k, LOOP_N_DOFS] == 1:
                law = table(mf, mi, LOOP_DOF_F)[d]
                if law[STOP_STIFFNESS] != 0.0:
                    above, below = _depths(law, loop_dof_w[d, LOOP_DOF_POSITION])
                    energy += _stop_energy(above, law) + _stop_energy(below, law)
    ends = np.empty((2, 6))
    for k in range(mi[N_SPRINGS]):
        spring, law = table(mi, mi, SPRING_I)[k], table(mf, mi, SPRING_F)[k]
        stretch = 0.0
        if spring[SPRING_TYPE] == 0:
            _spring_ends(mi, mf, w, k, ends)
            stretch = (
                np.sqrt(
                    (ends[1, 0] - ends[0, 0]) ** 2
                    + (ends[1, 1] - ends[0, 1]) ** 2
                    + (ends[1, 2] - ends[0, 2]) ** 2
                )
                - law[REST]
            )
        elif spring[SPRING_TYPE] == 1 and spring[SPRING_DOF] >= 0:
            stretch = q[spring[SPRING_IQ]] - law[REST]
        elif spring[SPRING_TYPE] == 2 and loop_i[spring[SPRING_BODY_1], LOOP_ACTIVE]:
            stretch = loop_dof_w[spring[SPRING_DOF], LOOP_DOF_POSITION] - law[REST]
        energy += 0.5 * law[STIFFNESS] * stretch * stretch
    return energy
