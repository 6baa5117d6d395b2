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

"""What of a mechanism is stiffest: the spring, limit or damper that asks for small steps."""

from collections.abc import Iterator

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.description import Spring
from closed_chain_dynamics.dynamics.constraints import allowed_motions, loop_jacobian
from closed_chain_dynamics.dynamics.force_responses import Responses
from closed_chain_dynamics.dynamics.tree import jacobian, link_placement, mass_matrix
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['ease_massless', 'is_fast_but_damped', 'stiffest']

NO_MASS = 1e-11  # share of the inertia of its joints that a motion without mass may have: rounding
EASED = 1e-4  # share of the step within which damping stops what has next to no mass

FoundStiffness = tuple[str, Vector, float, float]  # what, row, stiffness, damping


def stiffest(robot: Mechanism, q: Vector) -> str:
    """Return a sentence that names the spring or joint whose motion is fastest, and how fast."""
    found = list(_laws(robot, q))
    if not found:
        return (
            'no spring or damper acts, so the pose is close to singular, or a torque or wrench '
            'changes too fast'
        )
    answer = Responses.of(robot, q, np.array([row for _, row, _, _ in found]))
    inverse_inertia = np.einsum('ij,ij->j', answer.root, answer.root)
    stiffness = np.array([each[2] for each in found]) * inverse_inertia
    damping = np.array([each[3] for each in found]) * inverse_inertia
    rates = np.maximum(np.sqrt(stiffness), damping)
    k = int(np.argmax(rates))
    what = found[k][0]
    if damping[k] >= np.sqrt(stiffness[k]):
        return f'the damping of {what} stops it within {1.0 / rates[k]:.2g} s'
    return f'{what} oscillates at {rates[k]:.3g} rad/s'


def is_fast_but_damped(robot: Mechanism, q: Vector, fastest: float) -> bool:
    """
    Return whether something is faster than a rate [1/s], and all that is comes to rest at once.

    That is what an implicit step takes as it is: springs and dampers that do not let anything
    swing. What swings as fast has to be followed.
    """
    rows: dict[bytes, list[float]] = {}
    for _, row, stiffness, damping in _laws(robot, q):  # what acts along one row acts together
        both = rows.setdefault(row.tobytes(), [0.0, 0.0])
        both[0] += stiffness
        both[1] += damping
    if not rows:
        return False
    root = Responses.of(robot, q, np.array([np.frombuffer(row) for row in rows])).root
    inverse_inertia = np.einsum('ij,ij->j', root, root)
    k, d = np.array(list(rows.values())).T * inverse_inertia
    swing = np.sqrt(k)
    fast = np.maximum(swing, d) > fastest
    return bool(fast.any()) and bool(np.all(d[fast] >= 2.0 * swing[fast]))


def ease_massless(robot: Mechanism, q: Vector, dt: float) -> list[str]:
    """
    Give joints that move next to no mass against damping a rotor; return their names.

    Their speed is what force and damping make it, but their acceleration is rounding, or there is
    none: the mass matrix is singular. With the rotor damping stops them within a share EASED of
    the step, which no step follows anyway.
    """
    table = robot.structure.dofs
    if not table['damping'].any():
        return []
    W = allowed_motions(robot, q)
    A = W.T @ mass_matrix(robot, q) @ W
    scale = np.sqrt(np.maximum(np.diag(A), NO_MASS * np.diag(A).max(initial=0.0)))
    shares, motions = np.linalg.eigh(A / np.outer(scale, scale))
    eased: list[int] = []
    for motion in (W @ (motions / scale[:, None])).T[shares < NO_MASS]:
        j = int(np.argmax(np.abs(motion) * (table['damping'] > 0.0)))
        if motion[j] and j not in eased:
            eased.append(j)
            table['armature'][j] += EASED * dt * table['damping'][j]
    robot.structure.changed()
    return [robot.coordinate_names[j] for j in eased]


def _laws(robot: Mechanism, q: Vector) -> Iterator[FoundStiffness]:
    """Return everything that pulls a coordinate back or damps it."""
    units, L = np.eye(robot.nv), loop_jacobian(robot, q)
    for names, rows, laws in (
        (robot.coordinate_names, units, robot.structure.dofs),
        (robot.loop_coordinate_names, L, robot.structure.loop_dofs),
    ):
        for name, row, law in zip(names, rows, laws):
            stiffness, damping = float(law['stop_stiffness']), float(law['damping'])
            if stiffness or damping or law['stop_damping']:
                yield f'joint {name!r}', row, stiffness, damping + float(law['stop_damping'])
    for spring in robot.description.springs:
        if spring.joint in robot.coordinate_names:
            row = units[robot.coordinate_names.index(spring.joint)]
        elif spring.joint in robot.loop_coordinate_names:
            row = L[robot.loop_coordinate_names.index(spring.joint)]
        elif spring.joint or any(t.joint not in robot.coordinate_names for t in spring.terms):
            continue  # its joint has been cut
        elif spring.terms:
            columns = [robot.coordinate_names.index(term.joint) for term in spring.terms]
            row = np.array([term.coefficients[0] for term in spring.terms]) @ units[columns]
        else:
            row = _between(robot, q, spring)
        yield f'spring {spring.name!r}', row, spring.stiffness, spring.damping


def _between(robot: Mechanism, q: Vector, spring: Spring) -> Vector:
    """Return the rate of a spring's length by velocity, (nv,)."""
    ends = []
    for link, xyz in ((spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz)):
        place = link_placement(robot, q, link)
        rates = jacobian(robot, q, link, point=xyz)[:3]
        ends.append((place[:3, :3] @ xyz + place[:3, 3], rates))
    (p_1, J_1), (p_2, J_2) = ends
    length = float(np.linalg.norm(p_2 - p_1))
    row: Vector = (p_2 - p_1) @ (J_2 - J_1) / max(length, 1e-300)
    return row
