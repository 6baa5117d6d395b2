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
The forces that need no actuator: springs, damping, friction, external wrenches.

They are compared with derivatives of energies and powers that are written down here.
"""

from dataclasses import replace

from helpers.bar_linkages import five_bar, five_bar_frames, four_bar
from helpers.comparing import ROUNDING, close
from helpers.driven_linkages import GRAVITY, POSE, mechanism
from helpers.planar_linkages import accelerations, derivatives, moving_state
from helpers.random_mechanisms import moving_joints, random_description, random_loops, random_state
import mpmath
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import (
    Actuator,
    Dynamics,
    Limit,
    LimitMoment,
    LoopType,
    Spring,
)

CHAIN = 1e-9  # the same through random mechanisms of some twenty coordinates
DIFFERENCE_STEP = 1e-6
# Central differences of energies of some ten joule: rounding 1e-15 / 1e-6, curvature 1e-12
DIFFERENCE = 1e-7


# --- springs -------------------------------------------------------------------------------------
def five_bar_with(springs=(), motors=('left', 'right'), **laws):
    """Return a five-bar with springs and laws, and a motion of it."""
    return mechanism(five_bar, motors, springs=springs, **laws)


def test_springs_on_a_five_bar_need_the_gradient_of_their_energy():
    """One between two points, one on a joint of the tree, one on the loop joint."""
    plain = five_bar_with()[0]
    ends = {'left': 0.3 + 0.1j, 'right_distal': 0.4 - 0.05j}  # in the bodies' own frames
    start = five_bar_frames(2.0, 1.2)
    xyz = {}
    for link, local in ends.items():
        origin = ccd.link_placement(plain, plain.neutral(), link)[:3, 3]
        at = complex(start[link][0] + local * mpmath.expj(start[link][1]))
        xyz[link] = (at.real - origin[0], at.imag - origin[1], 0.0)
    springs = (
        Spring(
            'stretched',
            'linear',
            130.0,
            0.0,
            0.35,
            'left',
            xyz['left'],
            'right_distal',
            xyz['right_distal'],
        ),
        Spring('wound', 'torsional', 12.0, 0.0, 0.2, joint='left_elbow'),
        Spring('closing', 'torsional', 9.0, 0.0, -0.3, joint='tip'),
    )

    def energy(left, right):
        now = five_bar_frames(left, right)
        points = [now[link][0] + local * mpmath.expj(now[link][1]) for link, local in ends.items()]
        elbow = (
            now['left_distal'][1] - now['left'][1] - (start['left_distal'][1] - start['left'][1])
        )
        tip = (
            now['right_distal'][1]
            - now['left_distal'][1]
            - (start['right_distal'][1] - start['left_distal'][1])
        )
        return (
            130 * (abs(points[1] - points[0]) - mpmath.mpf(0.35)) ** 2
            + 12 * (elbow - mpmath.mpf(0.2)) ** 2
            + 9 * (tip + mpmath.mpf(0.3)) ** 2
        ) / 2

    robot, q, v, a = five_bar_with(springs)
    expected = [derivatives(energy, POSE, along, (0.0, 0.0))[0] for along in np.eye(2)]
    with_springs = ccd.inverse_dynamics(robot, q, v, a).torques()
    without = ccd.inverse_dynamics(plain, q, v, a).torques()
    assert close([with_springs[name] - without[name] for name in ('left', 'right')], expected)


def random_closed(seed, joints=9, loops=2, damping=0.0, shares=None):
    """Return the description of a random closed mechanism, its pose and a random generator."""
    rng = np.random.default_rng(seed)
    tree = random_description(rng, joints, damping=damping, shares=shares)
    q, _, _ = random_state(rng, tree)
    closed = random_loops(rng, tree, q, loops, (LoopType.REVOLUTE, LoopType.PRISMATIC))
    return closed, q, rng


def random_springs(description, rng, damping=0.0):
    """Return springs between links, on joints of the tree and on loop joints."""
    links = [link.name for link in description.links]
    springs = [
        Spring(
            f'linear_{k}',
            'linear',
            float(rng.uniform(20, 90)),
            damping,
            float(rng.uniform(0.0, 0.5)),
            *_end(rng, links),
            *_end(rng, links),
        )
        for k in range(3)
    ]
    joints = [joint.name for joint in moving_joints(description) if joint.type.nv == 1]
    joints += [loop.name for loop in description.loops]
    springs += [
        Spring(
            f'torsional_{name}',
            'torsional',
            float(rng.uniform(5, 30)),
            damping,
            float(rng.uniform(-1.0, 1.0)),
            joint=name,
        )
        for name in joints
    ]
    return tuple(springs)


def _end(rng, links):
    return links[rng.integers(len(links))], tuple(rng.uniform(-0.3, 0.3, 3).tolist())


def joint_positions(robot, q):
    """Return the position of every joint of one coordinate, loop joints included."""
    positions = ccd.loop_positions(robot, q)
    for name in robot.joint_names:
        if name in robot.coordinate_names:
            positions[name] = q[robot.joint_slices(name)[0]][0]
    return positions


def spring_energy(robot, springs, q):
    """Return the energy stored in springs, by Hooke's law."""
    placements, positions = ccd.link_placements(robot, q), joint_positions(robot, q)
    total = 0.0
    for spring in springs:
        if spring.type == 'linear':
            ends = [
                (placements[link] @ (*xyz, 1.0))[:3]
                for link, xyz in (
                    (spring.from_link, spring.from_xyz),
                    (spring.to_link, spring.to_xyz),
                )
            ]
            stretch = np.linalg.norm(ends[1] - ends[0]) - spring.rest
        else:
            stretch = positions[spring.joint] - spring.rest
        total += 0.5 * spring.stiffness * stretch**2
    return total


