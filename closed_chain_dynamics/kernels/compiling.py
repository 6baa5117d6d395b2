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
from functools import cached_property, partial, update_wrapper
import threading
import time

from numba import njit, typeof, types
from numba.core.runtime import rtsys
from numba.extending import typeof_impl
import numpy as np

from .interrupts import held_back
from .pipeline import EntryCompiler, PartCompiler

OPTIONS = {'nogil': True, 'error_model': 'numpy'}
PATIENCE = (
    1.0  # how long a kernel may take as plain Python, all calls together, unless compiled [s]
)


class _Settings(threading.local):
    plain = False  # is a kernel running as plain Python, in this thread?
    at_once = False


_here = _Settings()


def compile_at_once() -> None:
    """Let no kernel of this process run as plain Python any more."""
    _Settings.at_once = True


class Kernel:
    """A compiled function: a part for other kernels, an entry for Python."""

    def __init__(self, function, fastmath, same_types=False):
        self.py_func, self.plain, self._fastmath = function, function, fastmath
        self._same_types = same_types
        self.part = njit(
            **OPTIONS,
            fastmath=fastmath,
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            pipeline_class=PartCompiler,
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
        options = {**OPTIONS, 'fastmath': self._fastmath, 'pipeline_class': EntryCompiler}
        made = njit(**options, cache=True)(self.py_func)
        made._cache.load_overload = held_back()(partial(_load, made._cache))
        made._cache._impl.reduce = _without_environments
        return made

    def is_on_disk(self, arguments):
        """Return whether it has been compiled for arguments of these types, by anybody."""
        cache, context = self.entry._cache, self.entry.targetctx
        key = cache._index_key(tuple(map(typeof, arguments)), context.codegen())
        return key in cache._cache_file._load_index()

    def __call__(self, *arguments):
        """Run it, from Python."""
        return self.plain(*arguments) if _here.plain else self._run(*arguments)

    def _begin(self, *arguments):
        if self.waits(arguments):
            return self.interpret(arguments)
        result = self.entry(*arguments)
        self._run = self.entry
        if self._same_types:
            self._run = self.entry.overloads[tuple(map(typeof, arguments))].entry_point
        return result

    def waits(self, arguments):
        """Return whether it had better run as plain Python than be compiled for them."""
        if _here.at_once or self._patience <= 0.0:
            return False
        if self._patience == PATIENCE and self.is_on_disk(arguments):  # never run so far
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


def _load(cache, signature, context):
    """
    Return what is on disk, or None, without preparing to compile.

    For that numba would import all that it can compile, and SciPy for it: half of the time that a
    process takes to its first answer. What code needs that only runs is its memory manager.
    """
    rtsys.initialize(context)
    return cache._load_overload(signature, context)


def _without_environments(compiled):
    """
    Return what is kept on disk, without the Python modules that its parts come from.

    Only code that calls Python looks into them; numba would import each again to load an entry.
    """
    *kept, _ = compiled._reduce()
    return (*kept, [])


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


def kernel_of_same_types(function):
    """
    Compile a function whose arguments are of the same types in every call, as its caller sees to.

    They are looked at in the first one only: with tuples of many arrays, looking takes longer than
    all that a turn of control computes.
    """
    return Kernel(function, {'contract'}, same_types=True)


def kernel_without_patience(function):
    """Compile a function that goes through many steps in a call: it never runs as plain Python."""
    made = kernel(function)
    made._patience = 0.0
    return made


def reordering_kernel(function):
    """Compile a function whose sums may be taken in any order, which lets them vectorise."""
    return Kernel(function, {'reassoc', 'contract'})
