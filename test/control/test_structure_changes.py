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

"""Joints are connected and cut without holding up a turn: prepared beside, taken between two."""

from threading import current_thread, main_thread

from helpers.controlled_runs import ControlledRun
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control import structure_changes
from closed_chain_dynamics.control.asked_changes import Connect, Cut, Follow
from closed_chain_dynamics.control.structure_changes import StructureChanges
from closed_chain_dynamics.dynamics import rank

SWING = {'left_knee': (0.3, 0.7), 'right_knee': (-0.2, 1.1)}
WIDE = 0.02, 0.05  # what a connection closes [m], [rad]
ASKED = {'cut': Cut, 'connect': lambda topic, name: Connect(topic, name, *WIDE)}


@pytest.fixture
def run():
    """Return a figure on its swing that moves its knees, and what prepares its changes."""
    made = ControlledRun('swing')
    made.follow_sines(SWING, 1.5)
    made.run(0.02)
    made.told = []
    made.changes = StructureChanges(made.loop, lambda *why: made.told.append(why))
    return made


@pytest.fixture
def learning(monkeypatch):
    """Return the threads in which the rank of a structure is learnt from now on."""
    threads, learn = [], rank._learn_rounding
    monkeypatch.setattr(
        rank,
        '_learn_rounding',
        lambda robot, q: threads.append(current_thread()) or learn(robot, q),
    )
    return threads


def test_nothing_is_learnt_in_the_thread_of_the_turns(run, learning):
    """A hand and a thigh let go and grip: each structure is learnt once, beside the turns."""
    for _ in range(2):
        for name in ('left_hand', 'right_thigh'):
            for kind in ('cut', 'connect'):
                run.changes.ask(ASKED[kind](kind, name))
                getattr(run.sim, kind)(name)
                while not run.changes.take():
                    run.turn()
                run.turn()
                assert run.loop.robot.is_connected(name) == (kind == 'connect')
                assert run.loop.reason == ''
    assert learning and main_thread() not in learning
    assert len(learning) == 2  # with one of them open: all closed was learnt before
    assert not run.told and not run.refused


def test_turns_go_on_in_the_old_structure_until_the_new_one_is_ready(run):
    run.changes.ask(Cut('cut', 'left_hand'))
    assert run.loop.robot.is_connected('left_hand')
    assert run.changes.settle()
    assert not run.loop.robot.is_connected('left_hand') and run.loop.robot.rank_known


def test_it_is_the_structure_that_changes_in_the_turn_would_have_given(run):
    """Loops and a joint of the tree: the same connections, rank, state and torques."""
    other = ControlledRun('swing')
    other.follow_sines(SWING, 1.5)
    other.run(0.02)
    for kind, name in (('cut', 'left_hand'), ('cut', 'right_knee'), ('connect', 'left_hand')):
        getattr(other.loop, kind)(name)
        run.changes.ask(ASKED[kind](kind, name))
        run.changes.settle()
    own, wanted = run.loop.robot, other.loop.robot
    assert own.connections() == wanted.connections() and own.nv == wanted.nv
    assert own.structure.shape['full_rank'] == wanted.structure.shape['full_rank']
    np.testing.assert_array_equal(run.loop.state.q, other.loop.state.q)
    run.sim.cut('right_knee'), other.sim.cut('right_knee')
    run.run(0.01), other.run(0.01)
    np.testing.assert_allclose(run.tau, other.tau, rtol=1e-9)


def test_a_burst_is_one_change_in_its_order_and_each_refusal_is_told(run, monkeypatch):
    """Four hundred at once: they are prepared and taken together."""
    taken, follow = [], run.loop.follow
    monkeypatch.setattr(run.loop, 'follow', lambda closed: taken.append(closed) or follow(closed))
    for _ in range(100):
        run.changes.ask(Cut('contact/cut', 'left_hand'))
        run.changes.ask(Cut('contact/cut', 'left_hand'))
        run.changes.ask(Connect('contact/connect', 'left_hand', *WIDE))
        run.changes.ask(Cut('contact/cut', 'right_hand' if _ == 99 else 'nobody'))
    run.changes.settle()
    assert len(taken) == 1
    robot = run.loop.robot
    assert robot.is_connected('left_hand') and not robot.is_connected('right_hand')
    assert len(run.told) == 199 and {topic for topic, _ in run.told} == {'contact/cut'}
    assert sum('already open' in text for _, text in run.told) == 100


def test_more_than_can_wait_are_refused(run, monkeypatch):
    monkeypatch.setattr(structure_changes, 'MOST_CHANGES_ASKED', 3)
    for _ in range(10):
        run.changes.ask(Cut('contact/cut', 'left_hand'))
    assert run.told and 'wait' in run.told[0][1]
    run.changes.settle()
    assert not run.loop.robot.is_connected('left_hand')


def test_what_cannot_be_is_refused_and_the_owner_is_believed_without_a_pose():
    run, told = ControlledRun('swing'), []
    changes = StructureChanges(run.loop, lambda *why: told.append(why))
    changes.ask(Cut('contact/cut', 'right_knee'))
    changes.ask(Follow('contact/state', {'left_hand': False, 'right_knee': False, 'elbow': True}))
    assert changes.settle()
    assert told[0][0] == 'contact/cut' and 'not known yet' in told[0][1]
    assert told[1:] == [('contact/state', "swing has no joint 'elbow'")]
    assert ccd.load('swing').nv + 5 == run.loop.robot.nv
    assert not run.loop.robot.is_connected('left_hand')


def test_motions_are_learnt_beside_the_turns_where_the_law_looks_at_them(learning):
    """Policies that keep away from singular poses ask for more than the rank."""
    run = ControlledRun('five_bar', singularity='refuse')
    run.take()
    names = ['left_shoulder', 'right_shoulder']
    assert run.loop.take_reference(names, [1.0], [[run.position(name) for name in names]])
    run.run(0.005)
    changes = StructureChanges(run.loop, lambda *why: None)
    changes.ask(Cut('cut', 'tip'))
    assert changes.settle() and run.loop.robot.structure.motions_known
    changes.ask(Connect('connect', 'tip', *WIDE))
    assert changes.settle() and run.loop.robot.structure.motions_known


def test_an_error_of_the_preparation_is_raised_where_turns_are_taken(run, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError('broken')

    monkeypatch.setattr(structure_changes.LoopState, 'restructured', fail)
    run.changes.ask(Cut('cut', 'left_hand'))
    with pytest.raises(ZeroDivisionError, match='broken'):
        run.changes.settle()
