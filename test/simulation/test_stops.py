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

"""Stops at the ends of a joint's range: they hold by default, and take what they must."""

from helpers.single_joints import ARM, MASS, SPIN, pendulum, slider, two_links
import numpy as np
import pytest

import closed_chain_dynamics as ccd

G = 9.80665
I_HINGE = SPIN + MASS * ARM**2
EXACT = 1e-9  # RK4 keeps its energy to 1e-10 a step, and an event is found to 1e-13 s
SAME = 1e-8  # a motion in other coordinates, over seconds [rad]


def kinds(sim):
    """Return what happened, in order."""
    return [event.kind for event in sim.events]


def start(robot, angle, speed=0.0, **options):
    """Return a simulation of a pendulum from an angle, whatever its coordinates are."""
    q = ccd.assemble(robot, {'hinge': angle}, limits=False)
    v = ccd.complete_velocity(robot, q, {'hinge': speed})
    return ccd.Simulation(robot, q=q, v=v, **options)


def angle_of(sim):
    """Return the angle of a hinge, of the tree or of a loop."""
    if 'hinge' in sim.robot.joint_names:
        return float(sim.q[0])
    return ccd.loop_positions(sim.robot, sim.q)['hinge']


@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
@pytest.mark.parametrize('cut', [False, True])
def test_a_pendulum_loses_its_speed_at_a_stop(cut, integrator):
    robot = pendulum(limits=(-0.5, 2.0), cut=cut)
    sim = start(robot, 1.0, integrator=integrator)
    energy = sim.energy().balance
    sim.run(0.8 if integrator == 'adaptive' else 1.0)
    (hit,) = sim.events
    speed = np.sqrt(2.0 * MASS * G * ARM * (np.cos(0.5) - np.cos(1.0)) / I_HINGE)
    assert (hit.kind, hit.name) == ('stop', 'hinge')
    assert hit.impulse == pytest.approx([I_HINGE * speed], rel=EXACT)
    assert hit.energy_lost == pytest.approx(0.5 * I_HINGE * speed**2, rel=EXACT)
    assert sim.energy().lost == pytest.approx(hit.energy_lost, rel=EXACT)  # and the gap
    assert sim.energy().balance == pytest.approx(energy, abs=EXACT)
    assert angle_of(sim) > -0.5  # gravity takes it away from the stop at once


@pytest.mark.parametrize('cut', [False, True])
def test_restitution_gives_back_its_share(cut):
    sim = start(pendulum(limits=(-0.5, 2.0), restitution=0.5, cut=cut), 1.0)
    sim.run(4.0)
    first, second = sim.events
    assert kinds(sim) == ['bounce', 'bounce']
    assert second.impulse == pytest.approx(0.5 * first.impulse, rel=EXACT)
    assert second.energy_lost == pytest.approx(0.25 * first.energy_lost, rel=EXACT)
    assert first.energy_lost == pytest.approx(
        0.75 * MASS * G * ARM * (np.cos(0.5) - np.cos(1.0)), rel=EXACT
    )


@pytest.mark.parametrize('cut', [False, True])
def test_a_joint_rests_at_its_stop_until_it_is_pulled_away(cut):
    robot = pendulum(limits=(0.3, 2.0), restitution=0.3, cut=cut)
    sim = start(robot, 1.0)
    sim.run(3.0)
    assert kinds(sim)[-1] == 'stop'
    assert set(kinds(sim)[:-1]) == {'bounce'}
    assert len(sim.events) < 12  # bounces end: no endless series
    assert sim.mobility() == 0
    assert angle_of(sim) == pytest.approx(0.3, abs=1e-14)
    begin, rate, weight = sim.time, 20.0, MASS * G * ARM * np.sin(0.3)

    def pull(simulation):
        return {'hinge': rate * (simulation.time - begin)}

    sim.run(weight / rate - 0.002, pull)
    assert kinds(sim)[-1] == 'stop'
    sim.run(0.01, pull)
    assert kinds(sim)[-1] == 'leave_stop'
    # the torque is constant in a step: the one in which it passes the weight
    assert sim.events[-1].time - begin == pytest.approx(weight / rate, abs=1.01 * sim.dt)
    assert sim.mobility() == 1


def test_two_links_are_one_after_their_stop():
    """By hand: the momentum about the shoulder stays, the elbow stands still."""
    robot = two_links((-0.4, 0.9))
    sim = ccd.Simulation(robot, q=[0.2, 0.5], v=[1.0, 3.0])
    sim.run(0.5)
    (hit,) = sim.events[:1]
    # upper arm and lower arm, centres at 0.5, elbow at 1: M of textbooks
    c = 0.5 * np.cos(0.9)
    M_11 = 2.0 * SPIN + MASS * (0.25 + 1.0 + 0.25 + 2.0 * c)
    M_12, M_22 = SPIN + MASS * (0.25 + c), SPIN + 0.25 * MASS
    at = np.searchsorted(sim.log.time, hit.time)
    before, after = sim.log.v[at - 1], sim.log.v[at]
    spin = M_11 * after[0] + M_12 * after[1]
    # without gravity the momentum about the shoulder is constant all the time
    start_M_11 = 2.0 * SPIN + MASS * (1.5 + np.cos(0.5))
    start_M_12 = SPIN + MASS * (0.25 + 0.5 * np.cos(0.5))
    assert spin == pytest.approx(start_M_11 * 1.0 + start_M_12 * 3.0, rel=1e-8)
    assert after[1] == pytest.approx(0.0, abs=1e-12)
    # the impulse takes the elbow's rate: (M_22 - M_12^2 / M_11) times it
    reduced = M_22 - M_12**2 / M_11
    kinetic = 0.5 * (
        start_M_11 * 1.0 + 2.0 * start_M_12 * 3.0 + M_22 * 9.0
    )  # constant up to the stop
    rate = np.sqrt((2.0 * kinetic - spin**2 / M_11) / reduced)
    assert hit.impulse == pytest.approx([-reduced * rate], rel=1e-8)
    assert hit.energy_lost == pytest.approx(0.5 * reduced * rate**2, rel=1e-8)
    assert before[1] == pytest.approx(rate, rel=1e-2)
    assert np.ptp(sim.log.balance) < 1e-9


