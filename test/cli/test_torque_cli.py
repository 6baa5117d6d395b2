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

"""closed-chain torque: what it computes, what it names, and what it refuses."""

import csv
import json
import re

import numpy as np
import pinocchio
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.model import library

ROUNDING = 1e-12  # relative: the same formula, written twice
SPLINE = 2e-3  # of a spline through samples 1 ms apart, near its ends [N m]
SECOND_DIFFERENCE = 1e-5  # of angles 1e-3 rad apart: its error and rounding are both below [1]
SINE = ('--sine', 'swing=0.8,0.7')

# A parallelogram, whose loop loses a constraint when all its bars lie in one line.
BAR = """
  <link name="{0}"> <inertial> <origin xyz="{3} 0 0"/> <mass value="1"/>
    <inertia ixx="1e-3" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <joint name="{0}" type="continuous"> <parent link="{1}"/> <child link="{0}"/>
    <origin xyz="{2} 0 0"/> <axis xyz="0 -1 0"/> </joint>"""
BARS = (('crank', 'base', 0, 0.1), ('coupler', 'crank', 0.2, 0.25), ('rocker', 'base', 0.5, 0.1))
PARALLELOGRAM = f"""
<robot name="parallelogram"> <link name="base"/> {''.join(BAR.format(*each) for each in BARS)}
  <constraint name="pin" type="revolute"> <parent link="coupler"/> <child link="rocker"/>
    <parent_origin xyz="0.5 0 0"/> <parent_axis xyz="0 -1 0"/>
    <child_origin xyz="0.2 0 0"/> <child_axis xyz="0 -1 0"/> </constraint>
</robot>"""


