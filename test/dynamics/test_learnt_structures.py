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

"""Structures that come back: known at once, with the rank that was learnt, and no other."""

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics import learnt_structures
from closed_chain_dynamics.dynamics.distances import learn_motions
from closed_chain_dynamics.dynamics.learnt_structures import LearntStructures
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.model import changes


def learnt(robot):
    """Return all that is known of a structure."""
    s = robot.structure
    digits = [s.world[name] for name in ('rounded', 'closing_tolerance', 'rank_tolerance')]
    ranks = s.clusters['full_rank'].tolist(), int(s.shape['full_rank'])
    return digits, ranks, s.clusters['levers'].tolist(), s.bodies['ways'].tolist()


def test_what_is_recalled_is_what_would_be_learnt():
    """With hands and thighs that let go and grip, and a shank that breaks off and comes back."""
    robot, memory = ccd.load('swing'), LearntStructures()
    q, v = ccd.assemble(robot), np.zeros(robot.nv)
    for name in ('left_hand', 'right_thigh', 'right_knee'):
        learn_motions(robot, q)
        memory.keep(robot)
        before = learnt(robot)
        q_cut, v_cut = changes.cut(robot, name, q, v)
        assert not memory.recall(robot) and not robot.rank_known
        learn_motions(robot, q_cut)
        memory.keep(robot)
        changes.connect(robot, name, q_cut, v_cut)
        assert not robot.rank_known
        assert memory.recall(robot) and robot.rank_known
        assert learnt(robot) == before
        fresh = ccd.load('swing')
        learn_motions(fresh, q)
        assert learnt(fresh) == before
    assert len(memory) == 4


def test_nothing_is_kept_that_was_not_learnt_and_the_oldest_is_forgotten(monkeypatch):
    monkeypatch.setattr(learnt_structures, 'MOST_REMEMBERED', 2)
    robot, memory = ccd.load('swing'), LearntStructures()
    q = ccd.assemble(robot)
    memory.keep(robot)
    learn_rank(robot, q)
    known = len(memory)
    for name in robot.loop_names[:3]:
        robot.cut(name)
        learn_rank(robot, q)
        memory.keep(robot)
    assert known == 0 and len(memory) == 2
    assert not memory.recall(ccd.load('swing'))
