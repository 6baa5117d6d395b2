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

"""What the README promises works when it is typed as it stands there."""

import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from closed_chain_dynamics.cli.main import main

README = pathlib.Path(__file__).resolve().parents[2] / 'README.md'
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for line in README.read_text(encoding='utf-8').splitlines()
    if line.startswith('closed-chain ')
]
TOO_LONG = ('bench', 'up')  # a minute, and many processes: their own tests run them
# a film of few pictures shows as much, and drawing takes most of the time
SHORTER = {'simulate': ['--time', '1.9', '--fps', '2'], 'view': ['--time', '0.5']}


def test_the_python_of_the_readme_runs_and_names_the_torque(tmp_path):
    code = re.search(r'```python\n(.*?)```', README.read_text(encoding='utf-8'), re.DOTALL)[1]
    run = subprocess.run(
        [sys.executable, '-c', code], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert 'Mobility 1' in run.stdout and "{'crank': " in run.stdout


@pytest.mark.parametrize(
    'words', [words for words in COMMANDS if words[0] not in TOO_LONG], ids=' '.join
)
def test_a_command_of_the_readme_works(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*words, *SHORTER.get(words[0], [])]) == 0, capsys.readouterr().err
    files = [word for word in words if word.endswith(('.png', '.gif', '.tex'))]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(files)


def test_pictures_and_links_of_the_readme_are_there():
    targets = re.findall(r'\]\(([^)]+)\)', README.read_text(encoding='utf-8'))
    assert len(targets) > 4
    assert [each for each in targets if not (README.parent / each).exists()] == []
