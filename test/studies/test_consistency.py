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

"""Records that are consistent pass; those spoilt on purpose are told by name."""

from helpers.recorded_motions import pendulum, recorded, tracks_of
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType, Limit
from closed_chain_dynamics.studies.consistency import study_consistency
from closed_chain_dynamics.studies.motion.smoothing import smoothed
from closed_chain_dynamics.studies.motion.tracks import Tracks

OFFSET = 0.03  # of an encoder [rad]


@pytest.fixture(scope='module')
def record():
    return recorded()


def thinned(tracks, every):
    """Return few of the samples: each costs a search for a pose."""
    few = {each: tuple(x[::every] for x in track) for each, track in tracks.joints.items()}
    return Tracks(tracks.time[::every], few)


def shifted(tracks, joint, offset):
    """Return Tracks whose sensor of one joint has an offset, constant or sample by sample."""
    positions, *rates = tracks.joints[joint]
    return Tracks(tracks.time, {**tracks.joints, joint: (positions + offset, *rates)})


def consistency(robot, tracks, **options):
    return study_consistency(robot, tracks, start=ccd.assemble(robot, {}), **options)


def test_an_exact_record_is_consistent(record):
    robot, tracks = record
    found = consistency(robot, thinned(tracks, 5))
    assert found.widest.max() < 1e-9 and all(found.verdicts.values())
    assert found.culprit is None and not found.suspects and not found.filled
    assert max(found.moved().values()) < 1e-9


@pytest.mark.parametrize('noise', [0.0, 1e-3])
@pytest.mark.parametrize('joint', ['crank', 'coupler', 'rocker'])
def test_the_joint_with_an_offset_is_found_by_name(record, joint, noise):
    robot, tracks = record[0], thinned(record[1], 5)
    random = np.random.default_rng(1)
    for each in tracks.joints:
        tracks = shifted(tracks, each, random.normal(0.0, noise, (len(tracks.time), 1)))
    found = consistency(robot, shifted(tracks, joint, OFFSET))
    assert not found.verdicts['loops'] and found.culprit == joint
    best = found.suspects[0]
    assert best.offset == pytest.approx(-OFFSET, abs=1e-9 + noise)
    assert best.spread < 1e-9 + 3.0 * noise and best.remaining < 1e-9 + 0.2 * (noise > 0.0)
    assert max(map(max, robot.loop_gaps(found.motion.q[50]).values())) < 1e-9


def test_a_joint_that_was_not_measured_comes_from_the_loops(record):
    robot, tracks = record
    part = Tracks(tracks.time, {'crank': tracks.joints['crank']})
    found = study_consistency(robot, part, start=ccd.assemble(robot, {'crank': 1.0}))
    assert found.filled == ['coupler', 'rocker'] and found.verdicts['loops']
    assert np.allclose(found.recorded[:, 1], tracks.joints['coupler'][0][:, 0], atol=1e-9)
    assert np.allclose(found.motion.v[:, 2], tracks.joints['rocker'][1][:, 0], atol=1e-6)


def test_two_joints_of_one_loop_cannot_accuse_each_other_when_both_could_be_it():
    robot, tracks = recorded(rate=200)
    still = Tracks(
        tracks.time,
        {
            joint: tuple(
                np.full_like(x, x[0, 0] * (k == 0)) for k, x in enumerate(tracks.joints[joint])
            )
            for joint in ('crank', 'rocker')
        },
    )
    found = consistency(robot, shifted(still, 'rocker', OFFSET))
    assert not found.verdicts['loops'] and found.culprit is None
    assert [each.remaining < 1e-6 for each in found.suspects] == [True, True]


def test_of_two_joints_that_could_be_it_the_steadier_one_is(record):
    robot, tracks = record
    part = {each: tracks.joints[each] for each in ('crank', 'rocker')}
    part = thinned(Tracks(tracks.time, part), 2)
    found = consistency(robot, shifted(part, 'crank', OFFSET))
    assert [each.remaining < 1e-6 for each in found.suspects] == [True, True]
    assert found.culprit == 'crank'


@pytest.mark.parametrize('fall, weight', [(0.0, 1.0), (9.80665, 0.0), (4.0, 1.0 - 4.0 / 9.80665)])
def test_the_root_of_a_figure_tells_what_holds_it(fall, weight):
    robot = ccd.load('figure')
    q, time = ccd.assemble(robot, {}), np.linspace(0.0, 0.2, 21)
    tracks = Tracks(time)
    for joint in robot.joint_names:
        place, mine = robot.joint_slices(joint)
        tracks.joints[joint] = (
            np.tile(q[place], (21, 1)),
            *np.zeros((2, 21, mine.stop - mine.start)),
        )
    positions, rates, accelerations = tracks.joints['root']
    positions[:, 2] -= 0.5 * fall * time**2
    rates[:, 2], accelerations[:, 2] = -fall * time, -fall
    found = consistency(robot, tracks)
    peak = found.residual['root:vz'][0] if found.residual else 0.0
    assert peak == pytest.approx(weight * robot.total_mass * 9.80665, rel=1e-9, abs=1e-9)
    assert found.verdicts['forces'] == (weight == 0.0)


def test_limits_that_a_record_breaks_are_told_with_joint_and_time():
    robot, *_ = pendulum(type=JointType.REVOLUTE, limit=Limit(-0.5, 0.5, 25.0, 3.0))
    time = np.linspace(0.0, 1.0, 101)
    found = consistency(robot, tracks_of(robot, time, {'swing': 0.6 * np.sin(2 * np.pi * time)}))
    told = {(each['kind'], each['limit']): each for each in found.exceeded}
    assert set(told) == {('speed', 3.0), ('range', 0.5), ('range', -0.5)}
    assert told['range', 0.5]['time'] == pytest.approx(0.25)
    assert told['range', -0.5]['time'] == pytest.approx(0.75)
    assert told['range', -0.5]['value'] == pytest.approx(-0.6)
    assert told['speed', 3.0]['value'] == pytest.approx(1.2 * np.pi, rel=1e-4)
    assert [name for name, good in found.verdicts.items() if not good] == ['range', 'speed']


def test_the_filter_halves_what_has_its_frequency_and_leaves_what_is_slow():
    robot, *_ = pendulum()
    time = np.arange(4001) / 1000.0
    for frequency, share in ((10.0, 0.5), (1.0, 1.0 / (1.0 + 0.1**4)), (100.0, 1e-4)):
        wave = np.sin(2.0 * np.pi * frequency * time)
        got = smoothed(tracks_of(robot, time, {'swing': wave}), 10.0).joints['swing'][0][:, 0]
        # sampled at 1 kHz, the far end of the filter is steeper than the analog one
        assert np.abs(got - share * wave)[1000:3000].max() < 2e-5
