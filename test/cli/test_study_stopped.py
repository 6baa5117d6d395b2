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

"""A study at scale that somebody stops says what is kept, and that it can go on."""

import re
import signal
import subprocess
import sys
import time

LONG = 300.0  # only what is broken takes as long, on a machine however busy [s]


def test_ctrl_c_keeps_the_runs_that_are_done_and_says_so(tmp_path):
    folder = tmp_path / 'runs'
    words = [
        'study',
        'what-if',
        'pendulum',
        '--vary',
        'mass:arm=range(1,2,20000)',
        '--time',
        '0.5',
    ]
    words += ['--response', 'peak=max(abs(v.swing))', '--results', str(folder), '--workers', '1']
    command = [sys.executable, '-m', 'closed_chain_dynamics.cli', *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as study:
        begun, rows = time.monotonic(), folder / 'unsorted.csv'
        # a run is counted after its row is written, and before the next one is
        while not (rows.exists() and rows.read_bytes().count(b'\n') > 1):
            assert study.poll() is None and time.monotonic() < begun + LONG
            time.sleep(0.01)
        study.send_signal(signal.SIGINT)
        said = study.communicate(timeout=LONG)[1]
    assert study.returncode == 130
    kept = rows.read_bytes().count(b'\n')
    told = int(
        re.search(rf'Stopped. (\d+) of 20000 runs are kept in {re.escape(str(folder))}', said)[1]
    )
    assert 0 < told <= kept  # the last may be written, and not yet counted
    assert 'the same command continues' in said and 'Traceback' not in said
