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

"""Bodies that touch a surface, and the books of what they do."""

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

G = 9.80665
BOOKS = 1e-6  # energy balance, relative


def free_body(
    *points,
    contact,
    mass=2.0,
    inertia=(0.02, 0.03, 0.04),
    active=True,
    tilt=0.0,
    com=(0.0, 0.0, 0.0),
):
    """Return a free body with points on a plane that is tilted about y, downhill towards +x."""
    links = (
        Link('world'),
        Link(
            'body', Inertia(mass, Pose(com), (inertia[0], 0.0, 0.0, inertia[1], 0.0, inertia[2]))
        ),
    )
    joints = (Joint('float', JointType.FLOATING, 'world', 'body'),)
    slope = Pose((0.0, 0.0, 0.0), (0.0, tilt, 0.0))
    loops = tuple(
        LoopJoint(
            f'p{k}',
            LoopType.SURFACE,
            'world',
            'body',
            slope,
            Pose(tuple(point)),
            contact=contact,
            active=active,
        )
        for k, point in enumerate(points)
    )
    return ccd.Mechanism(Description('free', links, joints, loops))


def slider(contact, *, axes='xyz', mass=2.0, active=True, tilt=0.0, shape_at=(0.0, 0.0, 0.0)):
    """Return a point mass on prismatic joints, with one contact; it cannot turn."""
    links, joints, parent = [Link('world')], [], 'world'
    for axis in axes:
        last = axis == axes[-1]
        inertia = Inertia(mass, Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)) if last else None
        links.append(Link(f'l{axis}', inertia))
        direction = tuple(float(axis == each) for each in 'xyz')
        joints.append(Joint(axis, JointType.PRISMATIC, parent, f'l{axis}', axis=direction))
        parent = f'l{axis}'
    loop = LoopJoint(
        'on',
        LoopType.SURFACE,
        'world',
        parent,
        Pose(shape_at, (0.0, tilt, 0.0)),
        contact=contact,
        active=active,
    )
    return ccd.Mechanism(Description('slider', tuple(links), tuple(joints), (loop,)))


def kinds(sim):
    """Return the kinds of all events so far."""
    return [event.kind for event in sim.events]


def books_close(sim, start):
    """Return whether the energy books close, relative to what has been turned over."""
    energy = sim.energy()
    size = max(abs(start), abs(energy.kinetic), abs(energy.dissipated), abs(energy.work), 1.0)
    return abs(energy.balance - start) < BOOKS * size


CORNERS = [(x, y, -0.1) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
