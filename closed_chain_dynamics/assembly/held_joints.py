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

"""The joints that an assembly holds: read from what the caller named, and checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.closing import has_position
from closed_chain_dynamics.dynamics.constraints import loop_coordinate_owner
from closed_chain_dynamics.errors import AssemblyError, NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['HeldJoints', 'check_state', 'numbers', 'read_held', 'refuse_contradictions']
# of the numbers that a position has: of free, ball and planar joints
MEANINGS = {
    7: 'Give x, y, z and the quaternion x, y, z, w, which is 0, 0, 0, 1 without a turn.',
    4: 'Give the quaternion x, y, z, w of a ball joint, or x, y, cos, sin of a planar one.',
}


@dataclass(frozen=True, eq=False)
class HeldJoints:
    """What is held: places in q and their values, velocities (nv,), and loop coordinates."""

    names: tuple[str, ...]
    places: NDArray[np.int64]  # places in q, (n,)
    positions: Vector  # their values, (n,)
    mask: NDArray[np.bool_]  # velocities that must not move, (nv,)
    loops: Mapping[int, float]  # loop coordinate number: position

    def at(self, robot: Mechanism, q: Vector) -> str:
        """Return held joints of one number, and where they are at q, in words."""
        parts = {
            name: q[robot.joint_slices(name)[0]]
            for name in self.names
            if name in robot.joint_names
        }
        words = [f'{name!r} = {part[0]:.6g}' for name, part in parts.items() if part.size == 1]
        return ', '.join(words) or 'other held positions'


def check_state(robot: Mechanism, q: ArrayLike) -> Vector:
    """Return a copy of a configuration, or say what is wrong with it."""
    q = np.array(robot.vector(q, robot.nq, 'q'))
    status = kernels.check_state(robot.handle, q, q, q)
    if status:
        robot.raise_for(status, q)
    return q


def numbers(robot: Mechanism, name: str, value: ArrayLike, count: int) -> Vector:
    """Return the value of a named joint as an array of `count` finite numbers, or say why not."""
    try:
        array = np.atleast_1d(np.array(value, dtype=float))
    except (TypeError, ValueError):
        raise StateError(
            f'the value of {name!r} must be a number, not {value!r}', where=robot.name
        ) from None
    if array.shape != (count,):
        needs = 'one number' if count == 1 else f'{count} numbers'
        raise StateError(
            f'the value of {name!r} has shape {array.shape} but needs {needs}',
            where=robot.name,
            repair=MEANINGS.get(count, ''),
        )
    bad = array[~np.isfinite(array)]
    if bad.size:
        raise StateError(
            f'the value of {name!r} is {bad[0]}',
            where=robot.name,
            repair='Give finite numbers only.',
        )
    return array


def named(
    robot: Mechanism, values: Mapping[str, ArrayLike] | None, what: str
) -> Iterable[tuple[str, ArrayLike]]:
    """Return the items of {name: value}, or say that it is no such thing."""
    if values is None:
        return ()
    if not isinstance(values, Mapping):
        raise StateError(
            f'{what} must be given by name, not as {type(values).__name__}',
            where=robot.name,
            repair="Write {'knee': 0.6}.",
        )
    return values.items()


def read_held(
    robot: Mechanism, joints: Mapping[str, ArrayLike] | None, limits: bool
) -> HeldJoints:
    """Return the HeldJoints that {joint or loop coordinate: position} stands for."""
    names: list[str] = []
    places: list[int] = []
    positions: list[float] = []
    loops: dict[int, float] = {}
    mask = np.zeros(robot.nv, dtype=bool)
    for name, value in named(robot, joints, 'held joints'):
        names.append(name)
        if name in robot.loop_coordinate_names:
            loops[_loop_coordinate(robot, name)] = float(numbers(robot, name, value, 1)[0])
            continue
        if name not in robot.joint_names:
            raise NameNotFound(
                'joint', name, robot.joint_names + robot.loop_coordinate_names, where=robot.name
            )
        in_q, in_v = robot.joint_slices(name)
        part = numbers(robot, name, value, in_q.stop - in_q.start)
        if part.size == 1:
            law = robot.structure.dofs[in_v.start]
            lower, upper = law['lower'], law['upper']
            if limits and not lower <= part[0] <= upper:
                raise AssemblyError(
                    f'joint {name!r} is held at {part[0]:.6g}, beyond its range '
                    f'{lower:.6g} to {upper:.6g}',
                    where=robot.name,
                    repair='Hold it within its range, or pass limits=False.',
                )
        q = robot.neutral()
        q[in_q] = part
        check_state(robot, q)  # refuses what is no rotation
        kernels.integrate(robot.handle, q, np.zeros(robot.nv), q)  # brings it to unit length
        places += range(in_q.start, in_q.stop)
        positions += list(q[in_q])
        mask[in_v] = True
    return HeldJoints(tuple(names), np.array(places, dtype=int), np.array(positions), mask, loops)


def _loop_coordinate(robot: Mechanism, name: str) -> int:
    """Return the number of a loop coordinate that has a position and belongs to a closed loop."""
    d = robot.loop_coordinate_names.index(name)
    loop = loop_coordinate_owner(robot, d)
    if not robot.is_connected(robot.loop_names[loop]):
        raise AssemblyError(
            f'loop joint {robot.loop_names[loop]!r} is open and cannot be held',
            where=robot.name,
            repair='Connect it first.',
        )
    if not has_position(robot, d):
        raise AssemblyError(
            f'{name!r} is one of three components of a rotation, which cannot be held one by one',
            where=robot.name,
            repair='Hold tree joints.',
        )
    return d


def refuse_contradictions(robot: Mechanism, held: HeldJoints, q: Vector) -> None:
    """Raise when a loop or coupling is open at q and every joint that could close it is held."""
    gaps, tolerance = robot.loop_gaps(q), robot.structure.world['closing_tolerance']
    for name, (metres, radians) in gaps.items():
        if max(metres, radians) <= tolerance:
            continue
        dofs = _dofs_between(robot, name)
        if not all(held.mask[list(dofs)]):
            continue
        kind = 'loop' if name in robot.loop_names else 'coupling'
        joints = ', '.join(repr(robot.coordinate_names[j]) for j in sorted(dofs))
        why = f'{kind} {name!r} is open by {metres:.3g} m and {radians:.3g} rad'
        if not dofs:
            raise AssemblyError(
                f'{why}, and no joint moves its ends relative to each other',
                where=robot.name,
                repair='Correct its frames in the file.',
            )
        raise AssemblyError(
            f'{why}, and all its joints are held: {joints}',
            where=robot.name,
            repair='Hold fewer of them.',
        )


def _dofs_between(robot: Mechanism, name: str) -> set[int]:
    """Return the velocities that move the ends of a loop, or what a coupling couples."""
    structure = robot.structure
    if name not in robot.loop_names:
        coupling = structure.couplings[robot.coupling_names.index(name)]
        first = coupling['first']
        return set(structure.terms['dof'][first : first + coupling['n_terms']].tolist())
    loop, dofs = structure.loops[robot.loop_names.index(name)], set[int]()
    a, b = int(loop['body_1']), int(loop['body_2'])
    while a != b:
        a, b = max(a, b), min(a, b)
        body = structure.bodies[a]
        dofs.update(range(body['iv'], body['iv'] + body['n_dof']))
        a = int(body['parent'])
    return dofs
