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

"""Running a simulation: steps, logs, callbacks, and what is refused."""

import math

from helpers.simulated import moved, pendulum, seated
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Inertia, Joint, JointType, Link, Pose

CLOSED = 1e-10  # what may be left of a loop [m or rad]
IN_PARTS = 1e-5  # of 26 rad, in steps as long as their energy permits


# --- running -------------------------------------------------------------------------------------
def same_bits(one, other):
    return (
        np.array_equal(one.q, other.q)
        and np.array_equal(one.v, other.v)
        and one.time == other.time
        and one.energy().balance == other.energy().balance
    )


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'adaptive'])
def test_a_run_is_as_many_steps_bit_for_bit_and_twice_the_same(integrator):
    robot, q, v = seated()
    steps = 5 if integrator == 'adaptive' else 60
    sims = [
        ccd.Simulation(robot, q, v, dt=1e-3, integrator=integrator, log_every=7) for _ in range(3)
    ]
    tau = {'left_knee': 3.0}
    sims[0].run(steps * 1e-3, tau)
    sims[1].run(steps * 1e-3, tau)
    for _ in range(steps):
        sims[2].step(tau)
    assert same_bits(sims[0], sims[1]) and same_bits(sims[0], sims[2])
    for each in sims[1:]:
        assert np.array_equal(sims[0].log.q, each.log.q)
        assert np.array_equal(sims[0].log.time, each.log.time)
    sims[0].reset()
    sims[0].run(steps * 1e-3, tau)
    assert same_bits(sims[0], sims[1])


@pytest.mark.parametrize('how', ['run', 'steps', 'controller', 'pieces'])
@pytest.mark.parametrize('every', [0, 1, 4])
@pytest.mark.parametrize('integrator', ['rk4', 'adaptive'])
def test_the_log_has_every_so_many_th_step_on_one_time_grid(how, every, integrator):
    sim = ccd.Simulation(
        pendulum(), np.array([0.3]), dt=1e-3, log_every=every, integrator=integrator
    )
    if how == 'run':
        sim.run(0.03)
    elif how == 'pieces':
        for share in (0.007, 0.001, 0.022):
            sim.run(share)
    elif how == 'controller':
        sim.run(0.03, lambda sim: None)
    else:
        for _ in range(30):
            sim.step()
    expected = np.arange(0, 31, every) * 1e-3 if every else np.zeros(0)
    assert np.array_equal(sim.log.time, expected)
    assert sim.time == 30 * 1e-3


def test_a_new_step_starts_a_new_time_grid():
    sim = ccd.Simulation(pendulum(), np.array([0.3]), dt=1e-3)
    sim.run(0.003)
    sim.dt = 5e-4
    sim.run(0.001)
    assert sim.log.time == pytest.approx([0.0, 0.001, 0.002, 0.003, 0.0035, 0.004], abs=1e-15)


def test_a_callback_stops_the_run_and_a_controller_is_asked_every_step():
    robot = ccd.load('pendulum')
    name = robot.actuator_names[0]
    sim, asked = ccd.Simulation(robot, dt=1e-3), []

    def controller(sim):
        asked.append(sim.time)
        return {name: 0.1}

    sim.run(0.1, controller, callback=lambda sim: sim.time > 0.0295)
    assert sim.time == pytest.approx(0.030) and len(asked) == 30
    other = ccd.Simulation(robot, dt=1e-3)
    other.run(0.03, {name: 0.1})
    assert same_bits(sim, other)


