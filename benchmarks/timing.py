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

"""Times of calls that take turns, and how they compare."""

import gc
from itertools import repeat
from time import perf_counter

import numpy as np

from closed_chain_dynamics.kernels import compile_at_once

__all__ = ['interleave', 'ratio', 'summary']

BATCH, LEAST_TURNS = 3e-4, 3  # seconds that a call is repeated for in its turn; turns
CLEARLY = 10.0  # how much longer than a batch a call takes that need not be looked at again


def interleave(calls, seconds):
    """
    Return microseconds per call, {name: (turns,)}, of calls {name: (function, arguments)}.

    The garbage collector rests, as it would fall on one call or another by chance.
    """
    compile_at_once()
    counts = {name: _batch(*call) for name, call in calls.items()}
    times = {name: [] for name in calls}
    enabled = gc.isenabled()
    gc.disable()
    try:
        end, turns = perf_counter() + seconds, 0
        while perf_counter() < end or turns < LEAST_TURNS:
            turns += 1
            for name, (function, arguments) in calls.items():
                times[name].append(_time(function, arguments, counts[name]))
    finally:
        if enabled:
            gc.enable()
    return {name: 1e6 * np.array(values) for name, values in times.items()}


def _time(function, arguments, count):
    start = perf_counter()
    for _ in repeat(None, count):
        function(*arguments)
    return (perf_counter() - start) / count


def _batch(function, arguments):
    """Return how many calls make a batch; the first call may compile and is not counted."""
    function(*arguments)
    if _time(function, arguments, 1) > CLEARLY * BATCH:
        return 1
    return max(1, int(BATCH / min(_time(function, arguments, 3) for _ in range(3))))


def summary(times):
    low, median, high = np.percentile(times, (25, 50, 75))
    return {
        'median_us': median,
        'best_us': times.min(),
        'quartiles_us': [low, high],
        'turns': len(times),
    }


def ratio(theirs, ours):
    low, median, high = np.percentile(theirs / ours, (25, 50, 75))
    return {'median': median, 'quartiles': [low, high]}
