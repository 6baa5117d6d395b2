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
Derivatives of forward dynamics: on the tree's tangent, and in theta_G for the closed chain.

CasADi differentiates the equations of motion along one direction (`slope_traces`); all directions
are then one batch, and the rest is linear. Nothing is approximated. A state of the closed chain is
(a small motion along theta_G, theta_G'); perturbations of spherical, planar and free joints are in
the moving frame, so that they turn with it: the upper left block of A is -ad_v W there, and zero
for joints of one coordinate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.source import Source, SourceBody
from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Derivatives', 'derivatives', 'linearise']


@dataclass(frozen=True, eq=False)
class Derivatives:
    """
    Derivatives of forward dynamics at one state.

    `wrt_q`, `wrt_v` (nv, nv), `wrt_tau` (nv, actuators): derivatives of theta_O'' with respect to
    the tangent of q, to v and to the actuator torques; the loop equations are part of the
    dynamics. `A` (2 m, 2 m) and `B` (2 m, actuators): the linearised closed chain, x' = A x + B
    tau, in the `independent` theta_G.
    """

    wrt_q: Array
    wrt_v: Array
    wrt_tau: Array
    independent: list[str]
    _closed: Callable[[], tuple[Array, Array]] = field(repr=False)  # made when first asked for

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        return self._closed()

    @property
    def A(self) -> Array:
        """Return d x' / d x, (2 m, 2 m)."""
        return self._linear[0]

    @property
    def B(self) -> Array:
        """Return d x' / d tau, (2 m, actuators)."""
        return self._linear[1]


class Generated(Protocol):
    """Functions of a source, evaluated somehow."""

    source: Source

    def slopes(self, name: str, **given: Array) -> Array | None:
        """Return slopes along directions, a row for each; None where they do not count."""


_traced: WeakKeyDictionary[Mechanism, _Traced] = WeakKeyDictionary()


@dataclass
class _Traced:
    changes: int
    source: Source
    functions: dict[str, Any]

    def fits(self, robot: Mechanism, independent: list[str]) -> bool:
        """Return whether structure, gravity and theta_G are those of the trace."""
        same = self.source.independent_names == independent
        return bool(same and self.changes == robot.changes)

    def _function(self, name: str) -> Any:
        from closed_chain_dynamics.codegen.traces import trace

        if name not in self.functions:
            self.functions[name] = trace(self.source, name).function
        return self.functions[name]

    def slopes(self, name: str, **given: Array) -> Array | None:
        """Return slopes along directions, a row for each; None where they do not count."""
        found = self._function(name)(**{key: rows.T for key, rows in given.items()})
        if not np.all(found['margin'].full() > 0.0):
            return None
        return np.asarray(found['slope'].full().T)

    def linear_part(self, q: Array) -> tuple[Array, ...] | None:
        """Return M, W and S; None where they do not count."""
        found = self._function('linear_part')(q=q)
        if not np.all(found['margin'].full() > 0.0):
            return None
        return tuple(found[name].full() for name in ('M', 'W', 'S'))


def derivatives(robot: Mechanism, q: ArrayLike, v: ArrayLike, tau: Any = None) -> Derivatives:
    """
    Return the derivatives of forward dynamics at a closed pose q, velocity v and torques tau.

    Exact to rounding. The first call for a structure traces it, which takes up to a few seconds.
    Each call takes as long as forward dynamics times the number of directions;
    `robot.compile().derivatives` is much faster.
    """
    require_casadi()
    a = forward_dynamics(robot, q, v, tau).acceleration  # refuses what the core refuses
    pose: Array = robot.vector(q, robot.nq, 'q')
    rate: Array = robot.vector(v, robot.nv, 'v')
    torques = actuator_vector(robot, tau, 'tau')
    independent = coordinates(robot, pose).independent
    kept = _traced.get(robot)
    if kept is not None and kept.fits(robot, independent):
        found = _differentiate(kept, pose, rate, torques, a)
        if found is not None:
            return found
    # there are no pivots yet, or those of another pose fail here
    kept = _traced[robot] = _Traced(robot.changes, gather(robot, pose), {})
    found = _differentiate(kept, pose, rate, torques, a)
    if found is None:  # the pivots were chosen here: it is a path
        raise StateError(
            'a path touches a shape from within, with one end almost on it: the point is not '
            'found closely enough for derivatives',
            where=robot.name,
            repair='Take another pose, or move the end of the path away from the shape.',
        )
    return found


def _differentiate(made: _Traced, q: Array, v: Array, tau: Array, a: Array) -> Derivatives | None:
    """Return the derivatives where torques give accelerations a; None where they do not count."""
    nv = len(v)
    if not nv:  # nothing moves, and CasADi would take no directions for one
        W, none = np.zeros((0, 0)), np.zeros((0, len(tau)))
        return Derivatives(W, W, none, [], partial(linearise, made, q, v, W, W, W, none))
    linear = made.linear_part(q)
    state = {'q': q, 'v': v, 'tau': tau, 'a': a}
    residuals = made.slopes(
        'residual_slope',
        **{name: np.tile(x, (2 * nv, 1)) for name, x in state.items()},
        dq=np.eye(2 * nv, nv),
        dv=np.eye(2 * nv, nv, -nv),
    )
    if linear is None or residuals is None:
        return None
    M, W, S = linear
    m = W.shape[1]
    dg, de = residuals[:, :m].T, residuals[:, m:].T
    MW = M @ W
    forces = np.concatenate([-dg - MW.T @ de, S.T], axis=1)
    slopes = W @ (np.linalg.solve(W.T @ MW, forces) if m else forces)
    slopes[:, : 2 * nv] += de
    wrt_q, wrt_v, wrt_tau = slopes[:, :nv], slopes[:, nv : 2 * nv], slopes[:, 2 * nv :]
    closed = partial(linearise, made, q, v, W, wrt_q, wrt_v, wrt_tau)
    return Derivatives(wrt_q, wrt_v, wrt_tau, made.source.independent_names, closed)


def linearise(
    made: Generated, q: Array, v: Array, W: Array, wrt_q: Array, wrt_v: Array, wrt_tau: Array
) -> tuple[Array, Array]:
    """Return A and B of the closed chain; W spans its motions, in whichever theta_G."""
    source = made.source
    G, na = list(source.independent), wrt_tau.shape[1]
    m = len(G)
    if m == 0:
        return np.zeros((0, 0)), np.zeros((0, na))
    W = W @ np.linalg.inv(W[G])
    given = {
        'q': np.tile(q, (m, 1)),
        'rates': np.tile(v[G], (m, 1)),
        'dq': np.ascontiguousarray(W.T),
    }
    turned = made.slopes('velocity_tangent', **given)
    if turned is None:  # pivots of another pose fail here, those of this one do not
        turned = _Traced(0, replace(source, q=q), {}).slopes('velocity_tangent', **given)
        assert turned is not None
    A = np.zeros((2 * m, 2 * m))
    A[:m, :m] = -(_adjoint(source, v) @ W)[G]
    A[:m, m:] = np.eye(m)
    A[m:, :m] = (wrt_q @ W + wrt_v @ turned.T)[G]
    A[m:, m:] = (wrt_v @ W)[G]
    return A, np.concatenate([np.zeros((m, na)), wrt_tau[G]])


def _adjoint(source: Source, v: Array) -> Array:
    """Return ad_v, (nv, nv): how small motions of joints turn with the joints' own velocity."""
    ad = np.zeros((source.nv, source.nv))
    for body in source.bodies[1:]:
        if body.nv > 1:
            part = slice(body.iv, body.iv + body.nv)
            ad[part, part] = _joint_adjoint(body, v[part])
    return ad


def _joint_adjoint(body: SourceBody, v: Array) -> Array:
    if body.kind is JointType.SPHERICAL:
        return _skew(v)
    if body.kind is JointType.FLOATING:
        ad = np.zeros((6, 6))
        ad[:3, :3] = ad[3:, 3:] = _skew(v[3:])
        ad[:3, 3:] = _skew(v[:3])
        return ad
    vx, vy, o = v  # planar
    return np.array([[0.0, -o, vy], [o, 0.0, -vx], [0.0, 0.0, 0.0]])


def _skew(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
