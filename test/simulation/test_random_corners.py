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

"""Random boxes, stacks, linkages at stops and legs: what holds of each of them, in short runs."""

import pytest

from benchmarks.random_corners import case_of, run

QUICK = 0.25  # of every case [s]
# the first few of each family, and those that were wrong once: legs whose feet and stops hit in
# turns, or whose friction was said to lock in an impact, or whose hip a slow stop shook loose
CASES = [
    *(
        (family, seed)
        for family in ('box', 'tripod', 'stack', 'chain', 'linkage')
        for seed in (0, 1)
    ),
    *(('leg', seed) for seed in (0, 1, 2, 8)),
    ('linkage', 9),  # one joint at its stop and another locked, in one loop
]


@pytest.mark.parametrize(('family', 'seed'), CASES)
def test_random_bodies_and_linkages_keep_what_they_have_to(family, seed):
    """No exception, few events, no energy from friction or impacts, closed books and loops."""
    _, faults = run(case_of(family, seed), QUICK)
    assert not faults


@pytest.mark.parametrize('seed', [16, 20])
def test_a_leg_that_rattles_between_the_floor_and_its_stops_keeps_what_it_has_to(seed):
    """The foot and the hip of one leg hit in turns over less than a micrometre."""
    _, faults = run(case_of('leg', seed), 1.0)
    assert not faults


def test_a_foot_and_a_knee_stop_that_hit_in_turns_come_to_an_end():
    """A hip held by friction was shaken loose by every slow stop of the other leg's knee."""
    sim, faults = run(case_of('leg', 11), 0.5)
    assert not faults
    assert len(sim.events) < 300
