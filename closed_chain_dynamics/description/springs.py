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

"""Springs and assembly hints: <cc:spring> and <cc:assembly>."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.elements import (
    NO_TURN,
    Assembly,
    CouplingTerm,
    JointType,
    Numbers,
    Spring,
    Waypoint,
)
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.xml_parsing import CC

__all__ = ['read_assembly', 'read_spring']

SPRING_PARTS = {
    'linear': ('cc:from', 'cc:to'),
    'torsional': (),
    'spherical': (),
    'tendon': ('cc:term',),
    'path': ('cc:point', 'cc:wrap', 'cc:pulley'),
}
# what a law may say besides stiffness and damping
RESTS = {
    'linear': ('rest_length',),
    'torsional': ('rest_angle',),
    'spherical': ('rest_turn',),
    'tendon': ('rest_length', 'slack', 'armature'),
    'path': ('rest_length', 'slack', 'armature'),
}
BETWEEN = {'linear': 'two points', 'tendon': 'terms', 'path': 'points'}
TERM_EXAMPLE = '<cc:term joint="..." coefficients="0.02"/>'
LEAST_DIVISOR = 1e-6  # of a pulley


def read_spring(reader: Reader, element: Any) -> Spring:
    """Read a <cc:spring> between two points, on a joint, along a tendon or along a path."""
    name = reader.text(element, 'name')
    reader.remember('spring', name, element)
    kind = reader.text(element, 'type', choices=tuple(SPRING_PARTS))
    reader.ignore_unknown(element, {'cc:law', *SPRING_PARTS[kind]})
    values = _read_law(reader, element, kind)
    if kind in BETWEEN and element.get('joint') is not None:
        raise reader.error(
            element,
            f'a {kind} spring joins {BETWEEN[kind]}, not a joint',
            'Remove joint="...", or write type="torsional".',
        )
    if kind == 'linear':
        for end in ('from', 'to'):
            point = reader.child(
                element, f'cc:{end}', required=True, example=f'<cc:{end} link="..." xyz="0 0 0"/>'
            )
            values[f'{end}_link'] = reader.text(point, 'link')
            values[f'{end}_xyz'] = reader.numbers(point, 'xyz', (0.0, 0.0, 0.0), count=3)
    elif kind == 'tendon':
        terms = reader.children(element, 'cc:term') or [
            reader.child(element, 'cc:term', required=True, example=TERM_EXAMPLE)
        ]
        values['terms'] = tuple(
            CouplingTerm(reader.text(term, 'joint'), reader.numbers(term, 'coefficients', count=1))
            for term in terms
        )
    elif kind == 'path':
        values['path'] = _read_path(reader, element)
        if values['armature'] and any(point.shape for point in values['path']):
            raise reader.error(
                element,
                'an armature does not move along a path that wraps around a shape',
                'Remove the armature, or replace the shapes by points.',
            )
    else:
        values['joint'] = reader.text(element, 'joint')
    return Spring(name, kind, **values)


def _read_law(reader: Reader, element: Any, kind: str) -> dict[str, Any]:
    """Return the numbers of a <cc:law>."""
    law = reader.child(element, 'cc:law', required=True, example='<cc:law stiffness="100"/>')
    for other in dict.fromkeys(each for rests in RESTS.values() for each in rests):
        if other not in RESTS[kind] and law.get(other) is not None:
            own = f'Write {RESTS[kind][0]}="...".'
            raise reader.error(law, f'a {kind} spring has no {other}', own)
    values: dict[str, Any] = {
        'stiffness': reader.number(law, 'stiffness', least=0.0),
        'damping': reader.number(law, 'damping', 0.0, least=0.0),
    }
    if kind == 'spherical':
        turn = np.array(reader.numbers(law, 'rest_turn', NO_TURN, count=4))
        size = float(np.linalg.norm(turn))
        if not size > 0.0:
            raise reader.error(law, 'rest_turn is zero, which is no rotation', 'Write x y z w.')
        values['rest_turn'] = tuple((turn / size).tolist())
        return values
    least = 0.0 if kind in ('linear', 'path') else None
    values['rest'] = reader.number(law, RESTS[kind][0], 0.0, least=least)
    for each in RESTS[kind][1:]:
        values[each] = reader.number(law, each, 0.0, least=0.0)
    return values


def _read_path(reader: Reader, element: Any) -> tuple[Waypoint, ...]:
    """Return the waypoints of a path, in the order of their tags."""
    found: list[Waypoint] = []
    begins, divisor = True, 1.0
    for tag in element.iterchildren(*(f'{{{CC}}}{part[3:]}' for part in SPRING_PARTS['path'])):
        kind = etree.QName(tag).localname
        if kind == 'pulley':
            begins, divisor = True, reader.number(tag, 'divisor', least=LEAST_DIVISOR)
            continue
        point = Waypoint(reader.text(tag, 'link'), reader.pose(tag), divisor=divisor)
        if kind == 'wrap':
            side = reader.child(tag, 'cc:side')
            ends = None
            if side is not None:
                xyz = reader.numbers(side, 'xyz', (0.0, 0.0, 0.0), count=3)
                ends = (reader.text(side, 'link'), xyz)
            point = replace(
                point,
                shape=reader.text(tag, 'shape', choices=('sphere', 'cylinder')),
                radius=reader.number(tag, 'radius', least=0.0),
                side=ends,
            )
        found.append(replace(point, begins=begins and bool(found)))
        begins = False
    _check_path(reader, element, found)
    return tuple(found)


def _check_path(reader: Reader, element: Any, path: list[Waypoint]) -> None:
    """Refuse a path whose branches do not lead from point to point."""
    starts = [k for k, point in enumerate(path) if point.begins or not k]
    for start, end in zip(starts, [*starts[1:], len(path)]):
        shapes = [bool(point.shape) for point in path[start:end]]
        two = any(one and other for one, other in pairwise(shapes))
        if len(shapes) < 2 or shapes[0] or shapes[-1] or two:
            break
    else:
        if path:
            return
    raise reader.error(
        element,
        'its path does not lead from point to point',
        'Begin and end every branch with a <cc:point>, with one <cc:wrap> at most between two.',
    )


def read_assembly(reader: Reader, element: Any) -> Assembly:
    """Read a <cc:assembly>."""
    name = reader.text(element, 'name')
    reader.remember('assembly', name, element)
    reader.ignore_unknown(element, {'cc:joint'})
    return Assembly(
        name,
        tuple(
            (reader.text(joint, 'name'), _read_position(reader, joint))
            for joint in reader.children(element, 'cc:joint')
        ),
    )


def _read_position(reader: Reader, element: Any) -> float | Numbers:
    """Return one number as it is, several as a tuple."""
    values = reader.numbers(element, 'value', most=JointType.FLOATING.nq)
    return values[0] if len(values) == 1 else values
