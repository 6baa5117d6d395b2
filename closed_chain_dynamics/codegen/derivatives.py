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

CasADi differentiates the traced algorithm along one direction; all directions are then one batch.
Nothing is approximated. A state of the closed chain is (a small motion along theta_G, theta_G');
perturbations of spherical, planar and free joints are in the moving frame, so that they turn with
it: the upper left block of A is -ad_v W there, and zero for joints of one coordinate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.source import Body, Source
from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Derivatives', 'derivatives', 'linearise']

Array = NDArray[np.float64]
Slopes = Callable[..., Array | None]  # name, arrays with a row for each direction -> (n, nv)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """
    Derivatives of forward dynamics at one state.

    `wrt_q`, `wrt_v` (nv, nv), `wrt_tau` (nv, actuators): of theta_O'' along the tangent of q,
    along v, and by the actuators' torques, the loops' equations among the dynamics. `A` (2 m, 2 m)
    and `B` (2 m, actuators): the linearised closed chain, x' = A x + B tau, in the `independent`
    theta_G.
    """

    wrt_q: Array
    wrt_v: Array
    wrt_tau: Array
    A: Array
    B: Array
    independent: list[str]


_traced: 'WeakKeyDictionary[Mechanism, _Traced]' = WeakKeyDictionary()


@dataclass
class _Traced:
    changes: int
    source: Source
    functions: dict[str, Any]

    def fits(self, robot: Mechanism, independent: list[str]) -> bool:
        """Return whether structure, gravity and theta_G are those of the trace."""
        same = self.source.independent_names == independent
        return bool(same and self.changes == robot.changes)

    def slopes(self, name: str, **given: Array) -> Array | None:
        from closed_chain_dynamics.codegen.traces import trace

        if name not in self.functions:
            self.functions[name] = trace(self.source, name).function
        found = self.functions[name](**{key: rows.T for key, rows in given.items()})
        if not np.all(found['margin'].full() > 0.0):
            return None
        return np.asarray(found['slope'].full().T)


def derivatives(robot: Mechanism, q: ArrayLike, v: ArrayLike, tau: Any = None) -> Derivatives:
    """
    Return the derivatives of forward dynamics at a closed pose q, velocity v and torques tau.

    Exact to rounding. The first call for a structure traces it, which takes up to seconds; they
    grow with the size of the mechanism, as does the time of a call: number of directions times
    three times that of forward dynamics. `robot.compile().derivatives` is the fast way.
    """
    require_casadi()
    forward_dynamics(robot, q, v, tau)  # refuses what the core refuses
    pose: Array = robot.vector(q, robot.nq, 'q')
    rate: Array = robot.vector(v, robot.nv, 'v')
    torques = actuator_vector(robot, tau, 'tau')
    c = coordinates(robot, pose)
    kept = _traced.get(robot)
    if kept is not None and kept.fits(robot, c.independent):
        found = linearise(kept.source, kept.slopes, c.W, pose, rate, torques)
        if found is not None:
            return found
    # there are no pivots yet, or those of another pose fail here
    kept = _traced[robot] = _Traced(robot.changes, gather(robot, pose), {})
    found = linearise(kept.source, kept.slopes, c.W, pose, rate, torques)
    assert found is not None  # the pivots were chosen here
    return found


def linearise(
    source: Source, slopes: Slopes, W: Array, q: Array, v: Array, tau: Array
) -> Derivatives | None:
    """Return the derivatives by slopes along directions; None where these do not count."""
    nv, na = source.nv, len(tau)
    seeds = np.eye(2 * nv + na)
    state = {
        name: np.tile(value, (len(seeds), 1)) for name, value in (('q', q), ('v', v), ('tau', tau))
    }
    found = slopes(
        'forward_tangent',
        **state,
        dq=np.ascontiguousarray(seeds[:, :nv]),
        dv=np.ascontiguousarray(seeds[:, nv : 2 * nv]),
        dtau=np.ascontiguousarray(seeds[:, 2 * nv :]),
    )
    if found is None:
        return None
    wrt_q, wrt_v, wrt_tau = found[:nv].T, found[nv : 2 * nv].T, found[2 * nv :].T
    G = list(source.independent)
    m = len(G)
    if m == 0:
        return Derivatives(wrt_q, wrt_v, wrt_tau, np.zeros((0, 0)), np.zeros((0, na)), [])
    turned = slopes(
        'velocity_tangent',
        q=np.tile(q, (m, 1)),
        rates=np.tile(v[G], (m, 1)),
        dq=np.ascontiguousarray(W.T),
    )
    if turned is None:
        return None
    A = np.zeros((2 * m, 2 * m))
    A[:m, :m] = -(_adjoint(source, v) @ W)[G]
    A[:m, m:] = np.eye(m)
    A[m:, :m] = (wrt_q @ W + wrt_v @ turned.T)[G]
    A[m:, m:] = (wrt_v @ W)[G]
    B = np.concatenate([np.zeros((m, na)), wrt_tau[G]])
    return Derivatives(wrt_q, wrt_v, wrt_tau, A, B, source.independent_names)


def _adjoint(source: Source, v: Array) -> Array:
    """Return ad_v, (nv, nv): how small motions of joints turn with the joints' own velocity."""
    ad = np.zeros((source.nv, source.nv))
    for body in source.bodies[1:]:
        if body.nv > 1:
            part = slice(body.iv, body.iv + body.nv)
            ad[part, part] = _joint_adjoint(body, v[part])
    return ad


def _joint_adjoint(body: Body, v: Array) -> Array:
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
