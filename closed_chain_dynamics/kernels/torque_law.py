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
Computed torque in one go: accelerations with feedback, and the torques that give them.

The loops are solved once: what they say about accelerations and about torques is the same H.
"""

from collections import namedtuple

import numpy as np

from .closed_chain import bias_acceleration
from .compiling import kernel
from .coordinates import solve_constraints
from .inverse import needed_torques
from .kinematics import check_state, motion, placements
from .manifold import difference
from .records import OK, UNSOLVED, dofs, drift, shape, zeros
from .step import follow_theta_G

Target = namedtuple('Target', 'q v a')  # a reference, complete
Gains = namedtuple('Gains', 'kp kd')  # (nv,) each [1/s^2, 1/s]


@kernel
def compute_law(m, q, v, target, gains, a, out):
    """
    Write W theta_G'' + W' theta_G' with theta_G'' = theta_d'' + K_d e' + K_p e, and its torques.

    `out` as `compute_inverse_dynamics` writes it, and the largest e behind it.
    Returns its statuses, and UNSOLVED also where a generalized coordinate has no actuator.
    """
    status = check_state(m, q, v, v)
    if status != OK:
        return status
    dof, h, error = dofs(m), drift(m), np.empty(shape(m).nv)
    placements(m, q)
    motion(m, v, zeros(m), 0.0)
    solve_constraints(m, q, v, True)
    bias_acceleration(m)
    difference(m, q, target.q, error)
    largest = 0.0
    for j in range(dof.size):
        if not dof[j].dependent:
            if dof[j].actuator < 0:
                return UNSOLVED
            a[j] = target.a[j] + gains.kd[j] * (target.v[j] - v[j]) + gains.kp[j] * error[j]
            largest = max(largest, abs(error[j]))
    follow_theta_G(m, a)
    for j in range(dof.size):
        a[j] += h[j]
    out[-1] = largest
    status = check_state(m, q, v, a)
    return needed_torques(m, q, v, a, out[:-1]) if status == OK else status
