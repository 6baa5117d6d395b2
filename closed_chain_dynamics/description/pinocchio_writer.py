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
A Pinocchio model of a description, with its loops as constraint models.

Pinocchio is imported only when asked for one. Joints, their order within the tree and their
numbers are laid out as here, so that q and v are those of the mechanism; a continuous joint is one
angle. A loop becomes one RigidConstraintModel, 3D or 6D; a hinge is held at two points.
"""

from collections.abc import Iterable
import math
from typing import Any

import numpy as np

from closed_chain_dynamics.description.elements import (
    Description,
    Dynamics,
    Joint,
    JointType,
    Limit,
    LoopType,
    Pose,
)
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.loops import held_points
from closed_chain_dynamics.description.rotations import turn
from closed_chain_dynamics.description.tree import Tree
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['import_pinocchio', 'pinocchio_constraints', 'to_pinocchio']

POINTS_AND_WELDS = {LoopType.SPHERICAL: '3D', LoopType.REVOLUTE: '3D', LoopType.FIXED: '6D'}


def import_pinocchio(file: str = '') -> Any:
    """Return the library, or say how to get it."""
    try:
        import pinocchio
    except ImportError:
        raise DescriptionError(
            'this needs the library pinocchio, which is not installed',
            file=file,
            repair='Install it: pip install pin.',
        ) from None
    return pinocchio


def to_pinocchio(
    description: Description, gravity: Iterable[float] | None = None
) -> tuple[Any, list[Any], list[str]]:
    """
    Return a pinocchio.Model, its constraint models, and a sentence on each thing left out.

    `gravity` [m/s^2]: that of the description where none is given, else Pinocchio's own.
    """
    pin, left_out = import_pinocchio(description.file), LeftOut()
    model, tree = pin.Model(), Tree(description.joints)
    model.name = description.name
    given = description.gravity if gravity is None else gravity
    if given is not None:
        model.gravity.linear = np.array(list(given), dtype=float)
    places = {description.root: (0, pin.SE3.Identity())}  # of links: joint, pose in it
    _add_link(pin, model, description.root, *places[description.root])
    for joint in _depth_first(tree, description.root):
        above, pose = places[joint.parent]
        placement = pose * _se3(pin, joint.origin)
        if joint.type is JointType.FIXED:
            places[joint.child] = above, placement
        else:
            upright = _upright(pin, joint)
            number = _add_joint(pin, model, joint, above, placement * upright)
            places[joint.child] = number, upright.inverse()
        _add_link(pin, model, joint.child, *places[joint.child])
    for link in description.links:
        number, pose = places[link.name]
        if link.inertia is not None:
            body = pin.Inertia(
                link.inertia.mass, link.inertia.origin.position, link.inertia.tensor
            )
            model.appendBodyToJoint(number, body, pose)
        if link.gravcomp:
            left_out.add('weight that something outside carries', link.name)
    constraints = pinocchio_constraints(pin, model, description, left_out)
    for coupling in description.couplings:
        left_out.add('couplings of joints', coupling.name, 'its joints move freely')
    for spring in description.springs:
        left_out.add('springs', spring.name, 'add their forces to tau')
    return model, constraints, left_out.sentences()


def _depth_first(tree: Tree, root: str) -> list[Joint]:
    """Return the joints, each branch to its end before the next, brothers by their names."""
    found: list[Joint] = []
    waiting = [root]
    while waiting:
        link = waiting.pop()
        if link in tree.joint_above:
            found.append(tree.joint_above[link])
        below = sorted(tree.joints_below.get(link, []), key=lambda joint: joint.name)
        waiting.extend(joint.child for joint in reversed(below))
    return found


def _se3(pin: Any, pose: Pose) -> Any:
    return pin.SE3(pose.rotation, pose.position)


def _upright(pin: Any, joint: Joint) -> Any:
    """Return the frame in which a joint moves: the normal of a planar one is z there."""
    if joint.type is not JointType.PLANAR:
        return pin.SE3.Identity()
    x, y, z = joint.axis
    sine = math.hypot(x, y)
    axis = (-y / sine, x / sine, 0.0) if sine else (1.0, 0.0, 0.0)
    return pin.SE3(turn(axis, math.atan2(sine, z)), np.zeros(3))


def _add_link(pin: Any, model: Any, name: str, joint: int, placement: Any) -> None:
    model.addFrame(pin.Frame(name, joint, placement, pin.FrameType.BODY))


def _add_joint(pin: Any, model: Any, joint: Joint, above: int, placement: Any) -> int:
    """Add a joint that moves with its limits, damping, friction and armature; return its id."""
    axis = np.array(joint.axis)
    kind = {
        JointType.REVOLUTE: lambda: pin.JointModelRevoluteUnaligned(axis),
        JointType.CONTINUOUS: lambda: pin.JointModelRevoluteUnaligned(axis),
        JointType.PRISMATIC: lambda: pin.JointModelPrismaticUnaligned(axis),
        JointType.PLANAR: pin.JointModelPlanar,
        JointType.SPHERICAL: pin.JointModelSpherical,
        JointType.FLOATING: pin.JointModelFreeFlyer,
    }[joint.type]()
    number: int = model.addJoint(above, kind, placement, joint.name)
    model.addJointFrame(number)
    added = model.joints[number]
    at, dof = (
        slice(added.idx_q, added.idx_q + added.nq),
        slice(added.idx_v, added.idx_v + added.nv),
    )
    _put_laws(model, at, dof, joint.limit, joint.dynamics)
    return number


def _put_laws(model: Any, at: slice, dof: slice, limit: Limit, dynamics: Dynamics) -> None:
    for name, place, value in (
        ('lowerPositionLimit', at, limit.lower),
        ('upperPositionLimit', at, limit.upper),
        ('velocityLimit', dof, limit.velocity),
        ('effortLimit', dof, limit.effort),
        ('damping', dof, dynamics.damping),
        ('friction', dof, dynamics.friction),
        ('armature', dof, dynamics.armature),
    ):
        values = np.array(getattr(model, name))
        values[place] = value
        setattr(model, name, values)


def pinocchio_constraints(
    pin: Any, model: Any, description: Description, left_out: LeftOut
) -> list[Any]:
    """Return the closed loops as constraint models of a model that has the links as frames."""
    found = []
    for loop in description.loops:
        if not loop.active:
            left_out.add('loops that are open', loop.name)
            continue
        kind = POINTS_AND_WELDS.get(loop.type)
        if kind is None:
            left_out.add(f'{loop.type.value} loops, which Pinocchio does not have', loop.name)
            continue
        if loop.dynamics != Dynamics() or loop.limit != Limit():
            left_out.add('limits, damping, friction and rotors of loop joints', loop.name)
        for poses in held_points(loop):
            ends: list[Any] = []
            for link, pose in zip((loop.parent, loop.child), poses):
                frame = model.frames[model.getFrameId(link, pin.FrameType.BODY)]
                ends += [frame.parentJoint, frame.placement * _se3(pin, pose)]
            contact = getattr(pin.ContactType, f'CONTACT_{kind}')
            one = pin.RigidConstraintModel(contact, model, *ends, pin.ReferenceFrame.LOCAL)
            one.name = loop.name
            found.append(one)
    return found
