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
What a study may vary: numbers of the model, and numbers of the run.

A number of the model is changed in the description, which is frozen: the result is another
mechanism. A number of the run (`RUN_PARAMETERS`) leaves the mechanism alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
import math
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.elements import (
    Description,
    Joint,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Spring,
)
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.distributions import Distribution

__all__ = ['PARAMETERS', 'RUN_PARAMETERS', 'Variation', 'changed', 'check_value', 'varied']


def _mass(link: Link, value: float, scale: bool) -> Link:
    """Return a link with another density: the inertia grows with the mass."""
    inertia = link.inertia
    assert inertia is not None  # PARAMETERS offers links with a mass only
    factor = value if scale else value / inertia.mass
    moments = tuple(factor * each for each in inertia.moments)
    return replace(link, inertia=replace(inertia, mass=factor * inertia.mass, moments=moments))


def _inertia(link: Link, value: float, scale: bool) -> Link:
    """Return a link with other moments of inertia, in proportion; the value is the largest."""
    inertia = link.inertia
    assert inertia is not None
    factor = value if scale else value / float(np.linalg.eigvalsh(inertia.tensor)[-1])
    moments = tuple(factor * each for each in inertia.moments)
    return replace(link, inertia=replace(inertia, moments=moments))


def _has_moments(link: Link) -> bool:
    return link.inertia is not None and any(link.inertia.moments)


def _dynamics(name: str) -> Callable[[Any, float, bool], Any]:
    def change(joint: Joint | LoopJoint, value: float, scale: bool) -> Joint | LoopJoint:
        value = value * getattr(joint.dynamics, name) if scale else value
        return replace(joint, dynamics=replace(joint.dynamics, **{name: value}))

    return change


def _spring(name: str) -> Callable[[Spring, float, bool], Spring]:
    def change(spring: Spring, value: float, scale: bool) -> Spring:
        given: dict[str, Any] = {name: value * getattr(spring, name) if scale else value}
        return replace(spring, **given)

    return change


def _mu(loop: LoopJoint, value: float, scale: bool) -> LoopJoint:
    """Return a loop with other friction; what holds a standing point keeps its ratio to it."""
    contact = loop.contact
    assert contact is not None  # PARAMETERS offers contacts only
    mu = value * contact.mu if scale else value
    static = contact.mu_static
    if static is not None:
        static = static * mu / contact.mu if contact.mu else max(static, mu)
    return replace(loop, contact=replace(contact, mu=mu, mu_static=static))


def _turns_rotor(joint: Joint | LoopJoint) -> bool:
    """Return whether a joint has one axis that a motor may drive."""
    if isinstance(joint, LoopJoint):
        return joint.type in (LoopType.REVOLUTE, LoopType.PRISMATIC)
    return joint.type.nv == 1


# parameter: (parts of a description that may have it, which of them do, how it is changed)
PARAMETERS: dict[str, tuple[tuple[str, ...], Callable[[Any], bool], Callable[..., Any]]] = {
    'mass': (('links',), lambda link: link.inertia is not None and link.inertia.mass > 0.0, _mass),
    'inertia': (('links',), _has_moments, _inertia),
    'stiffness': (('springs',), lambda spring: True, _spring('stiffness')),
    'rest': (('springs',), lambda spring: True, _spring('rest')),
    'damping': (('joints', 'loops'), lambda joint: True, _dynamics('damping')),
    'friction': (('joints', 'loops'), lambda joint: True, _dynamics('friction')),
    'armature': (('joints', 'loops'), _turns_rotor, _dynamics('armature')),
    'mu': (('loops',), lambda loop: loop.contact is not None, _mu),
}
ELEMENT_KINDS = {'links': 'link', 'springs': 'spring', 'joints': 'joint', 'loops': 'contact'}
# start, torques, gains and target of a joint that is held, times of events
RUN_PARAMETERS = ('q', 'v', 'tau', 'kp', 'kd', 'target', 'connect', 'cut')
ABOVE_ZERO = ('mass', 'inertia', 'length')
ANY_SIGN = ('rest', 'q', 'v', 'tau', 'target')


@dataclass(frozen=True)
class Variation:
    """
    A number of the model or of the run that is varied.

    `parameter`: mass, inertia, length, stiffness, damping, ...; `name`: of link, spring, joint or
    contact ('' for gravity); `values`: those to try, or `distribution`: where they come from;
    factors of what the model says if `scale`.
    """

    parameter: str
    name: str
    values: tuple[float, ...] = ()
    scale: bool = False
    distribution: Distribution | None = None

    @property
    def label(self) -> str:
        """Return how it is written, as in mass:arm."""
        return f'{self.parameter}:{self.name}' if self.name else self.parameter


