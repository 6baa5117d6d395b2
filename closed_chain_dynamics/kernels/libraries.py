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
Where the code of kernels is kept while they are compiled: numba's libraries, each finished once.

A part is linked into the entries that call it; an entry is optimised with all its parts, and run.
"""

from functools import cached_property

import llvmlite.binding as llvm
from numba.core import config
from numba.core.codegen import JITCodeLibrary

from .interrupts import held_back
from .writing import leave_out_unused


class _NoEnvironment:
    """Stands in for the code generator where numba asks it for globals that a part has not."""

    def set_env(self, name, env):
        """Do nothing: kernels raise no Python errors."""


class EntryLibrary(JITCodeLibrary):
    """Code that runs, with all its parts."""

    def add_ir_module(self, ir_module):
        """Take in what numba has written, without what nobody uses."""
        leave_out_unused(ir_module)
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module):
        """
        Do the plain half of what numba does, once for all functions that are not only declared.

        It makes them small; what takes longer finds more to do once they are linked.
        """
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager(opt=1)
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self):
        """
        Optimise once: numba does it twice, to find counts of references that cancel out.

        Loops are not repeated in a row: they are short, and it would double the code.
        """
        options = llvm.create_pipeline_tuning_options(int(config.OPT))
        options.loop_vectorization = config.LOOP_VECTORIZE
        options.slp_vectorization = config.SLP_VECTORIZE
        options.loop_unrolling = options.loop_interleaving = False
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)

    def finalize(self):
        """Link each part once, however many parts call it, and make machine code of the whole."""
        parts, others = _all_behind(self)
        for library in parts:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library.to_be_linked, preserve=True)
        self._linking_libraries = others
        super().finalize()

    def _finalize_specific(self):
        """Make machine code; a signal that comes meanwhile is handled after it."""
        with held_back():
            super()._finalize_specific()


class PartLibrary(EntryLibrary):
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

    @cached_property
    def to_be_linked(self):
        """Its own code, as it may come in by several callers."""
        module = self._final_module.clone()
        _let_repeat(module)
        return module

    def _get_module_for_linking(self):
        """Return its code with all its parts, for a caller that is no kernel."""
        if self._shared_module is None:
            module = self._final_module.clone()
            parts, others = _all_behind(self)
            for library in parts:
                module.link_in(library.to_be_linked, preserve=True)
            for library in others:
                module.link_in(library._get_module_for_linking(), preserve=True)
            _let_repeat(module)
            self._shared_module = module
        return self._shared_module


def _all_behind(library):
    """Return the parts that a library calls, and those that they call, and what is not a part."""
    found, waiting = {}, list(library._linking_libraries)
    while waiting:
        each = waiting.pop(0)
        if each not in found:
            found[each] = isinstance(each, PartLibrary)
            waiting += each._linking_libraries if found[each] else ()
    return (
        [each for each, is_part in found.items() if is_part and each is not library],
        [each for each, is_part in found.items() if not is_part],
    )


def _let_repeat(module):
    """Let what a module is linked with define its functions again, in the same way."""
    own = [
        function.name
        for function in module.functions
        if not function.is_declaration and function.linkage == llvm.Linkage.external
    ]
    for name in own:
        module.get_function(name).linkage = 'linkonce_odr'
