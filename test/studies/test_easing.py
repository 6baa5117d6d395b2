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

"""A table that is played to a robot at rest: it begins and ends at rest, on the path it has."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.motion.reading import read_trajectory

RATE, EASE = 1000.0, 0.5
# Central differences at 1 kHz of a motion of 1 rad at some 10 rad/s: h^2/6 of its third derivative
# (1e-4), and the corner that a cubic spline's acceleration has at each sample (3e-2 for rates of
# rates).
RATE_TOLERANCE, ACCELERATION_TOLERANCE = 1e-4, 3e-2


@pytest.fixture
def tables(tmp_path):
    """Return a zigzag, whose spline begins and ends in full motion, as it is and eased."""
    path = tmp_path / 'zigzag.csv'
    path.write_text('time,swing\n0,0.1\n0.5,0.2\n1,0.1\n1.5,0.2\n2,0.1\n')
    robot = ccd.load('pendulum')
    return read_trajectory(robot, path, RATE), read_trajectory(robot, path, RATE, ease=EASE)


def test_it_begins_and_ends_at_rest(tables):
    plain, eased = ([part[:, 0] for part in tracks.joints['swing']] for tracks in tables)
    assert abs(plain[1][0]) > 0.3 and abs(plain[2][0]) > 1.0  # or there is nothing to ease
    for k in (0, -1):
        assert eased[0][k] == pytest.approx(plain[0][k], abs=1e-12)
        assert eased[1][k] == pytest.approx(0.0, abs=1e-12)
        assert eased[2][k] == pytest.approx(0.0, abs=1e-12)


def test_rates_are_those_of_the_positions(tables):
    time, (q, v, a) = tables[1].time, tables[1].joints['swing']
    h = time[1] - time[0]
    assert np.abs((q[2:] - q[:-2]) / (2.0 * h) - v[1:-1]).max() < RATE_TOLERANCE
    assert np.abs((v[2:] - v[:-2]) / (2.0 * h) - a[1:-1]).max() < ACCELERATION_TOLERANCE


def test_it_stays_on_the_path_and_keeps_the_pace_between(tables):
    plain, eased = tables
    q, slow = plain.joints['swing'][0][:, 0], eased.joints['swing'][0][:, 0]
    assert slow.min() >= q.min() - 1e-6 and slow.max() <= q.max() + 1e-6
    assert eased.time[-1] == pytest.approx(plain.time[-1] + EASE)
    late = int(EASE / 2.0 * RATE)
    between = slice(int(EASE * RATE), len(q) - late)
    assert np.allclose(slow[between], q[between.start - late : between.stop - late], atol=1e-9)


def test_a_table_shorter_than_the_easing_is_eased_as_a_whole(tmp_path):
    path = tmp_path / 'short.csv'
    path.write_text('time,swing\n0,0\n0.1,0.1\n0.2,0.2\n0.3,0.3\n')
    tracks = read_trajectory(ccd.load('pendulum'), path, RATE, ease=EASE)
    q, v, _ = tracks.joints['swing']
    assert tracks.time[-1] == pytest.approx(0.6)
    assert np.all(np.diff(q[:, 0]) >= 0.0) and abs(v[[0, -1]]).max() < 1e-12