def gradient(robot, energy, q):
    """Return d energy / d theta_O by central differences, (nv,)."""
    out = np.empty(robot.nv)
    for j, along in enumerate(np.eye(robot.nv)):
        ahead = energy(ccd.integrate(robot, q, DIFFERENCE_STEP * along))
        behind = energy(ccd.integrate(robot, q, -DIFFERENCE_STEP * along))
        out[j] = (ahead - behind) / (2.0 * DIFFERENCE_STEP)
    return out


@pytest.mark.parametrize('seed', range(8))
def test_in_space_springs_put_the_gradient_of_their_energy_on_every_coordinate(seed):
    description, q, rng = random_closed(seed)
    springs = random_springs(description, rng)
    plain, robot = (ccd.Mechanism(replace(description, springs=each)) for each in ((), springs))
    still = np.zeros(robot.nv)
    needed = (
        ccd.inverse_dynamics(robot, q, still, still).tau_O
        - ccd.inverse_dynamics(plain, q, still, still).tau_O
    )
    assert close(
        needed, gradient(robot, lambda at: spring_energy(robot, springs, at), q), DIFFERENCE
    )


def test_a_spring_on_an_open_loop_joint_does_nothing():
    springs = (Spring('closing', 'torsional', 9.0, 1.0, -0.3, joint='tip'),)
    robot, q, v, a = five_bar_with(springs)
    plain = five_bar_with()[0]
    closed = ccd.inverse_dynamics(robot, q, v, a).tau_O
    for each in (robot, plain):
        each.cut('tip')
    assert not close(ccd.inverse_dynamics(robot, q, v, a).tau_O, closed)
    assert close(
        ccd.inverse_dynamics(robot, q, v, a).tau_O, ccd.inverse_dynamics(plain, q, v, a).tau_O
    )


