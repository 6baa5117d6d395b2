"""
Small dense linear algebra, written out: below about 40 unknowns it beats calls into a library.

Inner loops run over unsigned indices: numba then leaves out the test for negative ones, which
would keep the compiler from vectorising.
"""

import numpy as np

from .compiling import kernel, reordering_kernel


@kernel
def copy_to(y, x):
    """Write x to y; numba's own y[:] = x compiles half a second of words for its errors."""
    for k in range(np.uint64(x.size)):
        y[k] = x[k]


@kernel
def axpy(y, x, factor, start, stop):
    """Add factor times x to y, from `start` to `stop`."""
    for k in range(np.uint64(start), np.uint64(stop)):
        y[k] += factor * x[k]


@reordering_kernel
def dot(x, y, start, stop):
    """Return the inner product of x and y, from `start` to `stop`."""
    total = 0.0
    for k in range(np.uint64(start), np.uint64(stop)):
        total += x[k] * y[k]
    return total


@kernel
def swap_rows(A, i, j, start, stop):
    """Swap two rows of A, from column `start` to `stop`."""
    if i != j:
        for k in range(np.uint64(start), np.uint64(stop)):
            A[i, k], A[j, k] = A[j, k], A[i, k]


@reordering_kernel
def sum_of_squares(A, first, last, start, stop):
    """Return the sum of squares of a block of A; infinity or nan where anything is not finite."""
    total = 0.0
    for i in range(np.uint64(first), np.uint64(last)):
        for k in range(np.uint64(start), np.uint64(stop)):
            total += A[i, k] * A[i, k]
    return total


@kernel
def largest(A, first, last, start, stop):
    """Return the largest magnitude in a block of A; infinity where anything is not finite."""
    most = 0.0
    for i in range(first, last):
        for k in range(np.uint64(start), np.uint64(stop)):
            if not abs(A[i, k]) <= most:
                most = abs(A[i, k])
                if most != most:
                    return np.inf
    return most


@kernel
def cholesky(A, n, tolerance):
    """
    Factor the upper triangle of A into U^T U in place; U_jj is stored as its inverse.

    Return False where a pivot falls below `tolerance` times the original diagonal. Row by row,
    so that the inner loops run along rows and vectorise. The original diagonal waits below.
    """
    N = np.uint64(n)
    for j in range(np.uint64(1), N):
        A[j, np.uint64(0)] = A[j, j]
    for j in range(N):
        original = A[j, np.uint64(0)]
        if not A[j, j] > tolerance * original:
            return False
        inverse = 1.0 / np.sqrt(A[j, j])
        A[j, j] = inverse
        for k in range(j + np.uint64(1), N):
            A[j, k] *= inverse
        for i in range(j + np.uint64(1), N):
            factor = A[j, i]
            if factor != 0.0:
                for k in range(i, N):
                    A[i, k] -= factor * A[j, k]
    return True


@kernel
def solve_upper(R, n, x):
    """Solve U x = b in place, with U as `cholesky` leaves it."""
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - dot(R[i], x, i + 1, n)) * R[i, i]


@kernel
def cholesky_solve(R, n, x):
    """Solve U^T U x = b in place, with U as `cholesky` leaves it."""
    for i in range(n):
        x[i] *= R[i, i]
        axpy(x, R[i], -x[i], i + 1, n)
    solve_upper(R, n, x)
