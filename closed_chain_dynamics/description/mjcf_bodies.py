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

"""Bodies and joints of a compiled MJCF model: links with inertias, and the tree."""

import math
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Matrix
from closed_chain_dynamics.description.elements import (
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    Pose,
    Spring,
)
from closed_chain_dynamics.description.mjcf_compile import Compiled
from closed_chain_dynamics.description.mjcf_shapes import read_shapes
from closed_chain_dynamics.description.rotations import (
    pose_of,
    rotation,
    turn,
    upper_triangle,
    xyzw,
)

__all__ = ['Bodies', 'inertia_of']

MJ_HINGE, MJ_SLIDE, MJ_BALL, MJ_FREE = 'HINGE', 'SLIDE', 'BALL', 'FREE'


class Bodies:
    """
    The tree, body by body.

    A body with several joints hangs on a chain of massless links; a joint whose anchor is not the
    body's origin has a fixed joint behind it. A position is MuJoCo's `qpos`, `ref` included.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.model = compiled, compiled.model
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.springs: list[Spring] = []
        self.rotors = _rotors(compiled)
        for body in range(self.model.nbody):
            name = compiled.body_names[body]
            visuals, collisions = read_shapes(compiled, body)
            self.links.append(Link(name, inertia_of(self.model, body), visuals, collisions))
            if body:
                self._hang(body, name)

    def _hang(self, body: int, name: str) -> None:
        """Put the joints of a body one after the other, with massless links between them."""
        model, compiled = self.model, self.compiled
        parent = compiled.body_names[model.body_parentid[body]]
        R, p = rotation(model.body_quat[body]), np.array(model.body_pos[body])
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        moved = np.zeros(3)  # where the frame stands in the body, at the joint before
        for number in range(first, first + count):
            kind = self._kind(number)
            anchor = (
                np.array(model.jnt_pos[number]) if kind in (MJ_HINGE, MJ_BALL) else np.zeros(3)
            )
            last = number == first + count - 1
            joint_name = compiled.joint_names[number]
            child = name
            if not last or anchor.any():
                child = compiled.links.fresh(f'{joint_name}_frame')
                self.links.append(Link(child))
            turned, shift = self._at_zero(number, kind)
            origin = pose_of(R @ turned, p + R @ (anchor - moved + shift))
            if kind == MJ_FREE:
                origin = Pose()  # its position is that of the body in the world
            self.joints.append(self._joint(number, kind, parent, child, origin))
            if kind == MJ_FREE:
                self._add_free_armature(number, child)
            parent, R, p, moved = child, np.eye(3), np.zeros(3), anchor
        if parent != name:  # no joint at all, or the last anchor is not the body's origin
            fixed = compiled.joints.fresh(f'{name}_fixed')
            origin = pose_of(R, p - moved)
            self.joints.append(Joint(fixed, JointType.FIXED, parent, name, origin))

    def _add_free_armature(self, number: int, link: str) -> None:
        """
        Fix a weightless body to a free one, in the place of the armature of its joint.

        MuJoCo adds a |velocity|^2 / 2 of the frame, in world axes, and of its turning to the
        kinetic energy: what a mass a with the moments a in its origin has.
        """
        armature = float(self.model.dof_armature[int(self.model.jnt_dofadr[number])])
        if armature:
            name = self.compiled.links.fresh(f'{link}_armature')
            moments = (armature, 0.0, 0.0, armature, 0.0, armature)
            self.links.append(Link(name, Inertia(armature, moments=moments), gravcomp=1.0))
            fixed = self.compiled.joints.fresh(name)
            self.joints.append(Joint(fixed, JointType.FIXED, link, name))

    def _kind(self, number: int) -> str:
        value = self.model.jnt_type[number]
        return next(
            kind
            for kind in (MJ_HINGE, MJ_SLIDE, MJ_BALL, MJ_FREE)
            if self.compiled.is_type(value, 'mjtJoint', kind)
        )

    def _at_zero(self, number: int, kind: str) -> tuple[Matrix, Matrix]:
        """Return the turn and the shift that lead from qpos0 to qpos = 0."""
        axis, start = self.model.jnt_axis[number], self._start(number)
        if kind == MJ_HINGE:
            return turn(axis, -start), np.zeros(3)
        return np.eye(3), -start * np.array(axis) if kind == MJ_SLIDE else np.zeros(3)

    def _start(self, number: int) -> float:
        return float(self.model.qpos0[self.model.jnt_qposadr[number]])

    def _joint(self, number: int, kind: str, parent: str, child: str, origin: Pose) -> Joint:
        model, name = self.model, self.compiled.joint_names[number]
        dof, limit = int(model.jnt_dofadr[number]), Limit()
        if kind in (MJ_HINGE, MJ_SLIDE) and model.jnt_limited[number]:
            limit = Limit(*map(float, model.jnt_range[number]))
        if kind in (MJ_HINGE, MJ_SLIDE) and model.jnt_stiffness[number]:
            rest = model.qpos_spring[model.jnt_qposadr[number]]
            self.springs.append(
                Spring(
                    f'{name}_spring',
                    'torsional',
                    float(model.jnt_stiffness[number]),
                    joint=name,
                    rest=float(rest),
                )
            )
        armature, damping = self.rotors.get(number, (0.0, 0.0))
        if kind != MJ_FREE:
            armature += float(model.dof_armature[dof])
        values: dict[str, Any] = {}
        if kind in (MJ_HINGE, MJ_SLIDE):
            values['axis'] = tuple(map(float, model.jnt_axis[number]))
        return Joint(
            name,
            {
                MJ_HINGE: JointType.REVOLUTE
                if math.isfinite(limit.upper)
                else JointType.CONTINUOUS,
                MJ_SLIDE: JointType.PRISMATIC,
                MJ_BALL: JointType.SPHERICAL,
                MJ_FREE: JointType.FLOATING,
            }[kind],
            parent,
            child,
            origin,
            limit=limit,
            dynamics=Dynamics(
                float(model.dof_damping[dof]) + damping,
                float(model.dof_frictionloss[dof]),
                armature,
            ),
            **values,
        )

    def positions(self, qpos: Any) -> tuple[tuple[str, Any], ...]:
        """Return the joint positions that MuJoCo's `qpos` means, as an assembly has them."""
        found: list[tuple[str, Any]] = []
        for number, name in enumerate(self.compiled.joint_names):
            at, kind = int(self.model.jnt_qposadr[number]), self._kind(number)
            if kind in (MJ_HINGE, MJ_SLIDE):
                found.append((name, float(qpos[at])))
            elif kind == MJ_BALL:
                found.append((name, xyzw(qpos[at : at + 4])))
            else:
                place = tuple(map(float, qpos[at : at + 3]))
                found.append((name, place + xyzw(qpos[at + 3 : at + 7])))
        return tuple(found)


