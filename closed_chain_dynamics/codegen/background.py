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
Generating and compiling in a process beside this one, so that nobody has to wait.

A thread would not do: tracing holds Python's lock for seconds, and a control loop would feel it.
The process writes to the folder of compiled code, from where everybody takes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import pickle
import subprocess
import sys
import tempfile
from threading import Lock
import weakref

from closed_chain_dynamics.codegen.build import build
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['COMPILING', 'BackgroundBuild', 'sharing_python']

COMPILING = 'code for this structure is being generated'
NICENESS = 10  # whatever its owner does comes first
SHARE_EVERY = 5e-5  # Python's lock, while a thread prepares something beside a control loop [s]
USUALLY = sys.getswitchinterval()

_sharing, _count_lock = [0], Lock()  # how many threads do so


@contextmanager
def sharing_python() -> Iterator[None]:
    """Let a control loop have Python's lock soon, while another thread works beside it."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    with _count_lock:
        _sharing[0] += more
        sys.setswitchinterval(min(USUALLY, SHARE_EVERY) if _sharing[0] else USUALLY)


class BackgroundBuild:
    """Generated code on its way to the disk; ends with its owner."""

    def __init__(self, source: Source, name: str, variant: int = 0) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix='closed_chain_dynamics_')
        task, told = Path(self._folder.name) / 'task', Path(self._folder.name) / 'told'
        task.write_bytes(pickle.dumps((source, name, variant)))
        self._told = told
        with told.open('wb') as output:
            self._process = subprocess.Popen(
                [sys.executable, '-m', __name__, str(task)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C is for its owner
            )
        self._end = weakref.finalize(self, _stop, self._process)

    def is_done(self) -> bool:
        """Return whether the process has ended, well or not."""
        return self._process.poll() is not None

    def complaint(self) -> str:
        """Return why it failed, in a line; nothing where all is well."""
        if not self._process.wait():
            return ''
        lines = self._told.read_text(errors='replace').strip().splitlines()
        return lines[-1] if lines else f'the process ended with {self._process.returncode}'


def _stop(process: 'subprocess.Popen[bytes]') -> None:
    if process.poll() is None:
        process.terminate()
        process.wait()


def main(path: str) -> int:
    """Build what a file asks for; return the exit code."""
    os.nice(NICENESS)
    source, name, variant = pickle.loads(Path(path).read_bytes())
    try:
        build(source, name, variant=variant)
    except ClosedChainError as error:
        print(' '.join(str(error).split()))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
