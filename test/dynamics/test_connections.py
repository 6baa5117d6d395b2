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

"""Connecting and cutting in a simulation: events, books, and what is refused."""

from dataclasses import replace

from helpers.impacts import blow, planar_arm, tip, with_loop
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Link, LoopJoint, LoopType, Pose, Spring
from closed_chain_dynamics.errors import NameNotFound, StructureError

EXACT = 1e-13  # a few operations on numbers of order one; their order may change
AFTER = 1e-12  # what may be left of the speed that was caught [m/s or rad/s]
BALANCE = 1e-9  # of energies of some hundred joules: a few roundings of each term


def flying_figure(**options):
    """Return a figure that swings on the bar by its left hand, and still turns upwards."""
    robot = ccd.load('high_bar')
    sim = ccd.Simulation(robot, **options)
    sim.cut('right_grip')
    rng = np.random.default_rng(5)
    c = ccd.coordinates(sim.robot, sim.q)
    sim.v = c.W @ rng.normal(size=c.mobility)
    return sim


def books(sim):
    return sim.energy().balance


def everything(sim):
    """Return all that a refused event must not change."""
    return (
        sim.q.copy(),
        sim.v.copy(),
        sim.robot.connections(),
        sim.time,
        len(sim.events),
        len(sim.log),
        len(sim.log.events),
        sim.lost,
        books(sim),
    )


