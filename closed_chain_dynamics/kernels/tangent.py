"""Motions that the loops allow: theta_O' = W theta_G', theta_O'' = W theta_G'' + W' theta_G'."""

from .closed_chain import bias_acceleration
from .coordinates import check_closed, solve_constraints, write_W
from .kinematics import check_state, motion, placements
from .layout import BIAS, NV, OK, VECTORS, ZERO, kernel, table


@kernel
def compute_tangent(mi, mf, w, q, v, W, drift):
    """
    Write W, (nv, at least mobility), and the drift W' theta_G', (nv,), Eq. (22) of paper 1.

    Columns of W stand in the order of the velocities that are generalized coordinates.
    """
    status = check_state(mi, q, v, v)
    if status != OK:
        return status
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 0.0)
    solve_constraints(mi, mf, w, q, v, True)
    bias_acceleration(mi, mf, w)
    for j in range(mi[NV]):
        drift[j] = table(w, mi, VECTORS)[BIAS][j]
    write_W(mi, mf, w, W)
    return check_closed(mi, mf, w)
