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

"""Arrays in few instructions: results as of plain Python, and no memory that is left over."""

from llvmlite import ir
import numba
from numba.core.codegen import CPUCodeLibrary
from numba.core.runtime import _nrt_python, rtsys
import numpy as np
import pytest

from closed_chain_dynamics.kernels.compiling import OPTIONS, kernel
from closed_chain_dynamics.kernels.pipeline import EntryCompiler
from closed_chain_dynamics.kernels.writing import leave_out_unused

A = np.arange(12.0).reshape(3, 4) - 5.0
X, PLACES = np.array([0.5, -2.0, 3.0, 7.0]), np.array([2, -1, 0])
RECORDS = np.zeros(3, np.dtype([('R', float, (2, 2)), ('mass', float), ('p', float, (3,))]))
CALLS = 3
RECORDS['R'], RECORDS['mass'] = np.arange(12.0).reshape(3, 2, 2), [1.0, -2.0, 4.0]


def elements(a, x, places, table):
    """Read single elements, from the end as well, and write them."""
    total = 0.0
    for k in range(places.size):
        total += a[places[k], k] * x[places[k]] + a[k, -1]
        x[np.uint64(k)] = total
    a[1, 2] += x[0]
    return total + len(a) + a.shape[1] + a.size


def views(a, x, places, table):
    """Look at rows, columns, slices, what is transposed, and another shape."""
    row, column, turned = a[1], a[:, 2], a.T
    x[1:3] = column[:2]
    row[0] = turned[2, 1]
    inner, wide = a[1:, 1:3], x.reshape(2, 2)
    return inner[1, 0] + wide[1, 1] + inner.shape[0] + turned.strides[0] + column[-1]


def records(a, x, places, table):
    """Read and write what is in records."""
    total, second = 0.0, table[1]
    for k in range(table.size):
        total += table[k].R[1, k % 2] * table[k].mass
        table[k].p[k] = total
    second.R[0, -1] = second.mass
    return total + second.p[1] + table[2].R[1][0]


def changing_names(a, x, places, table):
    """Let a name stand for one array, then another, some of them new."""
    now, other = x, np.zeros(4)
    for k in range(5):
        if k % 2:
            now, other = other, now
        else:
            now = now.copy()
            other = np.full(4, a[k % 3, 0])
        now[k % 4] += 1.0 + other[0]
    return now.sum() + other[3]


def far_from_where_set(a, x, places, table):
    """Use in a loop what is set before it, and after the loop what is set in it."""
    row, new, last = a[1], np.zeros(4), 0.0
    for k in range(3):
        part = row[k:]
        if k > 0:
            view = new[k:]
            view[0] = part[0] + last
        last = new.sum() + part.size
    return last + row[0] + new[1]


@kernel
def without_first(x):
    """Return a view of an argument, which has to outlive it."""
    return x[1:]


def handed_back(a, x, places, table):
    """Use a view of an array that nobody else holds any more."""
    rest = without_first(x.copy())
    other = np.full(4, 9.0)
    return rest.sum() + other[0]


NEW_ARRAYS = changing_names, far_from_where_set, handed_back


@pytest.mark.parametrize('function', [elements, views, records, *NEW_ARRAYS])
def test_compiled_code_does_with_arrays_what_python_does(function):
    made = kernel(function)
    made.entry._cache.flush()
    given = [[each.copy() for each in (A, X, PLACES, RECORDS)] for _ in range(2)]
    expected = made.interpret(given[0])
    made._patience = 0.0
    assert made(*given[1]) == expected
    for one, other in zip(*given, strict=True):
        np.testing.assert_array_equal(one, other)
    assert made.entry.signatures

    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for _ in range(CALLS):
        made(*given[1])
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free
    # arrays that come from Python are borrowed: only new ones take memory
    assert (after.alloc > before.alloc) == (function in NEW_ARRAYS)


@pytest.mark.parametrize('function', [elements, views, records])
def test_arrays_take_fewer_instructions_than_numba_writes(function, monkeypatch):
    written, usual = [], CPUCodeLibrary.add_ir_module

    def count(library, module):
        own = [
            each
            for each in module.functions
            if f'{len(function.__name__)}{function.__name__}' in each.name
            and 'cpython' not in each.name
        ]
        written.append(sum(len(block.instructions) for each in own for block in each.blocks))
        usual(library, module)

    monkeypatch.setattr(CPUCodeLibrary, 'add_ir_module', count)
    counts = []
    for options in ({}, {'pipeline_class': EntryCompiler}):
        written.clear()
        numba.njit(**OPTIONS, **options)(function).compile(
            tuple(map(numba.typeof, (A, X, PLACES, RECORDS)))
        )
        counts.append(sum(written))
    assert counts[1] < 0.7 * counts[0], counts


def test_instructions_whose_result_nobody_uses_are_left_out():
    module = ir.Module('few')
    number = ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(number, [number, number.as_pointer()]), 'few')
    builder = ir.IRBuilder(function.append_basic_block())
    given, place = function.args
    double = builder.add(given, given)
    builder.mul(builder.sub(double, given), builder.load(place))
    builder.store(given, place)
    builder.ret(double)
    leave_out_unused(module)
    left = [each.opname for each in function.blocks[0].instructions]
    assert left == ['add', 'store', 'ret']
