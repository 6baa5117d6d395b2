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
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.constraints import loop_jacobian
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import body_motion, jacobian
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


@dataclass(frozen=True)
class _Layout:
    """Where the columns of a regressor come from: what does not change from state to state."""

    columns: int
    links: tuple[str, ...]
    bodies: NDArray[np.intp]  # of these links
    R: Array  # of the links in their bodies, (links, 3, 3)
    p: Array  # (links, 3)
    gravity: Array  # that acts on them, (links, 3)
    of_links: NDArray[np.intp]  # columns of links, and the link and kind of each
    link: NDArray[np.intp]
    kind: NDArray[np.intp]
    of_joints: NDArray[np.intp]  # columns of joints, the row of each in (v, rates of loops), kinds
    row: NDArray[np.intp]
    joint_kinds: tuple[str, ...]


def _layout(robot: Mechanism, parameters: Sequence[Parameter]) -> _Layout:
    of_links = [k for k, each in enumerate(parameters) if each.kind in OF_LINK]
    of_joints = [k for k, each in enumerate(parameters) if each.kind not in OF_LINK]
    links = tuple(dict.fromkeys(parameters[k].name for k in of_links))
    place = {name: k for k, name in enumerate(links)}
    frames = [robot.link_frame(name) for name in links]
    shares = {each.name: 1.0 - each.gravcomp for each in robot.description.links}
    return _Layout(
        len(parameters),
        links,
        np.array([body for body, _, _ in frames], dtype=np.intp),
        np.array([R for _, R, _ in frames]).reshape(-1, 3, 3),
        np.array([p for _, _, p in frames]).reshape(-1, 3),
        np.array([shares[name] * robot.gravity for name in links]).reshape(-1, 3),
        np.array(of_links, dtype=np.intp),
        np.array([place[parameters[k].name] for k in of_links], dtype=np.intp),
        np.array([OF_LINK.index(parameters[k].kind) for k in of_links], dtype=np.intp),
        np.array(of_joints, dtype=np.intp),
        np.array([_row(robot, parameters[k].name) for k in of_joints], dtype=np.intp),
        tuple(parameters[k].kind for k in of_joints),
    )


def _row(robot: Mechanism, joint: str) -> int:
    """Return the place of a joint, of tree or loop, among v and the rates of loop joints."""
    if joint in robot.joint_names:
        return int(robot.joint_slices(joint)[1].start)
    return int(robot.nv + robot.loop_coordinate_names.index(joint))


def regressor(
    robot: Mechanism, q: Array, v: Array, a: Array, parameters: Sequence[Parameter] | None = None
) -> Regressor:
    """Return the Regressor of one state, with loops closed: tau_A = Y pi + known."""
    return stacked(robot, q[None], v[None], a[None], parameters)


def stacked(
    robot: Mechanism, q: Array, v: Array, a: Array, parameters: Sequence[Parameter] | None = None
) -> Regressor:
    """Return the Regressor of many states, (samples, nq), (samples, nv) each."""
    parameters = tuple(parameters_of(robot) if parameters is None else parameters)
    layout, pi = _layout(robot, parameters), values_of(robot, parameters)
    parts = [_closed(robot, *state, layout, pi) for state in zip(q, v, a)]
    return Regressor(
        np.vstack([Y for Y, _ in parts]),
        np.concatenate([known for _, known in parts]),
        parameters,
        tuple(robot.actuator_names),
    )


def _closed(
    robot: Mechanism, q: Array, v: Array, a: Array, layout: _Layout, pi: Array
) -> tuple[Array, Array]:
    """Return Y and what is known, of one state."""
    c = coordinates(robot, q)
    if c.S.shape != (c.mobility, c.mobility) or np.linalg.matrix_rank(c.S) < c.mobility:
        raise ActuationError(
            f'{c.mobility} degrees of freedom but {len(c.S)} motors: a motion does not determine '
            'the torques',
            where=robot.name,
            repair='Identification needs as many independent motors as degrees of freedom; name '
            'them with actuated=[...].',
        )
    Y = np.linalg.solve(c.S.T, c.W.T @ _tree(robot, q, v, a, layout))
    return Y, inverse_dynamics(robot, q, v, a).tau_A - Y @ pi


