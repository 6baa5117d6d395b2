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

"""Every example runs in one command, checks itself, and leaves a picture."""

import os
from pathlib import Path
import runpy
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / 'examples').glob('[0-9][0-9]_*.py'))
LONGEST = 104  # lines, 14 of them the licence's: an example is read in one look
LARGEST = {'.png': 150e3, '.gif': 300e3}  # bytes of a picture in the gallery
PATIENCE = 300  # [s]: kernels may have to be compiled first


def test_the_examples_are_numbered_without_a_gap():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize('example', EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_runs_and_makes_its_picture(example, tmp_path, monkeypatch, capsys):
    text = example.read_text()
    assert len(text.splitlines()) < LONGEST and 'assert ' in text
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'argv', [str(example)])
    runpy.run_path(str(example), run_name='__main__')
    pictures = [path for path in (tmp_path / 'out').iterdir() if path.suffix != '.mcap']
    assert example.stem in [path.stem for path in pictures], capsys.readouterr().out
    for path in pictures:
        start = path.read_bytes()[:8]
        assert start.startswith((b'\x89PNG', b'GIF8')) and path.stat().st_size > 1000


@pytest.mark.parametrize('example', EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_has_a_small_picture_for_the_gallery(example):
    found = list((ROOT / 'docs' / 'pictures' / 'examples').glob(f'{example.stem}.*'))
    assert len(found) == 1, 'python docs/make_thumbnails.py makes it'
    assert found[0].stat().st_size < LARGEST[found[0].suffix]


def test_an_example_is_a_program_that_writes_where_it_is_told(tmp_path):
    target = tmp_path / 'deep' / 'other.png'
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    subprocess.run(
        [sys.executable, str(EXAMPLES[0]), str(target)],
        cwd=tmp_path,
        check=True,
        env=environment,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert target.is_file() and not (tmp_path / 'out').exists()
