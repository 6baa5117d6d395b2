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
Chains and bodies that join: momentum, centre of mass and impulses.

Joined velocities are judged by the dense system of the momentum balance, with the mass matrix and
the Jacobian of the structure in which the part still flies.
"""

from dataclasses import replace

from helpers.carried_states import seated, with_grip
from helpers.random_mechanisms import (
    random_description,
    random_inertia,
    random_loops,
    random_state,
)
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Joint, JointType, Link, LoopType, Pose

CLOSED = 1e-10  # loops [m or rad]
DENSE = 1e-9  # two solutions of one system with a condition of some thousand


def two_robots(rng):
    """Return two arms on the world and two free bodies in one description, nothing connected."""
    parts, joints = [Link('world')], []
    for name in ('a', 'b'):
        above = 'world'
        for k in range(3):
            parts.append(Link(f'{name}{k}', random_inertia(rng)))
            joints.append(
                Joint(
                    f'{name}_{k}',
                    JointType.CONTINUOUS,
                    above,
                    f'{name}{k}',
                    Pose((0.4, 0.0, 0.1)),
                    (0.0, 1.0, 0.0) if k else (0.0, 0.0, 1.0),
                )
            )
            above = f'{name}{k}'
    for name in ('c', 'd'):
        parts.append(Link(name, random_inertia(rng)))
        joints.append(Joint(f'{name}_free', JointType.FLOATING, 'world', name))
    return Description('crowd', tuple(parts), tuple(joints))


def crowd():
    rng = np.random.default_rng(4)
    description = two_robots(rng)
    q, v, _ = random_state(rng, description)
    for name, parent, child in (
        ('hands', 'a2', 'b2'),
        ('catch', 'a2', 'c'),
        ('pair', 'c', 'd'),
        ('land', 'world', 'd'),
    ):
        description = with_grip(description, q, name, LoopType.SPHERICAL, parent, child)
    return ccd.Simulation(ccd.Mechanism(description), q, v, dt=1e-3)


def test_several_robots_and_free_bodies_connect_in_one_mechanism():
    sim = crowd()
    parents = sim.robot.structure.bodies[['parent', 'joint']].copy()
    free = sim.mobility()
    for count, name in enumerate(('hands', 'catch', 'pair', 'land'), start=1):
        (event,) = sim.connect(name)
        assert event.mobility_after == free - 3 * count
        assert event.energy_lost > 0.0
        assert len(event.impulse) == 3
    # parent and child stay as they are, whoever is connected to whom
    assert np.array_equal(sim.robot.structure.bodies[['parent', 'joint']], parents)
    sim.run(0.5)
    assert sim.log.loop_error.max() <= CLOSED
    sim.cut('hands', 'catch', 'pair', 'land')
    assert sim.mobility() == free


def test_two_free_bodies_that_join_keep_their_momentum():
    sim = crowd()
    sim.robot.gravity = (0.0, 0.0, 0.0)
    _, places = zip(*(sim.robot.joint_slices(f'{name}_free') for name in 'cd'))
    v = sim.v.copy()
    v[: places[0].start] = 0.0  # the arms hang still
    sim.v = v
    before = ccd.momentum(sim.robot, sim.q, sim.v)
    (event,) = sim.connect('pair')
    assert ccd.momentum(sim.robot, sim.q, sim.v) == pytest.approx(before, abs=1e-10)
    assert event.momentum_change == pytest.approx(np.zeros(6), abs=1e-10)


@pytest.mark.parametrize('joint', ['left_knee', 'left_elbow', 'left_hip', 'left_ceiling'])
def test_a_tree_joint_rejoined_in_motion_agrees_with_the_dense_momentum_balance(joint):
    """The part is stopped dead against the tree: [M -J^T; J 0] with the joint's own constraint."""
    sim = seated()
    sim.cut(joint)
    v = sim.v.copy()
    v[sim.robot.joint_slices(joint)[1]] += np.random.default_rng(3).normal(0.0, 0.5, 6)
    c = ccd.coordinates(sim.robot, sim.q)
    sim.v = c.W @ v[c.places]
    flying, q, v = sim.robot.copy(), sim.q.copy(), sim.v.copy()
    M = ccd.mass_matrix(flying, q)
    J_loops, _, _ = ccd.constraint_jacobian(flying, q)
    # velocities of all links in the structure that is joined: their span is what may remain
    (event,) = sim.connect(joint)
    names = [link.name for link in sim.robot.description.links if link.inertia]
    joined = (
        np.vstack([ccd.jacobian(sim.robot, sim.q, link) for link in names])
        @ ccd.coordinates(sim.robot, sim.q).W
    )
    apart = np.vstack([ccd.jacobian(flying, q, link) for link in names])
    allowed = np.linalg.lstsq(apart, joined, rcond=None)[0]  # in the coordinates of `flying`
    assert abs(apart @ allowed - joined).max() < 1e-9 and abs(J_loops @ allowed).max() < 1e-9
    # momentum along every motion that remains is kept
    x = np.linalg.solve(allowed.T @ M @ allowed, allowed.T @ M @ v)
    expected = apart @ allowed @ x
    found = np.concatenate([ccd.link_velocities(sim.robot, sim.q, sim.v)[link] for link in names])
    assert found == pytest.approx(expected, abs=DENSE)
    lost = 0.5 * v @ M @ v - 0.5 * x @ (allowed.T @ M @ allowed) @ x
    assert lost > 0.0 and event.energy_lost == pytest.approx(lost, abs=1e-8)
    # the joint's impulse F: momentum that neither it nor the loops gave is nobody's; and the
    # energy lost is that of F along half the relative velocity, which ends at zero
    described = next(each for each in flying.description.joints if each.name == joint)
    child = ccd.jacobian(flying, q, described.child)
    carrier = (
        ccd.jacobian(flying, q, described.parent)
        if described.parent != 'world'
        else np.zeros_like(child)
    )
    arm = (
        ccd.link_placement(flying, q, described.child)[:3, 3]
        - ccd.link_placement(flying, q, described.parent)[:3, 3]
    )
    J = child - np.vstack([carrier[:3] + np.cross(carrier[3:], arm, axisa=0).T, carrier[3:]])
    rest = M @ (allowed @ x - v) - J.T @ event.impulse
    assert abs(J_loops.T @ np.linalg.lstsq(J_loops.T, rest, rcond=1e-10)[0] - rest).max() < DENSE
    assert event.energy_lost == pytest.approx(-0.5 * event.impulse @ J @ v, abs=1e-8)


