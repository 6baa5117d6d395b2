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
How kernels are compiled: each piece of code once, whoever calls it.

Left alone, numba makes every function a finished library with wrappers for Python, and every
caller links, optimises and emits all that it calls again: the deeper a function lies, the more
often. Here a kernel is compiled in two ways. Called by another kernel it is a *part*: typed and
lowered to LLVM's language, and nothing more. Called from Python it is an *entry*: all its parts
are linked, optimised together and kept on disk. From an empty cache that takes less than half the
time, and what was not called from Python is never finished.

Compiling an entry takes seconds, and a first answer needs a dozen of them. A kernel is also a
Python function: as long as there is no compiled code on disk it runs as plain Python, milliseconds
for a small mechanism, until it has taken as long as `PATIENCE` says. What must not wait later, a
control loop or a simulation, calls `compile_at_once` first.
"""

from collections.abc import Callable
from contextlib import contextmanager
from functools import cached_property, update_wrapper
import threading
import time

import llvmlite.binding as llvm
from numba import njit, typeof, types
from numba.core import errors
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference
from numba.extending import typeof_impl
import numpy as np

OPTIONS = {'nogil': True, 'error_model': 'numpy'}
PATIENCE = (
    1.0  # how long a kernel may take as plain Python, all calls together, unless compiled [s]
)


PLAIN = types.Number, types.Boolean, types.Array, types.SliceType, types.Record, types.BaseTuple


class _Settings(threading.local):
    plain = False  # is a kernel running as plain Python, in this thread?
    at_once = False


_here = _Settings()


def compile_at_once() -> None:
    """Let no kernel of this process run as plain Python any more."""
    _Settings.at_once = True


class _NoEnvironment:
    """Stands in for the code generator where numba asks it for globals that a part has not."""

    def set_env(self, name, env):
        """Do nothing: kernels raise no Python errors."""


class _PartLibrary(JITCodeLibrary):
    """Code that is linked into its callers and never runs by itself."""

    def finalize(self):
        """Leave optimisation and machine code to the entry."""
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Return no address: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        """Return what numba needs of a code generator once the code is there."""
        return _NoEnvironment()

    def _get_module_for_linking(self):
        if self._shared_module is None:
            module = self._final_module.clone()
            for library in dict.fromkeys(self._linking_libraries):
                module.link_in(library._get_module_for_linking(), preserve=True)
            own = [
                function.name
                for function in module.functions
                if not function.is_declaration and function.linkage == llvm.Linkage.external
            ]
            for name in own:  # may come in by several callees
                module.get_function(name).linkage = 'linkonce_odr'
            self._shared_module = module
        return self._shared_module


@register_pass(mutates_CFG=False, analysis_only=False)
class _IntoPart(FunctionPass):
    """Lets the code that follows go into a library for parts."""

    _name = 'closed_chain_dynamics_part'

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        """Open the library."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


@contextmanager
def _remembered_operators():
    """
    Let numba ask once, not in every line, what a sum or product of given numbers is.

    It tries all that it knows of an operator in turn: text, lists, dates and at last numbers. That
    is a fifth of the time that kernels take to compile. What it writes meanwhile about each that
    does not fit, nobody reads: it need not be in colour, another 25th.
    """
    ask, colours = types.Function.get_call_type, errors._termcolor_inst

    def remember(self, context, arguments, keywords):
        plain = not keywords and all(isinstance(each, PLAIN) for each in arguments)
        key = self.typing_key, arguments
        if plain and key in _operators:
            signature = _operators[key]
            self._impl_keys[signature.args] = self.typing_key
            return signature
        signature = ask(self, context, arguments, keywords)
        # what stands for itself is an operation of the machine, not a function to be compiled
        if plain and signature and self._impl_keys[signature.args] is self.typing_key:
            _operators[key] = signature
        return signature

    types.Function.get_call_type, errors._termcolor_inst = remember, _Colourless()
    try:
        yield
    finally:
        types.Function.get_call_type, errors._termcolor_inst = ask, colours


_operators = {}


class _Colourless:
    """Stands in for numba's colours of a terminal: every way to highlight a text leaves it."""

    def __getattr__(self, name):
        return str


