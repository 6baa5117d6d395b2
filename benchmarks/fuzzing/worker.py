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
The process that tries: python -m benchmarks.fuzzing.worker FOLDER SEED READER...

It goes round the readers, and says after each lap on standard output what it found, a JSON object
a line. The input under way lies in FOLDER/current, for whoever finds the process dead. What was
refused in a way not seen before is kept among the seeds: it is half-way to something new.
"""

import contextlib
import json
import os
from pathlib import Path
from random import Random
import sys

from benchmarks.fuzzing.readers import READERS, Reader, ros_readers
from benchmarks.fuzzing.seeds import seeds
from benchmarks.fuzzing.trial import Verdict, bound_memory, judge
from closed_chain_dynamics.warming import warm_up

__all__ = ['try_bytes']

LAP = 0.5  # processor time for one reader before the next has its turn [s]
MOST_SEEDS = 3000  # of one reader


def try_bytes(reader: Reader, data: bytes, folder: Path) -> Verdict:
    """Write bytes into a file, let the reader read it, and judge."""
    path = folder / f'input{reader.suffix}'
    path.write_bytes(data)
    return judge(lambda _: reader.read(path), data)


class Trials:
    """One reader, its seeds, and what came of its inputs."""

    def __init__(self, name: str, reader: Reader, rng: Random, folder: Path) -> None:
        self.name, self.reader, self._rng, self._folder = name, reader, rng, folder / name
        self._folder.mkdir(exist_ok=True)  # of its own: readers look at what lies beside a file
        self._seeds = seeds(name) or [b'']
        self._seen: set[str] = set()

    def lap(self, current: Path) -> dict:
        """Try inputs for a while; return counts and findings."""
        counts, found = {'read': 0, 'refused': 0, 'finding': 0}, []
        until = _processor_time() + LAP
        while _processor_time() < until:
            rng, seed = self._rng, self._rng.choice(self._seeds)
            data = seed
            for _ in range(rng.choice((1, 1, 1, 2))):
                data = rng.choice(self.reader.mutants)(data, rng)
            current.write_bytes(self.name.encode() + b'\n' + data)
            verdict = try_bytes(self.reader, data, self._folder)
            counts['finding' if verdict.is_finding else verdict.kind] += 1
            if verdict.is_finding:
                if verdict.label not in self._seen:
                    found.append(
                        {
                            'label': verdict.label,
                            'site': verdict.site,
                            'text': verdict.text[-3000:],
                            'data': data.hex(),
                        }
                    )
            elif verdict.site not in self._seen and len(self._seeds) < MOST_SEEDS:
                self._seeds.append(data)
            self._seen |= {verdict.label if verdict.is_finding else verdict.site}
        return {'reader': self.name, 'counts': counts, 'found': found}


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system


def main(folder: str, seed: str, *names: str) -> None:
    """Try until somebody ends it."""
    at, rng = Path(folder), Random(int(seed))
    said = os.fdopen(os.dup(1), 'w')
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print
    known = {**READERS, **ros_readers()}
    trials = [Trials(name, known[name], rng, at) for name in names]
    warm_up(quiet=True)  # a kernel that is compiled within a trial would seem to hang
    bound_memory()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        while True:
            for each in trials:
                print(json.dumps(each.lap(at / 'current')), file=said, flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
