"""
How kernels are compiled: each piece of code once, whoever calls it.

Left alone, numba makes every function a finished library with wrappers for Python, and every
caller links, optimises and emits all that it calls again: the deeper a function lies, the more
often. Here a kernel is compiled in two ways. Called by another kernel it is a *part*: typed and
lowered to LLVM's language, and nothing more. Called from Python it is an *entry*: all its parts
are linked, optimised together and kept on disk. From an empty cache that takes less than half the
time, and what was not called from Python is never finished.
"""

from functools import cached_property, update_wrapper

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference
from numba.extending import typeof_impl

OPTIONS = {'nogil': True, 'error_model': 'numpy'}


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


class _PartCompiler(CompilerBase):
    """The compiler of parts: numba's own, but for the library."""

    def define_pipelines(self):
        """Return numba's pipeline with one pass more."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(_IntoPart, NopythonTypeInference)
        pipeline.finalize()
        return [pipeline]


class Kernel:
    """A compiled function: a part for other kernels, an entry for Python."""

    def __init__(self, function, fastmath):
        self.py_func, self._fastmath = function, fastmath
        self.part = njit(
            **OPTIONS,
            fastmath=fastmath,
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            pipeline_class=_PartCompiler,
        )(function)
        self.part.get_call_template = self._template
        update_wrapper(self, function)

    def _template(self, arguments, keywords):
        """Let a literal argument be a number like any other, not a reason to compile again."""
        plain = tuple(types.unliteral(argument) for argument in arguments)
        return type(self.part).get_call_template(self.part, plain, keywords)

    @cached_property
    def entry(self):
        """Return what Python calls, compiled at the first call or found on disk."""
        return njit(**OPTIONS, fastmath=self._fastmath, cache=True)(self.py_func)

    def __call__(self, *arguments):
        """Run it, from Python."""
        return self.entry(*arguments)


@typeof_impl.register(Kernel)
def _as_part(kernel, _):
    return types.Dispatcher(kernel.part)


def kernel(function):
    """Compile a function; sums are taken in the order in which they are written."""
    return Kernel(function, {'contract'})


def reordering_kernel(function):
    """Compile a function whose sums may be taken in any order, which lets them vectorise."""
    return Kernel(function, {'reassoc', 'contract'})
