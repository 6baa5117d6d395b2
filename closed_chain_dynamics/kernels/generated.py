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
Calling generated code (room codegen) from kernels, by its address.

The code takes all that it is given in one vector, and answers in another: see codegen/call.c.
"""

import ctypes

from llvmlite import ir

from .sharing import INDEX, VECTOR
from .tables import Instructions

POINTER = ctypes.POINTER(ctypes.c_double)
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER)


def _write(context, builder, signature, arguments):
    """Write the call, in LLVM's language."""
    address, *vectors = arguments
    pointers = [context.make_array(VECTOR)(context, builder, each).data for each in vectors]
    kind = ir.FunctionType(ir.IntType(32), [each.type for each in pointers])
    function = builder.inttoptr(address, kind.as_pointer())
    return builder.sext(builder.call(function, pointers), ir.IntType(64))


def _plain(address, given, out):
    return PROTOTYPE(int(address))(*(each.ctypes.data_as(POINTER) for each in (given, out)))


# call_generated(address, given, out): 1 where the answer counts, else 0
call_generated = Instructions(INDEX(INDEX, VECTOR, VECTOR), _write, _plain)
