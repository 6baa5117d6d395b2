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

"""XML elements out of values: every number as exact as it is in memory."""

from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.elements import Pose
from closed_chain_dynamics.description.xml_parsing import CC

__all__ = ['add', 'add_pose', 'number_text', 'xml_text']


def xml_text(root: Any) -> str:
    """Return an element as indented text."""
    etree.indent(root, '  ')
    return str(etree.tostring(root, encoding='unicode')) + '\n'


def add(parent: Any, tag: str, **attributes: Any) -> Any:
    """Append an element; None is left out, numbers are written exactly."""
    element = etree.SubElement(parent, _qualified(tag))
    for key, value in attributes.items():
        if value is not None:
            element.set(_qualified(key.replace('cc_', 'cc:')), number_text(value))
    return element


def _qualified(tag: str) -> str:
    return f'{{{CC}}}{tag[3:]}' if tag.startswith('cc:') else tag


def number_text(value: Any) -> str:
    """Return numbers as exact as they are in memory, separated by spaces."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, str):
        return value
    if isinstance(value, (tuple, list, np.ndarray)):
        return ' '.join(number_text(each) for each in value)
    return repr(float(value))


def add_pose(parent: Any, tag: str, pose: Pose) -> None:
    """Append a pose, unless it is none."""
    if pose != Pose():
        add(parent, tag, xyz=pose.xyz, rpy=pose.rpy)
