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

"""Motions that the loops allow: theta_O' = W theta_G', theta_O'' = W theta_G'' + W' theta_G'."""

from . import records as at
from .acting_forces import bias_acceleration
from .constraint_rows import check_closed
from .coordinates import solve_constraints, write_W
from .kinematics import check_state, motion, placements
from .linear_algebra import copy_to
from .sharing import HANDLE, TABLE, VECTOR, shared_kernel


@shared_kernel(HANDLE, VECTOR, VECTOR, TABLE, VECTOR)
def compute_tangent(m, q, v, W, h):
    """
    Write W, (nv, at least mobility), and the drift W' theta_G', (nv,) (Yamane and Nakamura, (22)).

    Columns of W stand in the order of the velocities that are generalized coordinates.
    """
    status = check_state(m, q, v, v)
    if status != at.OK:
        return status
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    solve_constraints(m, q, v, True)
    bias_acceleration(m)
    copy_to(h, at.drift(m))
    write_W(m, W)
    return check_closed(m)
