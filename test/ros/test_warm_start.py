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

"""Programs that tests start as copies are programs like any other."""

import json
import os
import signal
import subprocess
import sys
import time

from helpers.ros_helpers import PATIENCE, is_alive  # skips this file without rclpy
from helpers.warm_start import WarmStart, warm_start
import pytest

SEEN = """
import json, os, sys, atexit
atexit.register(print, 'ended in order')
print(json.dumps([__name__, sys.argv[1:], os.environ.get('MINE'), os.getsid(0) == os.getpid()]))
sys.exit(7)
"""


@pytest.fixture
def program(tmp_path):
    """Return a function that starts a program in one of two ways."""

    def run(code, *words, warm, **variables):
        name = f'seen_{len(list(tmp_path.iterdir()))}'
        (tmp_path / f'{name}.py').write_text(code)
        environment = {**os.environ, 'PYTHONPATH': str(tmp_path), **variables}
        with open(tmp_path / 'output', 'w+') as output:
            if warm:
                made = warm_start().start([name, *words], environment, output)
            else:
                made = subprocess.Popen(
                    [sys.executable, '-m', name, *words],
                    env=environment,
                    stdout=output,
                    start_new_session=True,
                )
            return made, lambda: (tmp_path / 'output').read_text()

    return run


@pytest.mark.parametrize('warm', [False, True])
def test_a_program_has_its_own_name_words_variables_session_and_end(program, warm):
    process, output = program(SEEN, '--fast', 'x', warm=warm, MINE='yes')
    assert process.wait() == 7 and process.poll() == 7
    first, last = output().splitlines()
    assert json.loads(first) == ['__main__', ['--fast', 'x'], 'yes', True]
    assert last == 'ended in order'


@pytest.mark.parametrize('warm', [False, True])
def test_a_program_that_is_killed_says_so(program, warm):
    process, _ = program('import time; time.sleep(600)', warm=warm)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.kill()  # what has ended takes no signal


def test_several_programs_end_in_any_order(program):
    first, _ = program('import time; time.sleep(600)', warm=True)
    second, _ = program('', warm=True)
    assert second.wait() == 0 and first.poll() is None
    first.kill()
    assert first.wait() == -signal.SIGKILL


def test_no_program_outlives_the_process_that_it_was_copied_from(tmp_path):
    """As when tests are killed: what they have started does not go on."""
    source = WarmStart(prepared=False)
    with open(tmp_path / 'output', 'w') as output:
        words = ['timeit', '-n', '1', '-r', '1', 'import time; time.sleep(600)']
        program = source.start(words, dict(os.environ), output)
    source.close()
    end = time.monotonic() + PATIENCE
    while is_alive(program.pid):
        assert time.monotonic() < end, 'it goes on'
        time.sleep(0.01)
