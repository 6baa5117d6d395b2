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
Parameters that torques are linear in: ten of every link, and what resists every joint.

Of a link: mass m, first moments m c, and moments of inertia about the origin of its frame, in its
axes (Atkeson, An and Hollerbach 1986). Of a coordinate of a joint: damping and friction, and the
armature where a joint has one coordinate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.elements import Description, Inertia, Link, Pose
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['OF_LINK', 'Parameter', 'inertia_of', 'parameters_of', 'values_of', 'with_values']


OF_LINK = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
OF_JOINT = ('damping', 'friction', 'armature')


@dataclass(frozen=True)
class Parameter:
    """One parameter: `kind` as in OF_LINK or OF_JOINT, `name` of link, joint or loop joint."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f'{self.kind}({self.name})'


def parameters_of(robot: Mechanism, friction: bool = True) -> list[Parameter]:
    """
    Return the parameters of a mechanism, in the order of the regressor's columns.

    Links without inertia have none. `friction`: whether damping, friction and armature are asked
    for; without it they are taken from the model.
    """
    model = robot.description
    links = [each.name for each in model.links if each.inertia is not None]
    found = [Parameter(kind, link) for link in links for kind in OF_LINK]
    if friction:
        for joint in model.joints:
            if joint.type.nv == 1:
                found += [Parameter(kind, joint.name) for kind in OF_JOINT]
        for loop in robot.loop_names:
            if loop in robot.loop_coordinate_names:  # of one coordinate
                found += [Parameter(kind, loop) for kind in OF_JOINT]
    return found


def values_of(robot: Mechanism, parameters: Sequence[Parameter]) -> Array:
    """Return what the model says about parameters, pi."""
    model = robot.description
    links = {each.name: _ten(each) for each in model.links if each.inertia is not None}
    joints = {each.name: each.dynamics for each in model.all_joints}
    return np.array(
        [
            links[each.name][OF_LINK.index(each.kind)]
            if each.kind in OF_LINK
            else getattr(joints[each.name], each.kind)
            for each in parameters
        ]
    )


def _ten(link: Link) -> Array:
    """Return the ten parameters of a link."""
    inertia = link.inertia
    assert inertia is not None
    c = inertia.origin.position
    about_origin = inertia.tensor + inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([inertia.mass, *(inertia.mass * c), *about_origin[np.triu_indices(3)]])


def inertia_of(ten: Array) -> Inertia:
    """Return mass, centre and moments about it from ten parameters with a mass above zero."""
    mass, c = float(ten[0]), ten[1:4] / ten[0]
    tensor = np.zeros((3, 3))
    tensor[np.triu_indices(3)] = ten[4:]
    tensor += np.triu(tensor, 1).T
    tensor -= mass * (c @ c * np.eye(3) - np.outer(c, c))
    moments = tuple(tensor[np.triu_indices(3)].tolist())
    return Inertia(mass, Pose(tuple(c.tolist())), moments)


def with_values(
    model: Description, parameters: Sequence[Parameter], pi: Array | Sequence[float]
) -> Description:
    """Return a description with these values of parameters."""
    given: dict[str, dict[str, float]] = {}
    for parameter, value in zip(parameters, pi):
        given.setdefault(parameter.name, {})[parameter.kind] = float(value)

    def dynamics(each: Any) -> Any:
        mine: Mapping[str, float] = given.get(each.name, {})
        changed = {kind: mine[kind] for kind in OF_JOINT if kind in mine}
        return replace(each, dynamics=replace(each.dynamics, **changed))

    def link(each: Link) -> Link:
        mine = given.get(each.name, {})
        if each.inertia is None or 'm' not in mine:
            return each
        return replace(each, inertia=inertia_of(np.array([mine[kind] for kind in OF_LINK])))

    return replace(
        model,
        links=tuple(map(link, model.links)),
        joints=tuple(map(dynamics, model.joints)),
        loops=tuple(map(dynamics, model.loops)),
    )
