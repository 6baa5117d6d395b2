"""The joints that an assembly holds: read from what the caller named, and checked."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.assembly.closure import has_position
from closed_chain_dynamics.errors import AssemblyError, NameNotFound, StateError
from closed_chain_dynamics.kernels import layout as at

__all__ = ['Held', 'check_state', 'numbers', 'read_held', 'refuse_contradictions']


@dataclass
class Held:
    """What is held: places in q and their values, velocities (nv,), and loop coordinates."""

    names: list
    places: np.ndarray  # places in q, (n,)
    positions: np.ndarray  # their values, (n,)
    mask: np.ndarray  # velocities that must not move, bool (nv,)
    loops: dict  # loop coordinate number -> position
    robot: object

    def at(self, q):
        """Return held joints of one number, and where they are at q, in words."""
        return (
            ', '.join(
                f'{name!r} = {q[self.robot.joint_slices(name)[0]][0]:.6g}'
                for name in self.names
                if name in self.robot.joint_names
                and self.robot.joint_slices(name)[0].stop - self.robot.joint_slices(name)[0].start
                == 1
            )
            or 'other held positions'
        )


def check_state(robot, q):
    """Return a copy of a configuration, or say what is wrong with it."""
    q = robot.vector(q, robot.nq, 'q').copy()
    status = kernels.check_state(robot.mi, q, robot._zeros, robot._zeros)
    if status:
        robot.raise_for(status, q)
    return q


def numbers(robot, name, value, count):
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
            f'the value of {name!r} has shape {array.shape} but needs {needs}', where=robot.name
        )
    if not np.all(np.isfinite(array)):
        raise StateError(
            f'the value of {name!r} is {value}',
            where=robot.name,
            repair='Give finite numbers only.',
        )
    return array


def named(robot, values, what):
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


def read_held(robot, joints, limits):
    """Return the Held that {joint or loop coordinate: position} stands for."""
    names, places, positions, loops = [], [], [], {}
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
            lower, upper = robot.table(at.DOF_F)[in_v.start, [at.LOWER, at.UPPER]]
            if limits and not lower <= part[0] <= upper:
                raise AssemblyError(
                    f'joint {name!r} is held at {part[0]:.6g}, beyond its range '
                    f'{lower:.6g} to {upper:.6g}',
                    where=robot.name,
                    repair='Hold it within, or pass limits=False.',
                )
        q = robot.neutral()
        q[in_q] = part
        check_state(robot, q)  # refuses what is no rotation
        kernels.integrate(robot.mi, q, robot._zeros, q)  # brings it to unit length
        places += range(in_q.start, in_q.stop)
        positions += list(q[in_q])
        mask[in_v] = True
    return Held(names, np.array(places, dtype=int), np.array(positions), mask, loops, robot)


def _loop_coordinate(robot, name):
    """Return the number of a loop coordinate that has a position and belongs to a closed loop."""
    d = robot.loop_coordinate_names.index(name)
    loop = next(
        k
        for k, loop in enumerate(robot.table(at.LOOP_I))
        if loop[at.LOOP_DOF] <= d < loop[at.LOOP_DOF] + loop[at.LOOP_N_DOFS]
    )
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


def refuse_contradictions(robot, held, q):
    """Raise when a loop or coupling is open at q and every joint that could close it is held."""
    gaps = robot.loop_gaps(q)
    body_i, tolerance = robot.table(at.BODY_I), robot.table(at.WORLD_F)[0, at.CLOSING_TOLERANCE]
    for name, (metres, radians) in gaps.items():
        if max(metres, radians) <= tolerance:
            continue
        if name in robot.loop_names:
            a, b = robot.table(at.LOOP_I)[
                robot.loop_names.index(name), [at.LOOP_BODY_1, at.LOOP_BODY_2]
            ]
            dofs = set()
            while a != b:
                a, b = max(a, b), min(a, b)
                dofs.update(range(body_i[a, at.IV], body_i[a, at.IV] + body_i[a, at.N_DOF]))
                a = body_i[a, at.PARENT]
        else:
            first, count = robot.table(at.COUPLING_I)[robot.coupling_names.index(name)][:2]
            dofs = set(robot.table(at.TERM_I)[first : first + count, at.TERM_DOF])
        if not all(held.mask[list(dofs)]):
            continue
        kind = 'loop' if name in robot.loop_names else 'coupling'
        joints = ', '.join(repr(robot.coordinate_names[j]) for j in sorted(dofs))
        why = f'{kind} {name!r} is open by {metres:.3g} m and {radians:.3g} rad'
        if not dofs:
            raise AssemblyError(
                f'{why}, and no joint moves its ends against each other',
                where=robot.name,
                repair='Correct its frames in the file.',
            )
        raise AssemblyError(
            f'{why}, and all its joints are held: {joints}',
            where=robot.name,
            repair='Hold fewer of them.',
        )