def inertia_of(model: Any, body: int) -> Inertia | None:
    """Return the compiled inertia of a body in its own axes, None where it has none."""
    mass, moments = float(model.body_mass[body]), np.array(model.body_inertia[body])
    if not mass and not moments.any():
        return None
    R = rotation(model.body_iquat[body])
    center = tuple(float(each) + 0.0 for each in model.body_ipos[body])
    return Inertia(mass, Pose(center), upper_triangle(R @ np.diag(moments) @ R.T))


def _rotors(compiled: Compiled) -> dict[int, tuple[float, float]]:
    """Return {joint: (armature, damping)} that actuators reflect into joints by their gears."""
    model, found = compiled.model, dict[int, tuple[float, float]]()
    if not hasattr(model, 'actuator_armature'):  # before MuJoCo 4
        return found
    for number in range(model.nu):
        if any(
            compiled.is_type(model.actuator_trntype[number], 'mjtTrn', kind)
            for kind in ('JOINT', 'JOINTINPARENT')
        ):
            joint = int(model.actuator_trnid[number, 0])
            if compiled.turns_or_slides(joint):
                square = float(model.actuator_gear[number, 0]) ** 2
                armature, damping = found.get(joint, (0.0, 0.0))
                found[joint] = (
                    armature + square * float(model.actuator_armature[number]),
                    damping + square * float(model.actuator_damping[number]),
                )
    return found
