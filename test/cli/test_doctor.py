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

"""closed-chain doctor: it finds what is there, and says how to get what is not."""

from importlib import metadata
import json
import os
from pathlib import Path
import subprocess
import sys

from closed_chain_dynamics.cli import doctor_checks
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.model import library

ROOT = Path(__file__).resolve().parents[2]
NOT_READY = """
import closed_chain_dynamics as ccd
from closed_chain_dynamics import kernels
ccd.warm_up(quiet=True)
entries = {name: each for name, each in vars(kernels).items() if name.startswith('compute_')}
assert len(entries) > 20
print([name for name, each in entries.items() if not each.entry.signatures])
"""


def examine(**environment):
    """Run the real command in a process of its own; return exit code and findings by name."""
    environment = {**os.environ, 'PYTHONPATH': str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, '-m', 'closed_chain_dynamics.cli', 'doctor', '--json'],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert 'Traceback' not in done.stderr, done.stderr
    return done.returncode, {each['name']: each for each in json.loads(done.stdout)['findings']}


def test_what_is_there_is_found_with_its_version(capsys):
    assert main(['doctor', '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    found = {each['name']: each for each in report['findings']}
    assert report['works'] and found['trial']['state'] == 'ok'
    for name in ('numpy', 'numba', 'scipy', 'lxml'):
        assert (found[name]['state'], found[name]['version']) == ('ok', metadata.version(name))
    assert str(library.share_folder()) in found['package']['about']
    for each in found.values():  # nothing is missing without a remedy
        assert each['state'] == 'ok' or each['remedy'], each


def test_the_text_names_everything_and_its_remedy(capsys, monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')
    assert main(['doctor']) == 0
    shown = capsys.readouterr().out
    for name, _, _ in doctor_checks._checks():
        assert name in shown
    assert 'The core works.' in shown
    assert '\n  ffmpeg    ' in shown and 'apt install ffmpeg' in shown


def test_an_empty_path_has_no_programs(capsys, monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')
    assert main(['doctor', '--json']) == 0
    found = {each['name']: each for each in json.loads(capsys.readouterr().out)['findings']}
    for name in ('compiler', 'ffmpeg', 'browser', 'rviz2'):
        assert found[name]['state'] == 'missing'
        assert found[name]['remedy'].startswith('apt install ')


def test_a_cold_cache_is_told_and_nothing_is_compiled(tmp_path):
    code, found = examine(NUMBA_CACHE_DIR=str(tmp_path))
    assert code == 0
    assert found['kernels']['about'].startswith('cold: 0 of ')
    assert str(tmp_path) in found['kernels']['about'] and 'warm_up' in found['kernels']['remedy']
    assert found['trial']['state'] == 'ok' and 'is the slope' in found['trial']['about']
    assert not list(tmp_path.rglob('*.nbi'))


def test_warming_up_leaves_no_kernel_uncompiled():
    done = subprocess.run(
        [sys.executable, '-c', NOT_READY],
        capture_output=True,
        text=True,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        timeout=600,
    )
    assert (done.stdout, done.returncode) == ('[]\n', 0), done.stderr


def test_a_library_that_is_there_and_does_not_work_is_broken(tmp_path):
    (tmp_path / 'rclpy.py').write_text('raise ImportError("built for another Python")')
    code, found = examine(PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert code == 0
    assert found['rclpy']['state'] == 'broken'
    assert 'built for another Python' in found['rclpy']['about']


def test_a_library_of_a_distribution_is_known_by_its_place(tmp_path):
    place = tmp_path / 'lib' / 'python3' / 'site-packages'
    place.mkdir(parents=True)
    (place / 'rclpy.py').write_text('')
    code, found = examine(
        PYTHONPATH=os.pathsep.join([str(place), str(ROOT)]),
        AMENT_PREFIX_PATH=str(tmp_path),
        ROS_DISTRO='rolling',
    )
    assert code == 0
    assert found['rclpy']['about'] == f'of the distribution rolling, {tmp_path}'
    assert 'ros-rolling-' in found['launch_ros']['remedy']


def test_a_check_that_fails_is_reported(capsys, monkeypatch):
    monkeypatch.setattr(doctor_checks, 'BROWSERS', (3,))  # no name of a program
    assert main(['doctor', '--json']) == 0
    (browser,) = (
        each
        for each in json.loads(capsys.readouterr().out)['findings']
        if each['name'] == 'browser'
    )
    assert browser['state'] == 'broken' and 'the check failed: ' in browser['about']


def test_the_exit_code_is_1_when_the_core_cannot_work(capsys, monkeypatch):
    monkeypatch.setattr(library, 'PACKAGE', 'elsewhere')
    monkeypatch.setattr(library, '__file__', '/nowhere/model/library.py')
    assert main(['doctor']) == 1
    shown = capsys.readouterr().out
    assert 'The core cannot work' in shown and 'are not where its code is installed' in shown