def test_progress_rises_to_one():
    shares = []
    ccd.Simulation(pendulum(), np.array([0.3]), dt=1e-3).run(0.25, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 50


def test_a_wrench_on_a_link_inside_a_body_turns_with_it_in_one_run_as_in_steps():
    """The force acts where the link is, however long the compiled run."""
    bob = Link('bob', Inertia(1.0, Pose(), (0.2, 0.0, 0.0, 0.2, 0.0, 0.2)))
    robot = ccd.Mechanism(
        Description(
            'wrench',
            (Link('world'), bob, Link('tip')),
            (
                Joint('free', JointType.FLOATING, 'world', 'bob'),
                Joint('glue', JointType.FIXED, 'bob', 'tip', Pose((0.0, 0.0, 0.5))),
            ),
        ),
        gravity=(0.0, 0.0, 0.0),
    )
    sims = [ccd.Simulation(robot, v=np.array([0, 0, 0, 0, 3.0, 0]), dt=1e-3) for _ in range(2)]
    for each in sims:
        each.apply_wrench('tip', [2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    sims[0].run(0.5)
    for _ in range(500):
        sims[1].step()
    assert same_bits(*sims)

    def slope(_, x):  # angle about y, its rate: the moment of a force along x at 0.5 m
        return x[1], 2.0 * 0.5 * math.cos(x[0]) / 0.2

    angle = solve_ivp(slope, (0.0, 0.5), (0.0, 3.0), rtol=1e-10, atol=1e-12).y[0, -1]
    found = 2.0 * math.atan2(sims[0].q[4], sims[0].q[6])
    assert found == pytest.approx(angle, abs=1e-9)


# --- what is refused -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    'options, says',
    [
        ({'dt': 0.0}, 'dt must be a positive time, not 0.0'),
        ({'dt': -1e-3}, 'positive'),
        ({'dt': math.nan}, 'nan'),
        ({'dt': math.inf}, 'inf'),
        ({'dt': '1'}, "'1'"),
        ({'integrator': 'rk5'}, 'euler, rk4, implicit, adaptive'),
        ({'log_every': -1}, 'log_every'),
        ({'log_every': 0.5}, 'log_every'),
        ({'tolerance': 0.0}, 'tolerance'),
        ({'tolerance': math.nan}, 'tolerance'),
        ({'tolerance': math.inf, 'integrator': 'adaptive'}, 'tolerance'),
    ],
)
def test_a_simulation_that_makes_no_sense_is_refused(options, says):
    with pytest.raises(ccd.StateError, match=says):
        ccd.Simulation(pendulum(), **options)


@pytest.mark.parametrize(
    'tau, says',
    [
        ([1.0], r'shape \(1,\)'),
        ([[0.0]], 'shape'),
        (np.zeros(99), r'\(99,\)'),
        ('all', 'numbers'),
        ({'left_kne': 1.0}, 'left_knee'),
        ({'root': 1.0}, 'passive'),
        ({'left_knee': math.nan}, "'left_knee' is nan"),
        ({'left_knee': math.inf}, 'inf'),
    ],
)
def test_torques_that_do_not_fit_are_refused_and_nothing_moves(tau, says):
    robot, q, v = seated()
    sim = ccd.Simulation(robot, q, v)
    sim.run(0.01)
    before = (sim.time, sim.q.copy(), sim.v.copy(), len(sim.log.time))
    for call in (
        lambda: sim.step(tau),
        lambda: sim.run(0.1, tau),
        lambda: sim.run(0.1, lambda _: tau),
    ):
        with pytest.raises(ccd.ClosedChainError, match=says):
            call()
        assert sim.time == before[0] and len(sim.log.time) == before[3]
        assert np.array_equal(sim.q, before[1]) and np.array_equal(sim.v, before[2])


@pytest.mark.parametrize('duration', [-1.0, math.nan, math.inf, '1', None])
def test_a_duration_that_is_no_time_is_refused(duration):
    sim = ccd.Simulation(pendulum(), np.array([0.1]))
    with pytest.raises(ccd.StateError, match='duration'):
        sim.run(duration)
    assert sim.time == 0.0


@pytest.mark.parametrize('integrator', ['euler', 'rk4', 'adaptive'])
def test_a_motion_without_bounds_ends_with_the_last_good_state(integrator):
    robot = ccd.load('pendulum')
    sim = ccd.Simulation(robot, dt=1e-2, integrator=integrator)
    sim.run(0.05)
    with pytest.raises(ccd.ClosedChainError) as caught:
        sim.run(0.5, np.full(len(robot.actuator_names), 1e200))
    assert 't = ' in str(caught.value) or 'value of' in str(caught.value)
    assert np.all(np.isfinite(sim.q)) and np.all(np.isfinite(sim.v))
    assert 0.05 <= sim.time < 0.55
    assert sim.time == pytest.approx(sim.log.time[-1])


def test_loops_that_cannot_be_closed_after_a_step_end_with_the_last_good_state():
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    fast = ccd.complete_velocity(robot, q, {'crank': 60.0})
    sim = ccd.Simulation(robot, q, fast, dt=0.05, tolerance=math.inf)
    with pytest.raises(ccd.ClosedChainError, match='dt = 0.05'):
        sim.run(5.0, {'crank': 20.0})
    assert sim.loop_error() <= CLOSED and np.all(np.isfinite(sim.v))


def test_a_step_that_loops_or_books_refuse_is_taken_in_parts():
    """Six fifths of a radian of the crank in one step: halves of halves can be closed."""
    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    v = ccd.complete_velocity(robot, q, {'crank': 60.0})
    coarse = moved(robot, q, v, 0.5, dt=0.02)
    fine = moved(robot, q, v, 0.5, dt=1e-4)
    assert coarse.loop_error() <= CLOSED
    assert coarse.q == pytest.approx(fine.q, abs=IN_PARTS)
    undivided = moved(robot, q, v, 0.5, dt=0.02, tolerance=math.inf)
    assert abs(undivided.q - fine.q).max() > 1.0  # lost, without a word
    again = ccd.Simulation(robot, q, v, dt=0.02)
    for _ in range(25):
        again.step()
    assert same_bits(coarse, again)
