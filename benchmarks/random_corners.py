#!/usr/bin/env python3
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
Random bodies on the floor, stacks and linkages at their stops: a second of each, and what it kept.

Boxes, bodies on random points, two bodies on each other, chains and closed linkages with stops and
friction in their joints, and legs that stand on feet. Whatever they do: nothing raises, events are
few, friction and impacts never give energy, the books close, loops stay closed, nothing goes
through a floor or a stop.

    python benchmarks/random_corners.py --seeds 300
    python benchmarks/random_corners.py --family stack --first 17 --seeds 1
"""

import argparse
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
import sys
import time
import warnings

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Actuator,
    Contact,
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Limit,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

G = 9.80665
MOST_EVENTS = 150  # in a second, for each contact and each joint with stops; chatter has more
BOOKS = 1e-5  # by which the books may be off, share of the energy that moves
GIVEN = 1e-8  # energy that friction or an event may give: rounding, share of the same
LOOPS = 1e-9  # error of a closed loop [m or rad]
DEPTH = 1e-8  # by which a point may be in a surface, or a joint beyond a stop [m or rad]


@dataclass
class Case:
    """A mechanism, how it starts, and the torques that act on it, one row for each part."""

    robot: ccd.Mechanism
    q: np.ndarray
    v: np.ndarray
    dt: float
    torques: np.ndarray  # (parts, actuators)
    energy: float  # that moves in it, about [J]


# --- bodies on the floor ------------------------------------------------------------------------
def _solid(rng, mass, half):
    """Return the inertia of a box of half sizes, its centre of mass a little off."""
    a, b, c = half
    moments = mass / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    centre = tuple(rng.uniform(-0.2, 0.2, 3) * half * rng.integers(2))
    return Inertia(mass, Pose(centre), (moments[0], 0.0, 0.0, moments[1], 0.0, moments[2]))


def _contact(rng):
    mu = float(rng.choice([0.0, 0.3, 0.8, rng.uniform(0.05, 1.2)], p=[0.1, 0.2, 0.2, 0.5]))
    more = float(rng.choice([1.0, 1.3]))
    bounce = float(rng.choice([0.0, 0.0, 0.3, 0.7]))
    return Contact(mu=mu, mu_static=more * mu, restitution=bounce)


def _points(points, lower, upper, contact, on, active):
    """Return contacts of points of one body, in its own frame, on a plane of another."""
    return tuple(
        LoopJoint(
            *(f'{upper}_{k}', LoopType.SURFACE, lower, upper, on, Pose(tuple(map(float, point)))),
            contact=contact,
            active=active,
        )
        for k, point in enumerate(points)
    )


def _corners(half):
    return [(x * half[0], y * half[1], -half[2]) for x in (-1, 1) for y in (-1, 1)]


def _standing(on, height):
    """Return q of a free body whose base is parallel to a plane, its centre at a height."""
    R, half = on.rotation, 0.5 * on.rpy[1]
    return np.concatenate([on.position + height * R[:, 2], [0.0, np.sin(half), 0.0, np.cos(half)]])


def _free_body(rng, mass, half, points, on, active):
    """Return the mechanism of a body with points that touch a plane."""
    loops = _points(points, 'world', 'body', _contact(rng), on, active)
    links = (Link('world'), Link('body', _solid(rng, mass, half)))
    joints = (Joint('float', JointType.FLOATING, 'world', 'body'),)
    return ccd.Mechanism(Description('body', links, joints, loops))


def _body(rng, points_of):
    """Return a free body on a slope: at rest, pushed, or thrown onto it."""
    half, mass = rng.uniform(0.05, 0.3, 3), float(rng.uniform(0.2, 5.0))
    on, start = Pose((0.0, 0.0, 0.0), (0.0, float(rng.uniform(0.0, 0.7)), 0.0)), rng.integers(3)
    robot = _free_body(rng, mass, half, points_of(half), on, bool(start < 2))
    q, v = _standing(on, half[2]), np.zeros(6)
    if start == 1:
        v[[0, 1, 5]] = rng.normal(size=3) * [1.0, 1.0, 3.0]
    elif start == 2:
        q = _standing(on, half[2] + 0.02 + np.linalg.norm(half))
        v = rng.normal(size=6) * [0.5, 0.5, 0.5, 2.0, 2.0, 2.0]
        turn = np.append(rng.normal(size=3) * 0.2, 1.0)
        q[3:] = turn / np.linalg.norm(turn)
    return robot, q, v, mass * G * 0.3


def box(rng):
    """Return a box on its four lower corners, or thrown down with all eight."""
    both = rng.integers(2)

    def points(half):
        low = _corners(half)
        return low + [(x, y, -z) for x, y, z in low] * int(both)

    return _body(rng, points) if not both else _thrown(rng, points)


def _thrown(rng, points_of):
    """Return a body with points all around, thrown onto a floor."""
    half, mass = rng.uniform(0.05, 0.3, 3), float(rng.uniform(0.2, 5.0))
    robot = _free_body(rng, mass, half, points_of(half), Pose(), False)
    turn = rng.normal(size=4)
    q = np.concatenate([[0.0, 0.0, 1.05 * np.linalg.norm(half)], turn / np.linalg.norm(turn)])
    return robot, q, rng.normal(size=6) * [1, 1, 1, 3, 3, 3], mass * G * 0.5


def tripod(rng):
    """Return a body on three to five random points of one plane."""
    count = rng.integers(3, 6)

    def points(half):
        return [(x * half[0], y * half[1], -half[2]) for x, y in rng.uniform(-1, 1, (count, 2))]

    return _body(rng, points)


def stack(rng):
    """Return a box on a box on a slope, at rest or pushed."""
    halves = rng.uniform(0.05, 0.3, (2, 3))
    masses = [float(rng.uniform(0.2, 5.0)), float(10.0 ** rng.uniform(-2.0, 1.5))]
    tilt = float(rng.choice([0.0, rng.uniform(0.0, 0.5)]))
    floor, top = Pose((0.0, 0.0, 0.0), (0.0, tilt, 0.0)), Pose((0.0, 0.0, float(halves[0, 2])))
    loops = _points(_corners(halves[0]), 'world', 'low', _contact(rng), floor, True)
    inner = np.array([*(np.minimum(halves[0, :2], halves[1, :2])), halves[1, 2]])
    loops += _points(_corners(inner), 'low', 'high', _contact(rng), top, True)
    robot = ccd.Mechanism(
        Description(
            'stack',
            (
                Link('world'),
                Link('low', _solid(rng, masses[0], halves[0])),
                Link('high', _solid(rng, masses[1], halves[1])),
            ),
            (
                Joint('f_low', JointType.FLOATING, 'world', 'low'),
                Joint('f_high', JointType.FLOATING, 'world', 'high'),
            ),
            loops,
        )
    )
    height = halves[0, 2]
    q = np.concatenate([_standing(floor, height), _standing(floor, 2.0 * height + halves[1, 2])])
    v = np.zeros(12)
    if rng.integers(2):
        v[[0, 1, 5, 6, 7, 11]] = rng.normal(size=6) * [1, 1, 3, 1, 1, 3]
    return robot, q, v, sum(masses) * G * 0.3


# --- linkages at their stops --------------------------------------------------------------------
def _dynamics(rng):
    friction = float(rng.choice([0.0, 10.0 ** rng.uniform(-3.0, 0.7)]))
    return Dynamics(float(rng.choice([0.0, 0.1])), friction)


def _limit(rng, centre=0.0):
    """Return a range around a position, sometimes just at it."""
    low, high = rng.choice([0.0, 0.05, 0.5, 1.5], 2)
    if low == high == 0.0:
        high = 0.3
    bounce = float(rng.choice([0.0, 0.0, 0.4]))
    return Limit(float(centre - low), float(centre + high), restitution=bounce)


def chain(rng):
    """Return an open chain of hinges and slides with stops and friction."""
    n = int(rng.integers(2, 6))
    links, joints = [Link('world')], []
    for k in range(n):
        half = np.array([0.15, 0.03, 0.03])
        mass = float(10.0 ** rng.uniform(-1.0, 0.7))
        links.append(Link(f'l{k}', _solid(rng, mass, half)))
        kind = JointType.PRISMATIC if rng.random() < 0.2 else JointType.REVOLUTE
        axis = tuple(map(float, np.eye(3)[rng.integers(3)]))
        place = Pose((0.3 if k else 0.0, 0.0, 0.0))
        joints.append(
            Joint(
                *(f'j{k}', kind, 'world' if k == 0 else f'l{k - 1}', f'l{k}', place, axis),
                _limit(rng),
                _dynamics(rng),
            )
        )
    motors = tuple(Actuator(f'j{k}') for k in range(n))
    robot = ccd.Mechanism(Description('chain', tuple(links), tuple(joints), actuators=motors))
    v = rng.normal(size=n) * rng.integers(2)
    return robot, np.zeros(n), v, G * n * 0.3


def linkage(rng):
    """Return a four-bar linkage whose joints, the cut one as well, have stops and friction."""
    crank, rod, rocker, base = 0.2, *rng.uniform(0.5, 0.7, 2), 0.6
    lengths = (crank, rod, rocker)
    links = [Link('world')] + [
        Link(
            f'l{k}',
            Inertia(
                float(10.0 ** rng.uniform(-1.0, 0.5)),
                Pose((0.5 * length, 0.0, 0.0)),
                (0.001, 0.0, 0.0, 0.003, 0.0, 0.003),
            ),
        )
        for k, length in enumerate(lengths)
    ]
    start = float(rng.uniform(0.3, 2.8))
    tip = crank * np.array([np.cos(start), np.sin(start)])
    reach = np.array([base, 0.0]) - tip
    d = float(np.linalg.norm(reach))
    bend = np.arccos(np.clip((rod**2 + d**2 - rocker**2) / (2.0 * rod * d), -1.0, 1.0))
    slope = float(np.arctan2(reach[1], reach[0])) + bend
    knee = tip + rod * np.array([np.cos(slope), np.sin(slope)])
    lean = float(np.arctan2(knee[1], knee[0] - base))
    axis, turn = (0.0, 0.0, 1.0), (0.5 * np.pi, 0.0, 0.0)

    def joint(name, parent, child, xyz, centre, rpy=(0.0, 0.0, 0.0)):
        return Joint(
            *(name, JointType.REVOLUTE, parent, child, Pose(xyz, rpy), axis),
            _limit(rng, centre),
            _dynamics(rng),
        )

    joints = (
        joint('crank', 'world', 'l0', (0.0, 0.0, 0.0), start, turn),
        joint('elbow', 'l0', 'l1', (crank, 0.0, 0.0), slope - start),
        joint('rocker', 'world', 'l2', (base, 0.0, 0.0), lean, turn),
    )
    cut = LoopJoint(
        *('knee', LoopType.REVOLUTE, 'l1', 'l2', Pose((rod, 0.0, 0.0)), Pose((rocker, 0.0, 0.0))),
        limit=_limit(rng, lean - slope),
        dynamics=_dynamics(rng),
    )
    robot = ccd.Mechanism(
        Description('linkage', tuple(links), joints, (cut,), actuators=(Actuator('crank'),))
    )
    q = np.array([start, slope - start, lean])
    c = ccd.coordinates(robot, q)
    v = c.W @ rng.normal(size=c.mobility) * rng.integers(2)
    return robot, q, v, G


def leg(rng):
    """Return a trunk with two legs of two links, on the points of its feet, with stops."""
    trunk = Link('trunk', _solid(rng, float(rng.uniform(1.0, 10.0)), np.array([0.1, 0.1, 0.1])))
    links = [Link('world'), trunk]
    joints = [Joint('float', JointType.FLOATING, 'world', 'trunk')]
    loops, bent, contact = (), float(rng.uniform(0.05, 0.6)), _contact(rng)
    level = bool(rng.integers(2))
    bar = Inertia(0.5, Pose((0.0, 0.0, -0.1)), (0.002, 0.0, 0.0, 0.002, 0.0, 0.0005))
    q = [np.zeros(7)]
    for side, y in (('l', 0.1), ('r', -0.1)):
        for name, parent, xyz, centre in (
            ('hip', 'trunk', (0.0, y, -0.1), -bent),
            ('knee', f'{side}_hip', (0.0, 0.0, -0.2), 2.0 * bent),
        ):
            links.append(Link(f'{side}_{name}', bar))
            joints.append(
                Joint(
                    *(f'{side}_{name}_joint', JointType.REVOLUTE, parent, f'{side}_{name}'),
                    Pose(xyz),
                    (0.0, 1.0, 0.0),
                    _limit(rng, centre),
                    _dynamics(rng),
                )
            )
            q.append([centre])
        for k, x in enumerate((-0.06, 0.06)):
            c, s = np.cos(bent), np.sin(bent)  # the sole is level, or square to the shank
            low = (c * x, 0.0, s * x - 0.2) if level else (x, 0.0, -0.2)
            loops += (
                LoopJoint(
                    *(f'{side}_foot_{k}', LoopType.SURFACE, 'world', f'{side}_knee'),
                    child_origin=Pose(tuple(map(float, low))),
                    contact=contact,
                    active=False,
                ),
            )
    names = [joint.name for joint in joints[1:]]
    robot = ccd.Mechanism(
        Description(
            *('leg', tuple(links), tuple(joints), loops),
            actuators=tuple(Actuator(name) for name in names),
        )
    )
    q = np.concatenate(q)
    q[2], q[6] = 0.55 + 0.02 * rng.integers(2), 1.0
    v = np.zeros(robot.nv)
    v[:2] = rng.normal(size=2) * 0.3 * rng.integers(2)
    return robot, q, v, 60.0


FAMILIES = {each.__name__: each for each in (box, tripod, stack, chain, linkage, leg)}


def case_of(family, seed):
    """Return the random Case of a family with a seed."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    robot, q, v, energy = FAMILIES[family](rng)
    parts = 4
    size = rng.choice([0.0, 0.3, 3.0], (parts, 1))
    torques = size * rng.normal(size=(parts, len(robot.actuator_names)))
    return Case(robot, q, v, float(rng.choice([1e-3, 2e-3, 5e-4])), torques, energy)


