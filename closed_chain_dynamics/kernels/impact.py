"""
The jump of velocities when links are connected at non-zero relative speed (paper 2, V-C).

A connection acts for an instant: momentum along every motion that remains possible is kept, so
A+ theta_G'+ = W+^T (momentum before). That is Eqs. (29) to (38) for any joint, any number of
connections at once and any rank, and it is the system that forward dynamics solves, with momenta
in the place of forces. With displacements in the place of velocities it says how a gap is closed:
by the motion that leaves all masses nearest to where they were. To begin with that is the step
M^-1 J_C^T (J_C M^-1 J_C^T)^-1 times the gap; what is left of it, the second order, follows.
"""

import numpy as np

from .closed_chain import solve_motion
from .coordinates import solve_constraints
from .inertia import body_inertias, energies, rigid_momentum
from .kinematics import check_state, motion, placements
from .layout import (
    BODY_F,
    BODY_I,
    BODY_IA,
    BODY_W,
    FREE,
    INERTIA,
    IQ,
    KINETIC,
    LOOP_ACTIVE,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_I,
    LOOP_N_ROWS,
    LOOP_OPEN,
    MASS,
    N_BODIES,
    N_LOOPS,
    NQ,
    NV,
    OK,
    ORIGIN,
    PARENT,
    TAU,
    TREE_R,
    TYPE,
    VECTORS,
    WORLD_W,
    ZERO,
    C,
    F,
    V,
    kernel,
    table,
)
from .manifold import integrate
from .newton_euler import pass_forces_inwards, project_forces
from .step import close_loops, closing_step

# a record of bodies: R, centre of mass, its velocity, angular velocity, all in the world
AT_C, AT_V, AT_O = 9, 12, 15
BODY_RECORD = 18
MOST_SETTLING = 8  # steps that close a gap; the first takes most of the way
SETTLED = 1e-9  # a step that is not worth another one [rad, m]
LONGEST = 0.7  # a step that leads nobody knows where [rad, m]


@kernel
def _momenta_as_forces(mi, mf, w):
    """Put minus the momentum of every body in the place of the force that it needs."""
    body_inertias(mi, mf, w)
    body_w, body_ia = table(w, mi, BODY_W), table(w, mi, BODY_IA)
    for k in range(6):
        body_w[0, F + k] = 0.0
    for i in range(1, mi[N_BODIES]):
        row = body_w[i]
        row[F], row[F + 1], row[F + 2], row[F + 3], row[F + 4], row[F + 5] = rigid_momentum(
            body_ia[i], -row[V], -row[V + 1], -row[V + 2], -row[V + 3], -row[V + 4], -row[V + 5]
        )


@kernel
def nearest_motion(mi, mf, w, out):
    """Write the motion of joints and loops that comes nearest to the bodies' V, by their mass."""
    _momenta_as_forces(mi, mf, w)
    tau = table(w, mi, VECTORS)[TAU]
    for j in range(mi[NV]):
        tau[j] = 0.0
    return solve_motion(mi, mf, w, tau, out)


@kernel
def _let_move(row, x, y, z, ox, oy, oz):
    """Let a body's centre of mass move with (x, y, z) while it turns with o."""
    cx, cy, cz = row[C], row[C + 1], row[C + 2]
    row[V], row[V + 1], row[V + 2] = (
        x - (oy * cz - oz * cy),
        y - (oz * cx - ox * cz),
        z - (ox * cy - oy * cx),
    )
    row[V + 3], row[V + 4], row[V + 5] = ox, oy, oz


@kernel
def compute_bodies(mi, mf, w, q, v, bodies):
    """Write a record of where all bodies are and how they move, (n, 18)."""
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    body_w, world = table(w, mi, BODY_W), table(w, mi, WORLD_W)[0]
    for i in range(mi[N_BODIES]):
        row, out = body_w[i], bodies[i]
        out[:AT_C] = row[:AT_C]
        x, y, z = row[C], row[C + 1], row[C + 2]
        ox, oy, oz = row[V + 3], row[V + 4], row[V + 5]
        out[AT_C], out[AT_C + 1], out[AT_C + 2] = (
            x + world[ORIGIN],
            y + world[ORIGIN + 1],
            z + world[ORIGIN + 2],
        )
        out[AT_V], out[AT_V + 1], out[AT_V + 2] = (
            row[V] + oy * z - oz * y,
            row[V + 1] + oz * x - ox * z,
            row[V + 2] + ox * y - oy * x,
        )
        out[AT_O], out[AT_O + 1], out[AT_O + 2] = ox, oy, oz
    return OK