def free_system(rng, kind):
    """Return two free trees in one description that a loop joint could join, and their state."""
    one, two = (
        renamed(random_description(rng, 4, floating_root=True, massless=0.0, damping=0.0), prefix)
        for prefix in 'ab'
    )
    tree = Description('pair', (Link('world'), *one.links, *two.links), (*one.joints, *two.joints))
    q, v, _ = random_state(rng, tree)
    ends = one.links[-1].name, two.links[-1].name
    return random_loops(rng, tree, q, 1, (kind,), pairs=[ends], active=False), q, v


def renamed(tree, prefix):
    """Return a tree with other names, on the world."""
    links = {link.name: prefix + link.name for link in tree.links}
    links[tree.root] = 'world'
    return replace(
        tree,
        links=tuple(
            replace(link, name=links[link.name]) for link in tree.links if link.name != tree.root
        ),
        joints=tuple(
            replace(
                joint,
                name=prefix + joint.name,
                parent=links[joint.parent],
                child=links[joint.child],
            )
            for joint in tree.joints
        ),
    )


@pytest.mark.parametrize('kind', [LoopType.SPHERICAL, LoopType.FIXED, LoopType.REVOLUTE])
@pytest.mark.parametrize('seed', range(4))
def test_closing_a_gap_moves_neither_centre_of_mass_nor_momentum_of_a_free_system(seed, kind):
    """Two chains in free flight, some 2 cm and 2 degrees off, are joined by a loop joint."""
    rng = np.random.default_rng(seed)
    description, q, v = free_system(rng, kind)
    robot = ccd.Mechanism(description, gravity=(0.0, 0.0, 0.0))
    q = ccd.integrate(robot, q, 0.02 * rng.normal(size=robot.nv))
    sim = ccd.Simulation(robot, q, v)
    (event,) = sim.connect('loop_01', gap=0.2, angle=0.5)
    assert_free_flight_goes_on(robot, q, v, sim, event)
    assert max(sim.robot.loop_gaps(sim.q)['loop_01']) < CLOSED


