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
Files in, frozen dataclasses out, and back: the only layer that reads and writes descriptions.

``read`` turns URDF, xacro, URDF+, Extended URDF, SDF or MJCF into a ``Description`` (`elements`);
``convert`` and ``write`` save one. `document` opens files safely, with `own_files` and
`xacro_packages`; `fields` reads attributes; `urdf`, `loops`, `couplings`, `springs`, `actuators`
and `foreign_spellings` read elements of URDF, `sdf*` and `mjcf*` those formats (MJCF by MuJoCo
itself); `*_writer` write, SDF at a `reference_pose`. `checks`, `inertia_checks` and `massless`
judge the whole, `bodies` merges links that are fixed to each other, `left_out` tells what found no
place, and `assignments` reads what users write of joints on a command line. It may import `errors`
alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from closed_chain_dynamics.description.actuators import resolve
from closed_chain_dynamics.description.checks import check, check_references, check_structure
from closed_chain_dynamics.description.conversion import convert
from closed_chain_dynamics.description.couplings import read_coupling, read_mimics
from closed_chain_dynamics.description.document import open_document
from closed_chain_dynamics.description.elements import (
    WORLD_LINK,
    Actuator,
    Assembly,
    Contact,
    Coupling,
    CouplingTerm,
    Description,
    Dynamics,
    Geometry,
    Inertia,
    Joint,
    JointType,
    Limit,
    LimitMoment,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Shape,
    Spring,
)
from closed_chain_dynamics.description.extended_yaml import apply_yaml, find_yaml
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.foreign_spellings import (
    FOREIGN_TAGS,
    closing_frames,
    drake_joints,
    drake_springs,
    foreign_loops,
    with_drake_rotors,
)
from closed_chain_dynamics.description.inertia_checks import settle_inertias
from closed_chain_dynamics.description.loops import read_loop
from closed_chain_dynamics.description.mjcf import read_mjcf
from closed_chain_dynamics.description.pinocchio_reader import is_pinocchio, read_pinocchio
from closed_chain_dynamics.description.pinocchio_writer import to_pinocchio
from closed_chain_dynamics.description.sdf import ROOT_JOINT, gazebo_loops, read_sdf
from closed_chain_dynamics.description.springs import read_assembly, read_spring
from closed_chain_dynamics.description.tree import Tree
from closed_chain_dynamics.description.urdf import materials, read_joint, read_link
from closed_chain_dynamics.description.urdf_parser import is_urdf_parser_robot, to_urdf_parser
from closed_chain_dynamics.description.vocabulary import check_vocabulary
from closed_chain_dynamics.description.writer import to_xml, write
from closed_chain_dynamics.description.xml_parsing import SIZE_LIMIT
from closed_chain_dynamics.errors import DescriptionError

__all__ = [
    'SIZE_LIMIT',
    'Actuator',
    'Assembly',
    'Contact',
    'Coupling',
    'CouplingTerm',
    'Description',
    'Dynamics',
    'Geometry',
    'Inertia',
    'Joint',
    'JointType',
    'Limit',
    'LimitMoment',
    'Link',
    'LoopJoint',
    'LoopType',
    'Pose',
    'Shape',
    'Spring',
    'check',
    'convert',
    'read',
    'to_pinocchio',
    'to_urdf_parser',
    'to_xml',
    'write',
]

ROBOT_TAGS = {
    'link',
    'joint',
    'material',
    'constraint',
    'loop',
    'coupling',
    'ros2_control',
    'transmission',
    'cc:spring',
    'cc:assembly',
    'cc:gravity',
}


