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

"""What symbolic equations of a model cover: what is refused, and what they leave out."""

from collections.abc import Callable

from closed_chain_dynamics.description.elements import Joint, LoopJoint, Spring
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.model.changes import cut_joints
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['left_out_of', 'refuse_what_is_not_covered']


_NOT_EXPRESSED: dict[str, Callable[[Spring], bool]] = {
    'runs along a path': lambda spring: spring.type == 'path',
    'has an armature': lambda spring: spring.armature != 0.0,
    'has slack': lambda spring: spring.slack != 0.0,
    'sits on a ball joint': lambda spring: spring.type == 'spherical',
}


def refuse_what_is_not_covered(robot: Mechanism) -> None:
    """Refuse cut joints of the tree, some springs, and points that slide on curved surfaces."""
    if cut_joints(robot):
        raise StructureError(
            f'joint {cut_joints(robot)[0]!r} of the tree has been cut; equations are those of the '
            'tree of the file',
            where=robot.name,
            repair='Join it again, or use the numerical functions.',
        )
    for spring in robot.description.springs:
        what = next((what for what, is_so in _NOT_EXPRESSED.items() if is_so(spring)), '')
        if what:
            raise StructureError(
                f'spring {spring.name!r} {what}, which equations do not express',
                where=robot.name,
                repair='Use the numerical functions or generated code.',
            )
    for loop in robot.description.loops:
        if loop.contact and loop.contact.surface != 'plane' and robot.is_connected(loop.name):
            raise StructureError(
                f'its point slides on a {loop.contact.surface}',
                where=f'{robot.name}, loop {loop.name!r}',
                repair='Equations are derived for planes: cut it first, robot.cut(...).',
            )


def left_out_of(robot: Mechanism) -> list[str]:
    """Return sentences on what the equations of a model leave out."""
    description = robot.description
    loops = [loop for loop in description.loops if robot.is_connected(loop.name)]
    soft = [loop.name for loop in loops if loop.contact and loop.contact.stiffness]
    everything: list[Joint | LoopJoint] = [
        *description.joints,
        *(loop for loop in loops if loop.name not in soft),
    ]
    frictional = [each.name for each in everything if each.dynamics.friction]
    frictional += [
        loop.name for loop in loops if loop.name not in soft and loop.contact and loop.contact.mu
    ]
    stops = [each.name for each in everything if each.limit_moment]
    return [
        f'The equations leave out {what} {", ".join(names)}.'
        for what, names in (
            ('Coulomb friction of', frictional),
            ('limit moments of', stops),
            ('soft contacts:', soft),
        )
        if names
    ]
