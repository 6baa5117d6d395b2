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
Connecting and cutting, for everybody who does it: simulation, state tracking, viewer and nodes.

A name may be that of a loop joint or of a joint of the tree. A loop joint only switches its rows;
the part beyond a tree joint that is cut flies on a free joint of the same name (Nakamura and
Yamane, section V-B), so its state, q and v, is written anew. Whatever is refused leaves the
mechanism as it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.loop_joints import WHOLE_TURN

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = [
    'CONNECT_ANGLE',
    'CONNECT_GAP',
    'FollowedStructure',
    'connect',
    'cut',
    'cut_joints',
    'follow',
    'is_cut',
    'open_or_closed',
]

CONNECT_GAP = 0.02  # largest gap that a connection closes [m]
CONNECT_ANGLE = 0.05  # largest misalignment that a connection closes [rad]


# --- what is cut ---------------------------------------------------------------------------------
def is_cut(robot: 'Mechanism', name: str) -> bool:
    """Return whether a joint, of a loop or of the tree, is open."""
    if name in robot.loop_names:
        return not robot.structure.loops[robot.loop_names.index(name)]['active']
    return bool(robot.structure.is_free(robot.model)[_body(robot, name)])


def cut_joints(robot: 'Mechanism') -> list[str]:
    """Return the joints of the tree that are cut."""
    free = robot.structure.is_free(robot.model)
    return [name for name, body in robot.model.joints.items() if free[body]]


def open_or_closed(robot: 'Mechanism') -> dict[str, bool]:
    """Return {name: closed?} of all loop joints, and of tree joints that are cut."""
    closed = {name: not is_cut(robot, name) for name in robot.loop_names}
    return {**closed, **dict.fromkeys(cut_joints(robot), False)}


def _body(robot: 'Mechanism', name: str) -> int:
    """Return the body that a joint of the tree moves; other names are neither joint nor loop."""
    if name not in robot.model.joints:
        known = [*robot.loop_names, *robot.joint_names]
        raise NameNotFound('joint', name, known, where=robot.name)
    return robot.model.joints[name]


# --- changing one joint --------------------------------------------------------------------------
def cut(
    robot: 'Mechanism', name: str, q: ArrayLike | None = None, v: ArrayLike | None = None
) -> tuple[Vector | None, Vector | None]:
    """
    Cut a joint of a loop or of the tree; return the state in the new coordinates.

    A loop joint can be cut with no pose known: q and v None.
    """
    if name in robot.loop_names:
        switch(robot, name, False)
        return _given(robot, q, v)
    _body(robot, name)
    return _part(robot, name, *_known(robot, q, v))


