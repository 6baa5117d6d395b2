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
Linkages that are described in one closed pose, and their motion in closed form.

`linkage` takes bodies and joints where they stand in the world at that pose; which joints close
the loops is its argument, so that one mechanism can be cut in any place and keeps the meaning of
every coordinate: how far body `two` has moved against body `one` since the pose.

Planar motion is written with complex numbers: the frame of a body is its origin and its angle.
`derivatives` and `virtual_work` differentiate such closed forms with many digits, and so give
velocities, accelerations and forces that owe nothing to the package.
"""

from dataclasses import dataclass

import mpmath
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Actuator,
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Limit,
    LimitMoment,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

__all__ = [
    'Body',
    'GRAVITY',
    'Joined',
    'Rod',
    'accelerations',
    'at_joints',
    'configuration',
    'derivatives',
    'linkage',
    'motion',
    'moving_state',
    'planar_linkage',
    'virtual_work',
]

GRAVITY = (0.0, -9.81, 0.0)  # y is up
DIGITS = 40  # of the closed forms; their derivatives keep more than half of them
LOOP_TYPES = {
    JointType.CONTINUOUS: LoopType.REVOLUTE,
    JointType.REVOLUTE: LoopType.REVOLUTE,
    JointType.PRISMATIC: LoopType.PRISMATIC,
    JointType.SPHERICAL: LoopType.SPHERICAL,
}


# --- descriptions --------------------------------------------------------------------------------
@dataclass(frozen=True)
class Body:
    """Mass [kg], centre of mass in the world at the pose, and moments of inertia about it."""

    mass: float
    com: tuple
    moments: tuple = (0.01, 0.0, 0.0, 0.01, 0.0, 0.01)


@dataclass(frozen=True)
class Joined:
    """A joint between two bodies, at a point and along an axis of the world at the pose."""

    name: str
    one: str
    two: str
    point: tuple
    axis: tuple = (0.0, 0.0, 1.0)
    kind: JointType = JointType.CONTINUOUS
    dynamics: Dynamics = Dynamics()
    limit: Limit = Limit()
    limit_moment: 'LimitMoment | None' = None


def linkage(name, bodies, joints, *, cut=(), actuated=(), springs=(), couplings=()):
    """
    Return the description of a mechanism on 'ground' whose joints `cut` close the loops.

    A body's frame stands in the joint that carries it, parallel to the world at the pose. A joint
    met from its far side turns about the opposite axis, which keeps the sign of its coordinate.
    """
    place, tree, waiting = {'ground': np.zeros(3)}, [], ['ground']
    while waiting:
        body = waiting.pop(0)
        for joint in joints:
            if joint.name in cut or body not in (joint.one, joint.two):
                continue
            ahead = body == joint.one
            child = joint.two if ahead else joint.one
            if child in place:
                continue
            place[child] = np.array(joint.point, dtype=float)
            axis = np.array(joint.axis, dtype=float) * (1.0 if ahead else -1.0)
            tree.append(
                Joint(
                    joint.name,
                    joint.kind,
                    body,
                    child,
                    _pose(place[child] - place[body]),
                    tuple(axis.tolist()),
                    joint.limit,
                    joint.dynamics,
                    joint.limit_moment,
                )
            )
            waiting.append(child)
    if len(tree) + len(cut) != len(joints) or set(place) != {'ground', *bodies}:
        raise ValueError(f'cutting {list(cut)} leaves no tree')
    loops = tuple(
        LoopJoint(
            joint.name,
            LOOP_TYPES[joint.kind],
            joint.one,
            joint.two,
            _pose(np.array(joint.point) - place[joint.one]),
            _pose(np.array(joint.point) - place[joint.two]),
            joint.axis,
            joint.axis,
            limit=joint.limit,
            dynamics=joint.dynamics,
            limit_moment=joint.limit_moment,
        )
        for joint in joints
        if joint.name in cut
    )
    links = [Link('ground')] + [
        Link(
            key,
            Inertia(body.mass, _pose(np.array(body.com) - place[key]), body.moments)
            if body.mass
            else None,
        )
        for key, body in bodies.items()
    ]
    return Description(
        name,
        tuple(links),
        tuple(tree),
        loops,
        tuple(couplings),
        tuple(springs),
        tuple(Actuator(each) for each in actuated),
    )


def _pose(xyz):
    return Pose(tuple(float(x) for x in xyz))


def configuration(robot, positions):
    """Return q with the named joints (one coordinate each) where they are told to be."""
    q = robot.neutral()
    for name, value in positions.items():
        if name in robot.joint_names:
            q[robot.joint_slices(name)[0]] = float(value)
    return q


def at_joints(robot, rates):
    """Return a vector over the coordinates of the tree from values by joint name."""
    return np.array([float(rates[name]) for name in robot.coordinate_names])


def accelerations(robot, q, v, wanted):
    """Return accelerations that respect the loops, as close as they can be to those wanted."""
    J_C, _, bias = ccd.constraint_jacobian(robot, q, v)
    return wanted - np.linalg.pinv(J_C, rcond=1e-9) @ (J_C @ wanted + bias)


# --- closed forms --------------------------------------------------------------------------------
def derivatives(position, q, qd, qdd):
    """Return rate and second rate of a function of coordinates that move, by many digits."""
    with mpmath.workdps(DIGITS):
        moved = [lambda t, k=k: q[k] + qd[k] * t + qdd[k] * t * t / 2 for k in range(len(q))]
        along = [
            mpmath.diff(lambda t: position(*[each(t) for each in moved]), 0, n) for n in (1, 2)
        ]
    return [complex(each) if isinstance(each, mpmath.mpc) else float(each) for each in along]


def virtual_work(frames, rods, q, qd, qdd, gravity=0j, forces=()):
    """
    Return the generalized forces that a planar motion needs, by d'Alembert's principle.

    `frames(*q)` places every body, `rods` gives their masses; `forces` are pairs of a function
    that returns a point of attack and a constant force, both complex.
    """
    needed = np.zeros(len(q))
    attacks = [
        (lambda *at, n=name, r=rod: r.com_of(frames(*at)[n]), name, rod)
        for name, rod in rods.items()
    ]
    for com, name, rod in attacks:
        _, a = derivatives(com, q, qd, qdd)
        _, alpha = derivatives(lambda *at, n=name: frames(*at)[n][1], q, qd, qdd)
        for i, along in enumerate(np.eye(len(q))):
            step, _ = derivatives(com, q, along, 0.0 * along)
            turn, _ = derivatives(lambda *at, n=name: frames(*at)[n][1], q, along, 0.0 * along)
            needed[i] += rod.mass * ((a - gravity) * np.conj(step)).real
            needed[i] += rod.inertia * alpha * turn
    for point, force in forces:
        for i, along in enumerate(np.eye(len(q))):
            step, _ = derivatives(point, q, along, 0.0 * along)
            needed[i] -= (force * np.conj(step)).real
    return needed


@dataclass(frozen=True)
class Rod:
    """A planar body: mass, centre of mass in its own frame, moment of inertia about it."""

    mass: float
    local: complex
    inertia: float

    def com_of(self, frame):
        """Return the centre of mass in the world."""
        origin, angle = frame
        return origin + self.local * mpmath.expj(angle)


def planar_linkage(name, rods, frames, joints, *, origin, **options):
    """
    Return a mechanism of planar rods and a function from coordinates to positions of its joints.

    `joints` are (name, one, two, point or 'slide') with the point as a function of the frames;
    `origin` are the coordinates of the pose in which the linkage is described. `options` with the
    name of a joint are its dynamics and limits, others go to `linkage`.
    """
    start = frames(*origin)
    bodies = {}
    for key, rod in rods.items():
        com = complex(rod.com_of(start[key]))
        inertia = rod.inertia
        bodies[key] = Body(
            rod.mass, (com.real, com.imag, 0.0), (inertia, 0.0, 0.0, inertia, 0.0, inertia)
        )
    joined = []
    for key, one, two, point in joints:
        at = complex(point(start) if callable(point) else start[two][0])
        law = options.pop(key, {})
        if point == 'slide':
            law = {'axis': (1.0, 0.0, 0.0), 'kind': JointType.PRISMATIC, **law}
        joined.append(Joined(key, one, two, (at.real, at.imag, 0.0), **law))

    def positions(*coordinates):
        """Return how far every joint has moved from the pose of the description."""
        now = frames(*coordinates)
        moved = {}
        for key, one, two, point in joints:
            if point == 'slide':
                moved[key] = mpmath.re(now[two][0] - start[two][0])
            else:
                moved[key] = now[two][1] - now[one][1] - (start[two][1] - start[one][1])
        return moved

    return linkage(name, bodies, joined, **options), positions


def motion(positions, q, qd, qdd):
    """Return position, rate and second rate of every joint of a planar linkage, by name."""
    names = positions(*q)
    both = {name: derivatives(lambda *at, n=name: positions(*at)[n], q, qd, qdd) for name in names}
    return (
        {name: float(value) for name, value in names.items()},
        {name: rates[0] for name, rates in both.items()},
        {name: rates[1] for name, rates in both.items()},
    )


def moving_state(robot, positions, q, qd, qdd):
    """Return q, v and a of a mechanism whose closed form moves as told."""
    place, rate, second = motion(positions, q, qd, qdd)
    return configuration(robot, place), at_joints(robot, rate), at_joints(robot, second)
