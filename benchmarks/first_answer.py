#!/usr/bin/env python3
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
Measures from an empty cache how long a first answer takes, and what is compiled for it.

Each program runs in a process of its own with a cache of its own, which is thrown away: the first
inverse dynamics of the README, its example to the end, and `warm_up`; and once more with the cache
that `warm_up` has left. Times are of the processor: what else the machine does matters little.
"""

import argparse
import json
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parent.parent
COUNT = """
import time, json
from numba.core import event
class Count(event.Listener):
    entries = parts = 0
    def on_start(self, event):
        if event.data['dispatcher'].targetoptions.get('no_cpython_wrapper', False):
            Count.parts += 1
        else:
            Count.entries += 1
    def on_end(self, event):
        pass
event.register('numba:compile', Count())
"""
TELL = """
print()
print(json.dumps([time.process_time(), Count.entries, Count.parts]))
"""


def programs() -> dict[str, str]:
    """Return the programs by what is said of them, in the order in which they are run."""
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    example = re.search(r'```python\n(.*?)```', text, re.DOTALL)[1]
    lines = example.splitlines()
    last = next(k for k, line in enumerate(lines) if 'inverse_dynamics' in line)
    warm = 'import closed_chain_dynamics as ccd\nccd.warm_up(quiet=True)\n'
    return {
        'first inverse dynamics': '\n'.join(lines[: last + 1]),
        "the README's example": example,
        'warm_up': warm,
        "the README's example after warm_up": example,
    }


def measure(code: str, cache: str) -> tuple[float, int, int]:
    """Return processor time [s], entries and parts that were compiled."""
    environment = {**os.environ, 'NUMBA_CACHE_DIR': cache, 'PYTHONPATH': str(ROOT)}
    done = subprocess.run(
        [sys.executable, '-c', COUNT + code + TELL],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    seconds, entries, parts = json.loads(done.stdout.splitlines()[-1])
    return seconds, entries, parts


def main() -> None:
    """Run the programs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--json', action='store_true', help='write JSON')
    arguments, found = parser.parse_args(), {}
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, code) in enumerate(programs().items()):
            cache = os.path.join(folder, str(min(k, 2)))  # the last finds what warm_up has left
            seconds, entries, parts = measure(code, cache)
            found[name] = {'processor': round(seconds, 1), 'entries': entries, 'parts': parts}
            if not arguments.json:
                print(
                    f'{name:36} {seconds:6.1f} s {entries:4} entries {parts:4} parts', flush=True
                )
    if arguments.json:
        print(json.dumps(found, indent=2))


if __name__ == '__main__':
    main()
