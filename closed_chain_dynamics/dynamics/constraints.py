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
What loops and couplings say about the velocities of the tree: J_C, L, and W at one pose.

Symbol      Meaning                                                        Shape
theta_O     joint positions of the tree after the virtual cut              (nv,) as velocities
J_C         constraint Jacobian of all loops, Eq. (11)                     (rows, nv)
L           rates of the loop joints = L theta_O'                          (loop coordinates, nv)
W           d theta_O / d theta_G, Eq. (4)                                 (nv, mobility)

Symbols and equations are those of Nakamura and Yamane. They count the cut joints among theta_J;
here their columns are eliminated row by row (see kernels/loops.py), and their rates are `L
theta_O'`, so that a motor on one has a row in S.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.description.elements import Limit
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = [
    'actuator_rows',
    'allowed_motions',
    'constraint_jacobian',
    'loop_coordinate_owner',
    'loop_jacobian',
    'loop_kinematics',
    'loop_limits',
    'loop_positions',
    'row_owners',
    'row_units',
]


def constraint_jacobian(
    robot: Mechanism, q: ArrayLike, v: ArrayLike | None = None
) -> tuple[Matrix, Vector, Vector]:
    """
    Return J_C (rows, nv), Eq. (11), the position errors (rows,) and the bias J_C' theta' (rows,).

    Rows are in the order of `robot.loop_names`, open loops left out, then one per coupling; linear
    rows in metres along axes of the parent's loop frame, then rotational rows.
    """
    q = robot.vector(q, robot.nq, 'q')
    v = np.zeros(robot.nv) if v is None else robot.vector(v, robot.nv, 'v')
    rows = int(robot.structure.shape['n_rows'])
    J_C, error, bias = np.empty((rows, robot.nv)), np.empty(rows), np.empty(rows)
    status = kernels.compute_constraints(robot.handle, q, v, J_C, error, bias)
    if status:
        robot.raise_for(status, q, v)
    return J_C, error, bias


def allowed_motions(robot: Mechanism, q: Vector) -> Matrix:
    """Return W, (nv, mobility), at a closed pose; theta_G is chosen anew where needed."""
    W = np.empty((robot.nv, robot.nv))
    status = kernels.compute_coordinates(robot.handle, q, W)
    if status:
        robot.raise_for(status, q)
    return np.array(W[:, : robot.structure.shape['mobility']])


def loop_kinematics(robot: Mechanism, q: ArrayLike) -> tuple[Matrix, Vector]:
    """Return L, and the position of every coordinate of every loop joint."""
    q = robot.vector(q, robot.nq, 'q')
    n = len(robot.loop_coordinate_names)
    L, positions = np.empty((n, robot.nv)), np.empty(n)
    status = kernels.compute_loop_jacobian(robot.handle, q, np.zeros(robot.nv), L, positions)
    if status:
        robot.raise_for(status, q)
    return L, positions


def loop_jacobian(robot: Mechanism, q: ArrayLike) -> Matrix:
    """Return L with the rates of all loop joints = L theta_O', (loop coordinates, nv)."""
    return loop_kinematics(robot, q)[0]


def loop_positions(robot: Mechanism, q: ArrayLike) -> dict[str, float]:
    """Return the position of every coordinate of every loop joint, {name: rad or m}."""
    return dict(zip(robot.loop_coordinate_names, loop_kinematics(robot, q)[1].tolist()))


def loop_limits(robot: Mechanism) -> dict[str, Limit]:
    """Return the limits of the connected loop joints that have one coordinate, by name."""
    return {
        loop.name: loop.limit
        for loop in robot.description.loops
        if loop.name in robot.loop_coordinate_names and robot.is_connected(loop.name)
    }


def loop_coordinate_owner(robot: Mechanism, d: int) -> int:
    """Return the number of the loop joint that has coordinate d."""
    loops = robot.model.loops
    owns = (loops['dof'] <= d) & (d < loops['dof'] + loops['n_dofs'])
    return int(np.flatnonzero(owns)[0])


def row_owners(robot: Mechanism) -> list[str]:
    """Return the loop, coupling or joint that is held that each row of J_C belongs to."""
    owners = []
    for name, loop in zip(robot.loop_names, robot.structure.loops):
        owners += [name] * int(loop['n_rows'] if loop['active'] else 0)
    for name, coupling in zip(robot.coupling_names, robot.structure.couplings):
        owners += [name] if coupling['active'] else []
    return owners + list(robot.held_coordinates())


def row_units(robot: Mechanism) -> Vector:
    """Return what frees each row of J_C of its unit: 1 / typical length, or 1."""
    units, length = np.ones(robot.structure.shape['n_rows']), robot.structure.world['length']
    for loop in robot.structure.loops:
        if loop['active']:
            first = loop['row']
            units[first : first + kernels.linear_rows(loop)] = 1.0 / length
    return units


def actuator_rows(robot: Mechanism, q: ArrayLike) -> Matrix:
    """Return d theta_A / d theta_O, (actuators, nv): unit rows, or rows of L for loop joints."""
    rows = np.zeros((len(robot.actuator_names), robot.nv))
    L = None
    for row, actuator in zip(rows, robot.structure.actuators):
        d = int(actuator['dof'])
        if not actuator['on_loop']:
            row[d] = d >= 0  # else its joint has been cut
        else:
            L = loop_jacobian(robot, q) if L is None else L
            # a motor on an open joint moves nothing
            if robot.structure.loops[loop_coordinate_owner(robot, d)]['active']:
                row[:] = L[d]
    return rows