def same(one, other):
    if isinstance(one, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    return np.array_equal(one, other)


def test_a_connection_is_an_event_with_impulse_energy_and_mobility():
    sim = flying_figure()
    kinetic, balance = sim.energy().kinetic, books(sim)
    robot, v = sim.robot.copy(), sim.v.copy()
    (event,) = sim.connect('right_grip')
    assert (event.kind, event.name, event.time) == ('connect', 'right_grip', sim.time)
    assert (event.mobility_before, event.mobility_after) == (17, 12)
    assert event.impulse.shape == (5,) and np.abs(event.impulse).max() > 1e-3
    assert 0.0 < event.energy_lost < kinetic
    assert event.energy_lost == pytest.approx(kinetic - sim.energy().kinetic, abs=BALANCE)
    assert sim.energy().lost == sim.lost == event.energy_lost + event.energy_of_gap
    assert event.energy_of_gap == pytest.approx(0.0, abs=BALANCE)  # there is none
    assert books(sim) == pytest.approx(balance, abs=BALANCE)
    robot.connect('right_grip')
    hit = ccd.impact(robot, sim.q, v)
    assert event.impulse == pytest.approx(hit.impulse_of('right_grip'), abs=BALANCE)
    assert event.momentum_change == pytest.approx(
        hit.momentum_after - hit.momentum_before, abs=1e-12
    )
    J_C, error, _ = ccd.constraint_jacobian(sim.robot, sim.q)
    assert np.abs(J_C @ sim.v).max() < AFTER and np.abs(error).max() < AFTER
    assert sim.events[-1] is event and sim.log.events[-1] is event


def test_a_cut_is_an_event_that_changes_no_velocity():
    sim = flying_figure()
    sim.connect('right_grip')
    q, v, balance = sim.q.copy(), sim.v.copy(), books(sim)
    (event,) = sim.cut('left_grip')
    assert (event.kind, event.name) == ('cut', 'left_grip')
    assert (event.mobility_before, event.mobility_after) == (12, 17)
    assert event.energy_lost == 0.0
    assert np.array_equal(sim.q, q) and np.array_equal(sim.v, v)
    assert books(sim) == balance
    assert not sim.robot.is_connected('left_grip')


def test_several_connections_at_one_instant_are_one_impact():
    sim = ccd.Simulation(ccd.load('swing'))
    q = sim.q.copy()
    thighs, hands = ('left_thigh', 'right_thigh'), ('left_hand', 'right_hand')
    cuts = sim.cut(*thighs, *hands)
    assert [(each.mobility_before, each.mobility_after) for each in cuts] == [(7, 23)] * 4
    sim.v = np.random.default_rng(3).normal(size=sim.robot.nv)
    sim.v = (
        ccd.coordinates(sim.robot, q).W
        @ np.linalg.lstsq(ccd.coordinates(sim.robot, q).W, sim.v, rcond=None)[0]
    )
    v, balance, kinetic = sim.v.copy(), books(sim), sim.energy().kinetic
    events = sim.connect(*hands, *thighs)
    assert [each.name for each in events] == [*hands, *thighs]
    assert [(each.mobility_before, each.mobility_after) for each in events] == [(23, 7)] * 4
    assert [len(each.impulse) for each in events] == [3, 3, 5, 5]
    assert sum(each.energy_lost for each in events) == pytest.approx(
        kinetic - sim.energy().kinetic, abs=BALANCE
    )
    assert books(sim) == pytest.approx(balance, abs=BALANCE)
    assert sim.v == pytest.approx(ccd.impact(sim.robot, sim.q, v).v_after, abs=1e-12)


def gap_of(sim, loop):
    """Return how far a loop joint that is open stands apart, (metres, radians)."""
    robot = sim.robot.copy()
    robot.connect(loop)
    return robot.loop_gaps(sim.q)[loop]


@pytest.mark.parametrize('passive', [False, True], ids=['free', 'with a spring on the joint'])
def test_the_books_close_when_a_connection_closes_a_gap(passive):
    """Bringing the frames together changes the potential energy, apart from what the blow took."""
    robot = ccd.load('high_bar')
    if passive:
        spring = Spring('grip', 'torsional', 40.0, 0.5, 1.0, joint='right_grip')
        robot = ccd.Mechanism(replace(robot.description, springs=(spring,)))
    sim = ccd.Simulation(robot, dt=1e-3)
    first = books(sim)
    sim.cut('right_grip')
    assert books(sim) == pytest.approx(first, abs=BALANCE)
    sim.run(0.05)
    metres, radians = gap_of(sim, 'right_grip')
    assert metres > 1e-3
    balance, booked = books(sim), sim.lost
    (event,) = sim.connect('right_grip', gap=2 * metres, angle=2 * radians + 0.01)
    assert max(sim.robot.loop_gaps(sim.q)['right_grip']) < AFTER
    assert books(sim) == pytest.approx(balance, abs=BALANCE)
    assert sim.lost == pytest.approx(booked + event.energy_lost + event.energy_of_gap, abs=BALANCE)
    assert event.energy_lost > 0.0 > event.energy_of_gap  # it was lifted
    sim.run(0.05)
    # the method's own error: RK4 at 1 ms
    assert books(sim) == pytest.approx(first, abs=1e-5)


@pytest.mark.parametrize(
    'names, options, error, says',
    [
        (('right_grip',), {}, StructureError, r'rad apart, more than the 0.02 m and 0.05 rad'),
        (('right_grip',), {'gap': 9.0}, StructureError, r'more than the 9 m and 0.05 rad'),
        (('left_grip',), {}, StructureError, 'already connected'),
        (('right_grip', 'right_grip'), {'gap': 9.0, 'angle': 9.0}, StructureError, 'already'),
        (('right_grp',), {}, NameNotFound, 'right_grip'),
        (('right_grip', 'right_grp'), {'gap': 9.0, 'angle': 9.0}, NameNotFound, 'right_grip'),
    ],
    ids=['far', 'turned', 'connected', 'twice', 'unknown', 'one of two unknown'],
)
def test_a_refused_connection_changes_nothing(names, options, error, says):
    sim, twin = flying_figure(), flying_figure()
    for each in (sim, twin):
        each.run(0.1)
    metres, radians = gap_of(sim, 'right_grip')
    assert metres > 0.02 and radians > 0.05
    before = everything(sim)
    with pytest.raises(error, match=says):
        sim.connect(*names, **options)
    assert same(everything(sim), before)
    for each in (sim, twin):
        each.run(0.05)
    # the generalized coordinates may have been chosen anew, which rounds differently
    assert sim.q == pytest.approx(twin.q, abs=1e-11)
    assert sim.v == pytest.approx(twin.v, abs=1e-10)


def test_a_connection_that_cannot_be_closed_changes_nothing():
    """A pin out of the reach of the arm, though allowed by gap=."""
    links, joints = planar_arm('ab')
    description = Description('planar', (Link('world'), *links), tuple(joints))
    pin_far = LoopJoint(
        'pin',
        LoopType.REVOLUTE,
        'world',
        'rod_b',
        Pose((2.2, 0.0, 0.0)),
        Pose((1.0, 0.0, 0.0)),
        active=False,
    )
    sim = ccd.Simulation(
        ccd.Mechanism(replace(description, loops=(pin_far,))),
        q=np.array([0.1, 0.1]),
        v=np.array([0.3, -0.2]),
    )
    before = everything(sim)
    with pytest.raises(ccd.ClosedChainError):
        sim.connect('pin', gap=1.0)
    assert same(everything(sim), before)


def test_a_connection_that_leaves_no_motion_is_refused_and_changes_nothing():
    links, joints = planar_arm('ab')
    description = Description('planar', (Link('world'), *links), tuple(joints))
    q, v = np.array([0.4, 0.7]), np.array([0.3, -0.2])
    robot = with_loop(
        description, q, 'pin', LoopType.REVOLUTE, 'world', 'rod_b', tip(description, q, 'rod_b')
    )
    sim = ccd.Simulation(robot, q=q, v=v)
    before = everything(sim)
    with pytest.raises(StructureError, match="'pin' would leave no motion at all"):
        sim.connect('pin')
    assert same(everything(sim), before)
    hit = blow(robot, q, v, 'pin')  # the impact itself has an answer: rest
    assert np.abs(hit.v_after).max() < EXACT
    assert hit.energy_after == pytest.approx(0.0, abs=EXACT)


@pytest.mark.parametrize(
    'names, error',
    [
        (('right_grip',), StructureError),
        (('left_grip', 'left_grip'), StructureError),
        (('left_grip', 'no_grip'), NameNotFound),
    ],
    ids=['open', 'twice', 'one of two unknown'],
)
def test_a_refused_cut_changes_nothing(names, error):
    sim = flying_figure()
    before = everything(sim)
    with pytest.raises(error):
        sim.cut(*names)
    assert same(everything(sim), before)


def test_cutting_and_connecting_again_at_once_gives_the_same_motion():
    sim, twin = (ccd.Simulation(ccd.load('swing')) for _ in range(2))
    for each in (sim, twin):
        each.run(0.1)
    sim.cut('left_thigh', 'left_hand')
    events = sim.connect('left_thigh', 'left_hand')
    assert sum(each.energy_lost for each in events) == pytest.approx(0.0, abs=BALANCE)
    assert np.abs(np.concatenate([each.impulse for each in events])).max() < 1e-9
    for each in (sim, twin):
        each.run(0.1)
    assert sim.q == pytest.approx(twin.q, abs=1e-10)
    assert sim.v == pytest.approx(twin.v, abs=1e-9)
