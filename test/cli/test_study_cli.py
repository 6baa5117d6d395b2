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

"""closed-chain study: what it reports, what it writes, and what it refuses."""

import csv
import json

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main


def report_of(capsys, *arguments, code=0):
    assert main(['study', *arguments, '--json']) == code
    shown = capsys.readouterr()
    assert bool(code) == shown.err.startswith('closed-chain: ')  # a no is told in one line
    assert shown.err.count('\n') == code
    return json.loads(shown.out)


def rows_of(path):
    with open(path, newline='') as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """Return the table of a simulated motion of the four-bar."""
    path = str(tmp_path_factory.mktemp('study') / 'run.csv')
    assert main(['simulate', 'four_bar', '--v', 'crank=3', '--time', '0.3', '--csv', path]) == 0
    return path


@pytest.fixture(scope='module')
def record(run, tmp_path_factory):
    """Return the same motion as encoders give it at 200 Hz, that of the rocker with an offset."""
    path = tmp_path_factory.mktemp('study') / 'record.csv'
    joints = ('crank', 'coupler', 'rocker')
    path.write_text(
        '\n'.join(
            [
                ','.join(('time', *joints)),
                *(
                    ','.join(
                        (
                            row['time'],
                            row['q:crank'],
                            row['q:coupler'],
                            repr(float(row['q:rocker']) + 0.02),
                        )
                    )
                    for row in rows_of(run)[::5]
                ),
            ]
        )
    )
    return str(path)


def test_a_simulated_motion_is_valid_and_a_tighter_tolerance_says_for_how_long(
    run, tmp_path, capsys
):
    table = str(tmp_path / 'errors.csv')
    report = report_of(capsys, 'validity', 'four_bar', '--trajectory', run, '--csv', table)
    assert report['valid'] and report['reproduced_for'] == pytest.approx(0.3)
    assert report['schema'] == 'closed-chain-study-validity/1'
    rows = rows_of(table)
    assert len(rows) == report['samples'] == 301
    worst = max(float(row[f'error:{name}']) for row in rows for name in ('crank', 'rocker'))
    assert worst <= report['error'] < report['tolerance']
    assert float(rows[-1]['error:crank']) <= report['series']['error'][-1]
    tight = report_of(
        capsys,
        'validity',
        'four_bar',
        '--trajectory',
        run,
        '--tolerance',
        str(report['error'] / 2),
        code=1,
    )
    assert not tight['valid'] and 0.0 < tight['reproduced_for'] < 0.3


def test_an_inverted_pendulum_is_told_to_be_unstable(capsys):
    assert (
        main(
            [
                'study',
                'validity',
                'pendulum',
                '--q',
                'swing=3.1416',
                '--sine',
                'swing=0.05,0.5',
                '--time',
                '6',
            ]
        )
        == 1
    )
    shown, complaint = capsys.readouterr()
    assert complaint.startswith('closed-chain: the motion is not reproduced: pendulum is off by')
    assert 'not valid' in shown and 'it doubles in 0.15' in shown
    assert 'unstable without feedback' in shown


def test_forces_that_nobody_gives_are_named(capsys):
    report = report_of(
        capsys,
        'validity',
        'five_bar',
        '--actuated',
        'left_shoulder',
        '--sine',
        'right_shoulder=0.2,1',
        code=1,
    )
    assert not report['valid']
    assert any('is given by no actuator' in each for each in report['warnings'])


def test_a_grid_of_runs_is_reported_and_written(tmp_path, capsys):
    table = str(tmp_path / 'runs.csv')
    arguments = (
        'what-if',
        'four_bar',
        '--q',
        'crank=1',
        '--tau',
        'crank=0.1',
        '--vary',
        'mass:coupler_link=x0.5,x2',
        '--vary',
        'damping:crank=0,0.1',
        '--watch',
        'crank',
        'coupler_rocker',
        '--time',
        '0.2',
        '--csv',
        table,
    )
    report = report_of(capsys, *arguments)
    assert [run['values'] for run in report['runs']] == [
        {},
        *(
            {'mass:coupler_link': mass, 'damping:crank': damping}
            for mass in (0.5, 2.0)
            for damping in (0.0, 0.1)
        ),
    ]
    rows = rows_of(table)
    for run, row in zip(report['runs'], rows, strict=True):
        assert float(row['q:crank']) == run['final']['crank'] == run['watched']['crank']['end']
        assert float(row['force:coupler_rocker']) == run['watched']['coupler_rocker']['force'] > 0
        assert run['energy']['drift'] < 1e-6
    assert rows[0]['mass:coupler_link'] == '' and len({row['q:crank'] for row in rows}) == 5
    assert main(['study', *arguments]) == 0
    shown = capsys.readouterr().out
    assert '5 runs of 0.2 s' in shown and 'as it is' in shown and 'x0.5' in shown


def test_the_first_motor_is_watched_where_nothing_is_said(capsys):
    report = report_of(
        capsys, 'what-if', 'two_link', '--vary', 'mu:tip_on_floor=0.1,0.9', '--time', '0.2'
    )
    ends = [run['watched']['joint_1']['end'] for run in report['runs']]
    assert len(set(ends)) == 3 and report['warnings'] == []


def test_the_culprit_is_named_and_the_closed_motion_is_consistent(record, tmp_path, capsys):
    closed = str(tmp_path / 'closed.csv')
    words = ('consistency', 'four_bar', '--trajectory', record)
    assert main(['study', *words]) == 1
    shown, complaint = capsys.readouterr()
    assert 'rocker is the culprit' in shown
    assert 'the record does not fit four_bar: are the loops closed? No.' in complaint
    report = report_of(capsys, *words, '--csv', closed, code=1)
    assert report['culprit'] == 'rocker' and not report['consistent']
    assert report['suspects'][0]['offset'] == pytest.approx(-0.02, abs=1e-6)
    assert report['gap'] == pytest.approx(0.008, rel=1e-3)  # 0.02 rad at a rocker of 0.4 m
    again = report_of(capsys, 'consistency', 'four_bar', '--trajectory', closed)
    assert again['consistent'] and again['gap'] < 1e-9 and again['culprit'] is None


