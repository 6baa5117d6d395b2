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

"""Markers and skeletons: files against what they were made from, poses against known motions."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.motion.closed_fit import closed
from closed_chain_dynamics.studies.motion.marker_files import MarkerRecord, read_markers
from closed_chain_dynamics.studies.motion.marker_fit import Marker, fit_markers

WRITTEN = 1e-6  # of coordinates of markers in a file with 1e-4 mm, and of angles from them
ROUNDING = 1e-9
CLOSED = 1e-7  # gaps that count as closed when a pose is assembled [m or rad]
FRAMES = 6


def moved(name):
    """Return a mechanism, poses of a smooth motion, places of markers, and where they are then."""
    robot, random = ccd.load(name), np.random.default_rng(3)
    start = ccd.assemble(robot, {})
    rates = (
        ccd.coordinates(robot, start).W
        @ random.normal(0.0, 0.4, (FRAMES, 1))
        .repeat(ccd.coordinates(robot, start).mobility, axis=1)
        .T
        * np.linspace(0.0, 1.0, FRAMES)
    )
    poses = np.array([closed(robot, ccd.integrate(robot, start, each)) for each in rates.T])
    links = [link.name for link in robot.description.links if link.name != 'world']
    markers = {
        f'{link}_{k}': Marker(link, tuple(random.normal(0.0, 0.1, 3).tolist()))
        for link in links
        for k in range(3)
    }
    points = []
    for q in poses:
        X = ccd.link_placements(robot, q)
        points.append([X[m.link][:3, :3] @ m.xyz + X[m.link][:3, 3] for m in markers.values()])
    return robot, start, poses, markers, np.array(points)


def trc(path, names, points, rate=50.0, units='mm'):
    """Write a TRC file as motion capture systems do; NaN is an empty cell."""
    lines = [
        f'PathFileType\t4\t(X/Y/Z)\t{path.name}',
        'DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits',
        f'{rate}\t{rate}\t{len(points)}\t{len(names)}\t{units}',
        'Frame#\tTime\t' + '\t\t\t'.join(names) + '\t\t',
        '\t\t' + '\t'.join(f'{axis}{k + 1}' for k in range(len(names)) for axis in 'XYZ'),
        '',
    ]
    for k, frame in enumerate(points):
        cells = ['' if np.isnan(x) else f'{x:.4f}' for x in frame.ravel()]
        lines.append('\t'.join([str(k + 1), f'{k / rate:.4f}', *cells]))
    path.write_text('\n'.join(lines) + '\n')
    return path


@pytest.mark.parametrize('name', ['figure', 'swing'])
def test_a_motion_comes_back_from_its_markers(name, tmp_path):
    """Through a file in millimetres with y up; the last marker hides in one frame."""
    robot, start, poses, markers, points = moved(name)
    x, y, z = np.moveaxis(1e3 * points, -1, 0)
    file = np.stack([x, z, -y], axis=-1)
    file[2, -1] = np.nan
    record = read_markers(trc(tmp_path / 'run.trc', [*markers], file), up='y')
    assert np.nanmax(np.abs(record.points - points)) < WRITTEN
    assert np.isnan(record.points).sum() == 3 and record.time[-1] == pytest.approx(0.1)
    fit = fit_markers(robot, record, start, markers)
    for found, q in zip(fit.poses, poses):
        assert np.abs(ccd.difference(robot, q, found)).max() < 20 * WRITTEN
        assert max(map(max, robot.loop_gaps(found).values()), default=0.0) < CLOSED
    assert fit.rms < WRITTEN and not fit.unused
    assert np.isnan(fit.errors[[*markers][-1]][2])


def test_a_figure_that_looks_the_other_way_is_turned_to_its_markers():
    robot, start, _, markers, points = moved('figure')
    turn = Rotation.from_euler('z', 175, degrees=True)
    turned = turn.apply(points.reshape(-1, 3)).reshape(points.shape) + [5.0, -3.0, 0.2]
    record = MarkerRecord('turned', np.arange(FRAMES) / 10.0, tuple(markers), turned)
    assert fit_markers(robot, record, start, markers).rms < ROUNDING


def test_weights_are_those_of_least_squares():
    """Markers of one slider that disagree: it goes to their weighted mean."""
    robot = ccd.load(
        '<robot name="slide"> <link name="base"/> <link name="sled"> <inertial> <mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/> </inertial> </link>'
        '<joint name="x" type="prismatic"> <parent link="base"/> <child link="sled"/>'
        '<axis xyz="1 0 0"/> <limit lower="-9" upper="9" effort="1" velocity="1"/> </joint>'
        '</robot>'
    )
    weights, places = np.array([1.0, 2.0, 5.0]), np.array([0.1, 0.5, 0.2])
    points = np.zeros((4, 3, 3))
    points[:, :, 0] = places
    record = MarkerRecord('slide', np.arange(4.0), ('a', 'b', 'c'), points)
    markers = {name: Marker('sled', weight=w) for name, w in zip('abc', weights)}
    fit = fit_markers(robot, record, np.zeros(1), markers)
    assert fit.poses[:, 0] == pytest.approx(weights @ places / weights.sum(), abs=ROUNDING)


def test_c3d_files_give_their_points(tmp_path):
    ezc3d = pytest.importorskip('ezc3d', reason='C3D files need ezc3d, which is optional')
    points = np.random.default_rng(0).normal(0.0, 300.0, (5, 3, 3))
    file = ezc3d.c3d()
    file['parameters']['POINT']['RATE']['value'] = [200.0]
    file['parameters']['POINT']['UNITS']['value'] = ['mm']
    file['parameters']['POINT']['LABELS']['value'] = ['a', 'b', 'c']
    data = np.ones((4, 3, 5))
    data[:3] = np.moveaxis(points, (0, 1, 2), (2, 1, 0))
    file['data']['points'] = data
    seen = np.zeros((1, 3, 5))
    seen[0, 1, 3] = -1.0
    file['data']['meta_points']['residuals'] = seen
    file['data']['meta_points']['camera_masks'] = np.zeros((7, 3, 5), dtype=bool)
    file.write(str(tmp_path / 'run.c3d'))
    record = read_markers(tmp_path / 'run.c3d')
    expected = points / 1e3
    expected[3, 1] = np.nan
    assert record.names == ('a', 'b', 'c') and record.time[-1] == pytest.approx(0.02)
    np.testing.assert_allclose(record.points, expected, atol=1e-7)  # single precision


# x forward, y up, centimetres; two orders of rotations
BVH = """HIERARCHY
ROOT hips
{
  OFFSET 0 90 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT thigh
  {
    OFFSET 0 -10 8
    CHANNELS 3 Yrotation Xrotation Zrotation
    JOINT shank
    {
      OFFSET 0 -40 0
      CHANNELS 1 Zrotation
      End Site
      {
        OFFSET 0 -42 0
      }
    }
  }
}
MOTION
Frames: 5
Frame Time: 0.02
"""


def skeleton(path):
    """Write a skeleton that moves; return its channels [deg]."""
    values = (
        np.random.default_rng(5).normal(0.0, 15.0, (1, 10)) * np.linspace(0.2, 1.0, 5)[:, None]
    )
    path.write_text(BVH + '\n'.join(' '.join(map(repr, row.tolist())) for row in values) + '\n')
    return values


def test_a_skeleton_is_where_its_angles_say(tmp_path):
    """Euler angles by SciPy, in intrinsic order; y up becomes z up, centimetres metres."""
    values = skeleton(tmp_path / 'run.bvh')
    record = read_markers(tmp_path / 'run.bvh', up='y', scale=0.01)
    column = {name: k for k, name in enumerate(record.names)}
    for row, points in zip(values, record.points):
        hips = Rotation.from_euler('ZXY', row[3:6], degrees=True)
        thigh = hips * Rotation.from_euler('YXZ', row[6:9], degrees=True)
        shank = thigh * Rotation.from_euler('Z', row[9], degrees=True)
        p_hips = np.array([0.0, 90.0, 0.0]) + row[:3]
        p_thigh = p_hips + hips.apply([0.0, -10.0, 8.0])
        p_shank = p_thigh + thigh.apply([0.0, -40.0, 0.0])
        p_end = p_shank + shank.apply([0.0, -42.0, 0.0])
        for name, p in (
            ('hips', p_hips),
            ('thigh', p_thigh),
            ('shank', p_shank),
            ('shank+end', p_end),
            ('shank+x', p_shank + shank.apply([10.0, 0.0, 0.0])),
            ('shank+z', p_shank + shank.apply([0.0, 10.0, 0.0])),  # up is z now
        ):
            expected = 0.01 * np.array([p[0], -p[2], p[1]])
            np.testing.assert_allclose(points[column[name]], expected, atol=1e-12)


def test_a_model_with_the_names_of_a_skeleton_moves_as_it_does(tmp_path):
    """The knee of the file turns about z, to the right with y up: about -y of the model."""
    values = skeleton(tmp_path / 'run.bvh')
    body = (
        '<link name="{0}"> <inertial> <mass value="1"/> <inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/> </inertial> </link> <joint name="to_{0}" type="{2}" {4}> <parent '
        'link="{1}"/> <child link="{0}"/> <origin xyz="{3}"/> <axis xyz="0 -1 0"/> </joint>'
    )
    ball = 'cc:type="spherical"'
    robot = ccd.load(
        '<robot name="leg" xmlns:cc="urn:closed_chain_dynamics"> <link name="world"/>'
        + body.format('hips', 'world', 'floating', '0 0 0', '')
        + body.format('thigh', 'hips', 'floating', '0 -0.08 -0.1', ball)
        + body.format('shank', 'thigh', 'continuous', '0 0 -0.4', '')
        + '</robot>'
    )
    record = read_markers(tmp_path / 'run.bvh', up='y', scale=0.01)
    fit = fit_markers(robot, record, robot.neutral())
    assert fit.rms < ROUNDING and fit.unused == ['shank+end']
    knee = fit.poses[:, robot.joint_slices('to_shank')[0]][:, 0]
    np.testing.assert_allclose(knee, np.radians(values[:, 9]), atol=1e-8)
