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
Numbers of a model as symbols, so that what is traced can be differentiated by them.

Names and meanings are those of studies: `mass:arm` (its inertia in proportion), `inertia:arm`
(the largest moment), `length:arm` (all that sits on the link moves away from its frame),
`stiffness:`, `rest:` of springs, `damping:`, `friction:`, `armature:` of joints of the tree.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import Source, SourceBody, SourceWaypoint
from closed_chain_dynamics.description.elements import JointType, Link, Waypoint
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.changes import cut_joints
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['PARAMETER_KINDS', 'with_parameters']

PARAMETER_KINDS = (
    'mass',
    'inertia',
    'length',
    'stiffness',
    'rest',
    'damping',
    'friction',
    'armature',
)


def with_parameters(
    robot: Mechanism, source: Source, names: Sequence[str]
) -> tuple[Source, SX, list[float]]:
    """Return the source with symbols for its parameters, the symbols, and their values."""
    p, values = ca.SX.sym('p', len(names)), []
    for n, name in enumerate(names):
        kind, _, owner = name.partition(':')
        if kind not in PARAMETER_KINDS:
            raise NameNotFound('parameter', kind, PARAMETER_KINDS, where=robot.name)
        source, value = _PUT[kind](robot, source, owner, p[n], kind)
        values.append(value)
    return replace(source, symbols=(p, tuple(values))), p, values


