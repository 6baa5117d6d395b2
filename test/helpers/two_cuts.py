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
One ring of links, cut at two different joints: the same mechanism, written in two ways.

All frames stand parallel at q = 0, where the ring is closed, so that nothing has to be turned.
"""

from dataclasses import replace

from closed_chain_dynamics.description.elements import (
    Actuator,
    Description,
    Dynamics,
    Inertia,
    Joint,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

__all__ = ['ring']


def ring(points, types, axes, cut, *, armature, on, loops=()):
    """
    Return a ring world, A, B, ..., world: joint k at points[k], cut at joint number `cut`.

    The rotor sits on joint `on`, whether that is on the tree or cut. `loops`: further ones.
    """
    n = len(points)
    names = ['world', *'ABCDEFG'[: n - 1], 'world']
    joints, cuts, frames = [], [], {'world': (0.0, 0.0, 0.0)}
    order = [*range(cut), *range(n - 1, cut, -1)]  # from both ends towards the cut
    for k in order:
        parent, child = (names[k], names[k + 1]) if k < cut else (names[k + 1], names[k])
        frames[child] = points[k]
        joints.append(
            Joint(
                f'j{k}',
                types[k],
                parent,
                child,
                Pose(_minus(points[k], frames[parent])),
                axes[k],
                dynamics=Dynamics(armature=armature if k == on else 0.0),
            )
        )
    parent, child = names[cut], names[cut + 1]
    cuts.append(
        LoopJoint(
            f'j{cut}',
            LoopType(types[cut].value),
            parent,
            child,
            Pose(_minus(points[cut], frames[parent])),
            Pose(_minus(points[cut], frames[child])),
            axes[cut],
            axes[cut],
            dynamics=Dynamics(armature=armature if cut == on else 0.0),
        )
    )
    links = [Link('world')]
    for k, name in enumerate(names[1:-1]):
        middle = tuple(0.5 * (a + b) for a, b in zip(points[k], points[k + 1]))
        moments = (0.03 + 0.01 * k, 0.002, 0.001, 0.04, -0.001, 0.05)
        inertia = Inertia(1.0 + 0.3 * k, Pose(_minus(middle, frames[name])), moments)
        links.append(Link(name, inertia))
    further = [
        replace(each, child_origin=Pose(_minus(each.child_origin.xyz, frames[each.child])))
        for each in loops
    ]
    return Description(
        'ring', tuple(links), tuple(joints), (*cuts, *further), actuators=(Actuator('j0'),)
    )


def _minus(a, b):
    return tuple(x - y for x, y in zip(a, b))
