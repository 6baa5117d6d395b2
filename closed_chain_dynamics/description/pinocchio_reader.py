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
A `pinocchio.Model`, with constraint models where there are loops, as a description.

Joints keep their names, so that results are found by name; their order is the one of this package.
Bodies get the names of the frames that stand for them. The inertia of a body is what Pinocchio
has lumped together.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.actuators import resolve
from closed_chain_dynamics.description.checks import check_references, check_structure
from closed_chain_dynamics.description.elements import (
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.inertia_checks import settle_inertias
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.description.pinocchio_writer import import_pinocchio
from closed_chain_dynamics.description.rotations import pose_of, upper_triangle
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['is_pinocchio', 'read_pinocchio']

LABEL = 'pinocchio.Model'
SEVERAL_DOF = {
    'JointModelSpherical': JointType.SPHERICAL,
    'JointModelFreeFlyer': JointType.FLOATING,
    'JointModelPlanar': JointType.PLANAR,
}
SAME_FRAME = 1e-12


def is_pinocchio(source: Any) -> bool:
    """Tell whether a source is a model, or a model and its constraint models."""
    first = source[0] if isinstance(source, tuple) and source else source
    kind = type(first)
    return kind.__module__.startswith('pinocchio') and kind.__name__ == 'Model'


def read_pinocchio(
    source: Any, *, actuated: str | Iterable[str] | None = None, inertia: str = 'check'
) -> Description:
    """Return the Description of a model, or of a pair (model, constraint models)."""
    model, constraints = source if isinstance(source, tuple) else (source, ())
    pin, reader = import_pinocchio(LABEL), Reader(LABEL)
    bodies = _body_names(pin, model)
    links = [Link(bodies[0])]
    joints = []
    for number in range(1, model.njoints):
        links.append(Link(bodies[number], _inertia(model.inertias[number])))
        joints.append(_joint(pin, model, number, bodies))
    names = Names([joint.name for joint in joints])
    for frame in model.frames:  # links that are fixed to others, without mass of their own
        if frame.type == pin.FrameType.BODY and frame.name not in bodies:
            joint = names.fresh(f'{frame.name}_fixed')
            links.append(Link(frame.name))
            origin = _pose(frame.placement)
            above = bodies[frame.parentJoint]
            joints.append(Joint(joint, JointType.FIXED, above, frame.name, origin))
    loops = tuple(_loop(pin, each, bodies, names) for each in constraints)
    check_structure(Description(model.name, tuple(links), tuple(joints), loops), reader)
    nothing = etree.Element('robot')  # a model has no tags that name motors
    settled, loops, actuators = resolve(reader, nothing, tuple(joints), loops, argument=actuated)
    description = Description(
        model.name,
        tuple(links),
        settled,
        loops,
        actuators=actuators,
        gravity=tuple(float(each) for each in model.gravity.linear),
    )
    check_references(description, reader)
    description = settle_inertias(description, reader, inertia)
    return replace(description, notes=tuple(reader.notes))


def _pose(placement: Any) -> Pose:
    return pose_of(np.array(placement.rotation), placement.translation)


def _body_names(pin: Any, model: Any) -> list[str]:
    """Return one name a joint: that of the first body frame that stands where it does."""
    found: dict[int, str] = {}
    for frame in model.frames:
        here = frame.placement.isIdentity(SAME_FRAME)
        if frame.type == pin.FrameType.BODY and here:
            found.setdefault(frame.parentJoint, frame.name)
    names = Names([frame.name for frame in model.frames if frame.type == pin.FrameType.BODY])
    return [
        found.get(number) or names.fresh(f'{model.names[number]}_link' if number else 'universe')
        for number in range(model.njoints)
    ]


def _inertia(body: Any) -> Inertia | None:
    if not body.mass and not np.any(body.inertia):
        return None
    center = tuple(float(each) for each in body.lever)
    return Inertia(float(body.mass), Pose(center), upper_triangle(np.array(body.inertia)))


def _joint(pin: Any, model: Any, number: int, bodies: list[str]) -> Joint:
    own, name = model.joints[number], model.names[number]
    kind, axis = _kind(pin, own, name)
    limit, dof = Limit(), own.idx_v
    laws = Dynamics(
        float(model.damping[dof]), float(model.friction[dof]), float(model.armature[dof])
    )
    if own.nv == 1:
        lower, upper = (
            float(values[own.idx_q]) if own.nq == 1 else sign * np.inf
            for values, sign in ((model.lowerPositionLimit, -1), (model.upperPositionLimit, 1))
        )
        limit = Limit(lower, upper, float(model.effortLimit[dof]), float(model.velocityLimit[dof]))
        if kind is JointType.REVOLUTE and not np.isfinite([lower, upper]).all():
            kind = JointType.CONTINUOUS
            limit = Limit(effort=limit.effort, velocity=limit.velocity)
    for law in ('damping', 'friction', 'armature'):
        values = getattr(model, law)[dof : dof + own.nv]
        if np.ptp(values):
            raise DescriptionError(
                f'the {law} of the joint {name!r} differs between its coordinates',
                file=LABEL,
                repair='Give all its coordinates the same value.',
            )
    origin = _pose(model.jointPlacements[number])
    above = bodies[model.parents[number]]
    return Joint(name, kind, above, bodies[number], origin, axis, limit, laws)


def _kind(pin: Any, joint: Any, name: str) -> tuple[JointType, tuple[float, ...]]:
    """Return the type, and the axis by the motion that the joint allows."""
    short = joint.shortname()
    if short in SEVERAL_DOF:
        planar = SEVERAL_DOF[short] is JointType.PLANAR
        return SEVERAL_DOF[short], (0.0, 0.0, 1.0) if planar else Joint.axis
    if joint.nv == 1 and 'Helical' not in short and 'Mimic' not in short:
        model = pin.Model()
        model.addJoint(0, joint, pin.SE3.Identity(), name)
        data, q = model.createData(), pin.neutral(model)
        pin.computeJointJacobians(model, data, q)
        S = np.ravel(pin.getJointJacobian(model, data, 1, pin.ReferenceFrame.LOCAL))
        slides = np.any(S[:3])
        axis = tuple(float(each) + 0.0 for each in (S[:3] if slides else S[3:]))
        return JointType.PRISMATIC if slides else JointType.REVOLUTE, axis
    raise DescriptionError(
        f'the joint {name!r} is a {short}, which is not read',
        file=LABEL,
        repair='Make it of revolute, prismatic, spherical, planar and free-flyer joints.',
    )


def _loop(pin: Any, one: Any, bodies: list[str], names: Names) -> LoopJoint:
    """Return a 3D constraint as a spherical loop, a 6D one as a fixed one."""
    kinds = {
        pin.ContactType.CONTACT_3D: LoopType.SPHERICAL,
        pin.ContactType.CONTACT_6D: LoopType.FIXED,
    }
    if getattr(one, 'type', None) not in kinds:
        raise DescriptionError(
            f'{type(one).__name__} is not a constraint that can be read',
            file=LABEL,
            repair='Give RigidConstraintModel of CONTACT_3D or CONTACT_6D.',
        )
    parent, child = bodies[one.joint1_id], bodies[one.joint2_id]
    return LoopJoint(
        names.fresh(one.name or f'{parent}_{child}'),
        kinds[one.type],
        parent,
        child,
        _pose(one.joint1_placement),
        _pose(one.joint2_placement),
    )
