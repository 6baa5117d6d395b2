"""
The jump of velocities when links are connected at non-zero relative speed (paper 2, V-C).

A connection acts for an instant: momentum along every motion that remains possible is kept, so
A+ theta_G'+ = W+^T (momentum before). That is Eqs. (29) to (38) for any joint, any number of
connections at once and any rank, and it is the system that forward dynamics solves, with momenta
in the place of forces.
"""

from .closed_chain import solve_motion
from .coordinates import solve_constraints
from .inertia import body_inertias, rigid_momentum
from .kinematics import check_state, motion, placements
from .layout import BODY_IA, BODY_W, F, kernel, N_BODIES, NV, OK, table, TAU, V, VECTORS, ZERO


@kernel
def momenta_as_forces(mi, w):
    """Put minus the momentum of every body in the place of the force that it needs."""
    body_w, body_ia = table(w, mi, BODY_W), table(w, mi, BODY_IA)
    for k in range(6):
        body_w[0, F + k] = 0.0
    for i in range(1, mi[N_BODIES]):
        row = body_w[i]
        row[F], row[F + 1], row[F + 2], row[F + 3], row[F + 4], row[F + 5] = rigid_momentum(
            body_ia[i], -row[V], -row[V + 1], -row[V + 2], -row[V + 3], -row[V + 4], -row[V + 5])


@kernel
def compute_impact(mi, mf, w, q, v, v_after):
    """Write the velocities after the loops that are active now have caught the motion v."""
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    vectors = table(w, mi, VECTORS)
    motion(mi, mf, w, v, vectors[ZERO], 0.0)
    solve_constraints(mi, mf, w, q, v, False)
    body_inertias(mi, mf, w)
    momenta_as_forces(mi, w)
    tau = vectors[TAU]
    for j in range(mi[NV]):
        tau[j] = 0.0
    return solve_motion(mi, mf, w, tau, v_after)
