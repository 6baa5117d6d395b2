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
Inverse dynamics of the closed chain in the four steps of Yamane and Nakamura, section 2.1.

(1) W and S; (2) tau_O of the tree by Newton-Euler; (3) tau_G = W^T tau_O; (4) tau_A from
S^T tau_A = tau_G, which is tau_A = S^-T W^T tau_O when actuators and mobility match.

tau_O has one meaning everywhere: what a motion needs along each coordinate of the tree that
neither springs, damping, friction and limits nor wrenches from outside give. Actuators and loops
have to give it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.actuation import actuator_torques
from closed_chain_dynamics.dynamics.at_pose import AtPose
from closed_chain_dynamics.dynamics.constraint_forces import drag, solve_multipliers
from closed_chain_dynamics.dynamics.constraints import (
    actuator_rows,
    allowed_motions,
    constraint_jacobian,
)
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates, coordinates
from closed_chain_dynamics.dynamics.outside_forces import acting, checked_wrenches
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.dynamics.singularities import branch_tangent
from closed_chain_dynamics.dynamics.values import Where, numbers
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['InverseDynamics', 'inverse_dynamics']

MET_RESIDUAL = 1e-9  # share of the largest force up to which a residual counts as none
_kernel = kernels.Strict(kernels.compute_inverse_dynamics)
GivenWrenches = dict[str, tuple[float, ...]]