def tree_regressor(
    robot: Mechanism, q: Array, v: Array, a: Array, parameters: Sequence[Parameter]
) -> Array:
    """Return the regressor of the cut tree, tau_O = Y_O pi, (nv, parameters)."""
    return _tree(robot, q, v, a, _layout(robot, parameters))


def _tree(robot: Mechanism, q: Array, v: Array, a: Array, layout: _Layout) -> Array:
    """Return the regressor of the cut tree, its columns as in a layout."""
    Y = np.empty((robot.nv, layout.columns))
    if layout.links:
        blocks = _blocks(robot, q, v, a, layout)
        Y[:, layout.of_links] = blocks[layout.link, :, layout.kind].T
    if len(layout.row):
        L, bias = loop_jacobian(robot, q), np.zeros(robot.nv + len(robot.loop_coordinate_names))
        kernels.compute_loop_bias(robot.handle, q, v, bias[robot.nv :])
        rows = np.vstack([np.eye(robot.nv), L])[layout.row]
        speed = rows @ v
        sizes = {
            'damping': speed,
            'friction': np.tanh(speed / FRICTION_SPEED),
            'armature': rows @ a + bias[layout.row],
        }
        size = [sizes[kind][k] for k, kind in enumerate(layout.joint_kinds)]
        Y[:, layout.of_joints] = rows.T * size
    return Y


def _blocks(robot: Mechanism, q: Array, v: Array, a: Array, layout: _Layout) -> Array:
    """Return what the ten parameters of each link do to tau_O, (links, nv, 10)."""
    bodies, places, _ = body_motion(robot, q, v, a)
    R_body, moving = places['R'][layout.bodies], bodies[layout.bodies]
    R, r = R_body @ layout.R, np.einsum('nij,nj->ni', R_body, layout.p)
    omega, alpha = moving[:, 3:6], moving[:, 9:12]
    speed = moving[:, :3] + np.cross(omega, r)
    rise = moving[:, 6:9] + np.cross(alpha, r) + np.cross(omega, speed) - layout.gravity
    A = body_regressors(*(np.einsum('nji,nj->ni', R, each) for each in (rise, omega, alpha)))
    wrenches = np.concatenate([R @ A[:, :3], R @ A[:, 3:]], axis=1)
    J = np.array([jacobian(robot, q, name) for name in layout.links])
    return np.asarray(J.transpose(0, 2, 1) @ wrenches)


def body_regressors(a: Array, w: Array, dw: Array) -> Array:
    """Return A with (f, n) = A pi of bodies, (n, 6, 10): in their own axes, at their origins."""
    A = np.zeros((len(a), 6, 10))
    W = _cross(w)
    A[:, :3, 0] = a
    A[:, :3, 1:4] = _cross(dw) + W @ W
    A[:, 3:, 1:4] = -_cross(a)
    A[:, 3:, 4:] = _times(dw) + W @ _times(w)
    return A


def _cross(x: Array) -> Array:
    """Return X with X y = x cross y, (n, 3, 3)."""
    X = np.zeros((len(x), 3, 3))
    X[:, 2, 1], X[:, 0, 2], X[:, 1, 0] = x.T
    return np.asarray(X - X.transpose(0, 2, 1))


def _times(w: Array) -> Array:
    """Return L with I w = L (Ixx, Ixy, Ixz, Iyy, Iyz, Izz), (n, 3, 6)."""
    L = np.zeros((len(w), 3, 6))
    L[:, 0, :3] = w
    L[:, 1, [1, 3, 4]] = w
    L[:, 2, [2, 4, 5]] = w
    return L
