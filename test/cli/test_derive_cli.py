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

"""The command `closed-chain derive`: what it prints, writes and refuses."""

import json
import os
from pathlib import Path
import subprocess
import sys
import time

from helpers.eliminated import SPATIAL, chain
import pytest

from closed_chain_dynamics.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
KEYS = {
    'schema',
    'name',
    'file',
    'method',
    'independent',
    'dependent',
    'branches',
    'estimate',
    'terms',
    'cost',
    'speed',
    'files',
    'warnings',
}


def report_of(capsys, *arguments):
    assert main(['derive', *map(str, arguments), '--json']) == 0
    return json.loads(capsys.readouterr().out)


def complaint_of(capsys, *arguments):
    assert main(['derive', *map(str, arguments)]) == 1
    shown, said = capsys.readouterr()
    assert shown == ''
    return said


@pytest.fixture
def spatial(tmp_path):
    path = tmp_path / 'spatial.urdf'
    path.write_text(SPATIAL)
    return path


def test_json_has_the_stable_keys(capsys):
    report = report_of(capsys, 'exo')
    assert set(report) == KEYS
    assert report['independent'] == ['rho1', 'rho2', 'rho4', 'rho5', 'rho7']
    assert list(report['terms']) == ['M_1', 'c_1', 'g_1', 'tau_1s', 'tau_1d']
    assert report['branches']['E'] == 'eta2 right of the line from rho3 to E'
    assert report['estimate']['seconds'] > 0 and report['cost'] is report['speed'] is None


def test_cost_shows_the_published_figures_beside(capsys):
    assert main(['derive', 'exo', '--cost']) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines[lines.index('Cost of the methods') :]]
    published = [row for row in rows if 'published' in row]
    assert [row[-3] for row in published] == ['2343', '1975', '1804', '3754', '3899', '4001']
    assert [row[0] for row in rows if row[1:2] and row[1] in ('TE', 'DE', 'IC')] == ['g_1'] * 3 + [
        'M_1'
    ] * 3
    assert published[0][-2:] == ['1.4', 'h']


def test_cost_of_other_models_stands_alone(capsys):
    cost = report_of(capsys, 'slider_crank', '--cost')['cost']
    assert len(cost['rows']) == 6 and not any('paper' in row for row in cost['rows'])


def test_cost_of_a_spatial_loop_says_why_two_methods_are_missing(capsys, spatial):
    cost = report_of(capsys, spatial, '--q', 'crank=0.2', '--method', 'ic', '--cost')['cost']
    assert {row['method'] for row in cost['rows']} == {'ic'}
    assert "loop 'ball': it is not planar" in cost['left_out']
    assert 'method=' not in cost['left_out']  # that is Python, and ic was asked for


def test_files_are_written(capsys, tmp_path):
    names = {'latex': tmp_path / 'a.tex', 'python': tmp_path / 'a.py', 'c': tmp_path / 'a.c'}
    options = [part for option, path in names.items() for part in (f'--{option}', path)]
    report = report_of(capsys, 'four_bar', '--what', 'q,g', *options)
    assert report['files'] == {option: str(path) for option, path in names.items()}
    assert 'void four_bar_g_1(const double q_1[1], double out[1])' in names['c'].read_text()
    assert 'def q(q_1):' in names['python'].read_text()
    assert names['latex'].read_text().endswith('\\end{document}\n')
    assert sorted(each.name for each in tmp_path.iterdir()) == ['a.c', 'a.py', 'a.tex']
    plain = tmp_path / 'plain'
    plain.touch()
    assert names['c'].stat().st_mode == plain.stat().st_mode


def test_the_pose_decides_the_branch(capsys):
    up = report_of(capsys, 'four_bar', '--q', 'rocker=1.5')
    down = report_of(capsys, 'four_bar', '--q', 'rocker=-2')
    assert up['branches'] != down['branches']


def test_gravity_is_taken(capsys):
    report = report_of(capsys, 'four_bar', '--gravity', 0, 0, 0, '--what', 'g')
    assert report['terms']['g_1']['weighted'] == 1  # out[0] = 0.0


@pytest.mark.parametrize('method', ['te', 'de'])
def test_a_spatial_loop_is_derived_by_implicit_constraints_as_a_ball_joint_is(
    capsys, spatial, method
):
    report = report_of(capsys, spatial, '--q', 'crank=0.2', '--method', method)
    same = report_of(capsys, spatial, '--q', 'crank=0.2', '--method', 'ic')
    assert report['method'] == 'ic'
    assert {name: each['weighted'] for name, each in report['terms'].items()} == {
        name: each['weighted'] for name, each in same['terms'].items()
    }
    (told,) = [each for each in report['warnings'] if each not in same['warnings']]
    assert "loop 'ball': it is not planar" in told and 'by the method ic' in told
    assert 'method=' not in told  # that is Python


def test_a_folder_that_is_not_there_is_told(capsys, tmp_path):
    said = complaint_of(capsys, 'four_bar', '--c', tmp_path / 'no' / 'a.c')
    assert 'cannot be written' in said and 'No such file or directory' in said


def test_unknown_terms_are_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['derive', 'four_bar', '--what', 'M,k'])
    assert stopped.value.code == 2
    assert "'k' is none of M, c, g" in capsys.readouterr().err


def test_what_would_take_hours_is_refused_before_it_begins(capsys, tmp_path):
    path = tmp_path / 'chain.urdf'
    path.write_text(chain(200))
    begun = time.process_time()
    said = complaint_of(capsys, path, '--what', 'M')
    assert 'operations and would take about' in said and 'minutes' in said
    assert time.process_time() - begun < 20


# Ctrl-C once the estimate has been told and the work after it has taken a second of processor
# time; from another process it would come whenever that one gets a processor.
PRESS = """
import os, signal, sys
signal.signal(signal.SIGVTALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
say = sys.stderr.write

def write(text):
    if 'operations' in text:
        signal.setitimer(signal.ITIMER_VIRTUAL, 1.0)
    return say(text)

sys.stderr.write = write
"""


def test_an_interrupt_leaves_nothing_half_written(tmp_path):
    work, keys = tmp_path / 'work', tmp_path / 'keys'
    for folder in (work, keys):
        folder.mkdir()
    (keys / 'sitecustomize.py').write_text(PRESS)
    path, target = work / 'chain.urdf', work / 'chain.c'
    path.write_text(chain(70))
    target.write_text('/* of yesterday */\n')
    words = ['derive', str(path), '--what', 'M', '--c', str(target)]
    done = subprocess.run(
        [sys.executable, '-m', 'closed_chain_dynamics.cli', *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, 'PYTHONPATH': f'{keys}:{os.environ.get("PYTHONPATH", "")}'},
        timeout=300,
    )
    assert 'operations' in done.stderr  # the estimate, before the work
    assert done.returncode == 130 and 'Traceback' not in done.stderr
    assert target.read_text() == '/* of yesterday */\n'
    assert sorted(each.name for each in work.iterdir()) == ['chain.c', 'chain.urdf']


def test_speed_is_measured_against_the_core(capsys):
    speed = report_of(capsys, 'four_bar', '--method', 'ic', '--what', 'tau', '--speed')['speed']
    assert {'core', 'numba'} <= set(speed['seconds'])
    seconds = speed['seconds']
    for kind, ratio in speed['ratio_to_core'].items():
        assert 0.0 < seconds[kind] < 1.0 and ratio == seconds['core'] / seconds[kind]
