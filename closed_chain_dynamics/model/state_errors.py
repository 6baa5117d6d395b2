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

"""What is wrong with a state: which coordinate, which loop, and what to do about it."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import ClosedChainError, DescriptionError, StateError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.friction_lock import locked_error

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['error_for', 'loop_gaps', 'refuse_loops_in_one_body', 'vector']

MOST_NAMED = 8  # coordinates that a message lists at most
NAMED_FROM = 0.3  # of the fastest coordinate of a motion: slower ones are not named


def vector(robot: 'Mechanism', values: ArrayLike, length: int, what: str) -> Vector:
    """Return values as a contiguous array of floats, or say what does not fit."""
    try:
        if np.iscomplexobj(values):  # NumPy would drop the imaginary part
            raise TypeError
        array = np.ascontiguousarray(values, dtype=float)
    except (TypeError, ValueError):
        kind = getattr(values, 'dtype', type(values).__name__)
        raise StateError(f'{what} must be numbers, not {kind}', where=robot.name) from None
    if array.shape != (length,):
        names = ', '.join(robot.coordinate_names[:MOST_NAMED]) + (
            ', ...' if robot.nv > MOST_NAMED else ''
        )
        raise StateError(
            f'{what} has shape {array.shape} but the mechanism needs ({length},)',
            where=robot.name,
            repair=f'nq = {robot.nq}; start from robot.neutral() or ccd.assemble(robot, ...).'
            if what == 'q'
            else f'One number per coordinate: {names}.',
        )
    return array if array.flags.writeable else array.copy()


def error_for(robot: 'Mechanism', status: int, q: Vector, *rates: Vector) -> ClosedChainError:
    """Return the error that a kernel's status stands for, naming the coordinate."""
    error = None
    if status == at.NOT_FINITE:
        error = _not_finite(robot, q, *rates)
    if status == at.NOT_UNIT:
        error = _not_unit(robot, q)
    if status == at.LOOP_OPEN:
        error = _loop_open(robot, q)
    if status == at.LOCKED:
        error = locked_error(robot)
    if status == at.NOT_POSITIVE:
        names = ', '.join(map(repr, _massless_motion(robot, q)))
        error = StateError(
            f'no mass resists a motion of {names}',
            where=robot.name,
            repair='The links that it moves have no mass, or no moment of inertia about its axis: '
            'give them one in their <inertial>, make the joint fixed, or give it a rotor '
            '(cc:rotor).',
        )
    return error or ClosedChainError(
        f'the computation failed with status {status}', where=robot.name
    )


def _not_finite(robot: 'Mechanism', q: Vector, *rates: Vector) -> ClosedChainError | None:
    for array in (q, *rates):
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            names = robot.coordinate_names if array is not q else _position_names(robot)
            return StateError(
                f'the value of {names[bad[0]]!r} is {array[bad[0]]}',
                where=robot.name,
                repair='Give finite numbers only.',
            )
    return None


def _position_names(robot: 'Mechanism') -> list[str]:
    """Return the joint of every number of q."""
    names = []
    for joint in robot.joint_names:
        in_q = robot.joint_slices(joint)[0]
        names += [joint] * (in_q.stop - in_q.start)
    return names


def _not_unit(robot: 'Mechanism', q: Vector) -> ClosedChainError | None:
    for joint, body in robot.model.joints.items():
        part, kind = q[robot.joint_slices(joint)[0]], robot.structure.bodies[body]['joint']
        if part.size > 1:
            norm = np.linalg.norm(part[2:] if kind == at.PLANAR else part[-4:])
            if abs(norm - 1.0) > kernels.UNIT_TOLERANCE:
                return StateError(
                    f'the orientation of joint {joint!r} has length {norm:.9g} instead of 1',
                    where=robot.name,
                    repair='Normalise the quaternion (x, y, z, w; planar: cos, sin).',
                )
    return None


