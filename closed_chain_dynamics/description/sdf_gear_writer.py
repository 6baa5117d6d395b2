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

"""Gear pairs as joints of type gearbox: two links that turn about axes on a carrier."""

from collections.abc import Iterable

from lxml import etree
import numpy as np

from closed_chain_dynamics.arrays import Matrix
from closed_chain_dynamics.description.elements import Coupling, Description, JointType
from closed_chain_dynamics.description.sdf_frames import Offset
from closed_chain_dynamics.description.sdf_joint_writer import SdfJointWriter, add_text
from closed_chain_dynamics.description.tree import Tree, parallel

__all__ = ['write_gears']


def write_gears(
    joints: SdfJointWriter,
    description: Description,
    couplings: Iterable[Coupling],
    places: dict[str, Offset],
) -> list[Coupling]:
    """Write the couplings that are gear pairs, closed in the pose of the file; return the rest."""
    tree, rest = Tree(description.joints), []
    for coupling in couplings:
        axes = [
            _axis(tree, coupling.carrier, link, places)
            for link in (coupling.successor, coupling.predecessor)
            if coupling.successor and coupling.active
        ]
        found = [axis for axis in axes if axis is not None]
        if len(found) < 2:
            rest.append(coupling)
            continue
        name = joints.names.fresh(coupling.name)
        element = joints.element(name, 'gearbox', coupling.successor, coupling.predecessor)
        add_text(element, 'gearbox_ratio', 0.0 - coupling.ratio)  # theta_1 = -ratio theta_2
        add_text(element, 'gearbox_reference_body', joints.carrier[coupling.carrier])
        for tag, axis in zip(('axis', 'axis2'), found):
            add_text(etree.SubElement(element, tag), 'xyz', axis).set('expressed_in', '__model__')
    return rest


def _axis(tree: Tree, carrier: str, link: str, places: dict[str, Offset]) -> Matrix | None:
    """Return the one axis that a link turns about on the carrier, in the world, or None."""
    axes: list[Matrix] = []
    for joint, _ in tree.path(carrier, link):
        if joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS):
            axes.append(places[joint.child][0] @ np.array(joint.axis))
        elif joint.type is not JointType.FIXED:
            return None
    if not axes or not all(parallel(axes[-1], axis) for axis in axes):
        return None
    return axes[-1]