# --- what has to hold ---------------------------------------------------------------------------
def _depth(sim):
    """Return how deep the deepest contact point is below its plane, over the log [m]."""
    description, worst = sim.robot.description, 0.0
    contacts = [loop for loop in description.loops if loop.contact]
    if not contacts:
        return 0.0
    q = np.atleast_2d(sim.log.q)
    for pose in q[:: max(1, len(q) // 60)]:
        X = ccd.link_placements(sim.robot, pose)
        for loop in contacts:
            plane, point = X[loop.parent], X[loop.child]
            at = point[:3, :3] @ loop.child_origin.position + point[:3, 3]
            origin = plane[:3, :3] @ loop.parent_origin.position + plane[:3, 3]
            normal = plane[:3, :3] @ loop.parent_origin.rotation[:, 2]
            worst = max(worst, -float(normal @ (at - origin)))
    return worst


def _beyond(sim):
    """Return how far the worst joint of the tree is beyond its stop, over the log."""
    worst = 0.0
    for joint in sim.robot.description.joints:
        if joint.type is not JointType.FLOATING:
            q = sim.log.joint(joint.name)
            worst = max(worst, float((joint.limit.lower - q).max()))
            worst = max(worst, float((q - joint.limit.upper).max()))
    return worst


def faults_of(sim, energy, duration):
    """Return what a run has not kept, in words."""
    log, faults = sim.log, []
    moved = energy + np.abs(log.work).max() + log.kinetic.max()

    def check(name, value, most):
        if not value <= most:
            faults.append(f'{name} {value:.3g} > {most:.3g}')

    count = len(sim.robot.loop_names) + len(sim.robot.joint_names)
    check('events', len(sim.events), MOST_EVENTS * count * max(duration, 0.1))
    check('friction gives', -np.diff(log.dissipated).min(initial=0.0), GIVEN * moved)
    gained = [-event.energy_lost for event in sim.events]
    check('an event gives', max(gained, default=0.0), GIVEN * moved)
    check('books', np.abs(log.balance - log.balance[0]).max(), BOOKS * moved)
    check('loops', log.loop_error.max(), LOOPS)
    check('depth', _depth(sim), DEPTH)
    check('beyond stops', _beyond(sim), DEPTH)
    return faults


def run(case, duration=1.0):
    """Return the simulation of a case, and what it has not kept."""
    sim = ccd.Simulation(case.robot, q=case.q, v=case.v, dt=case.dt)
    try:
        for torques in case.torques:
            sim.run(duration / len(case.torques), torques)
    except ccd.ClosedChainError as error:
        return sim, [f'{type(error).__name__}: {str(error)[:150]}']
    return sim, faults_of(sim, case.energy, duration)


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--family', choices=FAMILIES, action='append')
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--seeds', type=int, default=50)
    parser.add_argument('--duration', type=float, default=1.0)
    arguments = parser.parse_args()
    warnings.simplefilter('ignore', RuntimeWarning)
    tally = Counter()
    for family in arguments.family or FAMILIES:
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            start = time.process_time()
            _, faults = run(case_of(family, seed), arguments.duration)
            tally[family, bool(faults)] += 1
            if faults:
                took = time.process_time() - start
                print(f'{family} {seed}: {"; ".join(faults)} ({took:.1f} s)', flush=True)
    for family in arguments.family or FAMILIES:
        print(f'{family}: {tally[family, False]} kept all, {tally[family, True]} did not')
    return 1 if any(failed for _, failed in tally) else 0


if __name__ == '__main__':
    sys.exit(main())