def _loop_open(robot: 'Mechanism', q: Vector) -> ClosedChainError:
    gaps = loop_gaps(robot, q)
    worst = max(gaps, key=lambda name: max(gaps[name]))
    kind = 'loop' if worst in robot.loop_names else 'coupling'
    kind = kind if worst in (*robot.loop_names, *robot.coupling_names) else 'stop or friction of'
    if max(gaps[worst]) < robot.structure.world['closing_tolerance']:
        return StateError(
            f'{kind} {worst!r} cannot be closed better than to {gaps[worst][0]:.3g} m and '
            f'{gaps[worst][1]:.3g} rad, and no motion continues from there',
            where=robot.name,
            repair='Lengths or axes in the file contradict each other: give them more digits.',
        )
    return StateError(
        f'{kind} {worst!r} is open by {gaps[worst][0]:.3g} m and {gaps[worst][1]:.3g} '
        f'rad, more than {robot.structure.world["closing_tolerance"]:.3g}',
        where=robot.name,
        repair='Close it first: q = ccd.assemble(robot, ...).',
    )


def _massless_motion(robot: 'Mechanism', q: Vector) -> list[str]:
    """Return the coordinates that move most in the motion that A = W^T M W misses."""
    other = robot.copy()  # where theta_G is chosen for this pose
    W, M = np.empty((other.nv, other.nv)), np.empty((other.nv, other.nv))
    kernels.compute_coordinates(other.handle, q, W)
    kernels.compute_mass_matrix(other.handle, q, M)
    W = W[:, : other.structure.shape['mobility']]
    motion = np.abs(W @ np.linalg.eigh(W.T @ M @ W)[1][:, 0])
    moving = np.flatnonzero(motion > NAMED_FROM * motion.max())
    return [robot.coordinate_names[j] for j in moving]


def loop_gaps(robot: 'Mechanism', q: Vector) -> dict[str, tuple[float, float]]:
    """Return how far closed loops and couplings are open at q, {name: (metres, radians)}."""
    gaps = np.zeros((len(robot.loop_names), 2))
    status = kernels.compute_gaps(robot.handle, q, gaps)
    if status:
        robot.raise_for(status, q)
    structure = robot.structure
    named = {
        name: (float(gap[0]), float(gap[1]))
        for name, gap, active in zip(robot.loop_names, gaps, structure.loops['active'])
        if active
    }
    for name, coupling in zip(robot.coupling_names, structure.couplings):
        if coupling['active']:
            terms = structure.terms[coupling['first'] :][: coupling['n_terms']]
            powers = q[terms['iq'], None] ** np.arange(1, 5)
            error = abs(float(coupling['constant'] + np.sum(terms['coefficients'] * powers)))
            first = structure.bodies[structure.dofs[terms['dof'][0]]['body']]
            slides = first['joint'] == at.PRISMATIC
            named[name] = (error, 0.0) if slides else (0.0, error)
    return named | _hold_gaps(robot, q)


def _hold_gaps(robot: 'Mechanism', q: Vector) -> dict[str, tuple[float, float]]:
    """Return how far coordinates are from where stops or friction hold them."""
    held = robot.held_coordinates()
    if not held:
        return {}
    states = np.zeros((len(robot.structure.holds), 2))
    kernels.compute_hold_states(robot.handle, q, np.zeros(robot.nv), states)
    away = {
        name: float(states[h, 0] - robot.structure.holds[h]['position'])
        for name, h in held.items()
        if robot.structure.holds[h]['placed']
    }
    return {name: (0.0, abs(error)) for name, error in away.items()}


def refuse_loops_in_one_body(robot: 'Mechanism') -> None:
    """Refuse a loop between links that are fixed to each other and do not fit."""
    tolerance, gaps = robot.structure.world['closing_tolerance'], None
    for loop, row in zip(robot.description.loops, robot.structure.loops):
        if row['active'] and row['body_1'] == row['body_2']:
            gaps = loop_gaps(robot, robot.neutral()) if gaps is None else gaps
            metres, radians = gaps[loop.name]
            if max(metres, radians) > tolerance:
                raise DescriptionError(
                    f'it joins {loop.parent!r} and {loop.child!r}, which are fixed to each '
                    f'other but {metres:.3g} m and {radians:.3g} rad apart',
                    where=f'loop joint {loop.name!r}',
                    file=robot.description.file,
                    repair='Correct its origins, or let a joint move between the two links.',
                )
