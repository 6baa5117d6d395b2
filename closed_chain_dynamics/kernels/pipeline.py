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
The way from a kernel's Python to machine code: numba's, without what it does for other programs.

A part is typed and lowered to LLVM's language, and nothing more; an entry is linked with its parts
and optimised. What numba's own way takes beyond that, and what it is good for, is said below at
each place where it is left out.
"""

from contextlib import contextmanager
from functools import cache
import gc

import llvmlite.binding as llvm
from llvmlite.ir import FunctionType, IntType
from numba.core import base, ir, typed_passes, types, untyped_passes
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.cpu import CPUContext
from numba.core.postproc import PostProcessor
from numba.core.pythonapi import PythonAPI
from numba.core.typing import Context

from . import error_texts, writing
from .libraries import EntryLibrary, PartLibrary

PLAIN = types.Number, types.Boolean, types.Array, types.SliceType, types.Record, types.BaseTuple


@register_pass(mutates_CFG=False, analysis_only=False)
class _IntoEntry(FunctionPass):
    """Lets the code that follows go into a library for entries."""

    _name = 'closed_chain_dynamics_entry'

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Open the library, of what is kept on disk."""
        state.library = EntryLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _KnowKernel(FunctionPass):
    """Marks the function as a kernel, whose passes are known, and not one of numba's own."""

    _name = 'closed_chain_dynamics_kernel'

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Mark it."""
        state.func_ir.of_kernel = True
        return False


@contextmanager
def _without_detours():
    """
    Let numba compile a kernel, and the parts that it calls, without what it does for others.

    - It asks once, not in every line, what a sum or product of given numbers is. It tries all that
      it knows of an operator in turn, text, lists, dates and at last numbers: a fifth of the time.
    - It prepares no texts for errors that do not come up (`error_texts.py`).
    - Its types are classes like others: nobody has declared foreign classes to be among them.
    - It looks for new modules of its own once, not at every function and at every array.
    - Its own functions that a kernel calls are parts, too: not finished, nor wrapped for Python.
    - The garbage collector rests: next to nothing of a function that is being compiled is garbage.
    - It follows the lives of variables when it begins and before it writes code, not after each of
      three passes in between, none of which asks.
    - It finds the variables of an instruction by the type of each part, not by four questions.
    - It asks LLVM once how large a type is, by a program in text, and Python once what arguments a
      function of its own takes; not at every variable and at every call.
    - Arrays are written in fewer instructions (`writing.py`).
    - An argument that is an array is borrowed, not counted: its caller holds it until a kernel
      returns, and no kernel returns an argument. Counting takes memory and Python's lock.
    - Nobody listens to how long each of 150,000 calls of LLVM holds its lock.
    """
    if types.Function.get_call_type is _remember:  # a part, while its caller is compiled
        yield
        return
    collects = gc.isenabled()
    gc.disable()
    instead = [
        (types.Function, 'get_call_type', _remember),
        (type(types.Type), '__instancecheck__', type.__instancecheck__),
        (CPUContext, 'load_additional_registries', _look_again),
        (Context, 'load_additional_registries', _look_again),
        (JITCPUCodegen, 'create_library', _open_part),
        (CPUContext, 'create_cpython_wrapper', _wrap),
        (CPUContext, 'create_cfunc_wrapper', _wrap_nothing),
        (PythonAPI, 'nrt_adapt_ndarray_from_python', _borrow),
        (PostProcessor, 'run', _follow_lives),
        (CPUContext, 'get_abi_sizeof', _size_of),
        (base, '_has_loc', _takes_place),
        (ir.Inst, '_rec_list_vars', _variables_in),
        (llvm.ffi.lib._lock, '_cblist', []),
        *error_texts.TEXTS,
        *writing.INSTEAD,
    ]
    usual = [(owner, name, getattr(owner, name)) for owner, name, _ in instead]
    try:
        for owner, name, value in instead:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in usual:
            setattr(owner, name, value)
        if collects:
            gc.enable()


_operators, _ask = {}, types.Function.get_call_type


def _remember(self, context, arguments, keywords):
    """Return the signature of a call, from memory where numbers are added, multiplied or so."""
    plain = not keywords and all(isinstance(each, PLAIN) for each in arguments)
    key = self.typing_key, arguments
    if plain and key in _operators:
        signature = _operators[key]
        self._impl_keys[signature.args] = self.typing_key
        return signature
    signature = _ask(self, context, arguments, keywords)
    # what stands for itself is an operation of the machine, not a function to be compiled
    if plain and signature and self._impl_keys[signature.args] is self.typing_key:
        _operators[key] = signature
    return signature


_kinds = {}  # of parts of an instruction, by type: what `_variables_in` does with them
NO_VARIABLE, VARIABLE, INSTRUCTION, SEVERAL, NAMED = range(5)


def _kind(part):
    known = _kinds.get(type(part))
    if known is None:
        known = next(
            (
                kind
                for kind, owner in (
                    (VARIABLE, ir.Var),
                    (INSTRUCTION, ir.Inst),
                    (SEVERAL, (list, tuple)),
                    (NAMED, dict),
                )
                if isinstance(part, owner)
            ),
            NO_VARIABLE,
        )
        _kinds[type(part)] = known
    return known


def _variables_in(self, whole):
    """Return the variables in a part of an instruction, as numba does, in the same order."""
    kind = _kind(whole)
    if kind == NO_VARIABLE:
        return []
    if kind == VARIABLE:
        return [whole]
    if kind == INSTRUCTION:
        return whole.list_vars()
    found = []
    for part in whole if kind == SEVERAL else whole.values():
        kind = _kinds.get(type(part))
        if kind == VARIABLE:
            found.append(part)
        elif kind != NO_VARIABLE:
            found += _variables_in(self, part)
    return found


_follow_all_lives = PostProcessor.run


def _follow_lives(self, emit_dels=False, extend_lifetimes=False):
    """Find out how long variables live: of a kernel, when it begins and before code is written."""
    if emit_dels or not getattr(self.func_ir, 'of_kernel', False):
        _follow_all_lives(self, emit_dels, extend_lifetimes)


_sizes, _ask_size, _takes_place = {}, CPUContext.get_abi_sizeof, cache(base._has_loc)


def _size_of(context, type_):
    """Return the bytes that a type of LLVM takes, from memory where it was asked before."""
    name = str(type_)
    if name not in _sizes:
        _sizes[name] = _ask_size(context, type_)
    return _sizes[name]


def _look_again(context):
    """Look at the one registry in which numba puts what it makes itself, not for modules."""
    context.install_registry(next(iter(context._registries)))


def _open_part(codegen, name, **_):
    """Open the library of a part."""
    return PartLibrary(codegen, name)


_wrap_entry = CPUContext.create_cpython_wrapper


def _wrap(context, library, *about, **more):
    """Let Python call an entry, and no part."""
    if not isinstance(library, PartLibrary):
        _wrap_entry(context, library, *about, **more)


def _borrow(api, array, place):
    """Write where an array lies; return zero if it is one."""
    kind = FunctionType(IntType(32), [api.pyobj, api.voidptr])
    take = api._get_function(kind, name='numba_adapt_ndarray')
    return api.builder.call(take, (array, place))


def _wrap_nothing(context, library, *about, **more):
    """Let no other language call a kernel."""


class EntryCompiler(CompilerBase):
    """The compiler of entries: of what numba does, what kernels need."""

    library = (_IntoEntry,)

    def compile_extra(self, function):
        """Compile it."""
        with _without_detours():
            return super().compile_extra(function)

    def define_pipelines(self):
        """
        Return numba's way from Python to machine code, straight on.

        Left out is what is for closures, comprehensions, constants that decide between branches,
        unrolling by type, and sums of whole arrays: no kernel has any of them.
        """
        pipeline = PassManager('kernel')
        for each in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            _KnowKernel,
            untyped_passes.GenericRewrites,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            *self.library,
            typed_passes.PreLowerStripPhis,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            pipeline.add_pass(each, each.__name__)
        pipeline.finalize()
        return [pipeline]


class PartCompiler(EntryCompiler):
    """The compiler of parts: their code goes into the library that is usual meanwhile."""

    library = ()