@register_pass(mutates_CFG=True, analysis_only=False)
class _TypeInference(NopythonTypeInference):
    """Numba's own, with a memory; what a kernel calls is compiled inside of it."""

    _name = 'closed_chain_dynamics_type_inference'

    def run_pass(self, state):
        """Infer the types."""
        with _remembered_operators():
            return super().run_pass(state)


class _EntryCompiler(CompilerBase):
    """The compiler of entries: numba's own, but for the memory."""

    passes = ()

    def define_pipelines(self):
        """Return numba's pipeline with another inference of types, and what follows it."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (_TypeInference if each is NopythonTypeInference else each, about)
            for each, about in pipeline.passes
        ]
        for each in self.passes:
            pipeline.add_pass_after(each, _TypeInference)
        pipeline.finalize()
        return [pipeline]


class _PartCompiler(_EntryCompiler):
    """The compiler of parts: their code goes into another library."""

    passes = (_IntoPart,)


class Kernel:
    """A compiled function: a part for other kernels, an entry for Python."""

    def __init__(self, function, fastmath):
        self.py_func, self.plain, self._fastmath = function, function, fastmath
        self.part = njit(
            **OPTIONS,
            fastmath=fastmath,
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            pipeline_class=_PartCompiler,
        )(function)
        self.part.get_call_template = self._template
        self._run, self._patience = self._begin, PATIENCE
        update_wrapper(self, function)

    def _template(self, arguments, keywords):
        """Let a literal argument be a number like any other, not a reason to compile again."""
        plain = tuple(types.unliteral(argument) for argument in arguments)
        return type(self.part).get_call_template(self.part, plain, keywords)

    @cached_property
    def entry(self):
        """Return what Python calls, compiled at the first call or found on disk."""
        options = {**OPTIONS, 'fastmath': self._fastmath, 'pipeline_class': _EntryCompiler}
        return njit(**options, cache=True)(self.py_func)

    def __call__(self, *arguments):
        """Run it, from Python."""
        return self.plain(*arguments) if _here.plain else self._run(*arguments)

    def _begin(self, *arguments):
        if self.waits(arguments):
            return self.interpret(arguments)
        self._run = self.entry
        return self.entry(*arguments)

    def waits(self, arguments):
        """Return whether it had better run as plain Python than be compiled for them."""
        if _here.at_once or self._patience <= 0.0:
            return False
        if self._patience == PATIENCE:  # never run so far
            signature = tuple(typeof(argument) for argument in arguments)
            if self.entry._cache.load_overload(signature, self.entry.targetctx) is not None:
                self._patience = 0.0
        return self._patience > 0.0

    def interpret(self, arguments):
        """Run it as plain Python; where that stumbles over a number, as compiled code."""
        begin, _here.plain = time.thread_time(), True
        try:
            with np.errstate(all='ignore'):
                return self.plain(*(with_names(argument) for argument in arguments))
        except (ArithmeticError, ValueError):  # Python cannot divide by zero, machines can
            _here.plain, self._patience = False, 0.0
            return self.entry(*arguments)
        finally:
            _here.plain = False
            self._patience -= max(time.thread_time() - begin, 1e-9)


class _Record(np.void):
    """A record whose fields are attributes, as in compiled code, whatever NumPy calls its own."""

    def __getattribute__(self, name):
        get = super().__getattribute__
        return self[name] if name in get('dtype').names else get(name)

    def __setattr__(self, name, value):
        self[name] = value


def with_names(argument):
    """Return a record or a table as compiled code sees it: fields are attributes."""
    if isinstance(argument, np.void | np.ndarray) and argument.dtype.names:
        return argument.view(np.dtype((_Record, argument.dtype)))
    return argument


@typeof_impl.register(Kernel)
def _as_part(kernel, _):
    return types.Dispatcher(kernel.part)


def kernel(function, plain: Callable | None = None):
    """
    Compile a function; sums are taken in the order in which they are written.

    `plain` is what Python runs in its stead, where the function itself only makes sense compiled.
    """
    made = Kernel(function, {'contract'})
    made.plain = plain or function
    return made


def kernel_without_patience(function):
    """Compile a function that goes through many steps in a call: it never runs as plain Python."""
    made = kernel(function)
    made._patience = 0.0
    return made


def reordering_kernel(function):
    """Compile a function whose sums may be taken in any order, which lets them vectorise."""
    return Kernel(function, {'reassoc', 'contract'})
