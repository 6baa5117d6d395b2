"""
Small dense linear algebra, written out: below about 40 unknowns it beats calls into a library.

Inner loops run over unsigned indices: numba then leaves out the test for negative ones, which
would keep the compiler from vectorising.
"""

import numpy as np

from .layout import kernel


@kernel
def axpy(y, x, factor, start, stop):
    """Add factor times x to y, from `start` to `stop`."""
    for k in range(np.uint64(start), np.uint64(stop)):
        y[k] += factor * x[k]


@kernel
def dot(x, y, start, stop):
    """Return the inner product of x and y, from `start` to `stop`."""
    total = 0.0
    for k in range(np.uint64(start), np.uint64(stop)):
        total += x[k] * y[k]
    return total


@kernel
def scale_row(x, factor, start, stop):
    """Multiply x by a factor, from `start` to `stop`."""
    for k in range(np.uint64(start), np.uint64(stop)):
        x[k] *= factor


@kernel
def swap_rows(A, i, j, start, stop):
    """Swap two rows of A, from column `start` to `stop`."""
    if i != j:
        for k in range(np.uint64(start), np.uint64(stop)):
            A[i, k], A[j, k] = A[j, k], A[i, k]


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
    Factor the lower triangle of A into L L^T in place; L_jj is stored as its inverse.

    Return False where a pivot falls below `tolerance` times the original diagonal.
    """
    for j in range(n):
        row = A[j]
        original = row[j]
        pivot = original - dot(row, row, 0, j)
        if not pivot > tolerance * original:
            return False
        inverse = 1.0 / np.sqrt(pivot)
        row[j] = inverse
        for i in range(j + 1, n):
            A[i, j] = (A[i, j] - dot(A[i], row, 0, j)) * inverse
    return True


@kernel
def cholesky_solve(L, n, x):
    """Solve L L^T x = b in place, with L as `cholesky` leaves it."""
    for i in range(n):
        x[i] = (x[i] - dot(L[i], x, 0, i)) * L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] *= L[i, i]
        axpy(x, L[i], -x[i], 0, i)
