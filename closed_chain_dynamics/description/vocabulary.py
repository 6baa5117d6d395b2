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

"""The own vocabulary of files, cc:, and the check that nobody misspells it."""

from typing import Any

from lxml import etree

from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.xml_parsing import CC
from closed_chain_dynamics.errors import nearest_names

__all__ = ['CC_ATTRIBUTES', 'CC_ELEMENTS', 'check_vocabulary']

# The cc: vocabulary: element -> attributes it takes.
CC_ELEMENTS = {
    'contact': {
        'normal',
        'unilateral',
        'mu',
        'mu_static',
        'surface',
        'radius',
        'ball',
        'wheel',
        'restitution',
        'stiffness',
        'damping',
    },
    'limit_moment': {'model', 'stiffness', 'damping', 'transition'},
    'spring': {'name', 'type', 'joint'},
    'from': {'link', 'xyz'},
    'to': {'link', 'xyz'},
    'law': {'stiffness', 'damping', 'rest_length', 'rest_angle', 'rest_turn', 'slack', 'armature'},
    'point': {'link', 'xyz'},
    'wrap': {'link', 'xyz', 'rpy', 'shape', 'radius'},
    'side': {'link', 'xyz'},
    'pulley': {'divisor'},
    'assembly': {'name'},
    'joint': {'name', 'value'},
    'term': {'joint', 'coefficients'},
    'rotor': {'inertia', 'ratio'},
    'gravity': {'xyz'},
}
# cc: attributes on elements of other vocabularies.
CC_ATTRIBUTES = {
    'joint': {'role', 'type'},
    'constraint': {'role'},
    'limit': {'restitution'},
    'loop': {'role'},
    'link': {'gravcomp'},
}


def check_vocabulary(reader: Reader, root: Any) -> None:
    """Refuse unknown cc: names anywhere in the file."""
    for element in root.iter(etree.Element):
        name = etree.QName(element)
        if element.prefix == 'cc' and name.namespace != CC:
            raise reader.error(
                element,
                f'the prefix cc means {name.namespace!r} here',
                f'Write xmlns:cc="{CC}" on <robot>.',
            )
        own = name.namespace == CC
        if own and name.localname not in CC_ELEMENTS:
            raise reader.error(
                element,
                f'there is no element <cc:{name.localname}>',
                nearest_names(name.localname, CC_ELEMENTS),
            )
        known = CC_ELEMENTS[name.localname] if own else CC_ATTRIBUTES.get(name.localname, ())
        for key in element.attrib:
            attribute = etree.QName(key)
            foreign = attribute.namespace not in (None, CC)
            if foreign or (attribute.namespace is None and not own):
                continue
            if attribute.localname not in known:
                shown = f'cc:{attribute.localname}' if attribute.namespace else attribute.localname
                raise reader.error(
                    element,
                    f'there is no attribute {shown} here',
                    nearest_names(attribute.localname, sorted(known)),
                )
