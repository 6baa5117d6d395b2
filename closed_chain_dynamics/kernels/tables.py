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
How compiled code gets at a table of records: a few instructions, written where they are needed.

Some forty tables are looked up in every corner of the kernels. As functions they would be typed,
lowered and optimised like any other, which took a fifth of the time in which kernels compile.
"""

import ctypes

from llvmlite import ir
from numba import from_dtype, types
from numba.extending import lower_builtin, typeof_impl
from numba.np import arrayobj
import numpy as np

from .compiling import with_names
from .sharing import HANDLE, INDEX, TABLE, Fixed

WHOLE, REAL = np.dtype(np.int64), np.dtype(np.float64)


class Instructions:
    """A function that compiled code calls as instructions, and Python as itself."""

    def __init__(self, signature, write, plain):
        self.signature, self.plain = signature, plain
        self.type = types.Function(type('Instructions', (Fixed,), {'key': self}))
        lower_builtin(self, *signature.args)(write)

    def __call__(self, *arguments):
        """Return a table, for kernels that run as plain Python."""
        return self.plain(*arguments)


@typeof_impl.register(Instructions)
def _as_function(instructions, _):
    return instructions.type


def _entry(context, builder, handle, slot):
    """Load an entry of the handle."""
    array = context.make_array(HANDLE)(context, builder, handle)
    return builder.load(builder.gep(array.data, [context.get_constant(types.intp, slot)]))


def _array(context, builder, kind, address, shape):
    """Write what an array at an address is, by rows."""
    array = context.make_array(kind)(context, builder)
    step = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
    )
    size, strides = step, []
    for length in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, length)
    data = builder.inttoptr(address, array.data.type)
    arrayobj.populate_array(array, data, shape, strides, itemsize=size, meminfo=None)
    return array._getvalue()


def _view(address, count, dtype):
    """Return a table at an address, for kernels that run as plain Python."""
    memory = (ctypes.c_char * (int(count) * dtype.itemsize)).from_address(int(address))
    return with_names(np.frombuffer(memory, dtype) if count else np.empty(0, dtype))


def table(slot, dtype):
    """Return what gives the table whose address and length a handle has from a slot on."""
    kind = types.Array(from_dtype(dtype), 1, 'C')

    def write(context, builder, signature, arguments):
        address, count = (_entry(context, builder, arguments[0], slot + k) for k in range(2))
        return _array(context, builder, kind, address, [count])

    return Instructions(kind(HANDLE), write, lambda m: _view(m[slot], m[slot + 1], dtype))


def record(slot, dtype):
    """Return what gives the only record of a table."""
    kind = from_dtype(dtype)

    def write(context, builder, signature, arguments):
        address = _entry(context, builder, arguments[0], slot)
        return builder.inttoptr(address, context.get_value_type(kind))

    return Instructions(kind(HANDLE), write, lambda m: _view(m[slot], 1, dtype)[0])


def matrices(slot):
    """Return what gives a dense matrix in a table of numbers: handle, offset, rows, columns."""

    def write(context, builder, signature, arguments):
        handle, offset, *shape = arguments
        skipped = builder.mul(offset, ir.Constant(offset.type, REAL.itemsize))
        address = builder.add(_entry(context, builder, handle, slot), skipped)
        return _array(context, builder, TABLE, address, shape)

    def plain(m, offset, n_rows, n_columns):
        start = m[slot] + REAL.itemsize * offset
        return _view(start, n_rows * n_columns, REAL).reshape(n_rows, n_columns)

    return Instructions(TABLE(HANDLE, INDEX, INDEX, INDEX), write, plain)