def check_value(variation: Variation, value: float, where: str) -> None:
    """Refuse a value that its parameter cannot have."""
    lowest = -math.inf if variation.parameter in ANY_SIGN else 0.0
    nothing = variation.parameter in ABOVE_ZERO and not value
    if nothing or not (math.isfinite(value) and value >= lowest):
        raise StateError(
            f'{variation.label} cannot be {value:g}',
            where=where,
            repair='Give values above zero; all but a mass, an inertia or a length may be zero.',
        )


def varied(robot: Mechanism, variation: Variation, value: float) -> Mechanism:
    """Return a mechanism with another number: that of the variation is given this value."""
    if variation.parameter == 'gravity':
        check_value(variation, value, robot.name)
        return Mechanism(robot.description, gravity=gravity(robot, value, variation.scale))
    return Mechanism(changed(robot.description, variation, value), gravity=robot.gravity)


def changed(model: Description, variation: Variation, value: float) -> Description:
    """Return a description with another number: that of the variation is given this value."""
    check_value(variation, value, model.name)
    if variation.parameter == 'length':
        return _lengthened(model, variation, value)
    if variation.parameter not in PARAMETERS:
        raise NameNotFound(
            'parameter to vary',
            variation.parameter,
            [*PARAMETERS, 'length', 'gravity'],
            where=model.name,
        )
    groups, has_it, change = PARAMETERS[variation.parameter]
    known = [each.name for group in groups for each in getattr(model, group) if has_it(each)]
    if variation.name not in known:
        raise NameNotFound(ELEMENT_KINDS[groups[0]], variation.name, known, where=model.name)
    parts: dict[str, Any] = {
        group: tuple(
            change(each, value, variation.scale) if each.name == variation.name else each
            for each in getattr(model, group)
        )
        for group in groups
    }
    return replace(model, **parts)


def gravity(robot: Mechanism, value: float, scale: bool) -> Array:
    """Return gravity of another strength, in the direction that it has, or down."""
    present: Array = robot.gravity
    strength = np.linalg.norm(present)
    if scale:
        return value * present
    return value * present / strength if strength else np.array((0.0, 0.0, -value))


def _lengthened(model: Description, variation: Variation, value: float) -> Description:
    """
    Return a description with a longer link: all that sits on it moves away from its frame.

    The length is the distance from the frame of the link to the farthest joint on it. The mass
    stays, and the moments of inertia grow with the square of the length.
    """
    link = variation.name
    lengths = _lengths(model)
    if link not in lengths:
        raise NameNotFound('link with a length', link, lengths, where=model.name)
    factor = value if variation.scale else value / lengths[link]

    def moved(pose: Pose) -> Pose:
        return replace(pose, xyz=tuple(factor * each for each in pose.xyz))

    def heavier(each: Link) -> Link:
        if each.name != link or each.inertia is None:
            return each
        moments = tuple(factor**2 * moment for moment in each.inertia.moments)
        origin = moved(each.inertia.origin)
        return replace(each, inertia=replace(each.inertia, origin=origin, moments=moments))

    def ends(each: Spring) -> Spring:
        points: dict[str, Any] = {
            f'{end}_xyz': tuple(factor * x for x in getattr(each, f'{end}_xyz'))
            for end in ('from', 'to')
            if getattr(each, f'{end}_link') == link
        }
        return replace(each, **points)

    def frames(each: LoopJoint) -> LoopJoint:
        sides: dict[str, Any] = {
            f'{side}_origin': moved(getattr(each, f'{side}_origin'))
            for side in ('parent', 'child')
            if getattr(each, side) == link
        }
        return replace(each, **sides)

    joints = tuple(
        replace(each, origin=moved(each.origin)) if each.parent == link else each
        for each in model.joints
    )
    return replace(
        model,
        links=tuple(map(heavier, model.links)),
        joints=joints,
        loops=tuple(map(frames, model.loops)),
        springs=tuple(map(ends, model.springs)),
    )


def _lengths(model: Description) -> dict[str, float]:
    """Return {link: distance from its frame to the farthest joint, of tree or loop, on it}."""
    points: list[tuple[str, Pose]] = [(each.parent, each.origin) for each in model.joints]
    for loop in model.loops:
        points += [(loop.parent, loop.parent_origin), (loop.child, loop.child_origin)]
    lengths: dict[str, float] = {}
    for link, pose in points:
        lengths[link] = max(lengths.get(link, 0.0), float(np.linalg.norm(pose.xyz)))
    return {link: length for link, length in lengths.items() if length > 0.0}
