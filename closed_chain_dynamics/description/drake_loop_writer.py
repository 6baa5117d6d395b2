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

"""Loops as points that stay together, which is how Drake closes them."""

from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.elements import Dynamics, Limit, LoopJoint, LoopType
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.loops import SECOND_POINT
from closed_chain_dynamics.description.tree import Tree, parallel, turning_axis
from closed_chain_dynamics.description.xml_elements import number_text

__all__ = ['DRAKE', 'add_parts', 'write_loop']

DRAKE = 'http://drake.mit.edu'
AxisPoints = list[tuple[float, float]]  # along the axis, and across it


def write_loop(root: Any, loop: LoopJoint, tree: Tree, left_out: LeftOut) -> None:
    """Add the ball constraints of a loop, or report that there are none."""
    if not loop.active:
        left_out.add('loops that are open', loop.name, 'nothing can close them')
        return
    if loop.type is LoopType.FIXED:
        points: AxisPoints = [(0.0, 0.0), (SECOND_POINT, 0.0), (0.0, SECOND_POINT)]
        left_out.change('fixed loops are three ball constraints', loop.name)
    elif loop.type is LoopType.REVOLUTE and _turns_about_it(loop, tree):
        points = [(0.0, 0.0)]
        left_out.change(
            'hinges of loops are one ball constraint, as their links turn about that axis alone',
            loop.name,
        )
    elif loop.type is LoopType.REVOLUTE:
        points = [(0.0, 0.0), (SECOND_POINT, 0.0)]
        left_out.change('hinges of loops are two ball constraints on their axis', loop.name)
    elif loop.type in (LoopType.SPHERICAL, LoopType.UNIVERSAL):
        points = [(0.0, 0.0)]
        if loop.type is LoopType.UNIVERSAL:
            left_out.add(
                'the third axis of universal loops',
                loop.name,
                'as balls they turn about it freely',
            )
    else:
        left_out.add(
            f'{loop.type.value} loops, which Drake does not have', loop.name, 'nothing holds there'
        )
        return
    if loop.dynamics != Dynamics() or loop.limit != Limit():
        left_out.add('laws, rotors and limits of loop joints', loop.name, 'they turn freely')
    for along, across in points:
        values: dict[str, Any] = {'body_A': loop.parent, 'body_B': loop.child}
        for key, origin, axis in (
            ('p_AP', loop.parent_origin, loop.parent_axis),
            ('p_BQ', loop.child_origin, loop.child_axis),
        ):
            # a weld is held along x and y of its frame, a hinge along its axis
            welded = loop.type is LoopType.FIXED
            shift = np.array([along, across, 0.0]) if welded else along * np.array(axis)
            values[key] = origin.position + origin.rotation @ shift
        add_parts(root, 'ball_constraint', values)


def _turns_about_it(loop: LoopJoint, tree: Tree) -> bool:
    """Return whether both links of a hinge can turn about its axis alone, or not at all."""
    for link, origin, axis in (
        (loop.parent, loop.parent_origin, loop.parent_axis),
        (loop.child, loop.child_origin, loop.child_axis),
    ):
        turns = turning_axis(tree, link)
        if turns is None or (turns.any() and not parallel(turns, origin.rotation @ axis)):
            return False
    return True


def add_parts(root: Any, tag: str, values: dict[str, Any]) -> None:
    """Add <drake:tag> with a <drake:tag_key> for each value; a text is a name."""
    element = etree.SubElement(root, f'{{{DRAKE}}}{tag}')
    for key, value in values.items():
        part = etree.SubElement(element, f'{{{DRAKE}}}{tag}_{key}')
        part.set('name' if isinstance(value, str) else 'value', number_text(value))
