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

"""The command `closed-chain simulate`: what it prints, writes and refuses."""

import io
import json
import os
from pathlib import Path
import re
import subprocess
import sys

import numpy as np
from PIL import Image
import pytest

from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.recording import terminal

ROOT = Path(__file__).resolve().parents[2]
RK4_DRIFT = 1e-7  # relative, of RK4 at 1 ms on linkages of this size and speed
CLOSED_LOOPS = 1e-12  # [m or rad]
KEYS = {
    'generated',
    'schema',
    'name',
    'file',
    'time',
    'dt',
    'integrator',
    'steps',
    'samples',
    'wall_time',
    'speed',
    'mobility',
    'energy',
    'loop_error',
    'limits',
    'stops',
    'events',
    'final',
    'files',
    'warnings',
}
MESHED = """<robot name="meshed"> <link name="base"/>
  <link name="arm"> <inertial> <origin xyz="0 0 -1"/> <mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/> </inertial>
    <visual> <geometry> <mesh filename="arm.stl"/> </geometry> </visual> </link>
  <joint name="turn" type="continuous"> <parent link="base"/> <child link="arm"/>
    <axis xyz="0 1 0"/> </joint> </robot>"""


def run(*arguments, **options):
    """Run the real command in a process of its own, with its output in pipes."""
    return subprocess.run(
        [sys.executable, '-m', 'closed_chain_dynamics.cli', 'simulate', *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def report_of(capsys, *arguments):
    assert main(['simulate', *map(str, arguments), '--json']) == 0
    return json.loads(capsys.readouterr().out)


def complaint_of(capsys, *arguments):
    """Return the one paragraph that is said about bad data."""
    assert main(['simulate', *map(str, arguments)]) == 1
    shown, complaints = capsys.readouterr()
    lines = [line for line in complaints.strip().splitlines() if 'compiling' not in line]
    assert shown == '' and len(lines) == 1, complaints
    return lines[0]


def test_json_has_the_stable_keys_and_good_numbers(capsys):
    report = report_of(
        capsys, 'four_bar', '--time', 0.5, '--q', 'crank=1', '--v', 'crank=3', '--tau', 'crank=0.2'
    )
    assert set(report) == KEYS
    assert (report['name'], report['steps'], report['samples']) == ('four_bar', 500, 501)
    assert report['mobility'] == {'before': 1, 'after': 1}
    assert report['loop_error'] < CLOSED_LOOPS
    energy = report['energy']
    assert energy['relative_drift'] < RK4_DRIFT and report['warnings'] == []
    assert energy['work'] == pytest.approx(
        0.2 * (report['final']['q']['crank'] - 1.0), rel=RK4_DRIFT
    )  # constant torque
    assert energy['start'] + energy['work'] - energy['dissipated'] == pytest.approx(
        energy['end'], abs=1e-6
    )
    assert report['speed'] == pytest.approx(0.5 / report['wall_time'])


def test_the_same_in_words_in_a_pipe():
    done = run('four_bar', '--time', 20)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if 'compiling' not in line] == []
    assert done.stdout.isascii() and '\033' not in done.stdout
    shown = ' '.join(done.stdout.split())
    assert 'simulated 20 s in 20000 steps of 0.001 s, rk4' in shown
    assert 'times real time' in shown and 'mobility 1 at the start, 1 at the end' in shown


def test_joints_are_cut_and_connected_at_their_times(capsys):
    report = report_of(
        capsys,
        'four_bar',
        '--time',
        0.6,
        '--cut',
        'coupler_rocker@0.2',
        '--connect',
        'coupler_rocker@0.203',
        '--cut',
        'coupler_rocker@0.5004',
    )
    events = report['events']
    assert [(event['kind'], event['name']) for event in events] == [
        ('cut', 'coupler_rocker'),
        ('connect', 'coupler_rocker'),
        ('cut', 'coupler_rocker'),
    ]
    assert [event['time'] for event in events] == pytest.approx([0.2, 0.203, 0.5], abs=1e-12)
    assert [event['mobility_after'] for event in events] == [3, 1, 3]
    assert events[1]['energy_lost'] > 0.0 and len(events[1]['impulse']) == 5
    assert report['energy']['lost'] == events[1]['energy_lost'] + events[1]['energy_of_gap']
    assert report['energy']['relative_drift'] < RK4_DRIFT


def test_what_is_cut_and_connected_at_once_is_cut_first(capsys):
    report = report_of(
        capsys,
        'four_bar',
        '--time',
        0.1,
        '--connect',
        'coupler_rocker@0.05',
        '--cut',
        'coupler_rocker@0.05',
    )
    assert [event['kind'] for event in report['events']] == ['cut', 'connect']


def test_a_joint_of_the_tree_can_be_cut(capsys):
    report = report_of(capsys, 'pendulum', '--time', 0.2, '--cut', 'swing@0.1')
    assert report['mobility'] == {'before': 1, 'after': 6}
    assert 'swing:qw' in report['final']['q'] and 'swing' not in report['final']['q']


def test_events_are_in_the_table(capsys):
    assert main(['simulate', 'four_bar', '--time', '0.2', '--cut', 'coupler_rocker@0.1']) == 0
    shown = ' '.join(capsys.readouterr().out.split())
    assert 'mobility 1 at the start, 3 at the end' in shown
    assert '0.1 s cut coupler_rocker 1 to 3 0 J' in shown


def test_all_files_at_once(tmp_path, capsys):
    names = {'plot': 'a.png', 'record': 'a.gif', 'csv': 'a.csv', 'npz': 'a.npz', 'mcap': 'a.mcap'}
    files = {option: str(tmp_path / name) for option, name in names.items()}
    options = [each for option, path in files.items() for each in (f'--{option}', path)]
    report = report_of(
        capsys,
        'four_bar',
        '--time',
        0.4,
        '--size',
        '160x120',
        '--fps',
        10,
        '--view',
        '30,20',
        '--speed',
        0.5,
        *options,
    )
    assert report['files'] == files
    with Image.open(files['record']) as film:
        assert (film.n_frames, film.size, film.info['duration']) == (9, (160, 120), 100)
    with Image.open(files['plot']) as picture:
        picture.verify()
    with np.load(files['npz']) as arrays:
        assert len(arrays['time']) == report['samples']
        assert arrays['q'][-1].tolist() == list(report['final']['q'].values())
    assert len(Path(files['csv']).read_text().splitlines()) == 1 + report['samples']
    assert Path(files['mcap']).read_bytes().startswith(b'\x89MCAP')


@pytest.mark.parametrize('integrator', ['rk4', 'euler', 'adaptive'])
def test_integrators_agree(integrator, capsys):
    report = report_of(
        capsys,
        'pendulum',
        '--time',
        0.2,
        '--q',
        'swing=1',
        '--dt',
        1e-4,
        '--integrator',
        integrator,
    )
    assert report['integrator'] == integrator
    other = report_of(capsys, 'pendulum', '--time', 0.2, '--q', 'swing=1')
    # semi-implicit Euler is of first order in dt
    tolerance = 1e-3 if integrator == 'euler' else 1e-8
    assert report['final']['q']['swing'] == pytest.approx(
        other['final']['q']['swing'], abs=tolerance
    )


def test_gravity_is_an_option(capsys):
    report = report_of(capsys, 'pendulum', '--time', 0.1, '--q', 'swing=1', '--gravity', 0, 0, 0)
    assert report['final']['q']['swing'] == 1.0
    report = report_of(capsys, 'pendulum', '--time', 0.1, '--gravity', '-5', '0', '-5')
    assert report['final']['q']['swing'] < 0.0


def test_no_time_at_all_is_a_run_too(capsys):
    report = report_of(capsys, 'four_bar', '--time', 0)
    assert (report['steps'], report['samples'], report['speed']) == (0, 1, None)


def test_a_step_that_is_too_long_is_told(capsys):
    report = report_of(capsys, 'pendulum', '--q', 'swing=3', '--dt', 0.1, '--integrator', 'euler')
    assert 'smaller --dt' in report['warnings'][0]


def test_meshes_are_told_and_the_rest_is_drawn(tmp_path, capsys):
    (tmp_path / 'meshed.urdf').write_text(MESHED)
    report = report_of(
        capsys,
        tmp_path / 'meshed.urdf',
        '--time',
        0.04,
        '--record',
        tmp_path / 'a.gif',
        '--size',
        '64x48',
    )
    assert report['warnings'] == ["The mesh of link 'arm' is not drawn."]


class Terminal(io.StringIO):
    """What a bar takes for a terminal."""

    def isatty(self):
        return True


def test_a_terminal_shows_a_bar_and_is_left_clean(monkeypatch, capsys):
    monkeypatch.setattr(terminal, 'BAR_AFTER', -1.0)
    monkeypatch.setattr(terminal, 'REDRAW', -1.0)
    monkeypatch.setattr(sys, 'stderr', Terminal())
    assert main(['simulate', 'four_bar', '--time', '0.2', '--cut', 'coupler_rocker@0.1']) == 0
    shown = sys.stderr.getvalue()
    bars = [part for part in shown.split('\r') if part.startswith('simulating [')]
    shares = [int(bar.split('%')[0].split()[-1]) for bar in bars]
    assert shares == sorted(shares) and shares[0] <= 2 and shares[-1] == 100
    assert shown.endswith('\r\033[K')


def test_a_pipe_shows_no_bar_however_long_it_takes(monkeypatch, capsys):
    monkeypatch.setattr(terminal, 'BAR_AFTER', -1.0)
    monkeypatch.setattr(terminal, 'REDRAW', -1.0)
    monkeypatch.setattr(sys, 'stderr', io.StringIO())
    assert main(['simulate', 'four_bar', '--time', '0.2']) == 0
    assert 'simulating' not in sys.stderr.getvalue()


@pytest.mark.parametrize(
    'arguments, message',
    [
        (['four_bar', '--q', 'crnk=1'], "Did you mean 'crank'?"),
        (['four_bar', '--v', 'crnk=1'], "Did you mean 'crank'"),
        (['four_bar', '--tau', 'crnk=1'], "Did you mean 'crank'?"),
        (['four_bar', '--tau', 'rocker=1'], 'is passive and takes no torque'),
        (['four_bar', '--cut', 'coupler_roker@1'], "Did you mean 'coupler_rocker'"),
        (['four_bar', '--connect', 'coupler_rocker@0.1'], 'is already connected'),
        (['four_bar', '--q', 'crank=nan'], 'nan'),
        (['four_bar', '--gravity', 'nan', '0', '0'], 'gravity must be three finite numbers'),
        (
            [
                'four_bar',
                '--cut',
                'coupler_rocker@0.1',
                '--connect',
                'coupler_rocker@0.6',
                '--time',
                '1',
            ],
            'apart, more than',
        ),
        (['four_bar', '--plot', 'nowhere/a.png'], "there is no folder 'nowhere'"),
        (['four_bar', '--csv', 'nowhere/a.csv'], "there is no folder 'nowhere'"),
        (['four_bar', '--plot', 'a.doc'], 'End the name in .png'),
        (['four_bar', '--record', 'a.doc'], 'End the name in .gif'),
        (['fourbar'], "Did you mean 'four_bar'"),
    ],
)
def test_bad_data_gives_one_paragraph_and_exit_code_1(arguments, message, capsys):
    assert message in complaint_of(capsys, *arguments)


def test_a_bad_file_name_is_told_before_the_run(tmp_path, capsys):
    # a run of years would not come to an end
    assert 'End the name' in complaint_of(
        capsys, 'four_bar', '--time', 1e8, '--plot', tmp_path / 'a.doc'
    )


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write anywhere')
def test_a_folder_that_may_not_be_written_to_is_told(tmp_path, capsys):
    tmp_path.chmod(0o500)
    assert 'cannot be written' in complaint_of(
        capsys, 'four_bar', '--time', 0, '--csv', tmp_path / 'a.csv'
    )


def test_errors_are_json_for_programs(capsys):
    assert main(['simulate', 'four_bar', '--q', 'crnk=1', '--json']) == 1
    error = json.loads(capsys.readouterr().out)['error']
    assert error['type'] == 'NameNotFound' and 'crank' in error['repair']


@pytest.mark.parametrize(
    'arguments, message',
    [
        (['four_bar', '--q', 'crank'], "'crank' is not of the form joint=value"),
        (['four_bar', '--tau', 'crank=fast'], "'crank=fast' is not of the form joint=value"),
        (['four_bar', '--cut', 'coupler_rocker'], 'not of the form name@seconds'),
        (['four_bar', '--cut', 'coupler_rocker@soon'], 'not of the form name@seconds'),
        (['four_bar', '--cut', 'coupler_rocker@9'], 'not within the run, which is from 0 to 5 s'),
        (['four_bar', '--size', 'big'], 'not a size such as 640x480'),
        (['four_bar', '--integrator', 'rk45'], 'invalid choice'),
        (['four_bar', '--time', '-1'], 'is not a number of zero or more'),
        (['four_bar', '--time', 'nan'], 'is not a number of zero or more'),
        (['four_bar', '--dt', '0'], 'is not a positive number'),
        (['four_bar', '--time', '5s'], "'5s' is not a number; write it without a unit"),
        (['four_bar', '--q', 'crank=1', 'crank=2'], "argument --q: 'crank' is given twice"),
        ([], 'MODEL'),
    ],
)
def test_wrong_usage_has_exit_code_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['simulate', *arguments])
    assert stopped.value.code == 2
    shown, complaints = capsys.readouterr()
    assert shown == '' and message in complaints