def report_of(capsys, *arguments):
    assert main(['torque', *arguments, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def columns_of(path, kinds=('',)):
    """Return the columns of a table whose names begin in one of some ways."""
    with open(path, newline='') as file:
        rows = list(csv.DictReader(file))
    return {
        name: np.array([float(row[name]) for row in rows])
        for name in rows[0]
        if name.startswith(tuple(kinds))
    }


def write_table(path, **columns):
    lines = [','.join(columns), *(','.join(map(repr, row)) for row in zip(*columns.values()))]
    path.write_text('\n'.join(lines))
    return str(path)


@pytest.fixture(scope='module')
def pendulum():
    """Return torques of the pendulum by another engine, its damping added by hand."""
    model = pinocchio.buildModelFromUrdf(str(library.find('pendulum')))
    model.gravity.linear = np.array((0.0, 0.0, -9.80665))
    data = model.createData()

    def torque(angle, rate, slope):
        turn = np.array((np.cos(angle), np.sin(angle)))
        return (
            pinocchio.rnea(model, data, turn, np.array([rate]), np.array([slope]))[0] + 0.02 * rate
        )

    return torque


def test_a_pose_gives_the_torque_of_another_engine(pendulum, capsys):
    report = report_of(capsys, 'pendulum', '--q', 'swing=1', '--v', 'swing=2', '--a', 'swing=0.5')
    (only,) = report['actuators']
    assert only['torque'] == pytest.approx(pendulum(1.0, 2.0, 0.5), rel=ROUNDING)
    assert only['utilisation'] == pytest.approx(abs(only['torque']) / 25.0, rel=ROUNDING)
    assert report['power']['peak'] == pytest.approx(2.0 * only['torque'], rel=ROUNDING)


def test_a_sine_gives_the_torques_of_another_engine(pendulum, capsys, tmp_path):
    path = tmp_path / 'torques.csv'
    report = report_of(capsys, 'pendulum', '--q', 'swing=0.3', *SINE, '--csv', str(path))
    omega = 2.0 * np.pi * 0.7
    t = np.array(report['series']['time'])
    assert t[-1] == pytest.approx(1.0 / 0.7) and len(t) == 201
    expected = [
        pendulum(
            0.3 + 0.8 * np.sin(omega * t),
            0.8 * omega * np.cos(omega * t),
            -0.8 * omega**2 * np.sin(omega * t),
        )
        for t in t
    ]
    assert np.allclose(report['series']['tau_A']['swing'], expected, rtol=0.0, atol=1e-10)
    columns = columns_of(path)
    assert columns['tau:swing'].tolist() == report['series']['tau_A']['swing']
    assert report['files'] == {'csv': str(path)}


def test_over_a_period_the_motor_works_only_against_damping(capsys, tmp_path):
    path = tmp_path / 'torques.csv'
    report = report_of(
        capsys, 'four_bar', '--q', 'crank=1', '--sine', 'crank=0.7,1.5', '--csv', str(path)
    )
    columns = columns_of(path)
    crank, coupler, rocker = (columns[f'v:{name}'] for name in ('crank', 'coupler', 'rocker'))
    lost = 0.01 * crank**2 + 0.002 * (coupler**2 + rocker**2 + (crank + coupler - rocker) ** 2)
    # a trapezoidal sum over whole periods of something smooth is exact but for rounding
    dissipated = np.sum((lost[1:] + lost[:-1]) * np.diff(columns['time'])) / 2.0
    assert report['power']['work'] == pytest.approx(dissipated, rel=1e-9)
    assert dissipated > 0.1


@pytest.mark.parametrize('model, push', [('four_bar', 'crank=1'), ('swing', None)])
def test_a_simulated_motion_needs_the_torques_it_was_made_with(model, push, capsys, tmp_path):
    run = str(tmp_path / 'run.csv')
    given = ['--tau', push] if push else []
    assert main(['simulate', model, *given, '--time', '0.3', '--csv', run]) == 0
    capsys.readouterr()
    report = report_of(capsys, model, '--trajectory', run)
    assert report['samples'] == 301
    expected = {name: 1.0 if name == 'crank' else 0.0 for name in report['series']['tau_A']}
    for name, values in report['series']['tau_A'].items():
        assert np.allclose(values[5:-5], expected[name], rtol=0.0, atol=SPLINE), name


def test_a_coarse_trajectory_is_sampled_finer_by_its_spline(capsys, tmp_path):
    t = np.linspace(0.0, 1.0, 11)
    path = write_table(tmp_path / 'motion.csv', time=t.tolist(), crank=(1.0 + t**2).tolist())
    report = report_of(capsys, 'four_bar', '--trajectory', path, '--rate', '50')
    assert len(report['series']['time']) == 51
    exact = report_of(capsys, 'four_bar', '--q', 'crank=1.25', '--v', 'crank=1', '--a', 'crank=2')
    assert report['series']['tau_A']['crank'][25] == pytest.approx(
        exact['actuators'][0]['torque'], rel=1e-9
    )


def test_free_joints_that_the_motion_does_not_name_keep_still(capsys, tmp_path):
    path = tmp_path / 'torques.csv'
    report = report_of(capsys, 'five_bar', '--sine', 'left_shoulder=0.2,1', '--csv', str(path))
    assert np.ptp(columns_of(path)['q:right_shoulder']) < 1e-12
    assert report['warnings'] == [
        'The motion does not determine right_shoulder: it stays still. If you mean another '
        'motion, give more joints one (an amplitude of 0 holds a joint).'
    ]


def test_redundant_motors_share_as_they_are_told(capsys):
    pose = ('four_bar', '--q', 'crank=1', '--actuated', 'crank,rocker')
    smallest = report_of(capsys, *pose)
    alone = report_of(capsys, *pose[:3])['actuators'][0]['torque']
    small = [each['torque'] for each in smallest['actuators']]
    # S^T tau_A = tau_G is one equation: its least solution is along S
    h = report_of(capsys, *pose[:3], '--v', 'crank=1')['start']['v']['rocker']
    assert np.allclose(small, alone * np.array((1.0, h)) / (1.0 + h**2), rtol=1e-9)
    loaded = report_of(capsys, *pose, '--preload', 'rocker=2')
    assert loaded['actuators'][1]['torque'] > 1.9
    assert loaded['actuators'][0]['torque'] + h * loaded['actuators'][1][
        'torque'
    ] == pytest.approx(alone, rel=1e-9)
    weighted = report_of(capsys, *pose, '--policy', 'weighted', '--weights', 'rocker=1e6')
    assert abs(weighted['actuators'][1]['torque']) < 1e-5
    within = report_of(capsys, *pose, '--policy', 'within_limits')  # the rocker's limit is 0
    assert [each['torque'] for each in within['actuators']] == pytest.approx([alone, 0.0])


def test_what_no_actuator_gives_is_named(capsys):
    assert main(['torque', 'five_bar', '--actuated', 'left_shoulder']) == 0
    shown = capsys.readouterr().out
    assert 'right_elbow: -1.175 of the generalized force is given by no actuator' in shown


def test_a_model_without_motors_is_told_how_to_name_them(tmp_path, capsys):
    path = tmp_path / 'model.urdf'
    path.write_text(library.find('four_bar').read_text().replace(' cc:role="actuated"', ''))
    report = report_of(capsys, str(path), '--q', 'crank=1')
    assert report['actuators'] == []
    assert 'as in --actuated' in report['warnings'][0]
    alone = report_of(capsys, 'four_bar', '--q', 'crank=1', '--v', 'crank=1')
    # the generalized force is another coordinate's: power says the same
    (other,) = report['coordinates']
    assert other['residual'] * alone['start']['v'][other['name']] == pytest.approx(
        report_of(capsys, 'four_bar', '--q', 'crank=1')['actuators'][0]['torque'], rel=1e-9
    )


def test_a_trajectory_with_open_loops_is_closed_and_told(tmp_path, capsys):
    run = tmp_path / 'run.csv'
    assert main(['simulate', 'four_bar', '--time', '0.1', '--csv', str(run)]) == 0
    capsys.readouterr()
    columns = columns_of(run, kinds=('time', 'q:'))
    table = write_table(
        tmp_path / 'rounded.csv',
        **{name: values.round(4).tolist() for name, values in columns.items()},
    )
    report = report_of(capsys, 'four_bar', '--trajectory', table)
    assert any(
        each.startswith('The loops are open in the trajectory') for each in report['warnings']
    )


def test_exceeded_limits_are_named(capsys):
    report = report_of(capsys, 'pendulum', '--sine', 'swing=2,2')
    found = {(each['joint'], each['kind']): each for each in report['exceeded']}
    assert found['swing', 'speed']['value'] == pytest.approx(8.0 * np.pi)  # 2 pi 2 Hz 2 rad
    assert found['swing', 'effort']['limit'] == 25.0
    assert any('swing: effort' in each for each in report['warnings'])
    wide = report_of(capsys, 'four_bar', '--sine', 'crank=0.1,1')
    assert wide['exceeded'] == [] and wide['warnings'] == []


def test_a_pose_out_of_range_is_named_in_a_trajectory(capsys, tmp_path):
    t = np.linspace(0.0, 1.0, 6)
    path = write_table(
        tmp_path / 'motion.csv',
        time=t.tolist(),
        left_shoulder=(2.14 - 0.3 * t).tolist(),
        right_shoulder=(1.0 - 1.55 * t).tolist(),
    )
    report = report_of(capsys, 'five_bar', '--trajectory', path)
    (low,) = (each for each in report['exceeded'] if each['joint'] == 'right_shoulder')
    assert (low['kind'], low['limit'], low['time']) == ('range', -0.5, 1.0)
    assert low['value'] == pytest.approx(-0.55)


def test_a_singular_pose_is_named(tmp_path, capsys):
    path = tmp_path / 'parallelogram.urdf'
    path.write_text(PARALLELOGRAM)
    model = (str(path), '--actuated', 'crank', '--q', 'crank=0', 'coupler=0', 'rocker=0')
    report = report_of(capsys, *model)
    assert report['singular'] == [0.0]
    assert any(
        'The pose is singular: ' in each and 'coupler' in each for each in report['warnings']
    )
    assert main(['torque', *model, '--singularity', 'refuse']) == 1
    assert 'the pose is singular' in capsys.readouterr().err


def test_the_figure_is_written(tmp_path, capsys):
    path = tmp_path / 'torques.png'
    report = report_of(
        capsys,
        'five_bar',
        '--actuated',
        'left_shoulder',
        '--sine',
        'left_shoulder=0.2,1',
        '--rate',
        '40',
        '--plot',
        str(path),
    )
    assert path.read_bytes().startswith(b'\x89PNG') and path.stat().st_size > 10000
    assert report['files'] == {'plot': str(path)}


@pytest.mark.parametrize(
    'text, complaint',
    [
        ('crank\n1\n', "no column 'time'"),
        ('time,crnk\n0,1\n', 'no column is named like a joint of four_bar'),
        ('time,crank\n0,1\n1,1\n', 'needs 4 times or more, and has 2. Add lines'),
        ('time,crank\n0,1\n2,1\n1,1\n3,1\n', 'time goes back from 2 to 1 s'),
        ('time,crank\n0,1\n1,x\n2,1\n3,1\n', "line 3 has 'x' in the column 'crank'"),
        ('time,crank\n0,1\n1\n2,1\n3,1\n', "line 3 has '' in the column 'crank'"),
        ('time,crank,rocker\n0,1,1\n1,1,1\n2,1,1\n3,1,1\n', 'at t = 0 s'),
    ],
)
def test_a_bad_trajectory_is_refused_with_the_place(text, complaint, tmp_path, capsys):
    path = tmp_path / 'motion.csv'
    path.write_text(text)
    assert main(['torque', 'four_bar', '--trajectory', str(path)]) == 1
    assert complaint in capsys.readouterr().err


def test_half_a_joint_is_refused(tmp_path, capsys):
    path = write_table(
        tmp_path / 'motion.csv', time=[0.0, 1.0, 2.0, 3.0], **{'root:x': [0.0, 0.0, 0.0, 0.0]}
    )
    assert main(['torque', 'figure', '--trajectory', path]) == 1
    assert "the joint 'root' needs the columns root:x, root:y" in capsys.readouterr().err


def test_a_sine_moves_joints_of_one_coordinate_only(capsys):
    assert main(['torque', 'figure', '--sine', 'left_hip=0.1,1']) == 1
    assert "'left_hip' has more than one coordinate" in capsys.readouterr().err


@pytest.mark.parametrize(
    'arguments, complaint',
    [
        (['--plot', 'x.png'], '--plot draws a motion'),
        (['--sine', 'crank=0.1,1', '--v', 'crank=1'], 'a motion has its own velocities'),
        (['--time', '2'], '--time is for --sine'),
        (['--rate', '2'], '--rate is for a motion'),
        (['--weights', 'crank=2'], '--weights need --policy weighted'),
        (['--sine', 'crank=0.1'], 'joint=amplitude,frequency'),
        (['--sine', 'crank=0.1,1', '--time', '-1'], "'-1' is not a positive number"),
        (['--polcy', 'weighted'], "Did you mean '--policy'"),
    ],
)
def test_wrong_usage_is_told(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['torque', 'four_bar', *arguments])
    assert stopped.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_joint_with_a_velocity_alone_keeps_it_and_the_report_says_so(capsys):
    report = report_of(capsys, 'four_bar', '--q', 'crank=1', '--v', 'crank=-6')
    robot, step = ccd.load('four_bar'), 1e-3
    before, now, after = (
        ccd.assemble(robot, {'crank': 1.0 + shift}) for shift in (-step, 0.0, step)
    )
    # with a steady crank only the curvature of the linkage accelerates the others
    curvature = (before - 2.0 * now + after) / step**2
    for name, value in zip(robot.joint_names, 36.0 * curvature):
        assert report['start']['a'][name] == pytest.approx(value, abs=36.0 * SECOND_DIFFERENCE)
    assert report['assumed'] == ['constant velocity of crank; --a sets an acceleration']
    assert report['actuators'][0]['speed'] == pytest.approx(-6.0)  # with its sign
    assert main(['torque', 'four_bar', '--q', 'crank=1', '--v', 'crank=-6']) == 0
    shown = capsys.readouterr().out
    assert 'constant velocity of crank' in shown and '%  -6' in shown


def test_what_the_loops_decide_is_not_assumed(capsys):
    rate = report_of(capsys, 'four_bar', '--q', 'crank=1', '--v', 'crank=6')['start']['v']
    both = ['--v', 'crank=6', f'rocker={rate["rocker"]!r}']
    report = report_of(capsys, 'four_bar', '--q', 'crank=1', *both)
    assert report['assumed'] == ['constant velocity of crank; --a sets an acceleration']
    given = report_of(capsys, 'four_bar', '--q', 'crank=1', '--v', 'crank=6', '--a', 'crank=2')
    assert given['assumed'] == [] and given['start']['a']['crank'] == pytest.approx(2.0)
    assert report_of(capsys, 'four_bar', '--q', 'crank=1')['assumed'] == []


def test_ways_to_move_that_nobody_named_are_told(capsys):
    report = report_of(capsys, 'five_bar', '--v', 'left_shoulder=1')
    assert report['assumed'][1] == (
        'the smallest velocities for 1 degree of freedom that --v leaves open'
    )


def test_a_residual_of_rounding_is_no_warning(capsys):
    # two equal feet on the ground: exactly zero is needed at the hip, and 1e-14 comes out
    report = report_of(capsys, 'biped')
    forces = {each['name']: each for each in report['coordinates']}
    assert report['warnings'] == [] and all(not each['residual'] for each in forces.values())
    assert main(['torque', 'biped']) == 0
    shown = capsys.readouterr().out
    assert not re.search(r'e-1\d', shown), shown
    assert max(map(len, shown.splitlines())) < 100  # a long pose is wrapped
    # without damping, what goes to and fro does no work
    assert main(['torque', 'exo', '--sine', 'rho1=0.2,1']) == 0
    assert '; 0 J in all' in capsys.readouterr().out
