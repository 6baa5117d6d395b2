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

"""What the way from a kernel to machine code leaves out, and what it leaves to other programs."""

import gc

from numba import njit
import numpy as np
import pytest

from closed_chain_dynamics.kernels.compiling import kernel

A, B = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 5.0])


def solve_and_copy(a, b, out):
    """Call what numba has of its own, and copy a slice."""
    out[:] = np.linalg.solve(a, b)
    return np.max(np.abs(out))


@pytest.fixture
def compiled():
    """Return it as a kernel that has been compiled, from no cache."""
    made = kernel(solve_and_copy)
    made.entry._cache.flush()
    made._patience = 0.0
    made(A, B, np.empty(2))
    return made


def test_a_kernel_calls_functions_of_numba(compiled):
    out = np.empty(2)
    largest = compiled(A, B, out)
    np.testing.assert_allclose(A @ out, B, rtol=1e-15)
    assert largest == np.max(np.abs(out)) and compiled.entry.signatures


def test_a_kernel_refuses_to_copy_between_sizes(compiled):
    with pytest.raises(ValueError, match='different size'):
        compiled(A, B, np.empty(3))


def test_a_kernel_raises_the_errors_of_numba(compiled):
    with pytest.raises(np.linalg.LinAlgError, match='singular'):
        compiled(np.zeros((2, 2)), B, np.empty(2))


def test_functions_of_others_are_compiled_by_numba_as_before(compiled):
    """They share what the kernel has compiled of numba's own, and have errors with sizes."""
    other, out = njit(solve_and_copy), np.empty(2)
    assert other(A, B, out) == compiled(A, B, np.empty(2))
    with pytest.raises(ValueError, match=r'shape \(3,\) from input of shape \(2,\)'):
        other(A, B, np.empty(3))
    assert gc.isenabled()