# --- losses --------------------------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(8))
def test_damping_and_friction_take_exactly_their_power(seed):
    """Power is damping times rate squared, and friction times speed; never does any come back."""
    description, q, rng = random_closed(seed)
    plain = ccd.Mechanism(description)
    law = {
        each.name: Dynamics(*rng.uniform(0.1, 3.0, 2))
        for each in (*description.joints, *description.loops)
    }
    springs = tuple(
        replace(spring, stiffness=0.0) for spring in random_springs(description, rng, damping=1.7)
    )
    robot = ccd.Mechanism(
        replace(
            description,
            springs=springs,
            joints=tuple(replace(each, dynamics=law[each.name]) for each in description.joints),
            loops=tuple(replace(each, dynamics=law[each.name]) for each in description.loops),
        )
    )
    # where no motion is possible the tree may still be asked: forces do not need the loops
    v = rng.choice((-1.0, 1.0), robot.nv) * rng.uniform(0.5, 2.0, robot.nv)
    a = accelerations(robot, q, v, rng.normal(size=robot.nv))
    lost = (
        ccd.inverse_dynamics(robot, q, v, a).tau_O - ccd.inverse_dynamics(plain, q, v, a).tau_O
    ) @ v
    rates = dict(zip(robot.coordinate_names, v))
    rates.update(zip(robot.loop_coordinate_names, ccd.loop_jacobian(robot, q) @ v))
    power = sum(
        law[name.split(':')[0]].damping * rate**2 + law[name.split(':')[0]].friction * abs(rate)
        for name, rate in rates.items()
    )
    for spring in springs:
        if spring.type == 'torsional':
            power += spring.damping * rates[spring.joint] ** 2
        else:
            ahead, behind = (
                _length(robot, spring, ccd.integrate(robot, q, sign * DIFFERENCE_STEP * v))
                for sign in (1.0, -1.0)
            )
            power += spring.damping * ((ahead - behind) / (2.0 * DIFFERENCE_STEP)) ** 2
    assert lost == pytest.approx(power, rel=DIFFERENCE)
    assert lost > 0.0


def _length(robot, spring, q):
    ends = [
        (ccd.link_placement(robot, q, link) @ (*xyz, 1.0))[:3]
        for link, xyz in ((spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz))
    ]
    return np.linalg.norm(ends[1] - ends[0])


@pytest.mark.parametrize('cut', ['pin', 'crank'])
def test_friction_is_odd_full_at_any_speed_worth_the_name_and_zero_at_rest(cut):
    """On a joint of the tree and on the same joint cut."""
    answers = []
    for friction in (0.0, 2.5):
        description, positions = four_bar(cut, crank={'dynamics': Dynamics(friction=friction)})
        robot = ccd.Mechanism(description, gravity=GRAVITY)
        answers.append(
            [
                ccd.inverse_dynamics(
                    robot, *moving_state(robot, positions, (2.2,), (rate,), (0.0,))
                ).tau_A[0]
                for rate in (0.0, 0.1, 3.0, -0.1, -3.0)
            ]
        )
    assert np.subtract(*answers[::-1]) == pytest.approx(
        [0.0, 2.5, 2.5, -2.5, -2.5], abs=ROUNDING * 100
    )


# --- external wrenches ---------------------------------------------------------------------------
@pytest.mark.parametrize('seed', range(6))
def test_an_external_wrench_takes_its_share_off_through_the_jacobian(seed):
    description, q, rng = random_closed(seed, joints=12)
    robot = ccd.Mechanism(description)
    v = rng.normal(size=robot.nv)
    a = rng.normal(size=robot.nv)
    wrenches = {link: rng.normal(size=6) for link in robot.link_names}
    expected = -sum(ccd.jacobian(robot, q, link).T @ wrench for link, wrench in wrenches.items())
    difference = (
        ccd.inverse_dynamics(robot, q, v, a, wrenches=wrenches).tau_O
        - ccd.inverse_dynamics(robot, q, v, a).tau_O
    )
    assert close(difference, expected, 1e-11)


