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

from typing import Any

from closed_chain_dynamics.description.elements import (
    Assembly,
    CouplingTerm,
    JointType,
    Numbers,
    Spring,
)
from closed_chain_dynamics.description.fields import Reader

__all__ = ['read_assembly', 'read_spring']

SPRING_PARTS = {'linear': ('cc:from', 'cc:to'), 'torsional': (), 'tendon': ('cc:term',)}
TERM_EXAMPLE = '<cc:term joint="..." coefficients="0.02"/>'


def read_spring(reader: Reader, element: Any) -> Spring:
    """Read a <cc:spring> between two points, on a joint, or along a tendon."""
    name = reader.text(element, 'name')
    reader.remember('spring', name, element)
    kind = reader.text(element, 'type', choices=tuple(SPRING_PARTS))
    linear, turning = kind == 'linear', kind == 'torsional'
    reader.ignore_unknown(element, {'cc:law', *SPRING_PARTS[kind]})
    law = reader.child(element, 'cc:law', required=True, example='<cc:law stiffness="100"/>')
    own, other = ('rest_angle', 'rest_length') if turning else ('rest_length', 'rest_angle')
    if law.get(other) is not None:
        raise reader.error(law, f'a {kind} spring has no {other}', f'Write {own}="...".')
    values: dict[str, Any] = {
        'stiffness': reader.number(law, 'stiffness', least=0.0),
        'damping': reader.number(law, 'damping', 0.0, least=0.0),
        'rest': reader.number(law, own, 0.0, least=0.0 if linear else None),
    }
    if not turning and element.get('joint') is not None:
        between = 'two points' if linear else 'terms'
        raise reader.error(
            element,
            f'a {kind} spring joins {between}, not a joint',
            'Remove joint="...", or write type="torsional".',
        )
    if linear:
        for end in ('from', 'to'):
            point = reader.child(
                element, f'cc:{end}', required=True, example=f'<cc:{end} link="..." xyz="0 0 0"/>'
            )
            values[f'{end}_link'] = reader.text(point, 'link')
            values[f'{end}_xyz'] = reader.numbers(point, 'xyz', (0.0, 0.0, 0.0), count=3)
    elif turning:
        values['joint'] = reader.text(element, 'joint')
    else:
        terms = reader.children(element, 'cc:term') or [
            reader.child(element, 'cc:term', required=True, example=TERM_EXAMPLE)
        ]
        values['terms'] = tuple(
            CouplingTerm(reader.text(term, 'joint'), reader.numbers(term, 'coefficients', count=1))
            for term in terms
        )
    return Spring(name, kind, **values)


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
