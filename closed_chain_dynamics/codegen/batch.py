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
Calling generated code: one state as a function of Python, many over vector lanes and threads.

ctypes lets go of Python's lock while C runs, so that threads share a batch without anything else.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import ctypes
import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.codegen.build import Library, build
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import StateError

__all__ = ['Function', 'as_numbers', 'as_rows', 'check_counts', 'pointer', 'shares', 'spread']

MATRIX_OUTPUTS = ('M', 'W', 'S', 'J_C', 'placements')  # outputs with two indices, however narrow
LEAST_SHARE = 64  # states below which a thread of its own does not pay


def pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    """Return the address of an array's numbers, for C."""
    return ctypes.c_void_p(array.ctypes.data)


def shares(n: int, lanes: int, threads: int) -> list[tuple[int, int]]:
    """Return ranges of rows for the threads, whole groups of lanes each."""
    count = max(1, min(threads, n // LEAST_SHARE))
    size = max(-(-n // (count * lanes)), 1) * lanes
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def spread(run: Callable[[tuple[int, int]], None], shares: list[tuple[int, int]]) -> None:
    """Run a function for every share of a batch, each in a thread."""
    if len(shares) <= 1:
        for share in shares:
            run(share)
        return
    with ThreadPoolExecutor(len(shares)) as pool:
        for done in [pool.submit(run, share) for share in shares]:
            done.result()


def as_rows(values: ArrayLike, width: int, what: str, where: str) -> Array:
    """Return values as a contiguous batch of floats, or say what does not fit."""
    array = as_numbers(values, what, where)
    if array.ndim != 2 or array.shape[1] != width:
        raise StateError(
            f'{what} has shape {array.shape} but a batch needs (n, {width})',
            where=where,
            repair='One row for each state.',
        )
    return array


def as_numbers(values: ArrayLike, what: str, where: str) -> Array:
    """Return values as a contiguous array of floats."""
    try:
        if np.iscomplexobj(values):  # NumPy would drop the imaginary part
            raise TypeError
        return np.ascontiguousarray(values, dtype=float)
    except (TypeError, ValueError):
        kind = getattr(values, 'dtype', type(values).__name__)
        raise StateError(f'{what} must be numbers, not {kind}', where=where) from None


def check_counts(where: str, **batch: Array) -> None:
    """Raise unless all arrays have as many rows."""
    counts = {name: len(rows) for name, rows in batch.items()}
    if len(set(counts.values())) > 1:
        told = ', '.join(f'{name} {count}' for name, count in counts.items())
        raise StateError(
            f'the numbers of states differ: {told}',
            where=where,
            repair='Give each array one row for each state.',
        )


class Function:
    """
    One generated function of a mechanism.

    A result is its outputs side by side, (width,); inputs may stand before them as they were.
    """

    def __init__(self, source: Source, name: str, threads: int | None = None) -> None:
        self._source, self._name = source, name
        self.threads = threads or os.cpu_count() or 1
        library = build(source, name)
        self.inputs, self.outputs = library.inputs, library.outputs
        self.library = library  # keeps the code loaded
        self._kept = library.kept
        self.width = self._kept + sum(r * c for r, c in self.outputs.values())
        make = ctypes.PyDLL(library.dll._name).python_function
        make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object]
        # answer(input, ..., out): whether one state in contiguous arrays has an answer; see call.c
        self.answer: Callable[..., bool] = make(np.empty(0))
        self._many: Library | None = None
        ends = (self._kept + np.cumsum([r * c for r, c in self.outputs.values()])).tolist()
        self._cuts = [
            (r, c, end - r * c, end, name in MATRIX_OUTPUTS)
            for (name, (r, c)), end in zip(self.outputs.items(), ends)
        ]

    def one(self, given: tuple[ArrayLike, ...]) -> Array | None:
        """Return the result of one state; None where it does not count."""
        flat = np.empty(self.width)
        where = self._source.name
        rows = [as_numbers(each, what, where) for each, what in zip(given, self.inputs)]
        return flat if self.answer(*rows, flat) else None

    def empty(self, n: int) -> Array:
        """Return room for the results of n states."""
        return np.full((n, self.width), np.nan)

    def many(self, rows: tuple[Array, ...]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the result of every state, (n, width), and whether they count."""
        n = len(rows[0])
        if self._many is None:
            self._many = build(self._source, self._name, lanes=find_compiler().lanes)
        out, ok = np.empty((n, self.width)), np.zeros(n, dtype=np.uint8)
        pointers = (ctypes.c_void_p * len(rows))(*(each.ctypes.data for each in rows))
        call = self._many.dll.call_many

        def run(share: tuple[int, int]) -> None:
            call(
                ctypes.c_long(share[0]), ctypes.c_long(share[1]), pointers, pointer(out),
                pointer(ok),
            )  # fmt: skip

        spread(run, shares(n, find_compiler().lanes, self.threads))
        return out, ok.astype(bool)

    def join(self, given: tuple[Array, ...], outputs: tuple[Array, ...]) -> Array:
        """Return a result of one state as generated code would write it."""
        columns = [np.transpose(x) if cut[-1] else x for x, cut in zip(outputs, self._cuts)]
        kept = given if self._kept else ()
        return np.concatenate([np.ravel(each) for each in (*kept, *columns)])

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
