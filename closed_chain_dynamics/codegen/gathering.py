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
From a mechanism to a source: all that a trace reads, gathered in one place.

What straight-line code cannot decide is refused here: contacts with friction, joints that are
held, singular poses. A joint of the tree that has been cut is a free joint of the world here, as
it is in the structure.
"""

from collections.abc import Mapping
import math
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.clusters import find_clusters
from closed_chain_dynamics.codegen.source import (
    Motor,
    Source,
    SourceBody,
    SourceCoupling,
    SourceLaw,
    SourceLoop,
    SourceSpring,
    SourceWaypoint,
    Watched,
)
from closed_chain_dynamics.description.elements import JointType, LoopType, Waypoint
from closed_chain_dynamics.dynamics.constraints import actuator_rows, row_units
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import SingularityError, StructureError
from closed_chain_dynamics.model.loop_packing import LOOP_SUFFIXES, loop_frames
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['gather']

NO_LAW = SourceLaw(0.0, 0.0, -math.inf, math.inf, None, False)  # of a joint that has been cut
COSINE_ROUNDING = 4e-16  # cosines of right angles that are this far from 0, 1 or -1 are these


def gather(robot: Mechanism, q: Array, *, contacts: bool = False) -> Source:
    """
    Return all that a trace of a mechanism reads; q is a closed pose that is not singular.

    With `contacts`, points on planes are held there as if nothing could lift them off.
    """
    links, description = robot.model.links, robot.description
    if not contacts:
        _refuse_contacts(robot)
    _refuse_what_is_held(robot)
    c = coordinates(robot, q)
    if c.lost_rank:
        raise SingularityError(
            'code cannot be generated in a singular pose, where theta_G has no clear choice',
            where=robot.name,
            repair='Give another pose: robot.compile(q=ccd.assemble(robot, ...)).',
        )
    bodies = _bodies(robot)
    active = [  # a soft contact is a spring
        loop
        for loop in description.loops
        if robot.is_connected(loop.name) and not (loop.contact and loop.contact.stiffness)
    ]
    first_rows = np.cumsum([0, *(loop.type.rows for loop in active)])
    seen = {
        name: float(row['seen'])
        for name, row in zip(robot.loop_coordinate_names, robot.structure.loop_dofs)
    }
    loops = tuple(
        _loop(loop, links, int(row), seen.get(loop.name, 0.0))
        for loop, row in zip(active, first_rows)
    )
    couplings = tuple(
        _coupling(robot, k, row)
        for row, k in enumerate(
            np.flatnonzero(robot.structure.couplings['active']).tolist(), start=int(first_rows[-1])
        )
    )
    names = list(robot.coordinate_names)
    dependent = {names.index(name) for name in c.dependent}
    units = row_units(robot)
    loop_names = [loop.name for loop in loops]
    all_springs = (
        _spring(robot, *each, loop_names)
        for each in zip(description.springs, robot.structure.springs)
    )
    springs = tuple(spring for spring in all_springs if spring is not None)
    motors = tuple(
        _motor(robot, name, record, loops)
        for name, record in zip(robot.actuator_names, robot.structure.actuators)
    )
    return Source(
        robot.name,
        robot.nq,
        robot.nv,
        robot.gravity,
        bodies,
        dict(links),
        loops,
        couplings,
        springs,
        motors,
        find_clusters(bodies, loops, couplings, springs, dependent),
        len(c.J_C),
        tuple(j for j in range(robot.nv) if j not in dependent),
        tuple(names),
        float(1.0 / units.min(initial=1.0)) if len(units) else 1.0,
        np.array(q, dtype=float),
        c.W.copy(),
        actuator_rows(robot, c.q),
        watched=_watched(robot, loop_names),
    )


def _refuse_contacts(robot: Mechanism) -> None:
    for loop in robot.description.loops:
        is_contact = loop.type is LoopType.SURFACE and loop.contact is not None
        if is_contact and robot.is_connected(loop.name):
            raise StructureError(
                f'contact {loop.name!r} slides, sticks or lifts off depending on its forces, '
                'which straight-line code cannot decide',
                where=robot.name,
                repair='Cut it, or use the generic functions.',
            )


def _refuse_what_is_held(robot: Mechanism) -> None:
    if robot.held_coordinates():
        raise StructureError(
            f'{next(iter(robot.held_coordinates()))!r} rests at a stop or friction holds it: '
            'straight-line code cannot decide for how long',
            where=robot.name,
            repair='Compile the mechanism as it was loaded.',
        )


def _watched(robot: Mechanism, loop_names: list[str]) -> tuple[Watched, ...]:
    """Return the coordinates that may be held, those of open loops and cut joints left out."""
    found, structure = [], robot.structure
    for h, hold in enumerate(structure.holds):
        k, d = int(hold['loop']), int(hold['dof'])
        if k < 0 <= d:
            rubs = structure.dofs[d]['friction'] > 0.0
            found.append(Watched(h, -1, d, int(hold['iq']), bool(rubs)))
        elif k >= 0 and robot.loop_names[k] in loop_names:
            own = d - int(structure.loops[k]['dof'])
            rubs = structure.loop_dofs[d]['friction'] > 0.0
            found.append(Watched(h, loop_names.index(robot.loop_names[k]), own, -1, bool(rubs)))
    return tuple(found)


def _snap(R: Array) -> Array:
    """Return a rotation whose right angles are exact: every exact zero saves operations."""
    whole = np.round(R)
    return np.where(np.abs(R - whole) < COSINE_ROUNDING, whole, R) + 0.0


def _law(joint: Any, limited: bool) -> SourceLaw:
    stop = joint.limit_moment
    return SourceLaw(
        joint.dynamics.damping,
        joint.dynamics.friction,
        joint.limit.lower,
        joint.limit.upper,
        (stop.stiffness, stop.damping, stop.transition) if stop and limited else None,
        limited,
        joint.dynamics.armature,
    )


def _bodies(robot: Mechanism) -> tuple[SourceBody, ...]:
    world = SourceBody(
        'world', -1, JointType.FIXED, 0, 0, 0, np.eye(3), np.zeros(3), 0.0, np.zeros(3),
        np.zeros((3, 3)), 0.0, np.zeros(3), (),
    )  # fmt: skip
    bodies, free = [world], robot.structure.is_free(robot.model)
    for i, record in enumerate(robot.structure.bodies[1:], start=1):
        joint = robot.model.body_joints[i]
        assert joint is not None
        iq, iv, nv = (int(record[name]) for name in ('iq', 'iv', 'n_dof'))
        xx, xy, xz, yy, yz, zz = record['inertia']
        bodies.append(
            SourceBody(
                joint.name,
                int(record['parent']),
                JointType.FLOATING if free[i] else joint.type,
                iq,
                iv,
                nv,
                _snap(record['R']),
                record['p'].copy(),
                float(record['mass']),
                record['com'].copy(),
                np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
                float(record['lift']),
                record['lift_com'].copy(),
                (NO_LAW if free[i] else _law(joint, nv == 1),) * nv,
            )
        )
    return tuple(bodies)


def _loop(
    loop: Any, links: Mapping[str, tuple[int, Array, Array]], first_row: int, seen: float
) -> SourceLoop:
    (body_1, R_1, p_1), (body_2, R_2, p_2) = loop_frames(loop, links)
    count = len(LOOP_SUFFIXES[loop.type])
    law = _law(loop, count == 1)
    return SourceLoop(
        loop.name,
        loop.type,
        body_1,
        _snap(R_1),
        p_1,
        body_2,
        _snap(R_2),
        p_2,
        (law,) * count,
        first_row,
        seen,
    )


def _places(robot: Mechanism, joint: str) -> tuple[int, int]:
    in_q, in_v = robot.joint_slices(joint)
    return int(in_v.start), int(in_q.start)


def _coupling(robot: Mechanism, k: int, row: int) -> SourceCoupling:
    """Return a coupling as the core has it: one whose coefficients are tiny is multiplied."""
    coupling, record = robot.description.couplings[k], robot.structure.couplings[k]
    terms = zip(coupling.terms, robot.structure.terms[int(record['first']) :])
    return SourceCoupling(
        coupling.name,
        float(record['constant']),
        tuple(
            (
                int(own['dof']),
                int(own['iq']),
                tuple(own['coefficients'].tolist()[: len(each.coefficients)]),
            )
            for each, own in terms
        ),
        row,
    )


def _spring(
    robot: Mechanism, spring: Any, record: Any, loop_names: list[str]
) -> SourceSpring | None:
    if record['dof'] < 0:
        return None  # a joint that it sits on has been cut
    law = spring.stiffness, spring.damping, spring.rest
    if spring.type == 'spherical':
        places = int(record['dof']), int(record['iq'])
        return SourceSpring(*law, name=spring.name, ball=places, rest_turn=spring.rest_turn)
    if spring.type == 'linear':
        ends = []
        for link, xyz in ((spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz)):
            body, R, p = robot.link_frame(link)
            ends.append((body, p + R @ np.asarray(xyz, dtype=float)))
        return SourceSpring(*law, ends=(ends[0], ends[1]), name=spring.name)
    if spring.type in ('tendon', 'path'):
        terms = [(*_places(robot, each.joint), each.coefficients[0]) for each in spring.terms]
        return SourceSpring(
            *law,
            terms=tuple(terms),
            path=tuple(_waypoint(robot, point) for point in spring.path),
            name=spring.name,
            slack=spring.slack,
            armature=spring.armature,
        )
    if spring.joint in robot.joint_names:
        return SourceSpring(*law, joint=_places(robot, spring.joint), name=spring.name)
    if spring.joint in loop_names:
        return SourceSpring(*law, loop=loop_names.index(spring.joint), name=spring.name)
    return None  # its loop is open


def _waypoint(robot: Mechanism, point: Waypoint) -> SourceWaypoint:
    body, R, p = robot.link_frame(point.link)
    side = None
    if point.side is not None:
        link, xyz = point.side
        other, R_side, p_side = robot.link_frame(link)
        side = other, p_side + R_side @ np.asarray(xyz, dtype=float)
    return SourceWaypoint(
        body,
        p + R @ np.asarray(point.origin.xyz, dtype=float),
        _snap(R @ point.origin.rotation),
        point.shape,
        point.radius,
        side,
        point.begins,
        1.0 / point.divisor,
    )


def _motor(robot: Mechanism, name: str, record: Any, loops: tuple[SourceLoop, ...]) -> Motor:
    dof = int(record['dof'])
    if not record['on_loop']:
        return Motor(name, dof=dof) if dof >= 0 else Motor(name)  # its joint has been cut
    for number, loop in enumerate(loops):
        own = [each for each in robot.loop_coordinate_names if each.split(':')[0] == loop.name]
        if name in own:
            return Motor(name, loop=(number, own.index(name)))
    return Motor(name)
