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
Completing a partly known motion: velocities and accelerations that the loops allow.

Velocities allowed are v = W theta_G', Eq. (4); accelerations a = W theta_G'' + W' theta_G',
Eq. (22) of Yamane and Nakamura. What is named fixes part of theta_G' (of theta_G''); what is then
still free is chosen so that the whole has the least norm, metres measured in typical lengths.
Everything is done in an orthonormal basis of W, so it does not depend on which coordinates are
generalized.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.assembly.held_joints import check_state, numbers
from closed_chain_dynamics.dynamics.constraints import (
    constraint_jacobian,
    loop_jacobian,
    row_units,
)
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates, coordinates
from closed_chain_dynamics.errors import NameNotFound, SingularityError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['complete_acceleration', 'complete_velocity']

NamedValues = Mapping[str, ArrayLike]
CONFLICT = 1e-9  # share of the named values that may be left over before they contradict
RATE_OUT_OF_REACH = 1e-9  # rates that move others a thousand million times as fast cannot be met
INCONSISTENT = 1e-6  # share of a velocity that the loops may refuse, that of rank decisions


def complete_velocity(
    robot: Mechanism, q: ArrayLike, rates: NamedValues | ArrayLike | None = None
) -> Vector:
    """
    Return the velocity that has the named rates and respects the loops, (nv,).

    `rates`: {joint, coordinate or loop coordinate: rate} [rad/s or m/s], an array for a joint of
    several coordinates. Rates that are not given follow from the loops; what these leave free has
    the least norm. Or an array (nv,): the result is the allowed velocity nearest to it.
    """
    q = check_state(robot, q)
    c = coordinates(robot, q)
    basis, scale = _basis(robot, c)
    if rates is not None and not isinstance(rates, Mapping):
        return basis @ ((_finite(robot, rates, 'v') / scale) @ (basis / scale[:, None]))
    names, values, rows, exact = _named(robot, q, rates)
    v = basis @ _solve(robot, c, names, rows @ basis, values, 'rates')
    v[list(exact)] = list(exact.values())
    return v


def complete_acceleration(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    accelerations: NamedValues | ArrayLike | None = None,
) -> Vector:
    """
    Return the acceleration that has the named values and respects the loops, (nv,).

    As `complete_velocity`, [rad/s^2 or m/s^2]: J_C a + J_C' v = 0. An array (nv,) gives the
    allowed acceleration nearest to it. v must be allowed by the loops itself.
    """
    q, v = check_state(robot, q), _finite(robot, v, 'v')
    c = coordinates(robot, q)
    basis, scale = _basis(robot, c)
    drift = _drift(robot, c, q, v, scale)
    if accelerations is not None and not isinstance(accelerations, Mapping):
        wanted = _finite(robot, accelerations, 'a')
        return drift + basis @ (((wanted - drift) / scale) @ (basis / scale[:, None]))
    names, values, rows, exact = _named(robot, q, accelerations)
    bias = rows @ drift + _loop_bias(robot, q, v, names)
    a = drift + basis @ _solve(robot, c, names, rows @ basis, values - bias, 'accelerations')
    a[list(exact)] = list(exact.values())
    return a


def _basis(robot: Mechanism, c: Coordinates) -> tuple[Matrix, Vector]:
    """Return columns that span W, orthonormal when freed of units, and these units."""
    scale: Vector = robot.structure.dofs['scale']
    if not c.mobility:
        return np.zeros((robot.nv, 0)), scale
    return scale[:, None] * np.linalg.qr(c.W / scale[:, None])[0], scale


def _finite(robot: Mechanism, values: ArrayLike, what: str) -> Vector:
    values = robot.vector(values, robot.nv, what)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise StateError(
            f'the value of {robot.coordinate_names[bad[0]]!r} in {what} is {values[bad[0]]}',
            where=robot.name,
            repair='Give finite numbers only.',
        )
    return values