# --- closing a gap ---------------------------------------------------------------------------
@kernel
def _settling_step(mi, mf, w, q, bodies, step, rest):
    """
    Write the step that closes the loops and takes all bodies nearest to where they were.

    Of the bodies' way back, what the closing step does not do is done as far as the loops permit.
    """
    placements(mi, mf, w, q)
    zero = table(w, mi, VECTORS)[ZERO]
    solve_constraints(mi, mf, w, q, zero, False)
    closing_step(mi, mf, w, step)
    motion(mi, mf, w, step, zero, 0.0)
    body_w, world = table(w, mi, BODY_W), table(w, mi, WORLD_W)[0]
    done = np.empty(6)
    for i in range(1, mi[N_BODIES]):
        row, old = body_w[i], bodies[i]
        done[:] = row[V : V + 6]
        ox = oy = oz = 0.0  # half the sum of axis x axis before: the sine of the turn
        for k in range(3):
            ox += 0.5 * (row[3 + k] * old[6 + k] - row[6 + k] * old[3 + k])
            oy += 0.5 * (row[6 + k] * old[k] - row[k] * old[6 + k])
            oz += 0.5 * (row[k] * old[3 + k] - row[3 + k] * old[k])
        _let_move(
            row,
            old[AT_C] - row[C] - world[ORIGIN],
            old[AT_C + 1] - row[C + 1] - world[ORIGIN + 1],
            old[AT_C + 2] - row[C + 2] - world[ORIGIN + 2],
            ox,
            oy,
            oz,
        )
        for k in range(6):
            row[V + k] -= done[k]
    status = nearest_motion(mi, mf, w, rest)
    for j in range(mi[NV]):
        step[j] += rest[j]
    return status


@kernel
def _free_systems(mi, label):
    """Give all bodies of a system that flies freely one number; 0 where the world holds them."""
    body_i, loop_i = table(mi, mi, BODY_I), table(mi, mi, LOOP_I)
    label[0] = 0
    for i in range(1, mi[N_BODIES]):
        up = body_i[i, PARENT]
        label[i] = i if up == 0 and body_i[i, TYPE] == FREE else label[up]
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_ACTIVE] and loop_i[k, LOOP_N_ROWS]:
            one, two = label[loop_i[k, LOOP_BODY_1]], label[loop_i[k, LOOP_BODY_2]]
            for i in range(mi[N_BODIES]):
                if label[i] == max(one, two):
                    label[i] = min(one, two)


@kernel
def _centres(mi, mf, w, bodies, label, system, before, after):
    """Write a free system's centre of mass as recorded and as it is, in the world; return mass."""
    body_f, body_w, world = table(mf, mi, BODY_F), table(w, mi, BODY_W), table(w, mi, WORLD_W)[0]
    mass, before[:], after[:] = 0.0, 0.0, 0.0
    for i in range(1, mi[N_BODIES]):
        if label[i] == system:
            m = body_f[i, MASS]
            mass += m
            for k in range(3):
                before[k] += m * bodies[i, AT_C + k]
                after[k] += m * (body_w[i, C + k] + world[ORIGIN + k])
    if mass > 0.0:
        before /= mass
        after /= mass
    return mass


@kernel
def _shift_back(mi, mf, w, q, bodies):
    """Move every free system as a whole to where its centre of mass was."""
    body_i, body_f, n = table(mi, mi, BODY_I), table(mf, mi, BODY_F), mi[N_BODIES]
    label, before, after = np.empty(n, np.int64), np.empty(3), np.empty(3)
    placements(mi, mf, w, q)
    _free_systems(mi, label)
    for system in range(1, n):
        if (
            label[system] != system
            or _centres(mi, mf, w, bodies, label, system, before, after) == 0.0
        ):
            continue
        for i in range(1, n):
            if label[i] == system and body_i[i, PARENT] == 0:
                t, k = body_f[i], body_i[i, IQ]
                for r in range(3):  # positions are in the axes of the joint
                    for c in range(3):
                        q[k + r] += t[TREE_R + 3 * c + r] * (before[c] - after[c])


