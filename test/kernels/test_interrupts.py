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

"""Ctrl-C while a kernel is compiled or loaded ends a program as at any other time."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from numba.core.codegen import CPUCodeLibrary

def press(name):
    real = getattr(CPUCodeLibrary, name).__func__
    def hook(library, *arguments):  # LLVM calls it
        if name == pressed:
            os.kill(os.getpid(), signal.SIGINT)
        return real(library, *arguments)
    setattr(CPUCodeLibrary, name, classmethod(hook))

pressed = sys.argv[1]
press('_object_compiled_hook')
press('_object_getbuffer_hook')

from closed_chain_dynamics.kernels.compiling import compile_at_once, kernel

@kernel
def twice(x):
    return 2.0 * x

compile_at_once()
try:
    print(twice(1.0))
except KeyboardInterrupt:
    pressed = ''
    print('interrupted,', twice(1.0))
"""


@pytest.fixture
def program(tmp_path):
    """Return what runs the program with a place where Ctrl-C is pressed."""
    (tmp_path / 'program.py').write_text(PROGRAM)

    def run(*words):
        return subprocess.run(
            [sys.executable, str(tmp_path / 'program.py'), *words],
            env=os.environ | {'NUMBA_CACHE_DIR': str(tmp_path)},
            capture_output=True,
            text=True,
        )

    return run


def test_ctrl_c_while_llvm_calls_back_is_an_exception_of_the_caller(program):
    """Once while machine code is made, once while it is read from disk."""
    for place in ('_object_compiled_hook', '_object_getbuffer_hook'):
        done = program(place)
        assert (done.returncode, done.stdout) == (0, 'interrupted, 2.0\n'), done.stderr
    assert program('').stdout == '2.0\n'
