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

"""From a description to a Model: the tables of named records that the kernels read."""

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description import Description, Joint, LoopJoint
from closed_chain_dynamics.description.bodies import Body, grow
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.attachments import PackedPlaces, actuators, couplings, springs
from closed_chain_dynamics.model.holds import hold_records
from closed_chain_dynamics.model.joint_types import KERNEL_TYPES
from closed_chain_dynamics.model.loop_packing import loop_coordinate_names, loop_records
from closed_chain_dynamics.model.model import Model, Records

__all__ = ['pack']

CLOSING_TOLERANCE = 1e-6  # largest error of a closed loop [m, or rad]
RANK_TOLERANCE = 1e-6  # pivots of J_C below this share of the largest entry count as zero
SAME_PLACE = 1e-9  # frames that are nearer to each other give no length [m]
WISHES = {True: 1, False: -1, None: 0}  # independent="...", as a preference
ACTUATED = 2  # preferred before all wishes
LOOP_SLIDES = {  # how many coordinates of a loop joint are along an axis
    at.LOOP_PRISMATIC: 1,
    at.LOOP_CYLINDRICAL: 1,
    at.LOOP_PLANAR: 2,
    at.LOOP_SURFACE: 2,
    at.LOOP_FREE: 3,
}


def pack(description: Description, gravity: NDArray[np.float64]) -> Model:
    """Return the Model of a description."""
    bodies, links = grow(description)
    joints = {body.joint.name: number for number, body in enumerate(bodies) if body.joint}
    body, nq = _body_records(bodies)
    dofs = _dof_records(bodies, body)
    loops, loop_dofs = loop_records(description, links, law)
    loop_coordinates = loop_coordinate_names(description)
    places = PackedPlaces(description, links, joints, body, loop_coordinates)
    coupling, terms = couplings(places)
    actuator, actuator_names = actuators(places)
    for number, each in enumerate(actuator):
        if not each['on_loop']:
            dofs['preference'][each['dof']] = ACTUATED
            dofs['actuator'][each['dof']] = number
    spring, terms = springs(places, terms)
    world = np.zeros(1, at.WORLD)
    world['gravity'], world['length'] = gravity, _typical_length(body, loops)
    world['closing_tolerance'], world['rank_tolerance'] = CLOSING_TOLERANCE, RANK_TOLERANCE
    dofs['scale'] = np.where(_slides(body, dofs), world['length'], 1.0)
    for row in loops:  # those of a loop joint that slide come first
        first = int(row['dof'])
        loop_dofs['scale'][first : first + LOOP_SLIDES.get(int(row['type']), 0)] = world['length']
    return Model(
        name=description.name,
        description=description,
        body_joints=tuple(each.joint for each in bodies),
        links=links,
        joints=joints,
        loop_coordinate_names=loop_coordinates,
        actuator_names=actuator_names,
        bodies=body,
        dofs=dofs,
        loops=loops,
        loop_dofs=loop_dofs,
        holds=hold_records(body, dofs, loops, loop_dofs, spring),
        couplings=coupling,
        terms=terms,
        springs=spring,
        actuators=actuator,
        world=world,
        nq=nq,
    )


def _body_records(bodies: list[Body]) -> tuple[Records, int]:
    """Return a record per body, and the length of q."""
    out = np.zeros(len(bodies), at.BODY)
    nq = nv = 0
    for row, body in zip(out, bodies):
        row['parent'], row['R'], row['p'] = body.parent, body.R, body.p
        row['mass'], row['com'], inertia = body.inertia_about_com()
        row['inertia'] = inertia[np.triu_indices(3)]
        row['lift'] = body.lift
        row['lift_com'] = body.lift_moment / body.lift if body.lift else 0.0
        row['cluster'], row['joint'] = -1, -1
        if body.joint is not None:
            kind = body.joint.type
            row['joint'], row['n_dof'], row['iq'], row['iv'] = KERNEL_TYPES[kind], kind.nv, nq, nv
            nq, nv = nq + kind.nq, nv + kind.nv
    out['subtree_end'] = np.arange(1, len(bodies) + 1)
    for row in out[:0:-1]:
        up = out[row['parent']]
        up['subtree_end'] = max(up['subtree_end'], row['subtree_end'])
    return out, nq


def _dof_records(bodies: list[Body], body: Records) -> Records:
    """Return a record per velocity of the tree."""
    out = np.zeros(int(body['n_dof'].sum()), at.DOF)
    last = np.full(len(bodies), -1)  # velocity of a body that is nearest to its children
    for number, joint in enumerate(each.joint for each in bodies):
        if joint is None:
            continue
        first, n_dof, up = (int(body[number][name]) for name in ('iv', 'n_dof', 'parent'))
        for j in range(first, first + n_dof):
            law(joint, out[j])
            out[j]['body'], out[j]['parent'] = number, j - 1 if j > first else last[up]
            out[j]['preference'] = WISHES[joint.independent]
        last[number] = first + n_dof - 1
    out['actuator'] = out['above'] = -1
    return out


def law(joint: Joint | LoopJoint, out: np.void) -> None:
    """Write damping, friction, rotor, range and limit moment of a coordinate of a joint."""
    out['damping'], out['friction'] = joint.dynamics.damping, joint.dynamics.friction
    out['armature'] = joint.dynamics.armature
    out['lower'], out['upper'], out['scale'] = joint.limit.lower, joint.limit.upper, 1.0
    out['restitution'] = joint.limit.restitution
    if joint.limit_moment:
        out['stop_stiffness'] = joint.limit_moment.stiffness
        out['stop_damping'] = joint.limit_moment.damping
        out['stop_transition'] = joint.limit_moment.transition


def _slides(body: Records, dofs: Records) -> NDArray[np.bool_]:
    """Return which velocities are along an axis: they are measured in the typical length."""
    mover = body[dofs['body']]
    place = np.arange(len(dofs)) - mover['iv']
    along = np.zeros(at.FREE + 1, dtype=int)  # how many of a joint's velocities, which come first
    along[at.PRISMATIC], along[at.PLANAR], along[at.FREE] = 1, 2, 3
    slides: NDArray[np.bool_] = place < along[mover['joint']]
    return slides


def _typical_length(body: Records, loops: Records) -> float:
    """
    Return a typical distance between joints of one body, to weigh metres against radians [m].

    Where the world begins does not matter: of the frames that stand in the world, distances from
    the first one count. The frame of a free-flying body is no place at all.
    """
    lengths = [np.linalg.norm(each['p']) for each in body[1:] if each['parent'] > 0]
    grounded = [each['p'] for each in body[1:] if each['parent'] == 0 and each['joint'] != at.FREE]
    for loop in loops:
        for number, p in ((loop['body_1'], loop['p_1']), (loop['body_2'], loop['p_2'])):
            if number > 0:
                lengths.append(np.linalg.norm(p))
            else:
                grounded.append(p)
    lengths += [np.linalg.norm(p - grounded[0]) for p in grounded[1:]]
    lengths = [length for length in lengths if length > SAME_PLACE]
    return float(np.mean(lengths)) if lengths else 1.0
