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
Forward dynamics of the closed chain: A theta_G'' + b = tau_G, Eqs. (23), (24) of the papers.

The compiled path projects and factors A cluster by cluster. What it does not need for the
accelerations - A and b as a whole, constraint forces - is computed when asked for, and b not from
the accelerations, so that the equation is a check of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.actuation import actuator_vector, refuse_non_finite
from closed_chain_dynamics.dynamics.at_pose import AtPose
from closed_chain_dynamics.dynamics.constraint_forces import drag, solve_multipliers, tree_force
from closed_chain_dynamics.dynamics.constraints import actuator_rows, constraint_jacobian
from closed_chain_dynamics.dynamics.outside_forces import acting, checked_wrenches
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.dynamics.singularities import hold_forward
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.dynamics.values import Where, constant, numbers
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.tangent import compute_tangent
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.model import Model
from closed_chain_dynamics.model.structure import Structure

__all__ = ['ForwardDynamics', 'forward_dynamics']

_kernel = kernels.Strict(kernels.compute_forward_dynamics)
# The mechanism as it was; q, v, tau_A and theta_O'' one after the other, as the kernel writes
# them; nq and nv; forces on coordinates and wrenches on links where there were any
Kept: TypeAlias = tuple[
    Model, Structure, Vector, int, int, bytes | None, dict[str, tuple[float, ...]] | None
]


class ForwardDynamics(AtPose):
    """
    Accelerations that torques cause, and the internal forces.

    `acceleration`: theta_O'', (nv,); `singular`: whether the pose is singular, so that a policy
    was applied; `q`, `v`, `tau_A`, `extra`, `wrenches`: the inputs.
    """

    __slots__ = ('_kept',)
    _kept: Kept  # written once, by `_keep`

    def __init__(self, kept: Kept) -> None:
        _keep(self, kept)

    def __repr__(self) -> str:
        return f'ForwardDynamics(acceleration={self._acceleration!r}, singular={self.singular})'

    @cached_property
    def _where(self) -> Where:  # type: ignore[override]
        """The mechanism as it was, and q."""
        return *self._kept[:2], self.q.tobytes()

    @cached_property
    def _acceleration(self) -> Vector:
        return self._kept[2][len(self._kept[2]) - self._kept[4] :]

    @property
    def acceleration(self) -> Vector:
        """Return theta_O'', (nv,)."""
        return np.array(self._acceleration)

    @property
    def q(self) -> Vector:
        """Return the configuration, (nq,)."""
        return np.array(self._kept[2][: self._kept[3]])

    @property
    def v(self) -> Vector:
        """Return the velocity, (nv,)."""
        _, _, answer, nq, nv, _, _ = self._kept
        return np.array(answer[nq : nq + nv])

    @property
    def tau_A(self) -> Vector:
        """Return the actuator torques, (actuators,)."""
        _, _, answer, nq, nv, _, _ = self._kept
        return np.array(answer[nq + nv : len(answer) - nv])

    @property
    def extra(self) -> Vector:
        """Return the forces given on coordinates of the tree, (nv,)."""
        nv, extra = self._kept[4:6]
        return np.zeros(nv) if extra is None else numbers(extra)

    @property
    def wrenches(self) -> dict[str, Vector]:
        """Return the external wrenches, {link: (6,)}."""
        return {link: np.array(wrench) for link, wrench in (self._kept[6] or {}).items()}

    @property
    def theta_G_acceleration(self) -> Vector:
        """Return the generalized accelerations theta_G'', (mobility,)."""
        return self._acceleration[self.coordinates.places]

    @property
    def tau_G(self) -> Vector:
        """Return the generalized force of the actuators and of `extra`, S^T tau_A, Eq. (8)."""
        c = self.coordinates
        return np.asarray(c.S.T @ self.tau_A + c.W.T @ self.extra)

    @cached_property
    def A(self) -> Matrix:
        """Return the inertia matrix W^T M W of the generalized coordinates."""
        W = self.coordinates.W
        return constant(W.T @ mass_matrix(self.robot, self.q) @ W)

    @cached_property
    def b(self) -> Vector:
        """
        Return b with A theta_G'' + b = tau_G: velocity, gravity, passive forces and wrenches.

        b = W^T tau_O of the motion W' theta_G', that is of theta_G'' = 0. The drag of contacts
        that slide is in it too, and follows from the normal forces.
        """
        robot, q, v = self.robot, self.q, self.v
        drift, W = np.empty(robot.nv), np.empty((robot.nv, robot.nv))
        compute_tangent(robot.handle, q, v, W, drift)
        needed = tree_force(robot, q, v, drift, wrenches=self.wrenches)
        return constant(self.coordinates.W.T @ (needed - self._drag))

    @cached_property
    def _needed(self) -> Vector:
        """tau_O of the motion, (nv,), without the drag of contacts that slide."""
        return tree_force(self.robot, self.q, self.v, self._acceleration, wrenches=self.wrenches)

    @cached_property
    def _given(self) -> Vector:
        """What actuators and forces on coordinates give, (nv,)."""
        return np.asarray(actuator_rows(self.robot, self.q).T @ self.tau_A + self.extra)

    @cached_property
    def _drag(self) -> Vector:
        """What contacts that slide give, (nv,)."""
        if not self.robot.structure.shape['n_contacts']:
            return np.zeros(self.robot.nv)
        c, rest = self.coordinates, self._needed - self._given
        return drag(
            self.robot, self.q, self.v, lambda force: solve_multipliers(c, rest - force)[0]
        )[0]

    @cached_property
    def _held(self) -> Vector:
        """J_C^T lambda, (nv,): what the motion needs and nothing else gives."""
        return self._needed - self._given - self._drag

    @property
    def constraint_forces(self) -> Vector:
        """
        Return the forces in the rows of J_C, (rows,) [N or N m], on the child against the parent.

        They solve J_C^T lambda = tau_O - tau; of least norm where rows are redundant.
        """
        return solve_multipliers(self.coordinates, self._held)[0]

    def check(self) -> dict[str, float]:
        """
        Return three residuals that should be near zero.

        `loops`: largest J_C a + J_C' v; `motion`: relative residual of the equations of motion
        of the tree with the constraint forces; `power`: relative power of the constraint forces.
        """
        J_C, _, bias = constraint_jacobian(self.robot, self.q, self.v)
        force, v = J_C.T @ self.constraint_forces, self.v
        # in free fall weight and inertia cancel: measure by the terms, not by their sum
        inertial = np.abs(mass_matrix(self.robot, self.q)) @ np.abs(self._acceleration)
        terms = (self._needed, self._given + self._drag, inertial)
        unit = max(*(float(np.abs(term).max(initial=0.0)) for term in terms), 1e-300)
        return {
            'loops': float(np.abs(J_C @ self._acceleration + bias).max(initial=0.0)),
            'motion': float(np.abs(self._held - force).max(initial=0.0) / unit),
            # loops that carry no velocity have rounding only: measure by the whole motion
            'power': float(abs(force @ v) / (unit * np.abs(v).max(initial=0.0) + 1e-300)),
        }


