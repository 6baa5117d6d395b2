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

"""The notebooks of the documentation run from top to bottom, and are committed without outputs."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / 'docs' / 'notebooks').glob('*.ipynb'))
PATIENCE = 600  # for a kernel to start, and for a cell, on a machine however busy [s]

nbformat = pytest.importorskip('nbformat', reason='pip install nbformat')


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    client = pytest.importorskip('nbclient', reason='pip install nbclient')
    pytest.importorskip('ipykernel', reason='pip install ipykernel')
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get('outputs') for cell in book.cells)
    monkeypatch.setenv(
        'PYTHONPATH', os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')])
    )
    resources = {'metadata': {'path': str(tmp_path)}}
    client.NotebookClient(
        book,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        kernel_name='python3',
        resources=resources,
    ).execute()
    shown = [each for cell in book.cells for each in cell.get('outputs', ())]
    assert any('text/html' in each.get('data', {}) for each in shown)
    assert not any(' at 0x' in str(each.get('data', {}).get('text/plain', '')) for each in shown)
