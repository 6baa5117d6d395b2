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
Velocity boundary condition after links are connected (Nakamura and Yamane, section V-C).

Symbol      Meaning                                                     Equation
v, v_after  velocities of the tree before and after                     theta' and theta' + Delta
J_C         rows of the connections that hold after                     J_1 - J_2 of (36)
impulse     J_C^T impulse = M (v_after - v), of least norm              F of (25), on the child

Contacts that are connected act along their rows only; a touch-down in a simulation has friction,
see `contact_impacts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian, row_owners
from closed_chain_dynamics.dynamics.link_loads import cross
from closed_chain_dynamics.dynamics.tree import center_of_mass, energy, momentum
from closed_chain_dynamics.dynamics.values import constant
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.model import Records

__all__ = ['BodyStates', 'Impact', 'body_states', 'impact', 'impact_on_bodies']

BodyStates = Records  # of kernels.BODY_STATE: where a body is, and how it moves
REDUNDANT_ROWS = 1e-10  # singular values of J_C below this share of the largest count as zero


@dataclass(frozen=True, eq=False)
class Impact:
    """A jump of velocities, and the impulses in the joints at that instant."""

    _v_after: Vector
    impulse: Vector  # in the rows of J_C, on the child against the parent [N s, N m s]
    energy_before: float  # kinetic [J]
    energy_after: float
    momentum_before: Vector  # linear, and angular about the centre of mass, (6,)
    momentum_after: Vector
    owners: tuple[str, ...]  # of each row of J_C
    passed: Mapping[str, Vector]  # through joints of the tree that were asked

    @property
    def v_after(self) -> Vector:
        """Return the velocities of the tree after it, (nv,)."""
        return np.array(self._v_after)

    @property
    def energy_lost(self) -> float:
        """Return the kinetic energy that the connection dissipated [J]; never negative."""
        return self.energy_before - self.energy_after

    def __repr__(self) -> str:
        """Return the jump in short."""
        return (
            f'Impact(v_after={self._v_after!r}, impulse={self.impulse!r}, '
            f'energy_lost={self.energy_lost!r})'
        )

    def impulse_of(self, joint: str) -> Vector:
        """
        Return the impulse in the rows of a loop joint, or the full impulse (6,) in a tree joint.

        The latter is force and moment on the child, at its origin, in world axes [N s, N m s].
        """
        if joint in self.passed:
            return self.passed[joint]
        return self.impulse[[row for row, name in enumerate(self.owners) if name == joint]]


def body_states(robot: Mechanism, q: ArrayLike, v: ArrayLike) -> BodyStates:
    """Return where all bodies are and how they move, for `impact_on_bodies`, (n,)."""
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    states = np.empty(len(robot.model.bodies), kernels.BODY_STATE)
    status = kernels.compute_bodies(robot.handle, q, v, states)
    if status:
        robot.raise_for(status, q, v)
    return states


def impact(robot: Mechanism, q: ArrayLike, v: ArrayLike, *, restitution: float = 0.0) -> Impact:
    """
    Return the Impact of the loops that are connected now on a motion that may violate them.

    With `restitution` e the relative velocity at the connection is reversed and scaled by e, which
    is meaningful for a single unilateral contact.
    """
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    states = body_states(robot, q, v)
    return impact_on_bodies(robot, q, states, moved=False, v=v, restitution=restitution)


def impact_on_bodies(
    robot: Mechanism,
    q: Vector,
    states: BodyStates,
    *,
    joints: Sequence[str] = (),
    moved: bool = True,
    v: Vector | None = None,
    restitution: float = 0.0,
) -> Impact:
    """
    Return the Impact of joints and loops, as they are now, on bodies that moved as recorded.

    The structure may be another one since. `moved`: and so may the pose, where a gap was closed.
    `joints`: those of the tree whose impulse is asked for.
    """
    v_after, force = np.empty(robot.nv), np.empty(robot.nv)
    jump = np.empty((len(states), 6))
    status, before = kernels.compute_impact(
        robot.handle, q, states.copy(), moved, v_after, jump, force
    )
    if status:
        robot.raise_for(status, q, v_after)
    if restitution and v is not None:
        v_after = v_after + restitution * (v_after - v)
        jump, force = (1.0 + restitution) * jump, (1.0 + restitution) * force
    J_C, _, _ = constraint_jacobian(robot, q)
    impulse = np.linalg.lstsq(J_C.T, force, rcond=REDUNDANT_ROWS)[0] if len(J_C) else np.zeros(0)
    passed = _passed(robot, joints, jump, impulse) if joints else {}
    after, gained = momentum(robot, q, v_after), jump.sum(axis=0)
    arm = center_of_mass(robot, q) - robot.workspace.totals['origin']
    gained[3:] -= cross(arm, gained[:3])
    return Impact(
        v_after,
        constant(impulse),
        float(before),
        energy(robot, q, v_after)[0],
        constant(after - gained),
        constant(after),
        tuple(row_owners(robot)),
        passed,
    )


def _passed(
    robot: Mechanism, joints: Sequence[str], jump: Matrix, impulse: Vector
) -> dict[str, Vector]:
    """
    Return what joints of the tree passed on, {joint: (6,)}: the jumps less what loops gave.

    Reads the placements and the covectors of J_C that `constraint_jacobian` has just computed.
    """
    structure, covectors, total = robot.structure, robot.workspace.rows['f'], jump.copy()
    for loop in structure.loops:
        if loop['active']:
            mine = slice(loop['row'], loop['row'] + loop['n_rows'])
            wrench = impulse[mine] @ covectors[mine]
            total[loop['body_2']] -= wrench
            total[loop['body_1']] += wrench
    for body in range(len(total) - 1, 0, -1):  # a child comes after its parent
        total[structure.bodies['parent'][body]] += total[body]
    total[:, 3:] -= cross(robot.workspace.moving['p'], total[:, :3])
    return {name: total[robot.model.joints[name]].copy() for name in joints}