# making a result and writing to it, without the detour by its constructor
_bare, _keep = object.__new__, ForwardDynamics.__dict__['_kept'].__set__


def forward_dynamics(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    tau: Mapping[str, float] | ArrayLike | None = None,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    extra: ArrayLike | None = None,
    singularity: str = 'damp',
) -> ForwardDynamics:
    """
    Return the accelerations of the closed chain under actuator torques, Eq. (24).

    `tau`: torques by actuator name, or an array over `robot.actuator_names`; None is zero.
    `wrenches`: {link: (6,)} in world axes at the link origin; `extra`: forces on any coordinate
    of the tree, (nv,), whether it has an actuator or not. `singularity`: what to do in a singular
    pose, 'damp', 'hold' or 'refuse'.
    """
    if not robot.structure.rank_known:
        learn_rank(robot, q)
    answer, given, known = np.empty(robot.n_answer), None, None
    status = at.WRONG_SIZE
    if not wrenches and extra is None:
        try:  # the usual case costs nothing: the kernel itself looks at types and sizes
            status = _kernel.call(robot.handle, q, v, tau, answer)
        except TypeError:
            status = at.WRONG_SIZE
    if status:
        force = None if extra is None else robot.vector(extra, robot.nv, 'extra')
        with acting(robot, wrenches, force):
            status = _compute(robot, q, v, tau, answer)
        given = None if force is None else force.tobytes()
        known = checked_wrenches(robot, wrenches) if wrenches else None
    result = _bare(ForwardDynamics)
    _keep(result, (robot.model, robot.kept_structure(), answer, robot.nq, robot.nv, given, known))
    asked = status == at.SINGULAR or singularity != 'damp'
    if asked and result._meet_singularity(robot, status == at.SINGULAR, singularity):
        W, rest, q, v = result.coordinates.W, np.zeros(robot.nv), result.q, result.v
        driving = result._given - tree_force(robot, q, v, rest, wrenches=wrenches)
        result.__dict__['_acceleration'] = hold_forward(robot, q, v, W, driving)
    return result


def _compute(robot: Mechanism, q: Any, v: Any, tau: Any, answer: Vector) -> int:
    """Look at the arguments, call the kernel, and return a status that is no error."""
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    tau = actuator_vector(robot, tau, 'tau')
    status: int = _kernel.checked(robot.handle, q, v, tau, answer)
    if status and status != at.SINGULAR:
        refuse_non_finite(robot, tau, 'tau')
        robot.raise_for(status, q, v)
    return status
