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

"""The closed-chain command: what it prints, where, and with which exit code."""

import json
import math
import os
from pathlib import Path
import pty
import re
import shlex
import subprocess
import sys

import pytest
from urdf_parser_py.urdf import URDF

from closed_chain_dynamics.cli.check_text import render
from closed_chain_dynamics.cli.main import COMMANDS, _parser, main
from closed_chain_dynamics.model import library
from closed_chain_dynamics.recording.terminal import Style

ROOT = Path(__file__).resolve().parents[2]
ESCAPE = '\033'

KEYS = {
    'schema',
    'name',
    'file',
    'root_link',
    'nq',
    'nv',
    'coordinate_names',
    'total_mass',
    'links',
    'joints',
    'loops',
    'couplings',
    'springs',
    'actuators',
    'assemblies',
    'mobility',
    'warnings',
    'missing',
}

RICH = """\
<robot name="rich" xmlns:cc="urn:closed_chain_dynamics">
  <link name="base"/>
  <link name="arm"> <inertial> <mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/> </inertial> </link>
  <link name="slide"> <inertial> <mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/> </inertial> </link>
  <joint name="turn" type="revolute"> <parent link="base"/> <child link="arm"/>
    <axis xyz="0 0 1"/> <limit lower="-1" upper="1" effort="3" velocity="4"/> </joint>
  <joint name="push" type="prismatic"> <parent link="base"/> <child link="slide"/>
    <axis xyz="0.6 0 0.8"/> <limit lower="0" upper="0.5" effort="5" velocity="6"/>
    <mimic joint="turn" multiplier="0.25" offset="0.1"/> </joint>
  <constraint name="grip" type="ball" active="false"> <parent link="arm"/>
    <parent_origin xyz="1 0 0"/> <child link="slide"/> </constraint>
  <cc:spring name="return" type="torsional" joint="turn">
    <cc:law stiffness="7" damping="0.5" rest_angle="0.2"/> </cc:spring>
  <cc:spring name="strut" type="linear"> <cc:from link="base" xyz="0 0 0"/>
    <cc:to link="slide" xyz="0 0 0"/>
    <cc:law stiffness="70" damping="5" rest_length="0.3"/> </cc:spring>
</robot>
"""


@pytest.fixture
def rich(tmp_path):
    path = tmp_path / 'rich.urdf'
    path.write_text(RICH)
    return str(path)


