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
A description as URDF+: loops as <loop> with predecessor and successor.

The one axis of a <loop> has the same numbers in both loop frames, so the successor's frame is
turned where they differ. What URDF+ does not know stays in the own spelling, which its readers
pass over, and is told in the report.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from closed_chain_dynamics.description.elements import Description, LoopJoint, LoopType
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.loops import LOOPS_WITH_AXIS
from closed_chain_dynamics.description.rotations import pose_of, turn
from closed_chain_dynamics.description.writer import to_element
from closed_chain_dynamics.description.xml_elements import xml_text

__all__ = ['to_urdf_plus']

ENDS = {'parent': 'predecessor', 'child': 'successor'}


def to_urdf_plus(description: Description) -> tuple[str, LeftOut]:
    """Return the XML text, and what readers of URDF+ will not see."""
    left_out = LeftOut()
    loops = tuple(_with_one_axis(loop) for loop in description.loops)
    root = to_element(replace(description, loops=loops))
    for loop, element in zip(loops, root.findall('constraint')):
        if loop.type is LoopType.UNIVERSAL:
            left_out.add('universal loops, which URDF+ has not', loop.name)
            continue
        _rewrite(element)
        if not loop.active:
            left_out.add('that a loop is open', loop.name)
    for coupling in description.couplings:
        if not coupling.successor and not coupling.name.endswith('_mimic'):
            left_out.add('couplings of joints, which URDF+ has between links', coupling.name)
    for spring in description.springs:
        left_out.add('springs', spring.name)
    return xml_text(root), left_out


def _with_one_axis(loop: LoopJoint) -> LoopJoint:
    """Return the loop with the child's frame turned so that both axes have the same numbers."""
    if loop.type not in LOOPS_WITH_AXIS or loop.type is LoopType.UNIVERSAL:
        return loop
    parent, child = np.array(loop.parent_axis), np.array(loop.child_axis)
    across = np.cross(parent, child)
    sine, cosine = float(np.linalg.norm(across)), float(parent @ child)
    if sine < 1e-12 and cosine > 0.0:
        return replace(loop, child_axis=loop.parent_axis)
    if sine < 1e-12:  # opposite: any axis at right angles turns one into the other
        across = np.cross(parent, np.eye(3)[int(np.argmin(np.abs(parent)))])
    R = turn(across / np.linalg.norm(across), float(np.arctan2(sine, cosine)))
    pose = pose_of(loop.child_origin.rotation @ R, loop.child_origin.position)
    return replace(loop, child_origin=pose, child_axis=loop.parent_axis)


def _rewrite(element: Any) -> None:
    """Turn a <constraint> into a <loop> in place."""
    element.tag = 'loop'
    if element.get('active') == 'true':
        del element.attrib['active']
    for side, tag in ENDS.items():
        end = element.find(side)
        end.tag = tag
        origin, axis = element.find(f'{side}_origin'), element.find(f'{side}_axis')
        if origin is not None:
            origin.tag = 'origin'
            end.append(origin)
        if axis is not None and side == 'parent':
            axis.tag = 'axis'
        elif axis is not None:
            element.remove(axis)
