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
Extended URDF: a tree in robot.urdf, its loops and motors in robot.yaml beside it.

`closed_loop` pairs frames (links, or joints and thus their child links) that coincide in a closed
pose, `type` says of each pair whether position ('3d') or also orientation ('6d') does; `name_mot`
lists the motors; `joint_name` and `joint_type` re-type joints of the tree as SPHERICAL, FIXED or
UJOINT_ab, two turns about the axes a and b of the joint frame.
"""

from dataclasses import replace
from pathlib import Path
import re
from typing import Any

from closed_chain_dynamics.description.document import ROBOT_SUFFIXES, read_bytes, stem_of
from closed_chain_dynamics.description.elements import (
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    Pose,
)
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.loops import loop_type
from closed_chain_dynamics.description.own_files import is_own
from closed_chain_dynamics.errors import DescriptionError, NameNotFound, nearest_names

__all__ = ['apply_yaml', 'find_yaml']

YAML_KEYS = ('closed_loop', 'type', 'name_mot', 'joint_name', 'joint_type')
AXIS_VECTORS = {'X': (1.0, 0.0, 0.0), 'Y': (0.0, 1.0, 0.0), 'Z': (0.0, 0.0, 1.0)}
UNIVERSAL = re.compile('UJOINT_([XYZ])([XYZ])')
JOINT_TYPES = ('SPHERICAL', 'FIXED', 'UJOINT_XY', 'UJOINT_YZ', 'UJOINT_ZX', 'UJOINT_ZY')


def find_yaml(path: Path | None, reader: Reader | None = None) -> Path | None:
    """
    Return the YAML file beside a URDF that describes loops, or None.

    One under another name counts where it cannot belong to another URDF; a `reader` notes it.
    """
    if path is None:
        return None
    beside = path.with_name(f'{stem_of(path)}.yaml')
    if beside.is_file():
        return beside if _describes_loops(beside, path) else None
    others = [
        each
        for each in sorted((*path.parent.glob('*.yaml'), *path.parent.glob('*.yml')))
        if _describes_loops(each, path)
    ]
    if not others or reader is None:
        return None
    stems = {stem_of(each) for each in path.parent.iterdir() if each.suffix in ROBOT_SUFFIXES}
    free = [each for each in others if each.stem not in stems]
    if len(free) == 1 and len(stems) == 1:
        reader.note(f'The loops are read from {free[0].name}, which has another name.')
        return free[0]
    if free:
        reader.note(
            f'LOOPS MAY BE MISSING: {", ".join(each.name for each in free)} beside the file '
            f'describes loops, but is not named {beside.name} and is not read.'
        )
    return None


def _describes_loops(path: Path, model: Path) -> bool:
    """Tell whether it is of this dialect; other tools keep other YAML files beside a URDF."""
    return (
        path.is_file()
        and is_own(path, model)
        and path.stat().st_size > 0
        and b'closed_loop' in read_bytes(path)
    )


def apply_yaml(
    reader: Reader,
    path: Path,
    links: tuple[Link, ...],
    joints: tuple[Joint, ...],
    loops: tuple[LoopJoint, ...],
) -> tuple[
    tuple[Link, ...], tuple[Joint, ...], tuple[LoopJoint, ...], tuple[tuple[str, str], ...]
]:
    """Return links, joints, loops, and the motors as (name, place) pairs."""
    content = _load(path)
    joints, links = _retype(reader, path, content, joints, links)
    loops += _loops(path, content, joints, links)
    for loop in loops:
        reader.places.setdefault(('loop', loop.name), [f'closed_loop in {path}'])
    unknown = sorted(set(map(str, content)) - set(YAML_KEYS))
    if unknown:
        reader.note(f'{path.name} has keys that are ignored: {", ".join(unknown)}.')
    motors = tuple((name, f'name_mot in {path}') for name in _names(path, content, 'name_mot'))
    return links, joints, loops, motors


def _load(path: Path) -> dict[str, Any]:
    import yaml  # only this dialect needs it

    try:
        content = yaml.safe_load(read_bytes(path))
    except yaml.YAMLError as error:
        mark = getattr(error, 'problem_mark', None)
        where = f'line {mark.line + 1}, column {mark.column + 1}' if mark else ''
        raise DescriptionError(
            f'the YAML is malformed: {getattr(error, "problem", None) or "unreadable"}',
            file=path,
            where=where,
            repair='Check brackets, quotes and indentation.',
        ) from None
    except RecursionError:
        raise DescriptionError(
            'the YAML is nested too deep', file=path, repair='Write plain lists of names.'
        ) from None
    if not isinstance(content, dict):
        raise DescriptionError(
            'the top of the file is not a mapping',
            file=path,
            repair=f'Write keys among {", ".join(YAML_KEYS)}.',
        )
    return content


def _names(path: Path, content: dict[str, Any], key: str) -> list[str]:
    """Return a list of names, empty where the key is missing."""
    values = content.get(key)
    values = [] if values is None else values
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise DescriptionError(
            f'{key} is not a list of names', file=path, repair=f"Write {key}: ['first', 'second']."
        )
    return values


def _same_length(path: Path, first: str, second: str, count: int, other: int) -> None:
    if count != other:
        raise DescriptionError(
            f'{first} has {count} entries, but {second} has {other}',
            file=path,
            repair=f'Give one {second} for each {first}.',
        )


def _retype(
    reader: Reader,
    path: Path,
    content: dict[str, Any],
    joints: tuple[Joint, ...],
    links: tuple[Link, ...],
) -> tuple[tuple[Joint, ...], tuple[Link, ...]]:
    names, types = _names(path, content, 'joint_name'), _names(path, content, 'joint_type')
    _same_length(path, 'joint_name', 'joint_type', len(names), len(types))
    known = [joint.name for joint in joints]
    wanted = {}
    for name, kind in zip(names, types):
        if name not in known:
            reader.note(
                f'joint_name in {path.name}: there is no joint named {name!r}, so that none '
                f'becomes {kind}, as with other readers of this dialect. '
                f'{nearest_names(name, known)}'
            )
            continue
        if kind not in ('SPHERICAL', 'FIXED') and not UNIVERSAL.fullmatch(kind):
            raise DescriptionError(
                f'{kind!r} is not a type of joint',
                file=path,
                where=f'joint_type of {name!r}',
                repair=nearest_names(kind, JOINT_TYPES),
            )
        wanted[name] = kind
    result = []
    for joint in joints:
        other = wanted.get(joint.name)
        if other is None:
            result.append(joint)
        elif other in ('SPHERICAL', 'FIXED'):
            result.append(
                replace(joint, type=JointType(other.lower()), axis=Joint.axis, limit=Limit())
            )
        else:
            middle = Link(f'{joint.name}_cross')
            links += (middle,)
            result += _universal(joint, middle.name, other[-2], other[-1])  # UJOINT_ab
    return tuple(result), links


def _universal(joint: Joint, middle: str, first: str, second: str) -> list[Joint]:
    """Return the two turns of a universal joint; the massless cross between them is `middle`."""
    return [
        replace(
            joint,
            name=f'{joint.name}_{first}',
            type=JointType.CONTINUOUS,
            child=middle,
            axis=AXIS_VECTORS[first],
            limit=Limit(),
        ),
        replace(
            joint,
            name=f'{joint.name}_{second}',
            type=JointType.CONTINUOUS,
            parent=middle,
            origin=Pose(),
            axis=AXIS_VECTORS[second],
            limit=Limit(),
        ),
    ]


def _loops(
    path: Path, content: dict[str, Any], joints: tuple[Joint, ...], links: tuple[Link, ...]
) -> tuple[LoopJoint, ...]:
    pairs = content.get('closed_loop') or []
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(end, str) for end in pair)
        for pair in pairs
    ):
        raise DescriptionError(
            'closed_loop is not a list of pairs of names',
            file=path,
            repair="Write closed_loop: [['frame_A', 'frame_B']].",
        )
    # Without types the dialect means 6d.
    types = (
        _names(path, content, 'type') if content.get('type') is not None else ['6d'] * len(pairs)
    )
    _same_length(path, 'closed_loop', 'type', len(pairs), len(types))
    link_of = {joint.name: joint.child for joint in joints}
    link_of |= {link.name: link.name for link in links}
    result = []
    for pair, text in zip(pairs, types):
        for end in pair:
            if end not in link_of:
                raise NameNotFound('link or joint', end, link_of, file=path, where='closed_loop')
        kind = loop_type(text)
        if kind is None:
            raise DescriptionError(
                f'{text!r} is not a type of loop',
                file=path,
                where=f'type of the pair {pair[0]!r}, {pair[1]!r}',
                repair="Write '3d' or '6d'.",
            )
        parent, child = (link_of[end] for end in pair)
        result.append(LoopJoint(f'{pair[0]}_{pair[1]}', kind, parent, child))
    return tuple(result)
