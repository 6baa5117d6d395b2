"""
Forward dynamics of the closed chain: A theta_G'' + b = tau_G (paper 2, section III).

With contacts that slide, normal forces and motion are found together: see `contact.py`.
"""

import numpy as np

from .closed_chain import applied_forces, bias_acceleration, solve_motion
from .contact import contact_dynamics, note_directions
from .coordinates import check_closed, solve_constraints
from .kinematics import add_acceleration, check_state, motion, placements
from .layout import (
    BIAS,
    FULL_RANK,
    LOCKED,
    N_ACTUATORS,
    N_CONTACTS,
    N_ROWS,
    NOT_FINITE,
    NQ,
    NV,
    OK,
    RANK,
    SINGULAR,
    VECTORS,
    WRONG_SIZE,
    ZERO,
    kernel,
    table,
)
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
        add_acceleration(mi, w, bias)
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
    if q.size != mi[NQ] or v.size != mi[NV] or tau_A.size != mi[N_ACTUATORS]:
        return WRONG_SIZE
    status = check_state(mi, q, v, tau_A)
    for x in extra:
        if not np.isfinite(x):
            status = NOT_FINITE
    if status != OK:
        return status
    status = forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, acceleration)
    # a state of its own, not one within a step: friction is against its motion, whatever the last
    if mi[N_CONTACTS] and (status == OK or status == LOCKED) and note_directions(mi, mf, w):
        status = forward_dynamics(mi, mf, w, q, v, tau_A, extra, wrenches, acceleration)
    if status == OK:
        status = check_closed(mi, mf, w)
    return SINGULAR if status == OK and mi[RANK] < mi[FULL_RANK] else status