def read(
    source: Any,
    *,
    actuated: str | Iterable[str] | None = None,
    root_joint: str = 'fixed',
    xacro_args: Mapping[str, Any] | None = None,
    inertia: str = 'check',
    cut: str | Iterable[str] = (),
) -> Description:
    """
    Read a description from a path, an XML text, or what another library has parsed.

    That is a `urdf_parser_py` robot, a `pinocchio.Model`, or a pair of one and its constraint
    models.

    `actuated` names the joints with motors and overrules the file; an empty one means none.
    `root_joint='floating'` puts the root link on a floating joint named 'root_joint' from a new
    link 'world', on which loops of the file may end. `xacro_args` are the arguments of a xacro
    file. `inertia` says what is done with inertias that no body can have, and with joints that
    move no mass: 'check' keeps inertias, and fixes joints, where the rest still moves by the laws
    of mechanics, with a note, and refuses others; 'repair' puts the nearest possible in their
    place, 'trust' takes them as they are. A file `robot.yaml` with the key `closed_loop` next to
    `robot.urdf` is read with it. In an SDF, whose joints form a graph, `cut` names joints that
    close loops.
    """
    if root_joint not in ('fixed', 'floating'):
        raise DescriptionError(
            f'root_joint is {root_joint!r}', repair="Give 'fixed' or 'floating'."
        )
    if is_pinocchio(source):
        if root_joint != 'fixed':
            raise DescriptionError(
                'a pinocchio.Model itself defines how its root moves',
                repair='Build it with pinocchio.JointModelFreeFlyer().',
            )
        return read_pinocchio(source, actuated=actuated, inertia=inertia)
    if is_urdf_parser_robot(source):
        source = source.to_xml_string()
    document = open_document(source, xacro_args=xacro_args)
    root, reader = document.root, Reader(document.label)
    if root.tag == 'mujoco':
        description = read_mjcf(
            reader, document, actuated=actuated, root_joint=root_joint, inertia=inertia
        )
        return replace(description, notes=tuple(reader.notes))
    if root.tag == 'sdf':
        description = read_sdf(
            reader, document, actuated=actuated, root_joint=root_joint, cut=cut, inertia=inertia
        )
        return replace(description, notes=tuple(reader.notes))
    check_vocabulary(reader, root)
    reader.ignore_unknown(root, ROBOT_TAGS | FOREIGN_TAGS)
    name = root.get('name')
    if not name:
        name = 'robot'
        reader.note("The robot has no name and is called 'robot'.")

    colors = materials(reader, root)
    links = tuple(read_link(reader, each, colors) for each in root.findall('link'))
    joints = tuple(read_joint(reader, each) for each in drake_joints(root))
    loops = tuple(read_loop(reader, each) for each in root.iterchildren('constraint', 'loop'))
    loops += foreign_loops(reader, root)
    yaml_file = find_yaml(document.path, reader)
    motors: tuple[tuple[str, str], ...] = ()
    if yaml_file is not None:
        links, joints, loops, motors = apply_yaml(reader, yaml_file, links, joints, loops)
    loops += gazebo_loops(reader, root, joints)
    loops += closing_frames(reader, links, loops)
    joints = with_drake_rotors(reader, root, joints)
    description = Description(name, links, joints, loops)
    check_structure(description, reader, [WORLD_LINK] if root_joint == 'floating' else [])
    if root_joint == 'floating':
        links, joints = _on_floating_joint(description, reader)

    gravity = reader.child(root, 'cc:gravity')
    tree, link_names = Tree(joints), [link.name for link in links]
    couplings = read_mimics(reader, root, joints)
    couplings += [
        read_coupling(reader, each, tree, link_names) for each in root.findall('coupling')
    ]
    joints, loops, actuators = resolve(
        reader, root, joints, loops, argument=actuated, motors=motors
    )
    description = Description(
        name,
        links,
        joints,
        loops,
        couplings=tuple(couplings),
        springs=tuple(read_spring(reader, each) for each in reader.children(root, 'cc:spring'))
        + drake_springs(reader, root),
        actuators=actuators,
        assemblies=tuple(
            read_assembly(reader, each) for each in reader.children(root, 'cc:assembly')
        ),
        gravity=None if gravity is None else reader.numbers(gravity, 'xyz', count=3),
        file=str(document.path or ''),
    )
    check_references(description, reader)
    description = settle_inertias(description, reader, inertia)
    return replace(description, notes=tuple(reader.notes))


def _on_floating_joint(
    description: Description, reader: Reader
) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    """Return links and joints with the root on a floating joint from a new link."""
    root = description.root
    above = [joint for joint in description.joints if joint.parent == root]
    if above and all(joint.type is JointType.FLOATING for joint in above):
        raise DescriptionError(
            f'the file already has a floating base, the joint {above[0].name!r}',
            file=reader.label,
            repair="Read it with root_joint='fixed'.",
        )
    taken = {link.name for link in description.links} & {WORLD_LINK}
    taken |= {joint.name for joint in description.joints} & {ROOT_JOINT}
    taken |= {loop.name for loop in description.loops} & {ROOT_JOINT}
    if taken:
        raise DescriptionError(
            f"the name {min(taken)!r}, which root_joint='floating' needs, is used in the file",
            file=reader.label,
            repair='Rename it, or write the floating joint into the file.',
        )
    floating = Joint(ROOT_JOINT, JointType.FLOATING, WORLD_LINK, root)
    return (Link(WORLD_LINK), *description.links), (floating, *description.joints)
