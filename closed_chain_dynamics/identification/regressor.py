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
The regressor of a closed chain: tau_A = Y(q, v, a) pi + what does not depend on pi.

A link whose frame moves with the proper acceleration a, omega and omega' (gravity taken off) needs
the wrench A pi at its origin; tau_O is the sum of J^T A pi over the links, and as in the papers
tau_A = S^-T W^T tau_O. Nothing is assumed about joints without sensors: the loops decide them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.constraints import loop_jacobian
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import (
    jacobian,
    link_accelerations,
    link_placements,
    link_velocities,
)
from closed_chain_dynamics.errors import ActuationError
from closed_chain_dynamics.identification.parameters import (
    OF_LINK,
    Parameter,
    parameters_of,
    values_of,
)
from closed_chain_dynamics.kernels.passive import FRICTION_SPEED
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Regressor', 'regressor', 'stacked', 'tree_regressor']


@dataclass(frozen=True)
class Regressor:
    """tau_A = Y pi + known, of one state or of many below each other, a block per sample."""

    Y: Array  # (samples * actuators, parameters)
    known: Array  # (samples * actuators,): springs, limits, and parameters that are not asked for
    parameters: tuple[Parameter, ...]
    actuators: tuple[str, ...]


def regressor(
    robot: Mechanism, q: Array, v: Array, a: Array, parameters: Sequence[Parameter] | None = None
) -> Regressor:
    """Return the Regressor of one state, with loops closed: tau_A = Y pi + known."""
    parameters = tuple(parameters_of(robot) if parameters is None else parameters)
    c = coordinates(robot, q)
    if c.S.shape != (c.mobility, c.mobility) or np.linalg.matrix_rank(c.S) < c.mobility:
        raise ActuationError(
            f'{c.mobility} degrees of freedom but {len(c.S)} motors: a motion does not determine '
            'the torques',
            where=robot.name,
            repair='Identification needs as many independent motors as degrees of freedom; name '
            'them with actuated=[...].',
        )
    Y = np.linalg.solve(c.S.T, c.W.T @ tree_regressor(robot, q, v, a, parameters))
    known = inverse_dynamics(robot, q, v, a).tau_A - Y @ values_of(robot, parameters)
    return Regressor(Y, known, parameters, tuple(robot.actuator_names))


def stacked(
    robot: Mechanism, q: Array, v: Array, a: Array, parameters: Sequence[Parameter] | None = None
) -> Regressor:
    """Return the Regressor of many states, (samples, nq), (samples, nv) each."""
    parts = [regressor(robot, *state, parameters) for state in zip(q, v, a)]
    return Regressor(
        np.vstack([each.Y for each in parts]),
        np.concatenate([each.known for each in parts]),
        parts[0].parameters,
        parts[0].actuators,
    )


def tree_regressor(
    robot: Mechanism, q: Array, v: Array, a: Array, parameters: Sequence[Parameter]
) -> Array:
    """Return the regressor of the cut tree, tau_O = Y_O pi, (nv, parameters)."""
    placements, velocities = link_placements(robot, q), link_velocities(robot, q, v)
    accelerations = link_accelerations(robot, q, v, a)
    blocks: dict[str, Array] = {}
    shares = {each.name: 1.0 - each.gravcomp for each in robot.description.links}
    L, bias = loop_jacobian(robot, q), np.empty(len(robot.loop_coordinate_names))
    kernels.compute_loop_bias(robot.handle, q, v, bias)
    columns = []
    for each in parameters:
        if each.kind in OF_LINK:
            if each.name not in blocks:
                R = placements[each.name][:3, :3]
                rates, rise = velocities[each.name], accelerations[each.name]
                g = shares[each.name] * robot.gravity
                A = body_regressor(R.T @ (rise[:3] - g), R.T @ rates[3:], R.T @ rise[3:])
                J = jacobian(robot, q, each.name)
                blocks[each.name] = J.T @ np.vstack([R @ A[:3], R @ A[3:]])
            columns.append(blocks[each.name][:, OF_LINK.index(each.kind)])
        else:
            row = _row(robot, each.name, L)
            speed = row @ v
            size = {
                'damping': speed,
                'friction': np.tanh(speed / FRICTION_SPEED),
                'armature': row @ a + _bias(robot, each.name, bias),
            }[each.kind]
            columns.append(size * row)
    return np.column_stack(columns) if columns else np.zeros((robot.nv, 0))


def _row(robot: Mechanism, joint: str, L: Array) -> Array:
    """Return the row that gives the rate of a joint, of tree or loop, from v."""
    if joint in robot.joint_names:
        return np.asarray(np.eye(robot.nv)[robot.joint_slices(joint)[1].start])
    return np.asarray(L[robot.loop_coordinate_names.index(joint)])


def _bias(robot: Mechanism, joint: str, bias: Array) -> float:
    """Return how a joint accelerates while those of the tree do not."""
    if joint in robot.joint_names:
        return 0.0
    return float(bias[robot.loop_coordinate_names.index(joint)])


def body_regressor(a: Array, w: Array, dw: Array) -> Array:
    """Return A with (f, n) = A pi of a body, (6, 10); all in its own axes, at its origin."""
    A = np.zeros((6, 10))
    W = _cross(w)
    A[:3, 0] = a
    A[:3, 1:4] = _cross(dw) + W @ W
    A[3:, 1:4] = -_cross(a)
    A[3:, 4:] = _times(dw) + W @ _times(w)
    return A


def _cross(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def _times(w: Array) -> Array:
    """Return L with I w = L (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)."""
    x, y, z = w
    return np.array([[x, y, z, 0, 0, 0], [0, x, 0, y, z, 0], [0, 0, x, 0, y, z]])