def run(*arguments, **environment):
    """Run the real command in a process of its own, with its output in pipes."""
    return subprocess.run(
        [sys.executable, '-m', 'closed_chain_dynamics.cli', *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )


def run_in_terminal(*arguments, **environment):
    """Run the real command on a pseudo-terminal and return what it shows."""
    ours, theirs = pty.openpty()
    # A variable given as None is taken away.
    merged = {
        **os.environ,
        'TERM': 'xterm',
        'PYTHONIOENCODING': 'utf-8',
        'NO_COLOR': None,
        **environment,
    }
    environment = {key: value for key, value in merged.items() if value is not None}
    with subprocess.Popen(
        [sys.executable, '-m', 'closed_chain_dynamics.cli', *arguments],
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    ):
        os.close(theirs)
        shown = b''
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass  # how Linux reports that the other side has closed
    os.close(ours)
    return shown.decode()


def json_of(capsys, *arguments):
    assert main([*arguments, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def complaints_in(stderr):
    """Return the lines of standard error but the one about a cold cache."""
    return [line for line in stderr.strip().splitlines() if 'compiling kernels' not in line]


def assert_one_paragraph(stderr):
    assert 'Traceback' not in stderr
    assert len(complaints_in(stderr)) == 1, stderr


@pytest.mark.parametrize('name', library.shipped())
def test_check_says_what_a_model_is(name, capsys):
    assert main(['check', name]) == 0
    shown, complaints = capsys.readouterr()
    assert complaints_in(complaints) == []
    assert shown.startswith(f'{name}  ')
    plain = URDF.from_xml_file(str(library.find(name)))
    for item in (*plain.links, *plain.joints):
        assert item.name in shown


def test_check_in_a_pipe_is_plain_ascii():
    done = run('check', 'four_bar')
    assert done.returncode == 0
    assert complaints_in(done.stderr) == []
    assert done.stdout.isascii() and ESCAPE not in done.stdout
    assert '     |  `- coupler_link [coupler_rocker]  coupler (continuous)' in done.stdout


def test_check_in_a_terminal_has_colours_and_lines():
    shown = run_in_terminal('check', 'four_bar')
    assert ESCAPE in shown and '└─' in shown


def test_no_color_is_respected_in_a_terminal():
    shown = run_in_terminal('check', 'four_bar', NO_COLOR='1')
    assert ESCAPE not in shown and '└─' in shown


def test_an_error_in_a_terminal_is_still_one_paragraph():
    shown = run_in_terminal('check', 'fourbar', NO_COLOR='1')
    assert_one_paragraph(shown)


def test_names_that_the_pipe_cannot_encode_do_no_harm(tmp_path):
    path = tmp_path / 'model.urdf'
    path.write_text('<robot name="Gerät"><link name="Glied"/></robot>', encoding='utf-8')
    done = run('check', str(path), PYTHONIOENCODING='ascii')
    assert done.returncode == 0, done.stderr
    assert r'Ger\xe4t' in done.stdout


def test_json_has_the_stable_keys_and_agrees_with_another_parser(capsys):
    report = json_of(capsys, 'check', 'five_bar')
    assert set(report) == KEYS
    plain = URDF.from_xml_file(str(library.find('five_bar')))
    capsys.readouterr()
    masses = {link.name: link.inertial.mass if link.inertial else 0 for link in plain.links}
    assert {link['name']: link['mass'] for link in report['links']} == masses
    assert report['total_mass'] == pytest.approx(sum(masses.values()), rel=1e-14)
    for joint, other in zip(report['joints'], plain.joints, strict=True):
        assert (joint['name'], joint['type']) == (other.name, other.type)
        if other.limit:
            assert joint['limit'] == {
                'restitution': 0.0,
                **{
                    key: getattr(other.limit, key)
                    for key in ('lower', 'upper', 'effort', 'velocity')
                },
            }
    assert report['nv'] == 4
    assert [loop['rows'] for loop in report['loops']] == [5]
    assert report['actuators'] == [
        {'joint': 'left_shoulder', 'source': 'cc:role'},
        {'joint': 'right_shoulder', 'source': 'cc:role'},
    ]


def test_json_has_no_infinities(capsys):
    limit = json_of(capsys, 'check', 'four_bar')['joints'][1]['limit']
    bounds = {'lower': None, 'upper': None, 'effort': 20, 'velocity': 20}
    assert limit == {**bounds, 'restitution': 0}


def test_check_shows_couplings_springs_and_open_loops(rich, capsys):
    assert main(['check', rich]) == 0
    shown = ' '.join(capsys.readouterr().out.split())
    assert 'push - 0.25 turn - 0.1 = 0' in shown
    assert 'push prismatic 0.6 0 0.8 0 to 0.5 m stop 5 N 6 m/s passive' in shown
    assert 'return torsional on joint turn 7 N m/rad 0.5 N m s/rad 0.2 rad' in shown
    assert 'strut linear base to slide 70 N/m 5 N s/m 0.3 m' in shown
    assert 'grip spherical 3 open arm slide' in shown
    assert '1 constraint row,' in shown  # the mimic; the open loop does not count


def test_check_says_what_is_missing(rich, capsys):
    missing = ' '.join(json_of(capsys, 'check', rich)['missing'])
    assert 'No joint is actuated' in missing
    assert 'No visual is given for arm, slide' in missing
    named = json_of(capsys, 'check', rich, '--actuated', 'turn,push')
    assert [each['joint'] for each in named['actuators']] == ['turn', 'push']
    assert 'No joint is actuated' not in ' '.join(named['missing'])


def test_that_nothing_is_actuated_is_said_once(rich, capsys):
    assert main(['check', rich]) == 0
    shown = capsys.readouterr().out.lower()
    assert shown.count('actuated, so no actuator torques') == 1
    assert len(re.findall('no joint is actuated|no actuator decides', shown)) == 1


def test_root_joint_is_an_option(rich, capsys):
    fixed = json_of(capsys, 'check', rich)
    floating = json_of(capsys, 'check', rich, '--root-joint', 'floating')
    assert (fixed['nv'], floating['nv']) == (2, 8)


MACRO = """<robot name="m" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="1"/><xacro:arg name="joint" default="swing"/>
  <link name="base"/><link name="bob"><inertial><origin xyz="0 0 -$(arg length)"/>
  <mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
  </link><joint name="$(arg joint)" type="continuous"><parent link="base"/><child link="bob"/>
  <axis xyz="0 1 0"/></joint></robot>"""


def test_arguments_of_macros_follow_the_file(tmp_path, capsys):
    (tmp_path / 'm.xacro').write_text(MACRO)
    file = str(tmp_path / 'm.xacro')
    assert json_of(capsys, 'check', file)['joints'][0]['name'] == 'swing'
    told = json_of(capsys, 'check', file, 'length:=2', 'joint:=hinge')
    assert told['joints'][0]['name'] == 'hinge'
    torque = json_of(
        capsys, 'torque', 'length:=2', file, '--actuated', 'swing', '--q', 'swing=0.5'
    )
    # minus the weight times its lever, about +y
    assert abs(torque['actuators'][0]['torque']) == pytest.approx(2 * 9.80665 * math.sin(0.5))
    assert main(['check', 'four_bar', 'length:=2']) == 1
    assert 'it has no xacro macros' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(['models', 'length:=2'])
    assert "'length:=2' is one argument too many" in capsys.readouterr().err


def test_impossible_inertias_are_repaired_where_asked(tmp_path, capsys):
    file = tmp_path / 'm.urdf'
    text = MACRO.replace('$(arg length)', '1').replace('$(arg joint)', 'swing')
    file.write_text(re.sub('<xacro:arg [^>]*>', '', text).replace('iyy="0.1"', 'iyy="-1"'))
    assert main(['check', str(file)]) == 1
    assert '--inertia repair' in capsys.readouterr().err
    notes = json_of(capsys, 'check', str(file), '--inertia', 'repair')['warnings']
    assert any('repaired as was asked: bob' in each for each in notes)


def test_warnings_wrap_in_a_terminal_and_not_in_a_pipe(capsys):
    report = json_of(capsys, 'check', 'pendulum')
    report['warnings'] = ['word ' * 40]
    assert max(map(len, render(report).splitlines())) > 190
    assert max(map(len, render(report, Style(width=60)).split('Warnings')[1].splitlines())) <= 60


def test_models_lists_what_is_shipped(capsys):
    listed = json_of(capsys, 'models')['models']
    assert {each['name']: Path(each['file']) for each in listed} == library.shipped()
    assert main(['models']) == 0
    mechanisms, _, lists = capsys.readouterr().out.partition('\n\n')
    assert [line.split()[0] for line in mechanisms.splitlines()] == list(library.shipped())
    assert [line.split()[0] for line in lists.splitlines()[1:]] == [
        path.name for path in library.shipped_lists().values()
    ]


def test_what_a_file_has_too_much_is_told_once(rich, capsys, caplog):
    path = Path(rich)
    path.write_text(path.read_text().replace('</robot>', '<gadget/></robot>'))
    assert main(['check', rich]) == 0
    shown, complaints = capsys.readouterr()
    assert shown.count('gadget') == 1 and complaints == '' and not caplog.records


@pytest.mark.parametrize('text', ['', '<robot name="x">', 'no xml at all', '<robot name="x"/>'])
def test_a_bad_file_gives_one_paragraph_and_exit_code_1(tmp_path, text, capsys):
    path = tmp_path / 'bad.urdf'
    path.write_text(text)
    assert main(['check', str(path)]) == 1
    shown, complaints = capsys.readouterr()
    assert shown == ''
    assert_one_paragraph(complaints)
    assert 'bad.urdf' in complaints


def test_a_bad_file_gives_json_too(capsys):
    assert main(['check', 'nowhere.urdf', '--json']) == 1
    shown, complaints = capsys.readouterr()
    error = json.loads(shown)['error']
    assert (error['type'], error['file']) == ('DescriptionError', 'nowhere.urdf')
    assert error['why'] in complaints and error['repair'] in complaints


def test_a_misspelt_model_gets_a_suggestion_and_exit_code_1():
    done = run('check', 'fourbar')
    assert (done.returncode, done.stdout) == (1, '')
    assert_one_paragraph(done.stderr)
    assert "Did you mean 'four_bar'" in done.stderr


@pytest.mark.parametrize(
    'arguments, advice',
    [
        (['check', 'four_bar', '--actuatd', 'crank'], "Did you mean '--actuated'?"),
        (['simulate', 'four_bar', '--integratr=rk4'], "Did you mean '--integrator'?"),
        (['--json', 'check', 'four_bar'], "as in 'closed-chain check ... --json'"),
        (['--verison'], "Did you mean '--version'?"),
        (['check', 'four_bar', 'five_bar'], "'five_bar' is one argument too many"),
        (['check'], "which MODEL? Name a file, or one of those that 'closed-chain models' lists"),
        (['check', 'four_bar', '--root-joint', 'welded'], "choose from 'fixed', 'floating'"),
    ],
)
def test_wrong_usage_comes_with_advice(arguments, advice, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    shown, complaints = capsys.readouterr()
    assert shown == ''
    assert advice in complaints.replace('fixed, floating', "'fixed', 'floating'")  # Python 3.12
    assert complaints.count('\n') == 2 and '--help' in complaints.splitlines()[1]


def test_a_misspelt_command_gets_a_suggestion_and_exit_code_2():
    done = run('chek', 'four_bar')
    assert (done.returncode, done.stdout) == (2, '')
    assert "Did you mean 'check'?" in done.stderr


@pytest.mark.parametrize(
    'arguments',
    [
        ['check'],
        ['--nonsense'],
        ['check', 'four_bar', '--js'],
        ['check', 'four_bar', '--root-joint', 'welded'],
    ],
)
def test_wrong_usage_has_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().out == ''


def test_no_command_shows_the_help_and_has_exit_code_2(capsys):
    assert main([]) == 2
    assert 'examples:' in capsys.readouterr().err


def help_of(capsys, *command):
    with pytest.raises(SystemExit) as stopped:
        main([*command, '--help'])
    assert not stopped.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize('command', ['', *COMMANDS])
def test_help_teaches_by_example(command, capsys):
    text = help_of(capsys, *command.split())
    assert f'examples:\n  closed-chain {command}' in text
    assert text.startswith(f'usage: closed-chain {command or "COMMAND"}')
    assert max(map(len, text.splitlines())) < 100
    for example in re.findall('^  (closed-chain .*)', text, re.MULTILINE):
        line = re.split(r'\s{2,}|\s[|>]|;', example)[0]  # what follows is said about it
        name, *arguments = shlex.split(line)[1:]
        parser = _parser()
        args, unknown = parser.parse_known_args([name, *arguments])
        assert args.run and not unknown, example


def test_positions_come_first_in_the_usage(capsys):
    assert help_of(capsys, 'simulate').startswith('usage: closed-chain simulate MODEL [options]\n')


def test_a_reader_that_leaves_early_does_no_harm():
    done = subprocess.run(
        f'{sys.executable} -m closed_chain_dynamics.cli check four_bar | true; '
        'exit ${PIPESTATUS[0]}',
        shell=True,
        executable='/bin/bash',
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, complaints_in(done.stderr)) == (0, [])