# --- everything at once --------------------------------------------------------------------------
def test_forward_of_inverse_is_the_identity_with_every_force_on():
    springs = (
        Spring(
            'stretched',
            'linear',
            130.0,
            2.0,
            0.35,
            'left',
            (0.1, 0.2, 0.0),
            'right_distal',
            (-0.2, 0.1, 0.0),
        ),
        Spring('wound', 'torsional', 12.0, 0.4, 0.2, joint='left_elbow'),
        Spring('closing', 'torsional', 9.0, 0.3, -0.3, joint='tip'),
    )
    stop = LimitMoment('linear', 150.0, 0.7, 0.1)
    laws = {
        'left': {'dynamics': Dynamics(0.3, 0.2)},
        'right_elbow': {
            'dynamics': Dynamics(0.1, 0.4),
            'limit': Limit(-0.1, 0.1),
            'limit_moment': stop,
        },
        'tip': {'dynamics': Dynamics(0.2, 0.3), 'limit': Limit(-0.05, 0.05), 'limit_moment': stop},
    }
    wrenches = {'left_distal': (1.0, -2.0, 0.5, 0.3, -0.1, 0.9), 'right': (0.0, 3.0, 0, 0, 0, 1.0)}
    for motors in (('left', 'right'), ('tip', 'right'), ('left', 'left_elbow', 'tip', 'right')):
        robot, q, v, a = five_bar_with(springs, motors, **laws)
        result = ccd.inverse_dynamics(robot, q, v, a, wrenches=wrenches)
        assert np.abs(result.residual).max() < CHAIN
        forward = ccd.forward_dynamics(robot, q, v, result.tau_A, wrenches=wrenches)
        assert close(forward.acceleration, a, 1e-11)


@pytest.mark.parametrize('seed', range(12))
def test_random_mechanisms_with_every_force_on_come_back_from_inverse_dynamics(seed):
    description, q, rng = random_closed(seed, joints=14, damping=2.0)
    joints = tuple(
        replace(
            joint,
            dynamics=Dynamics(1.0, 0.5),
            limit=Limit(-1.0, 1.0),
            limit_moment=LimitMoment('linear', 40.0, 0.5, 0.2),
        )
        if joint.type.nv == 1
        else joint
        for joint in description.joints
    )
    loops = tuple(
        replace(
            loop,
            dynamics=Dynamics(0.7, 0.3),
            limit=Limit(-0.5, 0.5),
            limit_moment=LimitMoment('linear', 30.0, 0.4, 0.1),
        )
        for loop in description.loops
    )
    names = [joint.name for joint in moving_joints(description)]
    motors = [name for name in names if rng.random() < 0.6] + [loops[0].name]
    robot = ccd.Mechanism(
        replace(
            description,
            joints=joints,
            loops=loops,
            springs=random_springs(description, rng, 1.0),
            actuators=tuple(Actuator(name) for name in motors),
        )
    )
    c = ccd.coordinates(robot, q)
    if not c.mobility or c.condition > 1e6:
        pytest.skip('this one cannot move, or is close to a singularity')
    v = c.W @ rng.normal(size=c.mobility)
    a = accelerations(robot, q, v, rng.normal(size=robot.nv))
    wrenches = {link: rng.normal(size=6) for link in robot.link_names[::2]}
    result = ccd.inverse_dynamics(robot, q, v, a, wrenches=wrenches)
    extra = np.zeros(robot.nv)
    extra[[robot.coordinate_names.index(name) for name in c.independent]] = result.residual
    forward = ccd.forward_dynamics(robot, q, v, result.tau_A, extra=extra, wrenches=wrenches)
    size = np.abs(result.tau_O).max()
    A = c.W.T @ ccd.mass_matrix(robot, q) @ c.W
    assert (
        np.abs(
            A
            @ (forward.acceleration - a)[
                [robot.coordinate_names.index(name) for name in c.independent]
            ]
        ).max()
        < CHAIN * size
    )
