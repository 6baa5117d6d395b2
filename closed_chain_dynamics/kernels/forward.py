"""
Forward dynamics of the closed chain: A theta_G'' + b = tau_G (paper 2, section III).

With contacts that slide, normal forces and motion are found together: see `contact.py`.
"""

from .closed_chain import applied_forces, bias_acceleration, solve_motion
from .contact import contact_dynamics
from .coordinates import check_closed, solve_constraints
from .kinematics import check_state, motion, placements
from .layout import (BIAS, FULL_RANK, kernel, N_CONTACTS, N_ROWS, NV, OK, RANK, SINGULAR, table,
                     VECTORS, ZERO)
from .newton_euler import body_forces


@kernel
def forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, acceleration):
    """
    Write theta_O'' from the actuators' torques, Eq. (24) of paper 2; return a status.

    The loops may be a little open: a method of integration looks between closed poses too.
    """
    placements(mi, mf, w, q)
    motion(mi, mf, w, v, table(w, mi, VECTORS)[ZERO], 1.0)
    solve_constraints(mi, mf, w, q, v, True)
    bias = table(w, mi, VECTORS)[BIAS]
    if mi[N_ROWS]:
        bias_acceleration(mi, mf, w)
        if mi[N_CONTACTS]:
            return contact_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, acceleration)
        motion(mi, mf, w, v, bias, 1.0)
    body_forces(mi, mf, w)
    tau = applied_forces(mi, mf, w, q, v, tau_A, extra, wrenches)
    status = solve_motion(mi, mf, w, tau, acceleration)
    if mi[N_ROWS] and status == OK:
        for j in range(mi[NV]):
            acceleration[j] += bias[j]
    return status


@kernel
def compute_forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, acceleration):
    """Check the state and write theta_O''; SINGULAR where the rank is below the largest seen."""
    status = check_state(mi, q, v, tau_A)
    if status != OK:
        return status
    status = forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, acceleration)
    if status == OK:
        status = check_closed(mi, mf, w)
    return SINGULAR if status == OK and mi[RANK] < mi[FULL_RANK] else status
