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

"""A mechanism that closes only to the digits of its file moves: what assembles, simulates."""

from helpers.rounded_linkages import rounded_bennett, rounded_wrist
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels import records as at

DIRECTION = 1e-4  # a motion that axes 3e-6 rad off change, after a tenth of a second [rad]
STOP = 0.35  # of the elbow of a wrist [rad]
AT_STOP = 1e-9  # of a joint that rests at it [rad]
DIGITS_ALLOW = 2e-6  # axes rounded in the seventh digit close to a few of them [m or rad]
BOOKS = 1e-8  # share of the energy, as of exact digits: all steps follow one manifold
NO_JUMP = 1e-6  # energy of what is left of a gap where a joint comes to rest [J]
ROUNDED = 1e-6  # a motion that rounding of the seventh digit changes, after a second [rad]


def test_an_overconstrained_linkage_with_rounded_digits_simulates():
    exact, crank = rounded_bennett(digits=15)
    rounded, _ = rounded_bennett(digits=7)
    ends = []
    for robot in (exact, rounded):
        q = ccd.assemble(robot, {'hinge_0': crank})
        assert ccd.coordinates(robot, q).mobility == 1
        sim = ccd.Simulation(robot, q=q)
        sim.run(1.0)
        ends.append(sim)
    gap = max(rounded.loop_gaps(ends[1].q)['closing'])
    assert 1e-9 < gap < 1e-6  # it cannot be closed, and stays as near as it can be
    assert ends[1].log.loop_error.max() < 1e-6
    assert np.abs(ends[1].q - ends[0].q).max() < ROUNDED
    assert np.ptp(ends[0].log.balance) < 1e-11 * 20.0
    assert np.ptp(ends[1].log.balance) < 1e-7 * ends[1].log.kinetic.max()


def test_a_pose_that_is_not_closed_is_refused_all_the_same():
    robot, crank = rounded_bennett()
    q = ccd.assemble(robot, {'hinge_0': crank})
    q[1] += 1.0
    with pytest.raises(StateError, match="loop 'closing' is open"):
        ccd.Simulation(robot, q=q, dt=1e-3)


@pytest.mark.parametrize('turn', [0.0, 0.2, 0.4, 0.6])
@pytest.mark.parametrize('size', [0.06, 0.05])
def test_a_small_wrist_with_rounded_digits_simulates_from_a_pose_that_assembles(size, turn):
    """Small: rounding is a larger share of it, and rows that should be redundant contradict."""
    exact = rounded_wrist(size, turn, digits=15)
    motors = {'motor_0': 0.3, 'motor_1': -0.2, 'motor_2': 0.1}
    start = ccd.assemble(exact, motors, start=np.zeros(exact.nq))
    true = ccd.Simulation(exact, q=start)
    true.run(0.1)
    q = ccd.assemble(rounded_wrist(size, turn), motors, start=start)  # the same of eight modes
    sim = ccd.Simulation(rounded_wrist(size, turn), q=q)  # of another mechanism, which knows less
    sim.run(0.1)
    assert ccd.coordinates(sim.robot, sim.q).mobility == 3
    assert np.abs(sim.q - true.q).max() < DIRECTION


@pytest.mark.parametrize(('size', 'turn'), [(0.06, 0.2), (0.06, 0.6), (0.05, 0.0), (0.05, 0.4)])
def test_a_wrist_with_rounded_digits_goes_on_while_a_joint_rests_at_its_stop(size, turn):
    """What holds a joint says nothing of the digits of the loops: the same rows are redundant."""
    exact, robot = (rounded_wrist(size, turn, digits, stop=STOP) for digits in (15, 7))
    motors = {'motor_0': 0.3, 'motor_1': -0.2, 'motor_2': 0.1}
    start = ccd.assemble(exact, motors, start=np.zeros(exact.nq))
    true = ccd.Simulation(exact, q=start)
    sim = ccd.Simulation(robot, q=ccd.assemble(robot, motors, start=start))
    elbow, resting = robot.joint_names.index('elbow_2'), 0
    for _ in range(60):
        true.run(0.01)
        sim.run(0.01)
        if sim.robot.structure.holds['active'].any():
            resting += 1
            assert abs(abs(sim.q[elbow]) - STOP) < AT_STOP
    assert resting >= 2
    assert np.abs(sim.q - true.q).max() < DIRECTION
    true.run(1.0)
    sim.run(1.0)
    assert [(e.kind, e.name) for e in sim.events] == [(e.kind, e.name) for e in true.events]
    assert [e.mobility_after for e in sim.events] == [e.mobility_after for e in true.events]
    assert sim.log.loop_error.max() < DIGITS_ALLOW
    assert np.abs(np.array([e.energy_of_gap for e in sim.events])).max() < NO_JUMP
    assert np.ptp(sim.log.balance) < BOOKS * sim.log.kinetic.max()


@pytest.mark.parametrize(('size', 'turn'), [(0.06, 0.2), (0.05, 0.4)])
def test_a_loop_with_rounded_digits_is_cut_and_connected_again(size, turn):
    """The digits are those of the file, whatever is cut: the mobility is that of exact ones."""
    motors, ends = {'motor_0': 0.3, 'motor_1': -0.2, 'motor_2': 0.1}, []
    for digits in (15, 7):
        robot = rounded_wrist(size, turn, digits)
        start = ends[0][0] if ends else np.zeros(robot.nq)
        q = ccd.assemble(robot, motors, start=start)
        sim = ccd.Simulation(robot, q=q)
        sim.run(0.1)
        sim.cut('wrist_2')
        sim.run(0.002)
        sim.connect('wrist_2')
        sim.run(0.2)
        assert [(e.kind, e.mobility_after) for e in sim.events] == [('cut', 5), ('connect', 3)]
        ends.append((q, sim))
    (_, true), (_, sim) = ends
    assert np.abs(sim.q - true.q).max() < DIRECTION
    assert np.ptp(sim.log.balance) < BOOKS * sim.log.kinetic.max()


def test_what_cannot_be_closed_better_says_so():
    """Where rows contradict each other, "open by 1e-7, more than 1e-6" would help nobody."""
    robot = rounded_wrist(0.03, 0.0)
    q = ccd.assemble(robot, {'motor_0': 0.3})
    with pytest.raises(StateError) as caught:
        robot.raise_for(at.LOOP_OPEN, q)
    text = str(caught.value)
    assert 'cannot be closed better' in text and 'give them more digits' in text