def _named(robot: Mechanism, kind: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise NameNotFound(kind, name, list(known), where=robot.name)
    return known[name]


def _with_body(source: Source, i: int, body: SourceBody) -> Source:
    return replace(source, bodies=(*source.bodies[:i], body, *source.bodies[i + 1 :]))


def _second_moment(m: SX, c: SX, tensor: SX) -> SX:
    """Return the moment of inertia about the origin of the body."""
    return tensor + m * (ca.sumsqr(c) * ca.SX.eye(3) - c @ c.T)


def _link(robot: Mechanism, source: Source, name: str, p: SX, kind: str) -> tuple[Source, float]:
    """Change mass, inertia or length of a link, and of the body that it is part of."""
    links = {each.name: each for each in robot.description.links if _has(each, kind)}
    link = _named(robot, f'link with {_article(kind)}', name, links)
    i, R, at = source.links[name]
    value = _value(robot, link, kind)
    factor = p / value
    if kind == 'length':
        source = _lengthened(robot, source, name, factor)
    if link.inertia is None or i == 0:
        return source, value
    body = source.bodies[i]
    if body.lift and kind != 'inertia':
        raise StateError(
            f'something outside carries part of the weight of link {name!r}: there is no '
            f'derivative with respect to its {kind}',
            where=robot.name,
            repair='Choose another parameter.',
        )
    m, c = link.inertia.mass, link.inertia.origin.position
    tensor, old = ca.DM(R @ link.inertia.tensor @ R.T), ca.DM(at + R @ c)
    mass = factor * m if kind == 'mass' else m
    centre = ca.DM(at) + (factor if kind == 'length' else 1) * ca.DM(R @ c)
    grown = tensor * (factor**2 if kind == 'length' else factor)
    total = body.mass + mass - m
    first = body.mass * ca.SX(body.com) + mass * centre - m * old
    second = _second_moment(body.mass, ca.SX(body.com), ca.SX(body.inertia))
    second += _second_moment(mass, centre, grown) - _second_moment(m, ca.SX(old), tensor)
    com = first / total
    about = second - _second_moment(total, com, ca.SX.zeros(3, 3))
    return _with_body(source, i, replace(body, mass=total, com=com, inertia=about)), value


def _article(kind: str) -> str:
    return {'mass': 'a mass', 'inertia': 'an inertia', 'length': 'a place'}[kind]


def _has(link: Link, kind: str) -> bool:
    if kind == 'length':
        return True
    return link.inertia is not None and (
        link.inertia.mass > 0.0 if kind == 'mass' else any(link.inertia.moments)
    )


def _value(robot: Mechanism, link: Link, kind: str) -> float:
    if kind == 'mass':
        return float(link.inertia.mass)  # type: ignore[union-attr]
    if kind == 'inertia':
        return float(np.linalg.eigvalsh(link.inertia.tensor)[-1])  # type: ignore[union-attr]
    model = robot.description
    points = [each.origin for each in model.joints if each.parent == link.name]
    for loop in model.loops:
        points += [loop.parent_origin] if loop.parent == link.name else []
        points += [loop.child_origin] if loop.child == link.name else []
    length = max((float(np.linalg.norm(each.xyz)) for each in points), default=0.0)
    fixed = any(j.type is JointType.FIXED and j.parent == link.name for j in model.joints)
    if length == 0.0 or fixed:
        why = 'other links are fixed to it' if fixed else 'nothing on it is away from its frame'
        raise StateError(
            f'there is no derivative with respect to the length of link {link.name!r}: {why}',
            where=robot.name,
            repair='Name another link.',
        )
    return length


def _lengthened(robot: Mechanism, source: Source, name: str, factor: SX) -> Source:
    """Move joints, loops and springs that sit on a link away from its frame."""
    at = source.links[name][2]
    joints = {each.name for each in robot.description.joints if each.parent == name}
    joints -= set(cut_joints(robot))
    loops = {each.name: each for each in robot.description.loops}
    springs = {each.name: each for each in robot.description.springs}

    def moved(point: Any) -> SX:
        return ca.SX(ca.DM(at)) + factor * (ca.SX(point) - ca.DM(at))

    bodies = tuple(
        replace(each, p_tree=moved(each.p_tree)) if i and each.name in joints else each
        for i, each in enumerate(source.bodies)
    )
    ends = []
    for loop in source.loops:
        if loops[loop.name].parent == name:
            loop = replace(loop, p_1=moved(loop.p_1))
        if loops[loop.name].child == name:
            loop = replace(loop, p_2=moved(loop.p_2))
        ends.append(loop)
    pulls = []
    for spring in source.springs:
        if spring.ends is not None:
            (one, a), (two, b) = spring.ends
            a = moved(a) if springs[spring.name].from_link == name else a
            b = moved(b) if springs[spring.name].to_link == name else b
            spring = replace(spring, ends=((one, a), (two, b)))
        if spring.path:
            along = springs[spring.name].path
            spring = replace(
                spring,
                path=tuple(
                    _moved_waypoint(own, point, name, moved)
                    for own, point in zip(spring.path, along)
                ),
            )
        pulls.append(spring)
    return replace(source, bodies=bodies, loops=tuple(ends), springs=tuple(pulls))


def _moved_waypoint(
    own: SourceWaypoint, point: Waypoint, link: str, moved: Callable[[Any], SX]
) -> SourceWaypoint:
    """Move what a path leads through or around, where it sits on a link."""
    if point.link == link:
        own = replace(own, p=moved(own.p))
    if own.side is not None and point.side is not None and point.side[0] == link:
        own = replace(own, side=(own.side[0], moved(own.side[1])))
    return own


def _spring(robot: Mechanism, source: Source, name: str, p: SX, kind: str) -> tuple[Source, float]:
    spring = _named(robot, 'spring', name, {each.name: each for each in source.springs})
    changed: Any = replace(spring, **{kind: p})
    springs = tuple(changed if each is spring else each for each in source.springs)
    return replace(source, springs=springs), float(getattr(spring, kind))


def _law(robot: Mechanism, source: Source, name: str, p: SX, kind: str) -> tuple[Source, float]:
    known = {each.name: i for i, each in enumerate(source.bodies) if i}
    i = _named(robot, 'joint', name, known)
    if name in cut_joints(robot):
        raise StateError(
            f'joint {name!r} has been cut: there is no derivative with respect to its {kind}',
            where=robot.name,
            repair='Choose another parameter.',
        )
    body = source.bodies[i]
    laws = tuple(replace(each, **{kind: p}) for each in body.laws)
    return _with_body(source, i, replace(body, laws=laws)), float(getattr(body.laws[0], kind))


_PUT: dict[str, Callable[[Mechanism, Source, str, SX, str], tuple[Source, float]]] = {
    **dict.fromkeys(('mass', 'inertia', 'length'), _link),
    **dict.fromkeys(('stiffness', 'rest'), _spring),
    **dict.fromkeys(('damping', 'friction', 'armature'), _law),
}
