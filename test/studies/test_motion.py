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

"""Motions from tables: their rates and accelerations are those of what they interpolate."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.motion.reading import read_trajectory

STEP = 1e-4  # of central differences [s]
DIFFERENCES = 1e-5  # their error: a third derivative times the step squared, and rounding


@pytest.fixture(scope='module')
def tracks(tmp_path_factory):
    """Return a spline through few poses of a free joint, half of them written the other way."""
    rng = np.random.default_rng(5)
    times = np.arange(0.0, 1.01, 0.2)
    turns = Rotation.from_rotvec(np.cumsum(rng.normal(size=(len(times), 3)) * 0.3, axis=0))
    quaternions = turns.as_quat() * rng.choice((-1.0, 1.0), size=(len(times), 1))
    assert np.any(np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0.0)  # worth the test
    rows = np.column_stack([times, rng.normal(size=(len(times), 3)), quaternions])
    path = tmp_path_factory.mktemp('motion') / 'flight.csv'
    np.savetxt(
        path,
        rows,
        delimiter=',',
        comments='',
        header='time,'
        + ','.join(f'q:root:{part}' for part in ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')),
    )
    robot = ccd.load('figure')
    return read_trajectory(robot, path, rate=1.0 / STEP), rows


def test_a_spline_goes_through_the_poses_of_the_table(tracks):
    found, rows = tracks
    at = np.round(rows[:, 0] / STEP).astype(int)
    q = found.joints['root'][0][at]
    assert np.allclose(q[:, :3], rows[:, 1:4], rtol=0.0, atol=1e-12)
    assert np.allclose(np.abs(np.sum(q[:, 3:] * rows[:, 4:], axis=1)), 1.0, rtol=0.0, atol=1e-12)


def test_velocities_and_accelerations_of_a_free_joint_are_those_of_its_pose(tracks):
    q, v, a = tracks[0].joints['root']
    R = Rotation.from_quat(q[:, 3:])
    spin = (R[:-2].inv() * R[2:]).as_rotvec() / (2.0 * STEP)  # in the axes of the child
    assert np.abs(v[1:-1, 3:] - spin).max() < DIFFERENCES * np.abs(v).max()
    speed = R[1:-1].inv().apply((q[2:, :3] - q[:-2, :3]) / (2.0 * STEP))
    assert np.abs(v[1:-1, :3] - speed).max() < DIFFERENCES * np.abs(v).max()
    # at the knots the third derivative of a cubic spline jumps
    smooth = np.round(np.arange(1, len(q) - 1) * STEP / 0.2, 9) % 1.0 != 0.0
    slopes = (v[2:] - v[:-2]) / (2.0 * STEP)
    assert np.abs(a[1:-1] - slopes)[smooth].max() < DIFFERENCES * np.abs(a).max()


@pytest.mark.parametrize(
    ('heads', 'told'),
    [
        ('time,left_shoulder,right_sholder', ["'right_sholder' is not read", "'right_shoulder'?"]),
        ('time,left_shoulder,v:right_shoulder', []),  # a column of a log
        ('time,left_shoulder,temperature', []),  # nothing like a joint
        ('time,right_shoulder,left_shoulder', []),
    ],
)
def test_a_column_that_looks_like_a_misspelt_joint_is_told(heads, told, tmp_path, caplog):
    path = tmp_path / 'motion.csv'
    path.write_text(heads + ''.join(f'\n{t},2.0,1.0' for t in (0.0, 0.1, 0.2, 0.3)))
    read_trajectory(ccd.load('five_bar'), path)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == bool(told)
    assert all(word in said[0] for word in told)
