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
Fuzz everything that reads what strangers write: python benchmarks/fuzz.py --seconds 60.

Good inputs are spoilt and read. A reader may succeed, or raise a ClosedChainError with a message,
within 10 s of processor time and 2 GiB; anything else is a finding: another exception, a crash, a
hang. Findings are kept in test/corpus, which test/test_corpus.py reads ever after, and the exit
code is 1; so it is where the time was too short to try every reader.
"""

import argparse
from collections import Counter
import contextlib
import json
from pathlib import Path
import select
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.fuzzing.readers import READERS, ros_readers
from benchmarks.fuzzing.seeds import CORPUS
from closed_chain_dynamics.warming import warm_up

SILENCE = 120.0  # processor time without a lap: the worker hangs where no signal reaches it [s]


class Fuzzing:
    """Workers one after the other, until the time is over; a dead one is a finding."""

    def __init__(self, names, seed, folder, keep):
        self.names, self.seed, self.folder, self.keep = names, seed, folder, keep
        self.counts = {name: Counter() for name in names}
        self.findings = {}
        self.deaths = 0

    def run(self, seconds, show):
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.names:
            self._work(until, show)

    def _work(self, until, show):
        """Run one worker until the time is over or it dies."""
        command = [sys.executable, '-m', 'benchmarks.fuzzing.worker', str(self.folder)]
        command += [str(self.seed + self.deaths), *self.names]
        with open(self.folder / 'stderr', 'wb') as errors:
            worker = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, cwd=CORPUS.parents[1]
            )
        used = _processor_time(worker.pid)
        try:
            while time.monotonic() < until:
                if select.select([worker.stdout], [], [], 1.0)[0]:
                    line = worker.stdout.readline()
                    if not line:
                        self._died(worker)
                        return
                    self._take(json.loads(line))
                    show(self)
                    used = _processor_time(worker.pid)
                elif _processor_time(worker.pid) - used > SILENCE:
                    self._note_current('hang', 'no signal reached it')
                    return
        finally:
            worker.kill()
            worker.wait()

    def _died(self, worker):
        code = worker.wait()
        said = (self.folder / 'stderr').read_text(errors='replace')[-3000:]
        self.deaths += 1
        if not self._note_current(f'exit{code}', said):
            raise SystemExit(f'the worker ends before its first input:\n{said}')

    def _note_current(self, label, text):
        try:
            name, _, data = (self.folder / 'current').read_bytes().partition(b'\n')
        except FileNotFoundError:
            return False
        self.counts[name.decode()]['finding'] += 1
        self._note(name.decode(), {'label': label, 'site': '', 'text': text, 'data': data.hex()})
        return True

    def _take(self, lap):
        self.counts[lap['reader']].update(lap['counts'])
        for each in lap['found']:
            self._note(lap['reader'], each)

    def _note(self, name, found):
        if (name, found['label']) in self.findings:
            return
        suffix = {**READERS, **ros_readers()}[name].suffix
        paths = (
            self.keep / name / f'{found["label"]}{n}{suffix}' for n in ('', *range(-2, -99, -1))
        )
        path = next(each for each in paths if not each.exists())  # an earlier finding stays
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes.fromhex(found.pop('data')))
        self.findings[name, found['label']] = {**found, 'reader': name, 'file': str(path)}
        print(
            f'\r\x1b[KFOUND {name}: {found["label"]} at {found["site"] or "?"}: {path}',
            file=sys.stderr,
        )


def _processor_time(pid):
    try:
        words = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(words[11]) + int(words[12])) / 100.0


def main():
    """Fuzz, print a summary, and end with 1 where something was found."""
    known = {**READERS, **ros_readers()}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('readers', nargs='*', choices=[*known, []], help='default: all')
    parser.add_argument('--seconds', type=float, default=60.0, help='default: %(default)s')
    parser.add_argument('--seed', type=int, default=0, help='the same inputs again')
    parser.add_argument('--keep', type=Path, default=CORPUS, help='folder for what is found')
    parser.add_argument('--json', action='store_true', help='the summary for machines')
    args = parser.parse_args()
    warm_up(quiet=True)  # which may take minutes, and is no part of the time
    began = time.monotonic()

    def show(fuzzing):
        total = sum(sum(each.values()) for each in fuzzing.counts.values())
        print(
            f'\r\x1b[K{time.monotonic() - began:.0f} of {args.seconds:.0f} s: {total} inputs, '
            f'{len(fuzzing.findings)} findings',
            end='',
            file=sys.stderr,
            flush=True,
        )

    with tempfile.TemporaryDirectory(dir='/dev/shm' if Path('/dev/shm').is_dir() else None) as at:
        fuzzing = Fuzzing(args.readers or [*known], args.seed, Path(at), args.keep)
        with contextlib.suppress(KeyboardInterrupt):
            fuzzing.run(args.seconds, show)
    print(file=sys.stderr)
    findings = [*fuzzing.findings.values()]
    if args.json:
        print(json.dumps({'inputs': fuzzing.counts, 'findings': findings}, indent=2))
    else:
        print(f'{"reader":14}{"inputs":>9}{"read":>9}{"refused":>9}{"findings":>9}')
        for name, counts in fuzzing.counts.items():
            different = sum(each['reader'] == name for each in findings)
            print(
                f'{name:14}{sum(counts.values()):9}{counts["read"]:9}{counts["refused"]:9}{different:9}'
            )
        for each in findings:
            print(f'\n{each["reader"]}, {each["label"]}, {each["site"]}')
            print(f'  {each["file"]}\n{each["text"]}')
    untried = [name for name, counts in fuzzing.counts.items() if not counts]
    if untried:
        print(f'the time was too short for: {", ".join(untried)}', file=sys.stderr)
    return 1 if findings or untried else 0


if __name__ == '__main__':
    raise SystemExit(main())