def test_help_teaches_by_example(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['simulate', '--help'])
    assert not stopped.value.code
    shown = capsys.readouterr().out
    for option in (
        '--q',
        '--v',
        '--tau',
        '--connect',
        '--cut',
        '--plot',
        '--record',
        '--csv',
        '--npz',
        '--mcap',
        '--json',
        '--gravity',
        '--integrator',
    ):
        assert option in shown
    assert 'examples:\n  closed-chain simulate ' in shown


def test_stops_are_told_and_can_be_taken_away(capsys):
    start = 'five_bar', '--time', 0.45
    report = report_of(capsys, *start)
    assert report['limits']
    assert report['stops'] == ['right_shoulder', 'left_shoulder']
    assert main(['simulate', *map(str, start)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r'stops +right_shoulder, left_shoulder', shown)
    free = report_of(capsys, *start, '--no-limits')
    assert not free['limits']
    assert free['stops'] == free['events'] == []


def test_no_energy_is_told_that_is_rounding(capsys):
    """A platform without friction hits its stops: -7e-9 J dissipated, and gaps of -1e-15 J."""
    assert main(['simulate', 'stewart', '--time', '0.2']) == 0
    out = capsys.readouterr().out
    assert ' 0 J put in, 0 J dissipated, ' in out
    assert 'stop' in out
    assert not re.search(r' -[0-9.e-]+ J', out)


# An arm that balances about its own axis, and a tip without mass that a damper holds.
AT_REST = """<robot name="at_rest"> <link name="base"/>
  <link name="arm"> <inertial> <mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/> </inertial> </link>
  <link name="tip"> <inertial> <mass value="1e-9"/>
    <inertia ixx="1e-12" ixy="0" ixz="0" iyy="1e-12" iyz="0" izz="1e-12"/> </inertial> </link>
  <joint name="turn" type="continuous"> <parent link="base"/> <child link="arm"/>
    <axis xyz="0 1 0"/> </joint>
  <joint name="hang" type="continuous"> <parent link="arm"/> <child link="tip"/>
    <origin xyz="0.1 0 0"/> <axis xyz="0 1 0"/> <dynamics damping="0.5"/> </joint> </robot>"""


def test_a_warning_is_given_once_and_none_about_rounding(tmp_path, capsys, caplog):
    path = tmp_path / 'at_rest.urdf'
    path.write_text(AT_REST, encoding='utf-8')
    assert report_of(capsys, path, '--time', 0.05)['warnings'] == []
    assert [record.message for record in caplog.records if 'implicit' in record.message] == [
        *{record.message for record in caplog.records if 'implicit' in record.message}
    ]


def test_a_foot_below_the_floor_is_warned_of(tmp_path, capsys):
    path = tmp_path / 'foot.urdf'
    path.write_text(
        """<robot name="foot" xmlns:cc="urn:closed_chain_dynamics"> <link name="world"/>
        <link name="leg"> <inertial> <mass value="2"/>
          <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/> </inertial> </link>
        <joint name="lift" type="prismatic"> <parent link="world"/> <child link="leg"/>
          <axis xyz="0 0 1"/> <limit lower="-1" upper="1" effort="0" velocity="9"/> </joint>
        <constraint name="sole" type="surface" active="false"> <parent link="world"/>
          <child link="leg"/> <child_origin xyz="0 0 -0.5"/> <cc:contact/> </constraint>
        </robot>""",
        encoding='utf-8',
    )
    (warning,) = report_of(capsys, path, '--time', 0.05)['warnings']
    assert warning.startswith('Below their surface at the start: sole.')
    assert '-9.81 J' not in warning and '9.81 J' in warning  # 2 kg, by half a metre
    assert report_of(capsys, path, '--time', 0.05, '--q', 'lift=0.6')['warnings'] == []
