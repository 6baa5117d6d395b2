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

"""Maps of a workspace against closed forms of the five-bar and the four-bar."""

import csv
import json

import numpy as np
import pytest
from scipy.optimize import brentq

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.studies.map_report import plot_map
from closed_chain_dynamics.studies.maps import study_map

UPPER, LOWER, APART = 0.25, 0.35, 0.3  # of the five-bar [m]
ROUNDING = 1e-9


def elbows(left, right):
    """Return the vector from the left elbow to the right one, and its length."""
    d = np.array(
        [APART + UPPER * (np.cos(right) - np.cos(left)), UPPER * (np.sin(right) - np.sin(left))]
    )
    return d, np.linalg.norm(d)


@pytest.fixture(scope='module')
def five_bar():
    axes = {
        'left_shoulder': np.linspace(0.0, 6.0, 9) + 0.03,
        'right_shoulder': np.linspace(0.0, 6.0, 9),
    }
    return study_map(ccd.load('five_bar'), axes, limits=False)


def test_a_point_is_reachable_in_two_ways_where_the_elbows_are_near_enough(five_bar):
    """The elbows are joined by two bars of 0.35 m: two modes up to 0.7 m, none beyond."""
    modes = five_bar.modes
    for i, left in enumerate(five_bar.axes['left_shoulder']):
        for j, right in enumerate(five_bar.axes['right_shoulder']):
            length = elbows(left, right)[1]
            assert modes[i, j] == (2 if length < 2 * LOWER else 0), (left, right, length)
    assert {row.mobility for row in five_bar.rows if row.q is not None} == {2}
    assert len({row.branch for row in five_bar.rows if row.q is not None}) == 2


def test_the_distance_is_that_of_the_closed_form(five_bar):
    """
    In the plane the loop has two rows: how the tip moves with every joint, left minus right.

    Without the shoulders' columns their determinant is l^2 times the sine of the angle between the
    lower bars, which the triangle of elbows and tip gives.
    """
    for row in five_bar.rows:
        if row.q is None:
            continue
        left, left_elbow, right, right_elbow = row.q
        one, two = (LOWER * _across(x) for x in (left + left_elbow, right + right_elbow))
        whole = np.column_stack(
            [UPPER * _across(left) + one, one, -UPPER * _across(right) - two, -two]
        )
        rest = whole[:, [1, 3]]
        angle = 2.0 * np.arcsin(elbows(*row.values)[1] / (2.0 * LOWER))
        assert abs(np.linalg.det(rest)) == pytest.approx(LOWER**2 * abs(np.sin(angle)), abs=1e-9)
        wanted = np.linalg.svd(rest)[1][-1] / np.linalg.svd(whole)[1][0]
        assert row.distance == pytest.approx(wanted, abs=1e-9)


def _across(angle):
    return np.array([-np.sin(angle), np.cos(angle)])


def test_the_singularity_curve_is_where_the_lower_bars_are_in_one_line():
    """On it |elbow to elbow| = 0.7 m: the distance goes to zero as the square root of the rest."""
    robot, left = ccd.load('five_bar'), 2.6
    edge = brentq(lambda right: elbows(left, right)[1] - 2 * LOWER, 0.0, 2.0)
    inside = -np.sign(elbows(left, edge + 1e-3)[1] - 2 * LOWER)
    found = study_map(
        robot,
        {'right_shoulder': edge + inside * np.array([-1e-2, 1e-4, 4e-4, 1.6e-3, 6.4e-3])},
        held={'left_shoulder': left}, limits=False,
    )  # fmt: skip
    assert found.modes.tolist() == [0, 2, 2, 2, 2]
    distance = found.best('distance')[1:]
    assert distance[1:] / distance[:-1] == pytest.approx(2.0, rel=0.05)
    assert distance[0] < 0.02


def test_a_line_of_the_map_stays_on_its_branch(tmp_path):
    """Both assembly modes of the four-bar, against its closed form: which is farther changes."""
    robot = ccd.load('four_bar')
    found = study_map(robot, {'crank': np.linspace(-3.0, 3.0, 25)}, limits=False)
    assert len(found.branches) == 2 and np.all(found.modes == 2)
    distances = [found.best('distance', branch) for branch in found.branches]
    assert np.all(found.best('distance') == np.maximum(*distances))
    rocker = robot.coordinate_names.index('rocker')
    for branch in found.branches:
        angle = [row.q[rocker] for row in found.rows if row.branch == branch]
        assert np.abs(np.diff(np.unwrap(angle))).max() < 0.5  # rad, of 0.25 of the crank: no jump
    picture = tmp_path / 'map.png'
    lines = plot_map(found, picture).axes[3].get_lines()
    assert [line.get_label() for line in lines] == found.branches
    for line, branch in zip(lines, found.branches):
        assert np.array_equal(line.get_ydata(), found.best('torque', branch))


def test_torques_of_a_map_are_those_of_inverse_dynamics_and_files_hold_it(tmp_path, capsys):
    picture, path = str(tmp_path / 'map.png'), str(tmp_path / 'map.csv')
    asked = ['study', 'map', 'four_bar', '--over', 'crank=range(0.5,1.5,5)', '--starts', '6']
    assert main([*asked, '--plot', picture, '--csv', path, '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['reachable'] == 5 and report['mobility'] == [1]
    with open(path, newline='') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 5
    robot = ccd.load('four_bar')
    for row in rows:
        q = np.array([float(row[f'q:{name}']) for name in robot.coordinate_names])
        assert max(map(max, robot.loop_gaps(q).values())) < ROUNDING
        nothing = np.zeros(robot.nv)
        torque = abs(ccd.inverse_dynamics(robot, q, nothing, nothing).tau_A).max()
        assert float(row['torque']) == pytest.approx(torque, rel=1e-9)
    assert (tmp_path / 'map.png').stat().st_size > 10000
    with pytest.raises(SystemExit):
        main(['study', 'map', 'four_bar', '--over', 'crank'])
    assert main(['study', 'map', 'four_bar', '--over', 'crnk=1,2']) == 1
    assert "'crank'" in capsys.readouterr().err


def test_joints_that_the_map_leaves_open_are_named(capsys):
    leg = ['study', 'map', 'exo_leg', '--starts', '1', '--over', 'ankle_pitch=0,0.1']
    assert main(leg) == 0
    said = ' '.join(capsys.readouterr().out.split())
    assert 'do not determine hip, knee and left_crank' in said
    assert 'with --q hip=0 knee=0 left_crank=0.' in said
    assert main([*leg, 'ankle_roll=0,0.1', '--q', 'hip=0', 'knee=0']) == 0
    said = capsys.readouterr().out
    assert 'do not determine' not in said and '1 at 4 points' in said