def assert_free_flight_goes_on(robot, q, v, sim, event):
    """Check what a free system keeps, whatever happens within it."""
    centre, before = ccd.center_of_mass(robot, q), ccd.momentum(robot, q, v)
    assert ccd.center_of_mass(sim.robot, sim.q) == pytest.approx(centre, abs=1e-12)
    size = max(1.0, abs(before).max())
    assert ccd.momentum(sim.robot, sim.q, sim.v) == pytest.approx(before, abs=1e-10 * size)
    assert event.momentum_change == pytest.approx(np.zeros(6), abs=1e-10 * size)
    assert event.energy_lost > 0.0 and abs(event.energy_of_gap) > 1e-9
    start = ccd.energy(robot, q, v)
    assert float(sim.energy()) + event.energy_lost + event.energy_of_gap == pytest.approx(
        sum(start), abs=1e-9 * max(1.0, sum(start))
    )
    assert sim.energy().balance == pytest.approx(sum(start), abs=1e-9 * max(1.0, sum(start)))


@pytest.mark.parametrize('joint', ['left_knee', 'right_shoulder', 'left_hip'])
def test_a_limb_rejoined_in_free_flight_moves_neither_centre_of_mass_nor_momentum(joint):
    robot = ccd.load('figure', gravity=(0.0, 0.0, 0.0))
    sim = ccd.Simulation(robot, v=np.random.default_rng(2).normal(0.0, 0.5, robot.nv))
    sim.cut(joint)
    sim.run(0.02)
    flying, q, v = sim.robot.copy(), sim.q.copy(), sim.v.copy()
    (event,) = sim.connect(joint, gap=0.05, angle=0.1)
    sim.lost -= sim.events[0].energy_lost  # springs are silent while it is cut
    assert_free_flight_goes_on(flying, q, v, sim, event)


def test_the_impulse_of_a_rejoined_limb_is_what_its_momentum_gained():
    """Nothing but the knee holds a shank; a hinge passes no moment about its axis."""
    robot = ccd.load('figure')
    sim = ccd.Simulation(robot)
    sim.cut('left_knee')
    sim.v = np.random.default_rng(2).normal(0.0, 0.5, sim.robot.nv)

    def momentum_of_shank():
        link = next(link for link in robot.description.links if link.name == 'left_shank')
        X = ccd.link_placement(sim.robot, sim.q, 'left_shank')
        twist = ccd.link_velocities(sim.robot, sim.q, sim.v)['left_shank']
        arm = X[:3, :3] @ link.inertia.origin.position
        p = link.inertia.mass * (twist[:3] + np.cross(twist[3:], arm))
        R = X[:3, :3] @ link.inertia.origin.rotation
        return np.r_[p, R @ link.inertia.tensor @ R.T @ twist[3:] + np.cross(arm, p)]

    before = momentum_of_shank()
    (event,) = sim.connect('left_knee')
    assert event.impulse == pytest.approx(momentum_of_shank() - before, abs=1e-12)
    assert np.linalg.norm(event.impulse[:3]) > 0.1
    axis = ccd.link_placement(sim.robot, sim.q, 'left_shank')[:3, 1]
    assert event.impulse[3:] @ axis == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    'angle, limits', [(13.0, None), (-40.0, None), (9.0, (-10.0, 10.0)), (-9.5, (-10.0, 10.0))]
)
def test_a_rejoined_joint_has_the_whole_turns_that_it_had(angle, limits):
    rng = np.random.default_rng(0)
    joint = Joint('wheel', JointType.CONTINUOUS, 'world', 'arm', Pose(), (0.0, 1.0, 0.0))
    if limits:
        joint = replace(
            joint,
            type=JointType.REVOLUTE,
            limit=replace(joint.limit, lower=limits[0], upper=limits[1]),
        )
    robot = ccd.Mechanism(
        Description('turns', (Link('world'), Link('arm', random_inertia(rng))), (joint,))
    )
    sim = ccd.Simulation(robot, np.array([angle]), np.array([0.3]))
    sim.cut('wheel')
    sim.connect('wheel')
    assert sim.q[0] == pytest.approx(angle, abs=1e-12)
