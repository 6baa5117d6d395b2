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

"""
Inputs that once broke a reader, and good ones in dialects that nothing shipped is written in.

`python benchmarks/fuzz.py` puts what it finds here; each is read once, in a process of its own,
because what crashed it may crash again.
"""

import json
import os
from pathlib import Path
import subprocess
import sys

import pytest

from benchmarks.fuzzing.readers import READERS, ros_readers
from benchmarks.fuzzing.seeds import CORPUS, ROOT
from benchmarks.fuzzing.trial import bound_memory
from benchmarks.fuzzing.worker import try_bytes

FILES = [each for each in sorted(CORPUS.glob('*/*')) if each.is_file()]


@pytest.fixture(scope='module')
def verdicts(tmp_path_factory):
    """Return {file: verdict}, from another process."""
    script = 'from test_corpus import read_all; import sys; read_all(sys.argv[1])'
    path = os.pathsep.join([str(Path(__file__).parent), str(ROOT)])
    run = subprocess.run(
        [sys.executable, '-c', script, str(tmp_path_factory.mktemp('corpus'))],
        env={**os.environ, 'PYTHONPATH': path},
        stdout=subprocess.PIPE,
        text=True,
    )
    return {Path(file): tuple(rest) for file, *rest in map(json.loads, run.stdout.splitlines())}


def read_all(folder):
    """Read the corpus; print a line for each file."""
    said = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    known = {**READERS, **ros_readers()}
    bound_memory()
    for file in FILES:
        if file.parent.name in known:
            at = Path(folder) / file.parent.name
            at.mkdir(exist_ok=True)
            verdict = try_bytes(known[file.parent.name], file.read_bytes(), at)
            print(json.dumps([str(file), verdict.kind, verdict.text]), file=said, flush=True)


@pytest.mark.parametrize('file', FILES, ids=lambda file: f'{file.parent.name}/{file.name}')
def test_what_was_found_once_is_read_or_refused(verdicts, file):
    if file.parent.name not in {**READERS, **ros_readers()}:
        pytest.skip('ROS 2 is not installed here')
    kind, text = verdicts.get(file, ('the process died', ''))
    assert kind in (('read',) if file.name.startswith('good-') else ('read', 'refused')), text


def test_every_folder_of_the_corpus_has_a_reader():
    optional = {'contact_state', 'joint_states', 'multi_dof', 'trajectory', 'text', 'commands'}
    assert {file.parent.name for file in FILES} <= {*READERS, *optional}
