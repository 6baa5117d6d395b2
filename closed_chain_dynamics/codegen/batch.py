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
Calling generated code: one state through a buffer, many over vector lanes and threads.

ctypes lets go of Python's lock while C runs, so that threads share a batch without anything else.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import ctypes
import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.codegen.build import STEP, Library, build, find_compiler
from closed_chain_dynamics.codegen.source import Source

__all__ = ['Function', 'Roller', 'pointer']

Array = NDArray[np.float64]
MATRICES = ('W', 'S', 'J_C', 'placements')  # outputs with two indices, however narrow
LEAST_SHARE = 64  # states below which a thread of its own does not pay


def pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    """Return the address of an array's numbers, for C."""
    return ctypes.c_void_p(array.ctypes.data)


def _shares(n: int, lanes: int, threads: int) -> list[tuple[int, int]]:
    """Return ranges of rows for the threads, whole groups of lanes each."""
    count = max(1, min(threads, n // LEAST_SHARE))
    size = -(-n // (count * lanes)) * lanes
    return [(first, min(first + size, n)) for first in range(0, n, size)]


class Function:
    """One generated function of a mechanism."""

    def __init__(self, source: Source, name: str, threads: int | None = None) -> None:
        self._source, self._name = source, name
        self.threads = threads or os.cpu_count() or 1
        library = build(source, name)
        self.inputs, self.outputs = library.inputs, library.outputs
        self._library = library  # keeps the code loaded
        self._width = sum(r * c for r, c in self.outputs.values())
        n_in = sum(self.inputs.values())
        self._x, self._y = np.zeros(n_in + 1), np.zeros(self._width + library.margins + 1)
        self._answer = self._y[: self._width]
        self._is_one_column = len(self.outputs) == 1 and not set(self.outputs) & set(MATRICES)
        self._places, at = [], 0
        for width in self.inputs.values():
            self._places.append(self._x[at : at + width])
            at += width
        self._address = pointer(self._x), pointer(self._y)
        self._one = library.dll.call_one
        self._many: Library | None = None
        ends = np.cumsum([r * c for r, c in self.outputs.values()]).tolist()
        self._cuts = [
            (r, c, end - r * c, end, name in MATRICES)
            for (name, (r, c)), end in zip(self.outputs.items(), ends)
        ]

    def one(self, given: tuple[ArrayLike, ...]) -> tuple[Array, ...] | None:
        """Return the outputs for one state; None where they do not count, or it does not fit."""
        for place, values in zip(self._places, given):
            if type(values) is not np.ndarray:
                values = np.asarray(values, dtype=float)
            if values.shape != place.shape:
                return None
            place[:] = values
        if not self._one(*self._address):
            return None
        flat = self._answer.copy()
        return (flat,) if self._is_one_column else self.split(flat)

    def empty(self, n: int) -> Array:
        """Return room for the outputs of n states."""
        return np.full((n, self._width), np.nan)

    def many(self, rows: tuple[Array, ...]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the outputs of every state side by side, (n, width), and whether they count."""
        n = len(rows[0])
        if self._many is None:
            self._many = build(self._source, self._name, lanes=find_compiler().lanes)
        out, ok = np.empty((n, self._width)), np.zeros(n, dtype=np.uint8)
        pointers = (ctypes.c_void_p * len(rows))(*(each.ctypes.data for each in rows))
        call = self._many.dll.call_many

        def run(share: tuple[int, int]) -> None:
            call(
                ctypes.c_long(share[0]), ctypes.c_long(share[1]), pointers, pointer(out),
                pointer(ok),
            )  # fmt: skip

        _spread(run, _shares(n, find_compiler().lanes, self.threads))
        return out, ok.astype(bool)

    def split(self, flat: Array) -> tuple[Array, ...]:
        """Return the outputs by themselves; CasADi writes matrices column by column."""
        found = []
        for rows, columns, first, last, is_matrix in self._cuts:
            part = flat[..., first:last]
            if is_matrix:
                shape = (*flat.shape[:-1], columns, rows)
                part = np.swapaxes(part.reshape(shape), -1, -2)
            found.append(part)
        return tuple(found)


def _spread(run: Callable[[tuple[int, int]], None], shares: list[tuple[int, int]]) -> None:
    """Run a function for every share of a batch, each in a thread."""
    if len(shares) <= 1:
        for share in shares:
            run(share)
        return
    with ThreadPoolExecutor(len(shares)) as pool:
        for done in [pool.submit(run, share) for share in shares]:
            done.result()


class Roller:
    """Roll-outs of many states over many steps."""

    def __init__(self, source: Source, threads: int | None = None) -> None:
        self._source = source
        self.threads = threads or os.cpu_count() or 1
        self._lanes = find_compiler().lanes
        self._library = {1: build(source, STEP)}

    def roll(
        self, q: Array, v: Array, tau: Array, steps: int, every: int, dt: float, rk4: bool
    ) -> tuple[Array, Array, NDArray[np.int64]] | None:
        """Return states kept and steps done; None where the torques have another shape."""
        n, motors = len(q), len(self._source.motors)
        changing = tau.ndim == 3
        if tau.shape != ((n, steps, motors) if changing else (n, motors)):
            return None
        lanes = self._lanes if n > 1 else 1
        if lanes not in self._library:
            self._library[lanes] = build(self._source, STEP, lanes=lanes)
        tau = np.ascontiguousarray(tau, dtype=float)
        kept = steps // every
        q_out = np.empty((n, kept, self._source.nq))
        v_out = np.empty((n, kept, self._source.nv))
        done = np.zeros(n, dtype=np.int64)
        call = self._library[lanes].dll.roll_many

        def run(share: tuple[int, int]) -> None:
            call(
                *(ctypes.c_long(x) for x in (*share, steps, every)),
                ctypes.c_int(changing),
                ctypes.c_int(rk4),
                ctypes.c_double(dt),
                *(pointer(each) for each in (q, v, tau, q_out, v_out, done)),
            )

        _spread(run, _shares(n, lanes, self.threads))
        return q_out, v_out, done