class InverseDynamics(AtPose):
    """
    Forces that a motion needs; every array is in the mechanism's order of names.

    `tau_O`: of the tree, (nv,); `tau_G`: generalized forces W^T tau_O, (mobility,); `tau_A`: of
    the actuators; `singular`: whether the pose is singular, so that a policy was applied;
    `dead_point`: whether actuators have no leverage; `q`, `v`, `a`, `wrenches`: the inputs.
    """

    _asked: tuple[bytes, bytes, GivenWrenches | None]
    _forces: Vector  # as the kernel writes them

    def __init__(
        self, where: Where, asked: tuple[bytes, bytes, GivenWrenches | None], forces: Vector
    ) -> None:
        kept = self.__dict__  # written once, here
        kept['_where'], kept['_asked'], kept['_forces'] = where, asked, forces

    def __repr__(self) -> str:
        kind = f'singular={self.singular}, dead_point={self.dead_point}'
        return f'InverseDynamics(tau_A={self.torques()}, {kind})'

    @property
    def v(self) -> Vector:
        """Return the velocity, (nv,)."""
        return numbers(self._asked[0])

    @property
    def a(self) -> Vector:
        """Return the acceleration, (nv,)."""
        return numbers(self._asked[1])

    @property
    def wrenches(self) -> dict[str, Vector]:
        """Return the external wrenches, {link: (6,)}."""
        return {link: np.array(wrench) for link, wrench in (self._asked[2] or {}).items()}

    @property
    def tau_O(self) -> Vector:
        """Return the forces on the tree, (nv,)."""
        return np.array(self._forces[1 : 1 + len(self._asked[0]) // 8])

    @property
    def tau_A(self) -> Vector:
        """Return the actuator torques, (actuators,)."""
        first = 1 + len(self._asked[0]) // 8
        return np.array(self._forces[first : first + len(self._where[0].actuator_names)])

    @property
    def tau_G(self) -> Vector:
        """Return the generalized forces W^T tau_O, (mobility,), Eq. (7)."""
        first = 1 + len(self._asked[0]) // 8 + len(self._where[0].actuator_names)
        return np.array(self._forces[first : first + int(self._forces[0])])

    @cached_property
    def _residual(self) -> Vector:
        if 'coordinates' in self.__dict__:
            S = self.coordinates.S
        else:  # all of them would cost ten times as much
            S = actuator_rows(self.robot, self.q) @ allowed_motions(self.robot, self.q)
        return np.asarray(self.tau_G - S.T @ self.tau_A)

    @property
    def residual(self) -> Vector:
        """Return tau_G - S^T tau_A, (mobility,): what the actuators cannot provide."""
        return np.array(self._residual)

    @property
    def residual_by_name(self) -> dict[str, float]:
        """Return the residual by generalized coordinate, without those that are provided."""
        scale = max(np.abs(self.tau_G).max(initial=0.0), 1.0)
        return {
            name: float(value)
            for name, value in zip(self.coordinates.independent, self._residual)
            if abs(value) > MET_RESIDUAL * scale
        }

    def torques(self) -> dict[str, float]:
        """Return the actuator torques by name."""
        return dict(zip(self._where[0].actuator_names, self.tau_A.tolist()))

    def check(self) -> dict[str, float]:
        """
        Return three residuals that should be near zero.

        `loops`: largest J_C a + J_C' v; `power`: relative difference between the power of tau_A
        plus the residual and that of tau_O; `forward`: relative difference between forward
        dynamics and `a`.
        """
        robot, q, v, a, c = self.robot.copy(), self.q, self.v, self.a, self.coordinates
        J_C, _, bias = constraint_jacobian(robot, q, v)
        rate = v[c.places]
        power_tree = self.tau_O @ (c.W @ rate)
        power = self.tau_A @ (c.S @ rate) + self._residual @ rate
        # where loops carry no velocity a sum is rounding only: measure by the whole motion
        unit = np.abs(self.tau_O).max(initial=0.0) * np.abs(v).max(initial=0.0) + 1e-300
        missing = np.zeros(robot.nv)
        missing[c.places] = self._residual
        forward = forward_dynamics(
            robot, q, v, self.tau_A, extra=missing, wrenches=self.wrenches
        ).acceleration
        size = max(np.abs(a).max(initial=0.0), 1.0)
        return {
            'loops': float(np.abs(J_C @ a + bias).max(initial=0.0)),
            'power': float(abs(power - power_tree) / unit),
            'forward': float(np.abs(forward - a).max(initial=0.0) / size),
        }


def inverse_dynamics(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    policy: str = 'minimum_norm',
    weights: Mapping[str, float] | ArrayLike | None = None,
    preload: Mapping[str, float] | ArrayLike | None = None,
    singularity: str = 'damp',
) -> InverseDynamics:
    """
    Return the forces that a motion of the closed chain needs (Yamane and Nakamura, (7) to (9)).

    q, v, a: a closed pose, velocities and accelerations that respect the loops (see `assemble`,
    `complete_velocity`, `complete_acceleration`). Springs, damping, friction, also that of
    sliding contacts, limit moments and `wrenches` ({link: (6,)}, world axes at the link origin)
    are part of the dynamics. `policy`, `weights` and `preload` decide when actuators are
    redundant: see `actuator_torques`.
    `singularity`: what to do in a singular pose, 'damp', 'hold' or 'refuse'.
    """
    if not robot.structure.rank_known:
        learn_rank(robot, q)
    out = np.empty(robot.n_forces)
    if wrenches:
        with acting(robot, wrenches):
            q, v, a, status = _compute(robot, q, v, a, out)
    else:
        q, v, a, status = _compute(robot, q, v, a, out)
    result = InverseDynamics(
        (robot.model, robot.kept_structure(), q.tobytes()),
        (v.tobytes(), a.tobytes(), checked_wrenches(robot, wrenches) if wrenches else None),
        out,
    )
    if (
        status
        or policy != 'minimum_norm'
        or singularity != 'damp'
        or preload is not None
        or weights is not None
    ):
        sharing = {'policy': policy, 'weights': weights, 'preload': preload}
        _solve_generally(robot, result, status, singularity, sharing)
    return result


def _solve_generally(
    robot: Mechanism, result: InverseDynamics, status: int, singularity: str, sharing: Any
) -> None:
    """Find the torques where the kernel has not: by a policy, near dead points, with contacts."""
    q, v, out = result.q, result.v, result._forces
    result.__dict__['coordinates'] = c = coordinates(robot, q)
    # on 'hold', nothing is asked of the motion that came free
    hold = result._meet_singularity(robot, status == at.SINGULAR, singularity)
    W = branch_tangent(robot, q, v, c.W) if hold else c.W
    rows = actuator_rows(robot, q)

    def torques(force: Vector) -> Vector:
        return actuator_torques(robot, rows @ W, W.T @ force, W=W, **sharing).tau_A

    tau_O = result.tau_O
    if robot.structure.shape['n_contacts']:
        tau_O -= _drag(robot, v, c, tau_O, lambda force: rows.T @ torques(force))
    result.__dict__['_forces'] = np.concatenate([out[:1], tau_O, torques(tau_O), c.W.T @ tau_O])


def _compute(
    robot: Mechanism, q: Any, v: Any, a: Any, out: Vector
) -> tuple[Vector, Vector, Vector, int]:
    """Call the kernel; return the state as arrays, and the status where it is no error."""
    try:  # the usual case costs nothing: the kernel itself looks at types and sizes
        status = _kernel.call(robot.handle, q, v, a, out)
    except TypeError:
        status = at.WRONG_SIZE
    if status == at.WRONG_SIZE:
        q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
        a = robot.vector(a, robot.nv, 'a')
        status = _kernel.checked(robot.handle, q, v, a, out)
    if status and status not in (at.UNSOLVED, at.SINGULAR):
        robot.raise_for(status, q, v, a)
    return q, v, a, status


def _drag(
    robot: Mechanism,
    v: Vector,
    c: Coordinates,
    needed: Vector,
    driving: Callable[[Vector], Vector],
) -> Vector:
    """
    Return the friction of sliding contacts on the tree: what they drag, no actuator needs to.

    `needed`: tau_O without it; `driving(force)`: what the actuators give where it is needed.
    """

    def normal_forces(force: Vector) -> Vector:
        rest = needed - force
        return solve_multipliers(c, rest - driving(rest))[0]

    return drag(robot, c.q, v, normal_forces)[0]
