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
Couplings: gear pairs between links (URDF+), sums and polynomials of joints, and <mimic>.

A gear pair reads q_s = ratio q_p + offset. Each q is the turn of a link relative to the carrier:
the sum of the joints on the way from the carrier to the link, each counted with the direction of
its axis relative to the last one, which for parallel axes is the true relative angle.
"""

from collections.abc import Collection, Iterable
from typing import Any

from closed_chain_dynamics.description.elements import Coupling, CouplingTerm, Joint, JointType
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.foreign_spellings import drake_child
from closed_chain_dynamics.description.tree import ONE_DOF, Tree, parallel
from closed_chain_dynamics.errors import NameNotFound

__all__ = ['read_coupling', 'read_mimics']

LARGEST_DEGREE = 4
COUPLING_TAGS = {'predecessor', 'successor', 'ratio', 'offset', 'carrier', 'cc:term'}


def read_mimics(reader: Reader, root: Any, joints: Iterable[Joint]) -> list[Coupling]:
    """Return the couplings of all <mimic>; one of a fixed or missing joint is only noted."""
    types = {joint.name: joint.type for joint in joints}
    couplings = []
    for element in root.findall('joint'):
        coupling = _mimic(reader, element)
        if coupling is None:
            continue
        for term in coupling.terms:
            kind = types.get(term.joint)
            if kind is None or kind is JointType.FIXED:
                what = 'does not exist' if kind is None else 'is fixed'
                reader.note(
                    f'The mimic of {element.get("name")!r} is left out: the joint {term.joint!r} '
                    f'{what}.'
                )
                break
        else:
            couplings.append(coupling)
    return couplings


def _mimic(reader: Reader, element: Any) -> Coupling | None:
    """Return the coupling of a joint's <mimic>, or None."""
    mimic = reader.child(element, 'mimic')
    if mimic is None:
        mimic = drake_child(element, 'mimic')
    if mimic is None:
        return None
    name = element.get('name')
    leader = reader.text(mimic, 'joint')
    if leader == name:
        raise reader.error(mimic, 'a joint cannot mimic itself', 'Name another joint.')
    multiplier = reader.number(mimic, 'multiplier', 1.0)
    reader.remember('coupling', f'{name}_mimic', mimic)
    return Coupling(
        f'{name}_mimic',
        (CouplingTerm(name, (1.0,)), CouplingTerm(leader, (0.0 - multiplier,))),
        constant=0.0 - reader.number(mimic, 'offset', 0.0),
    )


def read_coupling(reader: Reader, element: Any, tree: Tree, links: Collection[str]) -> Coupling:
    """Read a <coupling> of links or of cc:term elements."""
    name = reader.text(element, 'name')
    reader.remember('coupling', name, element)
    reader.ignore_unknown(element, COUPLING_TAGS)
    active = reader.boolean(element, 'active', True)
    given = reader.child(element, 'offset')
    offset = 0.0 if given is None else reader.number(given, 'value')
    terms = reader.children(element, 'cc:term')
    if not terms:
        return _gear_pair(reader, element, name, offset, active, tree, links)
    for tag in ('predecessor', 'successor', 'ratio', 'carrier'):
        if reader.child(element, tag) is not None:
            raise reader.error(
                element,
                f'it has both <cc:term> and <{tag}>',
                'Write either joints with <cc:term>, or links with <predecessor> and <successor>.',
            )
    return Coupling(
        name,
        tuple(
            CouplingTerm(
                reader.text(term, 'joint'),
                reader.numbers(term, 'coefficients', (1.0,), most=LARGEST_DEGREE),
            )
            for term in terms
        ),
        constant=0.0 - offset,
        active=active,
    )


def _gear_pair(
    reader: Reader,
    element: Any,
    name: str,
    offset: float,
    active: bool,
    tree: Tree,
    links: Collection[str],
) -> Coupling:
    ends: dict[str, str] = {}
    for tag in ('predecessor', 'successor', 'carrier'):
        end = reader.child(
            element,
            tag,
            required=tag != 'carrier',
            example=f'<{tag} link="..."/>, or <cc:term joint="..."/> elements',
        )
        if end is None:
            ends[tag] = tree.nearest_common_ancestor(ends['predecessor'], ends['successor'])
            continue
        ends[tag] = reader.text(end, 'link')
        if ends[tag] not in links:
            raise NameNotFound(
                'link', ends[tag], links, file=reader.label, where=reader.place(end)
            )
    if ends['predecessor'] == ends['successor']:
        raise reader.error(
            element,
            f'it couples the link {ends["successor"]!r} with itself',
            'Name two different links.',
        )
    stated = reader.child(element, 'ratio')
    ratio = 1.0 if stated is None else reader.number(stated, 'value')
    sums: dict[str, float] = {}
    for tag, factor in (('successor', 1.0), ('predecessor', -ratio)):
        for joint, sign in _turn(reader, element, tree, ends['carrier'], ends[tag]):
            sums[joint] = sums.get(joint, 0.0) + factor * sign
    terms = tuple(CouplingTerm(joint, (value,)) for joint, value in sums.items() if value)
    if not terms:
        raise reader.error(
            element, 'its terms cancel, so it has no effect', 'Check ratio, links and carrier.'
        )
    return Coupling(
        name, terms, constant=0.0 - offset, ratio=ratio, offset=offset, active=active, **ends
    )


def _turn(
    reader: Reader, element: Any, tree: Tree, carrier: str, link: str
) -> list[tuple[str, int]]:
    """Return (joint name, sign) pairs whose sum is the turn of a link relative to the carrier."""
    path = [
        (joint, way)
        for joint, way in tree.path(carrier, link)
        if joint.type is not JointType.FIXED
    ]
    if not path:
        raise reader.error(
            element,
            f'the link {link!r} does not move relative to the carrier {carrier!r}',
            'Name another <carrier link="..."/>.',
        )
    for joint, _ in path:
        if joint.type not in ONE_DOF:
            raise reader.error(
                element,
                f'between the carrier {carrier!r} and {link!r} lies the '
                f'{joint.type.value} joint {joint.name!r}, which has more than one coordinate',
                'Name a <carrier link="..."/> beyond it.',
            )
    last, _ = path[-1]
    slides = last.type is JointType.PRISMATIC
    reference = tree.axis_in_root(last)
    pairs = []
    for joint, way in path:
        if (joint.type is JointType.PRISMATIC) != slides:
            continue  # a slide does not turn the link, nor does a turn slide it
        direction = parallel(tree.axis_in_root(joint), reference)
        if direction == 0:
            reader.note(
                f'In the coupling {element.get("name")!r} the axes of {joint.name!r} and '
                f'{last.name!r} are not parallel; their coordinates are summed as they '
                'are.'
            )
        pairs.append((joint.name, way * (direction or 1)))
    return pairs