@kernel
def compute_settling(mi, mf, w, q, bodies, work):
    """
    Close the loops; all masses come to be nearest to where they were recorded.

    The centre of mass of what flies freely is then where it was, exactly. Returns LOOP_OPEN, and
    leaves q as it was, where Newton's method does not get there.
    """
    nq, nv = mi[NQ], mi[NV]
    step, rest, moved, to = np.empty(nv), np.zeros(nv), q[:nq].copy(), np.empty(nq)
    for _ in range(MOST_SETTLING):
        if _settling_step(mi, mf, w, moved, bodies, step, rest) != OK:
            return LOOP_OPEN
        size = np.max(np.abs(step))
        if not size < LONGEST:
            return LOOP_OPEN
        integrate(mi, moved, step, to)
        moved[:] = to
        if size <= SETTLED:
            break
    if close_loops(mi, mf, w, moved, rest, work) != OK:
        return LOOP_OPEN
    _shift_back(mi, mf, w, moved, bodies)
    q[:nq] = moved
    return OK


# --- the jump --------------------------------------------------------------------------------
@kernel
def _tensor(axes, t):
    """Return the inertia of a body about its centre of mass in the world, (3, 3)."""
    turn = axes[:9].copy().reshape(3, 3)
    xx, xy, xz, yy, yz, zz = (
        t[INERTIA],
        t[INERTIA + 1],
        t[INERTIA + 2],
        t[INERTIA + 3],
        t[INERTIA + 4],
        t[INERTIA + 5],
    )
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return turn @ own @ turn.T.copy()


@kernel
def _turn_back(mi, mf, w, bodies, label, system):
    """
    Add to a free system the turn that makes up for the angular momentum that a gap took.

    Two masses that pass each other have some; brought together they have none, unless all turns.
    """
    body_f, body_w, world = table(mf, mi, BODY_F), table(w, mi, BODY_W), table(w, mi, WORLD_W)[0]
    before, after, n = np.empty(3), np.empty(3), mi[N_BODIES]
    if _centres(mi, mf, w, bodies, label, system, before, after) == 0.0:
        return
    inertia, missing = np.zeros((3, 3)), np.zeros(3)
    for i in range(1, n):
        if label[i] == system:
            m, new = body_f[i, MASS], _tensor(body_w[i], body_f[i])
            r = body_w[i, C : C + 3] + world[ORIGIN : ORIGIN + 3] - after
            moved = bodies[i, AT_C:AT_V] - before - r
            missing += (
                m * np.cross(moved, bodies[i, AT_V:AT_O])
                + (_tensor(bodies[i], body_f[i]) - new) @ bodies[i, AT_O:]
            )
            inertia += m * (np.sum(r * r) * np.eye(3) - np.outer(r, r)) + new
    turn = np.linalg.lstsq(inertia, missing, 1e-12)[0]  # points on a line cannot turn about it
    for i in range(1, n):
        if label[i] == system:
            r = body_w[i, C : C + 3] + world[ORIGIN : ORIGIN + 3] - after
            bodies[i, AT_V:AT_O] += np.cross(turn, r)
            bodies[i, AT_O:] += turn


@kernel
def compute_impact(mi, mf, w, q, bodies, moved, v_after, jump, force):
    """
    Write the velocities after joints and loops have caught bodies that moved as recorded.

    `moved` says that a gap was closed since the record: the bodies keep their velocities, and a
    free system its momentum, linear and angular. Also written: what each body's momentum gained,
    at O, (n, 6), and that along the coordinates of the tree, which is J_C^T times the impulse.
    Returns a status and the kinetic energy just before.
    """
    placements(mi, mf, w, q)
    zero, body_w = table(w, mi, VECTORS)[ZERO], table(w, mi, BODY_W)
    solve_constraints(mi, mf, w, q, zero, False)
    n = mi[N_BODIES]
    if moved:
        label = np.empty(n, np.int64)
        _free_systems(mi, label)
        for i in range(1, n):
            if label[i] == i:
                _turn_back(mi, mf, w, bodies, label, i)
    for i in range(1, n):
        b = bodies[i]
        _let_move(body_w[i], b[AT_V], b[AT_V + 1], b[AT_V + 2], b[AT_O], b[AT_O + 1], b[AT_O + 2])
    energies(mi, mf, w)
    kinetic = table(w, mi, WORLD_W)[0, KINETIC]
    status = nearest_motion(mi, mf, w, v_after)
    if status != OK:
        return status, kinetic
    _momenta_as_forces(mi, mf, w)  # solving the motion has used them up
    for i in range(n):
        for k in range(6):
            jump[i, k] = body_w[i, F + k]
    motion(mi, mf, w, v_after, zero, 0.0)
    _momenta_as_forces(mi, mf, w)
    for i in range(n):
        for k in range(6):
            jump[i, k] -= body_w[i, F + k]
            body_w[i, F + k] = jump[i, k]
    pass_forces_inwards(mi, w)
    project_forces(mi, w, force)
    return OK, kinetic
