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
Forward dynamics of the closed chain: A theta_G'' + b = tau_G (Nakamura and Yamane, section III).

With contacts that slide, normal forces and motion are found together: see `contact.py`.
"""

from . import records as at
from .acting_forces import applied_forces, bias_acceleration, take_off_rotors
from .closed_chain import solve_motion
from .compiling import kernel
from .constraint_rows import check_closed
from .contact import contact_dynamics
from .contact_events import note_directions
from .coordinates import may_solve_again, solve_again, solve_constraints
from .holds import note_slips
from .kinematics import add_acceleration, check_state, motion, placements
from .linear_algebra import copy_to
from .newton_euler import body_forces
from .sharing import HANDLE, VECTOR, shared_kernel


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR)
def forward_dynamics(m, q, v, acceleration):
    """
    Write theta_O'' under the torques and forces in the workspace, Eq. (24) of Nakamura and Yamane.

    Returns a status. The loops may be a little open: a method of integration looks between closed
    poses too.
    """
    placements(m, q)
    motion(m, v, at.zeros(m), 1.0)
    solve_constraints(m, q, v, True)
    return _accelerations(m, q, v, acceleration)


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR)
def forward_dynamics_again(m, q, v, acceleration):
    """Do the same in a state whose loops have just been closed: H, V and A are known."""
    if may_solve_again(m):
        solve_again(m, q, v, True)
    else:
        solve_constraints(m, q, v, True)
    return _accelerations(m, q, v, acceleration)


@shared_kernel(HANDLE, VECTOR, VECTOR, VECTOR)
def _accelerations(m, q, v, acceleration):
    """Write theta_O'' after placements, motion and constraints; return a status."""
    closed = at.shape(m).n_rows > 0
    if closed:
        bias_acceleration(m)
        if at.shape(m).n_contacts or at.shape(m).n_holds:
            return contact_dynamics(m, q, v, acceleration)
        add_acceleration(m, at.drift(m))
    body_forces(m)
    force = applied_forces(m, q, v)
    if closed:
        take_off_rotors(m, force)
    status = solve_motion(m, force, acceleration)
    if closed and status == at.OK:
        h = at.drift(m)
        for j in range(h.size):
            acceleration[j] += h[j]
    return status


@kernel
def compute_forward_dynamics(m, q, v, tau_A, answer):
    """
    Check the state and write theta_O''; SINGULAR where the rank is below the largest seen.

    `answer`: q, v and tau_A as they were given, and theta_O'', one after the other.
    """
    size = at.shape(m)
    nq, nv, n_tau = size.nq, size.nv, at.torques(m).size
    if q.size != nq or v.size != nv or tau_A.size != n_tau or answer.size != nq + 2 * nv + n_tau:
        return at.WRONG_SIZE
    status = check_state(m, q, v, tau_A)
    if status != at.OK:
        return status
    copy_to(at.torques(m), tau_A)
    copy_to(answer, q)
    copy_to(answer[nq:], v)
    copy_to(answer[nq + nv :], tau_A)
    acceleration = answer[nq + nv + n_tau :]
    status = forward_dynamics(m, q, v, acceleration)
    # a state of its own, not one within a step: friction is against its motion, whatever the last
    if status == at.OK or status == at.LOCKED:
        turned = size.n_contacts > 0 and note_directions(m)
        if note_slips(m, q, v) or turned:
            status = forward_dynamics(m, q, v, acceleration)
    if status == at.OK:
        status = check_closed(m)
    return at.SINGULAR if status == at.OK and size.rank < size.full_rank else status