def _part(robot: 'Mechanism', name: str, q: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Cut a joint of the tree: the part beyond it flies freely, as it moved."""
    body = _body(robot, name)
    kind = robot.structure.bodies[body]['joint']
    if kind == at.FREE:
        raise StructureError(
            f'joint {name!r} is free already',
            where=robot.name,
            repair='Cut a joint that holds something.',
        )
    if kind == at.REVOLUTE:  # once cut, only its part of a turn can be seen
        robot.structure.angles[name] = float(q[robot.joint_slices(name)[0]][0])
    q_new, v_new = np.empty(robot.nq + 7), np.empty(robot.nv + 6)
    kernels.compute_free(robot.handle, q, v, body, q_new, v_new)
    robot.took_shape()
    return q_new[: robot.nq].copy(), v_new[: robot.nv].copy()


def connect(
    robot: 'Mechanism',
    name: str,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    gap: float = CONNECT_GAP,
    angle: float = CONNECT_ANGLE,
) -> tuple[Vector | None, Vector | None]:
    """
    Close a loop joint, or join a tree joint that was cut; return the state in new coordinates.

    Refused where what has to close is further apart than `gap` [m] or `angle` [rad]. A loop joint
    can be closed with no pose known, q and v None: there is no gap to look at then. The gap itself
    is not closed here, and only a tree joint catches the motion of its part.
    """
    if name not in robot.loop_names:
        _body(robot, name)
        return _join(robot, name, *_known(robot, q, v), gap, angle)
    known = _given(robot, q, v)
    switch(robot, name, True)
    if known[0] is not None:
        try:
            _check_gap(robot, f'loop joint {name!r}', robot.loop_gaps(known[0])[name], gap, angle)
        except ClosedChainError:
            switch(robot, name, False)
            raise
    return known


def switch(robot: 'Mechanism', name: str, active: bool) -> None:
    """Close or open a loop joint: its virtual link joins the structure, or leaves it."""
    loop = robot.structure.loops[robot.index('loop', name)]
    if loop['active'] == active:
        state, other = ('connected', 'Cut') if active else ('open', 'Connect')
        raise StructureError(
            f'loop joint {name!r} is already {state}',
            where=robot.name,
            repair=f'{other} it first.',
        )
    loop['active'] = active
    robot.build()


def _join(
    robot: 'Mechanism', name: str, q: Vector, v: Vector, gap: float, angle: float
) -> tuple[Vector, Vector]:
    """Undo the cut of a tree joint, and let the joint catch the motion of its part."""
    body, before = _body(robot, name), robot.connections()
    if body not in before.cut:
        raise StructureError(
            f'joint {name!r} is already connected', where=robot.name, repair='Cut it first.'
        )
    q_new, v_new = np.empty(robot.nq), np.empty(robot.nv)
    noted = robot.structure.angles.get(name)
    status, metres, radians = kernels.compute_home(robot.handle, q, v, body, q_new, v_new)
    robot.took_shape()
    q_new, v_new = q_new[: robot.nq].copy(), v_new[: robot.nv].copy()
    try:
        if status:
            robot.raise_for(status, q, v)
        _check_gap(robot, f'joint {name!r}', (metres, radians), gap, angle)
        if noted is not None:
            _turn_back(robot, name, q_new, noted)
        for coupling in robot.model.description.couplings:
            if coupling.active and any(term.joint == name for term in coupling.terms):
                error = robot.loop_gaps(q_new).get(coupling.name, (0.0, 0.0))
                _check_gap(robot, f'coupling {coupling.name!r}', error, gap, angle)
    except ClosedChainError:
        robot.restructure(before)
        raise
    robot.structure.angles.pop(name, None)
    return q_new, v_new


def _turn_back(robot: 'Mechanism', name: str, q: Vector, noted: float) -> None:
    """Give a joint, of all angles that look the same, the one nearest to that before its cut."""
    place, rate = robot.joint_slices(name)
    wanted = q[place.start] + WHOLE_TURN * np.round((noted - q[place.start]) / WHOLE_TURN)
    law = robot.structure.dofs[rate.start]
    if law['lower'] <= wanted <= law['upper']:
        q[place.start] = wanted


def _check_gap(
    robot: 'Mechanism', what: str, apart: tuple[float, float], gap: float, angle: float
) -> None:
    """Refuse a connection of what is too far apart, (metres, radians)."""
    metres, radians = apart
    if metres > gap or radians > angle:
        raise StructureError(
            f'{what} is {metres:.4g} m and {radians:.4g} rad apart, more than the {gap:g} m and '
            f'{angle:g} rad that a connection closes',
            where=robot.name,
            repair='Connect it in a pose in which the two sides meet, or allow more with gap= and '
            'angle=.',
        )


# --- changing all at once ------------------------------------------------------------------------
@dataclass(frozen=True)
class FollowedStructure:
    """A state in the coordinates of the structure that was asked for, and what was refused."""

    q: Vector
    v: Vector
    changed: bool
    refused: tuple[str, ...]


def follow(
    robot: 'Mechanism',
    closed: Mapping[str, bool],
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
) -> FollowedStructure:
    """
    Make the structure what its owner says, {name: closed?}.

    No gap is too large, for it is so already, and no pose has to be known. Loop joints that are
    not named stay as they are; tree joints that are not named are whole.
    """
    changed, refused = False, []
    for name in robot.loop_names:
        now = not is_cut(robot, name)
        if closed.get(name, now) != now:
            switch(robot, name, not now)
            changed = True
    here = robot.neutral() if q is None else robot.vector(q, robot.nq, 'q')
    moving = np.zeros(robot.nv) if v is None else robot.vector(v, robot.nv, 'v')
    for name in robot.joint_names:
        cut_now = is_cut(robot, name)
        if closed.get(name, True) != cut_now:
            continue
        try:
            here, moving = (
                _join(robot, name, here, moving, np.inf, np.inf)
                if cut_now
                else _part(robot, name, here, moving)
            )
            changed = True
        except ClosedChainError as error:
            refused.append(str(error))
    for name in closed:
        if name not in robot.loop_names and name not in robot.model.joints:
            refused.append(f'{robot.name} has no joint {name!r}')
    return FollowedStructure(here, moving, changed, tuple(refused))


def _given(
    robot: 'Mechanism', q: ArrayLike | None, v: ArrayLike | None
) -> tuple[Vector | None, Vector | None]:
    """Return a state as arrays, or what of it is not known as None."""
    return (
        None if q is None else robot.vector(q, robot.nq, 'q'),
        None if v is None else robot.vector(v, robot.nv, 'v'),
    )


def _known(robot: 'Mechanism', q: ArrayLike | None, v: ArrayLike | None) -> tuple[Vector, Vector]:
    """Return a state as arrays, or refuse where it is not known."""
    here, moving = _given(robot, q, v)
    if here is None or moving is None:
        raise StructureError(
            'the pose is not known yet', where=robot.name, repair='Send joint states first.'
        )
    return here, moving
