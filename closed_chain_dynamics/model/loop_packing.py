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

"""Loop joints as records: frames on their two bodies, rows, coordinates, and laws of contact."""

from collections.abc import Callable, Mapping

import numpy as np

from closed_chain_dynamics.description import Description, Joint, LoopJoint, LoopType
from closed_chain_dynamics.description.bodies import Placement
from closed_chain_dynamics.description.rotations import rotation_to
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.model import Records

__all__ = ['loop_coordinate_names', 'loop_frames', 'loop_records']

LOOP_TYPES = {kind: number for number, kind in enumerate(LoopType)}
LOOP_SUFFIXES = {
    LoopType.FIXED: (),
    LoopType.REVOLUTE: ('',),
    LoopType.PRISMATIC: ('',),
    LoopType.CYLINDRICAL: (':vz', ':wz'),
    LoopType.UNIVERSAL: (':w1', ':w2'),
    LoopType.SPHERICAL: (':wx', ':wy', ':wz'),
    LoopType.PLANAR: (':vx', ':vy', ':wz'),
    LoopType.SURFACE: (':vx', ':vy', ':wx', ':wy', ':wz'),
    LoopType.FREE: (':vx', ':vy', ':vz', ':wx', ':wy', ':wz'),
}
# loop types whose axis matters: their frames are turned so that the axis is z
AXIAL_LOOPS = {
    LoopType.REVOLUTE,
    LoopType.PRISMATIC,
    LoopType.CYLINDRICAL,
    LoopType.UNIVERSAL,
    LoopType.PLANAR,
    LoopType.SURFACE,
}
SURFACE_SHAPES = {'plane': at.PLANE, 'sphere': at.SPHERE, 'cylinder': at.CYLINDER}


def loop_coordinate_names(description: Description) -> tuple[str, ...]:
    """Return a name for every coordinate of a loop joint."""
    return tuple(
        loop.name + suffix for loop in description.loops for suffix in LOOP_SUFFIXES[loop.type]
    )


def loop_frames(loop: LoopJoint, links: Mapping[str, Placement]) -> list[Placement]:
    """Return body, R, p of both ends of a loop joint, turned so that its axis is z."""
    parent_axis = loop.parent_axis
    if loop.type is LoopType.SURFACE and loop.contact is not None:
        parent_axis = loop.contact.normal
    ends = []
    for link, origin, axis in (
        (loop.parent, loop.parent_origin, parent_axis),
        (loop.child, loop.child_origin, loop.child_axis),
    ):
        body, R, p = links[link]
        R_axis = rotation_to(axis) if loop.type in AXIAL_LOOPS else np.eye(3)
        ends.append((body, R @ origin.rotation @ R_axis, p + R @ origin.position))
    return ends


def loop_records(
    description: Description,
    links: Mapping[str, Placement],
    law: Callable[[Joint | LoopJoint, np.void], None],
) -> tuple[Records, Records]:
    """Return a record per loop joint, and one with its `law` per coordinate of one."""
    loops = np.zeros(len(description.loops), at.LOOP)
    dofs = np.zeros(len(loop_coordinate_names(description)), at.DOF)
    first = 0
    for row, loop in zip(loops, description.loops):
        (row['body_1'], row['R_1'], row['p_1']), (row['body_2'], row['R_2'], row['p_2']) = (
            loop_frames(loop, links)
        )
        row['type'], row['active'], row['cluster'] = LOOP_TYPES[loop.type], loop.active, -1
        row['dof'], row['n_dofs'] = first, len(LOOP_SUFFIXES[loop.type])
        _write_contact(loop, row)
        row['n_rows'] = 0 if row['mode'] == at.SOFT else loop.type.rows
        for j in range(first, first + row['n_dofs']):
            law(loop, dofs[j])
        first += row['n_dofs']
    return loops, dofs


def _write_contact(loop: LoopJoint, row: np.void) -> None:
    """Write what kind of contact a loop joint is, if any, and its numbers."""
    contact = loop.contact
    if contact is None or loop.type is not LoopType.SURFACE:
        return  # NO_CONTACT, NO_MODE and PLANE are zeros
    row['contact'] = at.UNILATERAL if contact.unilateral else at.BILATERAL
    row['mode'] = at.SOFT if contact.stiffness > 0.0 else at.SLIDE
    row['shape'] = SURFACE_SHAPES[contact.surface]
    row['mu'] = contact.mu
    row['mu_static'] = max(contact.mu, contact.mu_static or 0.0)  # sliding at once is no sticking
    row['ball'], row['wheel'] = contact.ball or contact.wheel, contact.wheel > 0.0
    row['radius'], row['restitution'] = contact.radius, contact.restitution
    row['stiffness'], row['damping'] = contact.stiffness, contact.damping