def _named(
    robot: Mechanism, q: Vector, given: NamedValues | None
) -> tuple[list[str], Vector, Matrix, dict[int, float]]:
    """Return names, values, their rows over theta_O', and {velocity: value} of tree joints."""
    names: list[str] = []
    values: list[float] = []
    rows: list[Vector] = []
    exact: dict[int, float] = {}
    L = None
    for name, value in (given or {}).items():
        if name in robot.loop_coordinate_names:
            L = loop_jacobian(robot, q) if L is None else L
            rows.append(L[robot.loop_coordinate_names.index(name)])
            names.append(name)
            values.append(numbers(robot, name, value, 1)[0])
            continue
        if name in robot.coordinate_names:
            first, count = robot.coordinate_names.index(name), 1
        elif name in robot.joint_names:
            in_v = robot.joint_slices(name)[1]
            first, count = in_v.start, in_v.stop - in_v.start
        else:
            raise NameNotFound(
                'joint or coordinate',
                name,
                [*robot.joint_names, *robot.coordinate_names, *robot.loop_coordinate_names],
                where=robot.name,
            )
        for j, each in enumerate(numbers(robot, name, value, count), start=first):
            if exact.setdefault(j, each) != each:
                raise StateError(
                    f'{robot.coordinate_names[j]!r} is given twice: {exact[j]} and {each}',
                    where=robot.name,
                )
            names.append(robot.coordinate_names[j])
            values.append(each)
            rows.append(np.eye(robot.nv)[j])
    return names, np.array(values), np.reshape(rows, (len(names), robot.nv)), exact


def _solve(
    robot: Mechanism, c: Coordinates, names: list[str], rows: Matrix, values: Vector, what: str
) -> Vector:
    """Return the smallest z with rows z = values, or name what contradicts the loops."""
    if not len(names):
        return np.zeros(rows.shape[1])
    # each row on its own scale: metres beside radians, and a rate that moves little
    units = np.array(
        [
            robot.structure.dofs['scale'][robot.coordinate_names.index(name)]
            if name in robot.coordinate_names
            else 1.0
            for name in names
        ]
    )
    rows, values = rows / units[:, None], values / units
    U, sigma, Vt = np.linalg.svd(rows, full_matrices=True)
    rank = int((sigma > RATE_OUT_OF_REACH).sum())
    missed = U[:, rank:].T @ values
    if np.linalg.norm(missed) > CONFLICT * np.linalg.norm(values):
        at_odds = [name for name, row in zip(names, U[:, rank:]) if np.abs(row).max() > 1e-6]
        left = np.abs(U[:, rank:] @ missed * units).max()
        near = ' The pose is singular.' if c.is_singular else ''
        raise StateError(
            f'the {what} of {", ".join(map(repr, at_odds))} contradict the loops; '
            f'the residual is {left:.3g}',
            where=robot.name,
            repair=f'Give fewer values, or values that agree.{near}',
        )
    return np.asarray(Vt[:rank].T @ ((U[:, :rank].T @ values) / sigma[:rank]))


def _drift(robot: Mechanism, c: Coordinates, q: Vector, v: Vector, scale: Vector) -> Vector:
    """Return the acceleration of least norm that the loops ask for at velocity v, (nv,)."""
    J_C, _, bias = constraint_jacobian(robot, q, v)
    unit = row_units(robot)
    J, speed = unit[:, None] * J_C * scale, float(np.linalg.norm(v / scale))
    slip = np.abs(unit * (J_C @ v)).max(initial=0.0)
    if slip > INCONSISTENT * max(speed, 1e-300):
        raise StateError(
            f'v opens the loops at a rate of {slip:.3g}',
            where=robot.name,
            repair='Make it consistent: v = ccd.complete_velocity(robot, q, v).',
        )
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    U, sigma, Vt = U[:, : c.rank], sigma[: c.rank], Vt[: c.rank]
    along = U.T @ (unit * bias)
    left = np.linalg.norm(unit * bias - U @ along)
    if left > INCONSISTENT * max(float(np.linalg.norm(unit * bias)), speed**2):
        raise SingularityError(
            f'the pose is singular, and no acceleration keeps the loops closed '
            f'at this velocity; the residual is {left:.3g}',
            where=robot.name,
            repair='Move in another direction, or leave the pose first.',
        )
    return np.asarray(-scale * ((along / sigma) @ Vt))


def _loop_bias(robot: Mechanism, q: Vector, v: Vector, names: list[str]) -> Vector:
    """Return L' theta_O' of the loop coordinates among the names, zero for the others."""
    bias = np.zeros(len(robot.loop_coordinate_names))
    kernels.compute_loop_bias(robot.handle, q, v, bias)
    known = dict(zip(robot.loop_coordinate_names, bias))
    return np.array([known.get(name, 0.0) for name in names])
