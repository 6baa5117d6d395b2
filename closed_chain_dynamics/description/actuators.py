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
Which joints have a motor.

The first source that names any decides: the API argument, cc:role, the `name_mot` list of an
Extended-URDF YAML, <ros2_control> command interfaces for effort, <transmission>. A joint with
cc:role="passive" is left out of the sources after it. Nothing is assumed. What <ros2_control>
allows as effort is respected, whoever chose the motors.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
import math
from typing import Any, TypeVar

from closed_chain_dynamics.description.elements import (
    Actuator,
    Joint,
    JointType,
    LoopJoint,
    LoopType,
)
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.errors import DescriptionError, NameNotFound

__all__ = ['resolve']

AnyJoint = TypeVar('AnyJoint', Joint, LoopJoint)
NamedJoint = tuple[str, str]  # a joint, and where it is named
EFFORT = 'effort'  # the command interface of a motor that gives torques
RIGID = (JointType.FIXED, LoopType.FIXED)


def resolve(
    reader: Reader,
    root: Any,
    joints: tuple[Joint, ...],
    loops: tuple[LoopJoint, ...],
    *,
    argument: str | Iterable[str] | None = None,
    motors: Sequence[NamedJoint] = (),
) -> tuple[tuple[Joint, ...], tuple[LoopJoint, ...], tuple[Actuator, ...]]:
    """
    Return joints, loops and actuators with the role of every joint settled.

    `motors` are (name, place) pairs of the Extended-URDF YAML. Actuators stand in the order of
    the joints, tree before loops, whatever order the source has: that order survives a save.
    """
    everything: dict[str, Joint | LoopJoint] = {each.name: each for each in joints}
    everything |= {each.name: each for each in loops}
    passive = {name for name, each in everything.items() if each.role == 'passive'}
    if argument is not None:
        argument = [argument] if isinstance(argument, str) else list(argument)
        source = 'argument'
        named: Sequence[NamedJoint] = [(name, 'the argument `actuated`') for name in argument]
        passive = set()
    else:
        by_role = [
            (name, reader.where('joint' if isinstance(each, Joint) else 'loop', name))
            for name, each in everything.items()
            if each.role == 'actuated'
        ]
        sources: tuple[tuple[str, Sequence[NamedJoint]], ...] = (
            ('cc:role', by_role),
            ('name_mot', motors),
            ('ros2_control', _ros2_control(reader, root)),
            ('transmission', _transmissions(reader, root)),
        )
        source, named = next((pair for pair in sources if pair[1]), ('', []))
    chosen = set()
    for name, place in named:
        moves = name in everything and everything[name].type not in RIGID
        if source == 'transmission' and not moves:
            reader.note(
                f'The transmission of {name!r} is left out: the joint '
                f'{"is fixed" if name in everything else "does not exist"}.'
            )
            continue
        if name not in everything:
            raise NameNotFound('joint', name, everything, file=reader.label, where=place)
        if not moves:
            raise DescriptionError(
                f'the joint {name!r} is fixed and cannot be actuated',
                file=reader.label,
                where=place,
                repair='Give the joint a type that moves, or remove the actuator.',
            )
        if name not in passive:
            chosen.add(name)
    actuators = tuple(Actuator(name, source) for name in everything if name in chosen)
    efforts = _allowed_efforts(reader, root)
    return (
        tuple(_settled(each, chosen, efforts) for each in joints),
        tuple(_settled(each, chosen, efforts) for each in loops),
        actuators,
    )


def _settled(joint: AnyJoint, chosen: set[str], efforts: dict[str, float]) -> AnyJoint:
    """Return the joint with role 'actuated' exactly when it was chosen."""
    if joint.name in efforts:
        effort = min(joint.limit.effort, efforts[joint.name])
        joint = replace(joint, limit=replace(joint.limit, effort=effort))
    if joint.name in chosen:
        return replace(joint, role='actuated')
    return replace(joint, role='') if joint.role == 'actuated' else joint


def _ros2_control(reader: Reader, root: Any) -> list[NamedJoint]:
    named = []
    for joint in root.iterfind('ros2_control/joint'):
        kinds = [each.get('name', '') for each in joint.iterfind('command_interface')]
        if EFFORT in kinds:
            named.append((joint.get('name', ''), reader.place(joint)))
        elif kinds:
            reader.note(
                f'The joint {joint.get("name", "")!r} of <ros2_control> takes '
                f'{", ".join(kinds)} but no effort: it is not counted as an actuator.'
            )
    return named


def _allowed_efforts(reader: Reader, root: Any) -> dict[str, float]:
    """Return what <ros2_control> allows as effort by joint: the smaller of |min| and |max|."""
    efforts: dict[str, float] = {}
    if root is None:
        return efforts
    for joint in root.iterfind('ros2_control/joint'):
        for interface in joint.iterfind('command_interface'):
            if interface.get('name') != EFFORT:
                continue
            for bound in interface.iterfind('param'):
                if bound.get('name') in ('min', 'max'):
                    name, value = joint.get('name', ''), _bound(reader, bound)
                    efforts[name] = min(efforts.get(name, math.inf), value)
    return efforts


def _bound(reader: Reader, element: Any) -> float:
    """Return the size of a bound, or raise."""
    try:
        value = abs(float(element.text or ''))
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise DescriptionError(
            f'the bound {element.get("name")!r} of an effort is {element.text!r}',
            file=reader.label,
            where=reader.place(element),
            repair='Give a number [N m or N].',
        )
    return value


def _transmissions(reader: Reader, root: Any) -> list[NamedJoint]:
    return [
        (joint.get('name', ''), reader.place(joint))
        for joint in root.iterfind('transmission/joint')
    ]
