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
Kernels that are compiled once for all who call them, when they are called for the first time.

A part of a kernel is linked into every entry that calls it, which is right for what is small: the
compiler sees through it. For what is large, forward dynamics say, it would be optimised again in
a dozen entries, and for what most mechanisms never need, friction cones say, for nothing. Here a
caller knows nothing but the signature: it calls through a cell of memory that holds the address.
A cell that is still empty asks Python to fill it, from the cache on disk or by compiling.
"""

import ctypes
import os
import signal
import sys
import threading
import traceback

from llvmlite import ir
import llvmlite.binding as llvm
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate
from numba.extending import lower_builtin, typeof_impl

from .compiling import OPTIONS, Kernel
from .pipeline import EntryCompiler

# what is passed: the handle of a mechanism, vectors, tables, and plain values
HANDLE, VECTOR, TABLE = types.int64[::1], types.float64[::1], types.float64[:, ::1]
INDEX, NUMBER, FLAG, NOTHING = types.int64, types.float64, types.boolean, types.none
RESOLVE = 'closed_chain_dynamics_resolve'  # the symbol of what fills a cell
CELL = ir.IntType(64)
SOON = 0.01  # [s]
_by_cell = {}


@ctypes.CFUNCTYPE(None, ctypes.c_int64)
def _resolve(cell):
    """Fill a cell. A Ctrl-C meanwhile is kept until that is done: the caller cannot go back."""
    interrupted = False
    while not _by_cell[cell].cell.value:
        try:
            _by_cell[cell].fill()
        except KeyboardInterrupt:
            interrupted = True
        except BaseException:  # the caller would jump to nowhere: better an end with the reason
            traceback.print_exc()
            print(
                f'closed_chain_dynamics: {_by_cell[cell].__name__} could not be compiled.',
                file=sys.stderr,
                flush=True,
            )
            os._exit(1)
    if interrupted:  # an error raised in here would be lost, so it comes once this has returned
        threading.Timer(SOON, os.kill, [os.getpid(), signal.SIGINT]).start()


llvm.add_symbol(RESOLVE, ctypes.cast(_resolve, ctypes.c_void_p).value)


class SharedKernel(Kernel):
    """A kernel whose code other kernels share; its result is a status, a number or nothing."""

    def __init__(self, function, signature, same_types):
        super().__init__(function, {'contract'}, same_types)
        self.signature, self.cell = signature, ctypes.c_int64(0)
        self.symbol = f'closed_chain_dynamics_{function.__module__}.{function.__qualname__}'
        address = ctypes.addressof(self.cell)
        _by_cell[address] = self
        llvm.add_symbol(self.symbol, address)
        template = type(f'{function.__name__}_shared', (Fixed,), {'key': self})
        self.type = types.Function(template)
        lower_builtin(self, *signature.args)(self.call)

    def fill(self):
        """Write the address of the compiled code into the cell."""
        try:
            self.entry.compile(self.signature.args)
        except OSError:  # there is no room on the disk: it has to be compiled again the next time
            options = {**OPTIONS, 'fastmath': self._fastmath, 'pipeline_class': EntryCompiler}
            self.entry = njit(**options)(self.py_func)
            self.entry.compile(self.signature.args)
        compiled = self.entry.overloads[self.signature.args]
        self.cell.value = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

    def call(self, context, builder, signature, arguments):
        """Write the call of another kernel, in LLVM's language."""
        convention, arguments_of = context.call_conv, self.signature.args
        cell = context.get_c_value(builder, CELL, self.symbol)
        with builder.if_then(builder.icmp_signed('==', builder.load(cell), CELL(0)), likely=False):
            resolve = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [CELL]), RESOLVE
            )
            builder.call(resolve, [builder.ptrtoint(cell, CELL)])
        kind = convention.get_function_type(self.signature.return_type, arguments_of)
        function = builder.inttoptr(builder.load(cell), kind.as_pointer())
        status, result = convention.call_function(
            builder, function, self.signature.return_type, arguments_of, arguments
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result


class Fixed(AbstractTemplate):
    """What numba asks for the type of a call, of what has one signature and no other."""

    def generic(self, arguments, keywords):
        """Return the only signature that there is."""
        return None if keywords else self.key.signature


@typeof_impl.register(SharedKernel)
def _as_function(kernel, _):
    return kernel.type


def shared_kernel(*arguments, returns=types.int64, same_types=False):
    """
    Compile a function of these arguments once, for all kernels that call it.

    With `same_types` Python, too, calls it with these and no others (`kernel_of_same_types`).
    """
    return lambda function: SharedKernel(function, returns(*arguments), same_types)


def named(kind, *members):
    """Return the type of a named tuple."""
    return types.BaseTuple.from_types(members, kind)


def fill_cells() -> None:
    """Compile all of them, or find them on disk, before anybody calls."""
    for each in list(_by_cell.values()):
        if not each.cell.value:
            each.fill()