def test_markers_become_a_motion_and_a_page(tmp_path, capsys):
    """Markers at the origins of the links of a four-bar that stands still, in centimetres."""
    robot = ccd.load('four_bar')
    X = ccd.link_placements(robot, ccd.assemble(robot, {'crank': 1.0}))
    places = {each: X[each][:3, 3] for each in ('crank_link', 'coupler_link', 'rocker_link')}
    cells = [f'{100.0 * x:.8f}' for place in places.values() for x in place]
    (tmp_path / 'run.trc').write_text(
        'PathFileType\t4\t(X/Y/Z)\trun.trc\nDataRate\tUnits\n100\tcm\n'
        + 'Frame#\tTime\t' + '\t\t\t'.join(places) + '\n\t\tX1\tY1\tZ1\n'
        + ''.join('\t'.join([str(k), f'{0.01 * k}', *cells]) + '\n' for k in range(5))
    )  # fmt: skip
    page, markers = tmp_path / 'page.html', str(tmp_path / 'run.trc')
    words = ('consistency', 'four_bar', '--markers', markers, '--q', 'crank=0.8')
    report = report_of(capsys, *words, '--html', str(page))
    assert report['verdicts']['markers'] and report['ground'] is None
    assert report['markers']['rms'] < 1e-8 and len(report['markers']['markers']) == 3
    assert page.read_text().count('data:image/png;base64') == 1


def test_smoothing_takes_noise_out_of_the_forces(run, capsys, tmp_path):
    noisy = tmp_path / 'noisy.csv'
    rows = rows_of(run)
    noisy.write_text(
        'time,crank\n'
        + '\n'.join(
            f'{row["time"]},{float(row["q:crank"]) + 1e-4 * (-1) ** k}'
            for k, row in enumerate(rows)
        )
    )
    arguments = ('consistency', 'four_bar', '--q', 'crank=1', '--trajectory', str(noisy))
    raw = report_of(capsys, *arguments, code=1)
    assert raw['filled'] == ['coupler', 'rocker']
    smooth = report_of(capsys, *arguments, '--smooth', '20')
    assert {each['kind'] for each in raw['exceeded']} == {'effort'}
    assert not smooth['exceeded'] and smooth['consistent']


@pytest.mark.parametrize(
    'arguments',
    [
        ('validity', 'four_bar', '--q', 'crank=1', '--sine', 'crank=0.3,1', '--rate', '50'),
        (
            'what-if',
            'figure',
            '--vary',
            'gravity=x0.5',
            '--watch',
            'left_hip',
            'left_elbow',
            '--time',
            '0.05',
        ),
        ('consistency', 'four_bar', '--trajectory', 'RECORD'),
    ],
)
def test_the_figure_is_written(arguments, record, tmp_path, capsys):
    path = tmp_path / 'study.png'
    arguments = [record if each == 'RECORD' else each for each in arguments]
    is_no = arguments[0] == 'consistency'  # its record has an offset
    report = report_of(capsys, *arguments, '--plot', str(path), code=int(is_no))
    assert path.read_bytes().startswith(b'\x89PNG') and path.stat().st_size > 10000
    assert report['files'] == {'plot': str(path)}


@pytest.mark.parametrize(
    'arguments, complaint',
    [
        ([], 'which STUDY?'),
        (
            ['validty', 'four_bar'],
            "there is no study 'validty'. Did you mean 'validity' or 'identify'?",
        ),
        (['--json', 'validty'], "Did you mean 'validity' or"),
        (['--plot', 'what-if'], "'--plot' comes before the study"),
        (['what-if'], 'which MODEL?'),
        (['what-if', 'pendulum'], 'vary what?'),
        (['what-if', 'pendulum', '--vary', 'mass:arm=norm(1,1)'], '--results'),
        (['what-if', 'pendulum', '--vary', 'mass:arm=1', '--samples', '3'], 'needs --results'),
        (['validity', 'four_bar'], 'which motion? Give one with --trajectory or'),
        (['validity', 'four_bar', '--trajectry', 'x'], "Did you mean '--trajectory'"),
        (['validity', 'four_bar', '--trajectory', 'x', '--time', '1'], '--time is for --sine'),
        (['what-if', 'pendulum', '--vary', 'mass:arm=x1,2'], 'parameter:name=values'),
        (['what-if', 'pendulum', '--vary', 'gravity:arm=1'], 'parameter:name=values'),
        (['consistency', 'four_bar'], '--trajectory --markers is required'),
    ],
)
def test_wrong_usage_is_told(arguments, complaint, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['study', *arguments])
    assert stopped.value.code == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize('study', ['validity', 'what-if', 'consistency'])
def test_each_study_has_help_with_examples(study, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(['study', study, '--help'])
    shown = capsys.readouterr().out
    assert stopped.value.code == 0
    assert f'usage: closed-chain study {study} MODEL [options]' in shown
    assert 'examples:' in shown and '--json' in shown


def test_json_before_the_study_counts_as_well(capsys):
    assert (
        main(['study', '--json', 'what-if', 'pendulum', '--vary', 'gravity=1', '--time', '0.01'])
        == 0
    )
    assert json.loads(capsys.readouterr().out)['name'] == 'pendulum'
