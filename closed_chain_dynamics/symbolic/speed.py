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
Generated inverse dynamics against the numeric core, all inside compiled loops.

The core is given q, v and a that respect the loops. Generated code has more to do: v and a follow
from the independent rates in it ('ic'), and q as well ('te', 'de').
"""

from collections.abc import Callable, Iterable
import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from typing import Any

from numba import njit
import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.dynamics.rank import learn_rank
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.symbolic.code import c_source, compiled, identifier
from closed_chain_dynamics.symbolic.reduced_equations import ReducedEquations

__all__ = ['compile_c', 'has_compiler', 'measure', 'seconds_per_call']

STRICT = ('-Wall', '-Wextra', '-Werror', '-std=c99')
REPEATS = 5


def has_compiler() -> bool:
    """Return whether a C compiler is on this machine."""
    return shutil.which('cc') is not None


def compile_c(source: str, *, options: Iterable[str] = ('-O2',)) -> ctypes.CDLL:
    """Return a ctypes library of a C source; warnings are errors."""
    if not has_compiler():
        raise ClosedChainError(
            'there is no C compiler named cc on this machine',
            repair='Install one, for instance gcc.',
        )
    with tempfile.TemporaryDirectory() as folder:
        file, library = os.path.join(folder, 'code.c'), os.path.join(folder, 'code.so')
        with open(file, 'w', encoding='utf-8') as out:
            out.write(source)
        done = subprocess.run(
            ['cc', *STRICT, *options, '-shared', '-fPIC', file, '-o', library, '-lm'],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = ' '.join(done.stderr.split())
            raise ClosedChainError(f'the C compiler refuses it: {said[:500]}')
        return ctypes.CDLL(library)  # stays mapped when the folder goes


def seconds_per_call(loop: Callable[..., object], *arguments: Any) -> float:
    """Return the time per call of a loop(count, ...), the best of a few."""
    loop(1, *arguments)  # compiles
    count, best = 1, 0.0
    while best < 0.02:
        count *= 4
        best = _timed(loop, count, *arguments)
    return min([best, *[_timed(loop, count, *arguments) for _ in range(REPEATS)]]) / count


def _timed(loop: Callable[..., object], *arguments: Any) -> float:
    begun = time.perf_counter()
    loop(*arguments)
    return time.perf_counter() - begun


@njit  # type: ignore[untyped-decorator]  # numba has no types
def _core_loop(count: int, m: Any, q: Array, v: Array, a: Array, out: Array) -> None:
    for _ in range(count):
        kernels.compute_inverse_dynamics(m, q, v, a, out)


def measure(equations: ReducedEquations) -> dict[str, float]:
    """
    Return the seconds per inverse dynamics: {'core': ..., 'numba': ..., 'c': ...}.

    'c' is there only where a C compiler is.
    """
    robot, q = equations.robot, equations.pose
    learn_rank(robot, q)
    rng = np.random.default_rng(0)
    v_1, a_1 = rng.normal(size=(2, len(equations.independent)))
    v = complete_velocity(robot, q, dict(zip(equations.independent, v_1)))
    a = complete_acceleration(robot, q, v, dict(zip(equations.independent, a_1)))
    buffer = np.empty(1 + 2 * robot.nv + len(robot.actuator_names))
    seconds = {'core': seconds_per_call(_core_loop, robot.handle, q, v, a, buffer)}
    position = q if equations.position == 'q' else q[list(equations.source.independent)]
    function = compiled(equations, 'tau_1')

    @njit  # type: ignore[untyped-decorator]
    def numba_loop(count: int, q: Array, v_1: Array, a_1: Array) -> float:
        last = 0.0
        for _ in range(count):
            last += function(q, v_1, a_1)[0]
        return last

    seconds['numba'] = seconds_per_call(numba_loop, position, v_1, a_1)
    if has_compiler():
        library = compile_c(c_source(equations, ['tau_1']))
        c_function = getattr(library, f'{identifier(robot.name)}_tau_1')
        c_function.argtypes, c_function.restype = [ctypes.c_void_p] * 4, None

        @njit  # type: ignore[untyped-decorator]
        def c_loop(count: int, q: Array, v_1: Array, a_1: Array, out: Array) -> None:
            for _ in range(count):
                c_function(q.ctypes, v_1.ctypes, a_1.ctypes, out.ctypes)

        seconds['c'] = seconds_per_call(c_loop, position, v_1, a_1, np.empty(len(v_1)))
    return seconds