def test_two_links_swing_on_as_one_or_part():
    """Turning freely with the elbow at its stop, the lower link presses outwards: it leaves."""
    robot = two_links((-0.4, 0.9))
    sim = ccd.Simulation(robot, q=[0.2, 0.5], v=[1.0, 3.0])
    sim.run(1.0)
    # what flies outwards straightens: at once, for the stop would have to pull
    assert sim.q[1] < 0.9
    assert np.all(sim.log.q[:, 1] <= 0.9 + 1e-9)
    assert np.all(np.diff(sim.log.lost) >= -1e-12)


@pytest.mark.parametrize('cut', [False, True])
def test_limits_can_be_switched_off(cut):
    sim = start(pendulum(limits=(-0.5, 2.0), cut=cut), 1.0, limits=False)
    sim.run(1.2)
    assert not sim.events
    assert angle_of(sim) < -0.9


def test_a_limit_moment_takes_the_place_of_the_stop():
    sim = start(pendulum(limits=(-0.5, 2.0), moment=(200.0, 0.0, 0.0)), 1.0)
    sim.run(1.0)
    assert not sim.events
    assert sim.log.q.min() < -0.51


def test_a_start_beyond_the_limit_is_told_and_goes_no_further():
    sim = start(pendulum(limits=(0.3, 2.0)), 0.1)
    sim.run(0.5)
    assert kinds(sim) == ['beyond_limit']
    assert sim.q[0] == pytest.approx(0.1, abs=1e-12)


def test_a_reset_runs_the_same_again():
    sim = start(pendulum(limits=(0.3, 2.0), restitution=0.3), 1.0)
    sim.run(3.0)
    first = sim.events, sim.log.q
    sim.reset()
    sim.run(3.0)
    assert [event.time for event in sim.events] == [event.time for event in first[0]]
    assert np.array_equal(sim.log.q, first[1])


@pytest.mark.parametrize(
    'law',
    [
        {'limits': (-8.0, 7.5), 'restitution': 0.8},
        {'spring': (1.2, 0.05, 0.5)},
        {'limits': (-8.0, 7.5), 'moment': (50.0, 0.5, 0.2)},
        {'friction': 1.5},
    ],
)
def test_a_hinge_that_closes_a_loop_counts_whole_turns(law):
    """The same pendulum, its hinge in the tree or closing a loop, over more than a turn."""
    angles = []
    for cut in (False, True):
        sim = start(pendulum(cut=cut, **law), 0.1, 11.0)
        sim.run(6.0)
        angles.append(angle_of(sim))
        assert np.ptp(sim.log.balance) < 1e-6 * sim.log.kinetic.max()
    assert abs(angles[1] - angles[0]) < SAME
    assert max(abs(angles[0]), np.abs(sim.log.v).max()) > np.pi


def test_a_cut_forgets_what_held():
    sim = start(pendulum(limits=(0.3, 2.0)), 0.3)
    sim.run(0.1)
    assert sim.mobility() == 0
    sim.cut('hinge')
    sim.run(0.1)
    assert sim.mobility() == 6
    assert sim.q[2] == pytest.approx(-0.5 * G * 0.01, abs=0.02)


def test_pushed_against_both_stops_a_slider_stays():
    sim = ccd.Simulation(slider(limits=(0.2, 0.2)), q=[0.2])
    sim.run(0.1, {'slide': 50.0})
    sim.run(0.1, {'slide': -50.0})
    assert sim.q == pytest.approx([0.2], abs=1e-14)
    assert not sim.events


def test_an_elastic_ball_between_stops_keeps_its_energy():
    sim = ccd.Simulation(slider(limits=(-1.0, 1.0), restitution=1.0), v=[3.0])
    sim.run(10.0)
    assert kinds(sim) == ['bounce'] * 15
    assert sim.q == pytest.approx([0.0], abs=1e-9)  # 30 m: 15 times the way, and half of it twice
    assert sim.energy() == pytest.approx(9.0, rel=1e-12)


def test_a_linkage_that_rattles_between_two_stops_comes_to_rest():
    """Each stop throws the other joint off, ever less: an endless series, caught at the end."""
    sim = ccd.Simulation(ccd.load('five_bar'))
    sim.run(2.0)
    assert {event.name for event in sim.events} == {'left_shoulder', 'right_shoulder'}
    assert len(sim.events) < 60
    assert sim.mobility() == 0
    assert np.ptp(sim.log.balance) < 1e-8 * 10.0
    assert np.all(np.diff(sim.log.lost) >= -1e-12)
