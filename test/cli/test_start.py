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

"""How fast the command answers, and with which exit codes it ends."""

import functools
import os
from pathlib import Path
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from closed_chain_dynamics.cli.advice import as_options
from closed_chain_dynamics.cli.main import COMMANDS, main
from closed_chain_dynamics.recording.terminal import Style, table

ROOT = Path(__file__).resolve().parents[2]
HELP_WITHIN = 0.2  # beyond the start of Python [s of processor], what people feel as at once
TRIALS = 5  # the quickest counts: a busy machine makes the others longer
PATIENCE = 300.0  # only what is broken takes as long, on a machine however busy [s]
# A triangle whose third side is too long: no pose closes it.
OPEN = """
<robot name="gap">
  <link name="base"/>
  <link name="arm"> <inertial> <mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/> </inertial> </link>
  <joint name="turn" type="continuous"> <parent link="base"/> <child link="arm"/>
    <axis xyz="0 0 1"/> </joint>
  <constraint name="far" type="spherical">
    <parent link="base"/> <parent_origin xyz="5 0 0"/>
    <child link="arm"/> <child_origin xyz="1 0 0"/>
  </constraint>
</robot>
"""


@functools.cache
def processor_time(*words):
    """Return what a Python needs for some words, in seconds of processor."""

    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    times = []
    for _ in range(TRIALS):
        before = spent()
        subprocess.run([sys.executable, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        times.append(spent() - before)
    return min(times)


@pytest.mark.parametrize('words', [['--help'], ['torque', '--help'], ['--version']], ids=' '.join)
def test_help_is_there_at_once(words):
    bare = processor_time('-c', 'pass')
    assert processor_time('-m', 'closed_chain_dynamics.cli', *words) - bare < HELP_WITHIN


def test_help_loads_neither_numpy_nor_kernels():
    script = (
        'import sys; from closed_chain_dynamics.cli.main import _parser; _parser(); '
        'print(*sorted(sys.modules))'
    )
    done = subprocess.run(
        [sys.executable, '-c', script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {'numpy', 'numba', 'lxml', 'scipy', 'rich'} & set(done.stdout.split())


def test_loops_that_cannot_close_end_with_1_and_one_line(tmp_path, capsys):
    path = tmp_path / 'gap.urdf'
    path.write_text(OPEN)
    for words in ([], ['--json']):
        assert main(['check', str(path), *words]) == 1
        shown, complaint = capsys.readouterr()
        # with a cold cache the kernels announce themselves first
        lines = [line for line in complaint.splitlines() if 'compiling kernels' not in line]
        assert shown and lines[0].startswith('closed-chain: the loops cannot be closed: ')
        assert len(lines) == 1


# `env`: where a shell runs the tests in the background, it has switched the keyboard off
VIEW = [sys.executable, '-m', 'closed_chain_dynamics.cli', 'view', 'pendulum', '--json']
CHECK = [sys.executable, '-m', 'closed_chain_dynamics.cli', 'check', 'four_bar']
# Ctrl-C as soon as a module is there: from another process it might come when all is done.
PRESS = """
import builtins, os, signal, sys
real = builtins.__import__

def watched(*arguments, **more):
    found, module = real(*arguments, **more), sys.modules.get('closed_chain_dynamics.LOADED')
    if module is not None and not module.__spec__._initializing:
        builtins.__import__ = real
        os.kill(os.getpid(), signal.SIGINT)
    return found

builtins.__import__ = watched
"""


def test_the_keyboard_ends_it_with_130():
    with subprocess.Popen(
        ['env', '--default-signal=INT', *VIEW],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as view:
        if not view.stdout.readline():
            pytest.skip(f'there is no view here: {view.stderr.read()}')
        time.sleep(0.1)
        view.send_signal(signal.SIGINT)
        assert view.wait(PATIENCE) == 130 and 'Traceback' not in view.stderr.read()


@pytest.mark.parametrize(
    'loaded', ['starting', 'errors', 'cli.motion_arguments', 'kernels.compiling']
)
def test_the_keyboard_ends_it_with_130_while_it_is_loaded(loaded, tmp_path):
    (tmp_path / 'sitecustomize.py').write_text(PRESS.replace('LOADED', loaded))
    check = subprocess.run(
        ['env', '--default-signal=INT', *CHECK],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': f'{tmp_path}:{os.environ.get("PYTHONPATH", "")}'},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (check.returncode, check.stdout) == (130, '') and 'Traceback' not in check.stderr


def test_the_table_of_exit_codes_in_the_pages_is_that_of_the_help(capsys):
    with pytest.raises(SystemExit):
        main(['--help'])
    told = re.search(r'Exit codes: (.*?)\.', ' '.join(capsys.readouterr().out.split()))[1]
    page = (ROOT / 'docs/pages/command_line.md').read_text(encoding='utf-8')
    table = re.findall(r'^\| (\d+) \|', page, flags=re.MULTILINE)
    assert re.findall(r'(\d+) [a-z]', told) == table == ['0', '1', '2', '130']


@pytest.mark.parametrize(
    'advice, shown',
    [
        (
            'Hold it within its range, or pass limits=False.',
            'Hold it within its range, or pass --no-limits.',
        ),
        ("Read it with root_joint='fixed'.", 'Read it with --root-joint fixed.'),
        ('or load with actuated=[...].', 'or load with --actuated NAMES.'),
        ('Mark it cc:role="actuated", or crank=1.57.', None),  # neither is an argument of Python
        ('Take tolerance=1e-3.', None),  # this command has no such option
        ('Widen it, or pass trust=True.', 'Widen it.'),  # nor this one, but another way out
        ('Move it, or allow more with gap= and angle=.', 'Move it.'),
    ],
)
def test_advice_is_that_of_the_command_line(advice, shown):
    assert as_options(advice, ['--no-limits', '--root-joint', '--actuated']) == (shown or advice)


def test_a_pose_beyond_a_limit_is_refused_with_an_option_that_allows_it(capsys, tmp_path):
    path = tmp_path / 'stop.urdf'
    path.write_text(
        '<robot name="stop"><link name="base"/><link name="arm"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    words = ['torque', str(path), '--q', 'turn=2', '--actuated', 'turn']
    assert main(words) == 1
    complaint = capsys.readouterr().err
    assert 'beyond its range -1 to 1' in complaint and 'pass --no-limits.' in complaint
    assert main([*words, '--no-limits']) == 0
    assert 'position 2 is beyond the limit 1' in capsys.readouterr().out


def test_a_table_stays_in_line_where_a_terminal_is_narrow():
    rows = [['crank', 'a sentence that is much too long for the terminal that it is shown in']]
    lines = table(['joint', 'about'], rows, Style(width=40))
    assert max(map(len, lines)) <= 40 and len(lines) > 2
    assert all(line.startswith('       ') for line in lines[2:])
    assert table(['joint', 'about'], rows, Style())[1] == '  '.join(rows[0])  # a pipe: one line


def completions(line, tmp_path):
    """Return what the command offers at the end of a line, as argcomplete asks for it."""
    answer = tmp_path / 'answer'
    subprocess.run(
        [sys.executable, '-m', 'closed_chain_dynamics.cli'],
        cwd=ROOT,
        check=True,
        env={
            **os.environ,
            '_ARGCOMPLETE': '1',
            '_ARGCOMPLETE_IFS': '\n',
            '_ARGCOMPLETE_STDOUT_FILENAME': str(answer),
            'COMP_LINE': line,
            'COMP_POINT': str(len(line)),
        },
    )
    return [each.strip() for each in answer.read_text().split('\n')]


@pytest.mark.parametrize(
    'line, offered',
    [
        ('closed-chain ', {*COMMANDS}),
        ('closed-chain sim', {'simulate'}),
        ('closed-chain check four', {'four_bar'}),
        ('closed-chain study va', {'validity'}),
        ('closed-chain simulate four_bar --integrator ', {'rk4', 'euler', 'adaptive'}),
        ('closed-chain torque four_bar --q c', {'crank=', 'coupler=', 'coupler_rocker='}),
        ('closed-chain simulate four_bar --cut coupler_', {'coupler_rocker@'}),
    ],
)
def test_the_tab_key_offers_commands_models_values_and_joints(line, offered, tmp_path):
    pytest.importorskip('argcomplete', reason='argcomplete is not installed')
    assert offered <= set(completions(line, tmp_path))


@pytest.mark.parametrize('shell', ['bash', 'zsh', 'fish'])
def test_each_shell_gets_lines_that_name_the_command(shell, capsys):
    pytest.importorskip('argcomplete', reason='argcomplete is not installed')
    assert main(['completion', shell]) == 0
    assert 'closed-chain' in capsys.readouterr().out


def test_bash_completes_with_the_lines_it_is_given():
    pytest.importorskip('argcomplete', reason='argcomplete is not installed')
    script = """
        closed-chain() { "$PYTHON" -m closed_chain_dynamics.cli "$@"; }
        eval "$(closed-chain completion bash)"
        COMP_LINE='closed-chain simu' COMP_POINT=17 COMP_TYPE=9
        COMP_WORDS=(closed-chain simu) COMP_CWORD=1
        set -- $(complete -p closed-chain)
        while [ "$1" != -F ]; do shift; done
        "$2" closed-chain simu closed-chain
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ['bash', '-c', script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, 'PYTHON': sys.executable},
    )
    assert done.stdout.split() == ['simulate'], done.stderr


def test_an_unknown_shell_is_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['completion', 'tcsh'])
    assert stopped.value.code == 2 and "choose from 'bash'" in capsys.readouterr().err
