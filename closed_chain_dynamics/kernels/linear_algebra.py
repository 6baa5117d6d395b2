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
Small dense linear algebra, written out: below about 40 unknowns it beats calls into a library.

Inner loops run over unsigned indices: numba then leaves out the test for negative ones, which
would keep the compiler from vectorising.
"""

import numpy as np

from .compiling import kernel, reordering_kernel
from .lanes import ROOM, add_four, four, put_four, scale_four

MOST_JACOBI_SWEEPS = 40  # of Jacobi's method, which takes six to ten
ORTHOGONAL = 1e-11  # cosine of the angle between two rows that counts as a right one


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
def take_off(y, unit):
    """Take the part of y along a unit vector away."""
    axpy(y, unit, -dot(unit, y, 0, y.size), 0, y.size)


@kernel
def normalise(y):
    """Give y unit length; return the length that it had."""
    size = np.sqrt(dot(y, y, 0, y.size))
    for k in range(y.size):
        y[k] /= size
    return size


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
def cholesky(A, n, more, tolerance):
    """
    Factor the upper triangle of A into U^T U in place; U_jj is stored as its inverse.

    As many columns as `more` says, right of it, become U^-T times what they were.
    Return False where a pivot falls below `tolerance` times the original diagonal. Four rows at a
    time: what is below them is read and written once for all four. Numbers are taken in fours that
    begin at every fourth column, because a processor waits where it reads what was just written in
    other fours. So what is left of the diagonal is used up, except the first column from the fifth
    row on, where the original diagonal waits. Rows have room for the last four numbers.
    """
    N, end, one, four_on = np.uint64(n), np.uint64(n + more), np.uint64(1), np.uint64(4)
    stride = np.uint64(A.shape[1])
    for j in range(four_on, N):
        A[j, np.uint64(0)] = A[j, j]
    for j in range(np.uint64(0), N, four_on):
        below = min(j + four_on, N)
        for p in range(j, below):
            pivot = original = A[p, p]
            if j > np.uint64(0):
                original = A[p, np.uint64(0)]
            else:
                for i in range(p):
                    original += A[i, p] * A[i, p]
            if not pivot > tolerance * original:
                return False
            row, inverse = p * stride, 1.0 / np.sqrt(pivot)
            for k in range(row + j, row + end, four_on):
                put_four(A, k, scale_four(four(A, k), inverse))
            for i in range(p + one, below):
                factor, down = -A[p, i], (i - p) * stride
                for k in range(row + j, row + end, four_on):
                    put_four(A, k + down, add_four(four(A, k + down), factor, four(A, k)))
            A[p, p] = inverse
        for i in range(below, N):
            _take_off_four(A, j, i, end)
    return True


@kernel
def _take_off_four(A, j, i, end):
    """Take off row i, from the four that the diagonal is in, what four rows from j on do."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    a, b, c, d = -A[j, i], -A[j + one, i], -A[j + two, i], -A[j + three, i]
    if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
        return
    stride = np.uint64(A.shape[1])
    up, row = j * stride, i * stride
    for k in range(i - i % np.uint64(4), end, np.uint64(4)):
        x = add_four(four(A, row + k), a, four(A, up + k))
        x = add_four(x, b, four(A, up + stride + k))
        x = add_four(x, c, four(A, up + two * stride + k))
        put_four(A, row + k, add_four(x, d, four(A, up + three * stride + k)))


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


@kernel
def inverse_root(A):
    """
    Return U^-1, upper triangular, where A^T A = U^T U, so that columns of A U^-1 are orthonormal.

    Zero where columns of A are not independent.
    """
    n = A.shape[1]
    U, inverse, column = np.zeros((n, n + ROOM)), np.zeros((n, n)), np.empty(n)
    products = np.dot(A.T, A)
    for i in range(n):
        for k in range(n):
            U[i, k] = products[i, k]
    if cholesky(U, n, 0, 0.0):
        for k in range(n):
            column[:] = 0.0
            column[k] = 1.0
            solve_upper(U, k + 1, column)
            for i in range(k + 1):
                inverse[i, k] = column[i]
    return inverse


@kernel
def singular_values(A, n_rows, n_columns, sigma):
    """
    Write the singular values of A, largest first, in `sigma` (n_rows,); uses up A.

    Pairs of rows are turned until all are at right angles (Hestenes; one-sided Jacobi): then their
    lengths are the singular values, and small ones keep their digits.
    """
    for _ in range(MOST_JACOBI_SWEEPS):
        turned = False
        for i in range(n_rows):
            sigma[i] = dot(A[i], A[i], 0, n_columns)
        for i in range(n_rows - 1):
            for j in range(i + 1, n_rows):
                x, y = A[i], A[j]
                xx, yy, xy = sigma[i], sigma[j], dot(x, y, 0, n_columns)
                if not xy * xy > ORTHOGONAL * ORTHOGONAL * xx * yy:
                    continue
                turned = True
                zeta = (yy - xx) / (2.0 * xy)
                t = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = c * t
                for k in range(np.uint64(n_columns)):
                    x[k], y[k] = c * x[k] - s * y[k], s * x[k] + c * y[k]
                # the shorter row becomes shorter still, perhaps by all its digits
                if xx <= yy:
                    sigma[i], sigma[j] = dot(x, x, 0, n_columns), yy + t * xy
                else:
                    sigma[i], sigma[j] = xx - t * xy, dot(y, y, 0, n_columns)
        if not turned:
            break
    for i in range(n_rows):
        size, k = np.sqrt(dot(A[i], A[i], 0, n_columns)), i
        while k > 0 and sigma[k - 1] < size:
            sigma[k] = sigma[k - 1]
            k -= 1
        sigma[k] = size


@kernel
def solve(A, n, x):
    """Solve A x = b in place by elimination with pivots, which uses A up; return det A."""
    determinant = 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if best != k:
            swap_rows(A, k, best, k, n)
            x[k], x[best] = x[best], x[k]
            determinant = -determinant
        determinant *= A[k, k]
        if A[k, k] == 0.0:
            return 0.0
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            axpy(A[i], A[k], -factor, k, n)
            x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - dot(A[k], x, k + 1, n)) / A[k, k]
    return determinant
