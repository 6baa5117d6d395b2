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

"""Where the links, joints and frames of an SDF model stand, all joints at zero."""

from collections.abc import Iterable
import math
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Matrix
from closed_chain_dynamics.description.elements import WORLD_LINK, Joint, Pose
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.rotations import rotation
from closed_chain_dynamics.description.tree import Tree
from closed_chain_dynamics.errors import NameNotFound

__all__ = [
    'MODEL',
    'Offset',
    'SdfFrames',
    'chained',
    'child_name',
    'gazebo_frames',
    'read_pose',
    'relative',
]

Offset = tuple[Matrix, Matrix]  # rotation (3, 3) and position (3,)
NO_OFFSET: Offset = (np.eye(3), np.zeros(3))
MODEL = '__model__'


def read_pose(reader: Reader, element: Any) -> Offset:
    """Return what a <pose> states, the identity for none."""
    if element is None or not (element.text or '').strip():
        return NO_OFFSET
    if element.get('rotation_format') == 'quat_xyzw':
        x, y, z, *xyzw = reader.content(element, count=7)
        return rotation([xyzw[3], *xyzw[:3]]), np.array([x, y, z])
    x, y, z, *angles = reader.content(element, count=6)
    if reader.boolean(element, 'degrees', False):
        angles = [math.radians(each) for each in angles]
    return Pose((x, y, z), tuple(angles)).rotation, np.array([x, y, z])


def chained(first: Offset, second: Offset) -> Offset:
    """Return where the second stands that is given in the first."""
    return first[0] @ second[0], first[1] + first[0] @ second[1]


def relative(base: Offset, other: Offset) -> Offset:
    """Return the other as seen from the base."""
    return base[0].T @ other[0], base[0].T @ (other[1] - base[1])


class SdfFrames:
    """
    Placements in the world by name.

    A pose is relative to the frame that `relative_to` names; without it a link is relative to the
    model, a joint to its child, a frame to what it is attached to. The model's own frame is
    attached to its canonical link, the first one unless it names another.
    """

    def __init__(self, reader: Reader, model: Any) -> None:
        self.reader = reader
        # older files name a joint as its link: the link is meant where a pose is relative to it
        self.elements = {
            each.get('name', ''): each for each in model.iterchildren('joint', 'frame', 'link')
        }
        self.elements |= {each.get('name', ''): each for each in model.iterchildren('link')}
        self.known: dict[str, Offset] = {
            WORLD_LINK: NO_OFFSET,
            MODEL: read_pose(reader, model.find('pose')),
        }
        self.pending: set[str] = set()
        first = next((each.get('name', '') for each in model.iterchildren('link')), WORLD_LINK)
        self.canonical = model.get('canonical_link', '') or first

    def of(self, name: str, user: Any) -> Offset:
        """Return the placement of a link, joint or frame that an element names."""
        name = self._full(name)
        if name in self.known:
            return self.known[name]
        if name not in self.elements:
            raise NameNotFound(
                'frame',
                name,
                [*self.elements, WORLD_LINK],
                file=self.reader.label,
                where=self.reader.place(user),
            )
        element = self.elements[name]
        if name in self.pending:
            raise self.reader.error(
                element, 'its pose is relative to itself through other frames', 'Break the circle.'
            )
        self.pending.add(name)
        self.known[name] = self.of_element(element)
        return self.known[name]

    def _full(self, name: str) -> str:
        """Return the name of the frame of a nested model, where one is meant."""
        frame = f'{name}::{MODEL}'
        return frame if name not in self.elements and frame in self.elements else name

    def of_element(self, element: Any) -> Offset:
        """Return the placement of a link, joint or frame."""
        pose = element.find('pose')
        base = pose.get('relative_to', '') if pose is not None else ''
        if not base and element.tag == 'joint':
            base = self.link_of(child_name(self.reader, element, 'child'), element)
        elif not base and element.tag == 'frame':
            base = element.get('attached_to', '')
        return chained(self.of(base or MODEL, element), read_pose(self.reader, pose))

    def link_of(self, name: str, user: Any) -> str:
        """Return the link that a frame is attached to, the link itself for a link."""
        seen = set()
        while name != WORLD_LINK and name not in seen:
            seen.add(name)
            name = self.canonical if name == MODEL else self._full(name)
            self.of(name, user)  # an unknown name is told
            element = self.elements.get(name)
            if element is None or element.tag == 'link':
                return name
            name = (
                child_name(self.reader, element, 'child')
                if element.tag == 'joint'
                else element.get('attached_to', '') or MODEL
            )
        return name


def gazebo_frames(reader: Reader, root: Any, joints: Iterable[Joint]) -> SdfFrames:
    """Return the placements of the links of a URDF, and of the joints inside its <gazebo>."""
    frames = SdfFrames(reader, root)
    frames.elements = {each.get('name', ''): each for each in root.iterfind('gazebo/joint')}
    tree = Tree(joints)
    for link in {end for joint in tree.joints for end in (joint.parent, joint.child)}:
        place = NO_OFFSET
        for joint in reversed(tree.joints_to_root(link)):
            place = chained(place, (joint.origin.rotation, joint.origin.position))
        frames.known[link] = place
    return frames


def child_name(reader: Reader, element: Any, tag: str) -> str:
    """Return the text of <parent> or <child>."""
    found = reader.child(element, tag, required=True, example=f'<{tag}>link</{tag}>')
    text = (found.text or '').strip() or found.get('link', '')
    if not text:
        raise reader.error(found, 'it names no link', f'Write <{tag}>link</{tag}>.')
    return str(text)
