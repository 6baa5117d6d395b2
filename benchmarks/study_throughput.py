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
How many runs of a what-if study go through in a second: one process, two, and vector lanes.

Four-bar, runs of 0.2 s, a mass and a damping that vary. Rates are those after the first tenth of
the runs, when the processes have started. Measure on an idle machine:

    python -m benchmarks.study_throughput
"""

import argparse
import json
from pathlib import Path
import tempfile
import time

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.experiment import Experiment
from closed_chain_dynamics.studies.responses import read_response
from closed_chain_dynamics.studies.results import run_experiment
from closed_chain_dynamics.studies.sampling import read_variation

VARY = ('mass:coupler_link=xnorm(1,0.1)', 'damping:crank=uniform(0,0.1)')
RESPONSES = ('peak=max(abs(v.crank))', 'rise=last(energy) - first(energy)')
RUNS, MANY = 1500, 60000  # by themselves, and at once
WARM = 0.1  # share of the runs that are not timed


class Clock:
    """Notes when runs were done."""

    def __init__(self):
        self.marks = []

    def __call__(self, done, runs):
        """Note the time, and how far it is."""
        self.marks.append((time.perf_counter(), done))

    def rate(self):
        """Return runs per second, once all processes run."""
        (_, total) = self.marks[-1]
        warm = [mark for mark in self.marks if mark[1] >= WARM * total]
        return (warm[-1][1] - warm[0][1]) / (warm[-1][0] - warm[0][0])


def measure(workers, *, compiled=False, runs=RUNS):
    """Return runs per second."""
    experiment = Experiment(
        ccd.load('four_bar'),
        tuple(map(read_variation, VARY)),
        tuple(map(read_response, RESPONSES)),
        q={'crank': 1.0},
        duration=0.2,
        kind='sobol',
        samples=runs,
        compiled=compiled,
    )
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        run_experiment(experiment, Path(folder) / 'out', workers=workers, progress=clock)
    return clock.rate()


def main():
    """Measure, and print rates and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--json', action='store_true', help='print the rates as JSON')
    args = parser.parse_args()
    found = {'one process': measure(1), 'two processes': measure(2)}
    found['two over one'] = found['two processes'] / found['one process']
    for name, workers in (('one', 1), ('two', 2)):
        rate = measure(workers, compiled=True, runs=MANY)
        found[f'in vector lanes, {name}'] = rate
    found['lanes over kernels, one process'] = found['in vector lanes, one'] / found['one process']
    if args.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f'{name:34} {value:10.4g}{"" if "over" in name else " runs/s"}')


if __name__ == '__main__':
    main()
