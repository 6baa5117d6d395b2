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
Vectors of three numbers as tuples: compiled, they are plain numbers in registers.

Arguments may be tuples or arrays; results are tuples, which `put` and `put_spatial` write into an
array. A spatial vector is six numbers, linear then angular.
"""

import numpy as np

from .compiling import kernel


@kernel
def add(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def minus(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def times(factor, a):
    """Return a vector times a number."""
    return factor * a[0], factor * a[1], factor * a[2]


@kernel
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def inner(a, b):
    """Return the inner product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def norm(a):
    """Return the length of a vector."""
    return np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@kernel
def rotate(R, a):
    """Return R a."""
    return (
        R[0, 0] * a[0] + R[0, 1] * a[1] + R[0, 2] * a[2],
        R[1, 0] * a[0] + R[1, 1] * a[1] + R[1, 2] * a[2],
        R[2, 0] * a[0] + R[2, 1] * a[1] + R[2, 2] * a[2],
    )


@kernel
def rotate_back(R, a):
    """Return R^T a."""
    return (
        R[0, 0] * a[0] + R[1, 0] * a[1] + R[2, 0] * a[2],
        R[0, 1] * a[0] + R[1, 1] * a[1] + R[2, 1] * a[2],
        R[0, 2] * a[0] + R[1, 2] * a[1] + R[2, 2] * a[2],
    )


@kernel
def axis(R, k):
    """Return column k of a rotation: an axis of the frame."""
    return R[0, k], R[1, k], R[2, k]


@kernel
def put_axis(R, k, a):
    """Write column k of a rotation."""
    R[0, k], R[1, k], R[2, k] = a


@kernel
def symmetric(I, a):
    """Return a symmetric tensor, given as xx xy xz yy yz zz, times a vector."""
    return (
        I[0] * a[0] + I[1] * a[1] + I[2] * a[2],
        I[1] * a[0] + I[3] * a[1] + I[4] * a[2],
        I[2] * a[0] + I[4] * a[1] + I[5] * a[2],
    )


@kernel
def put(out, a):
    """Write a vector."""
    out[0], out[1], out[2] = a


@kernel
def linear(V):
    """Return the linear part of a spatial vector."""
    return V[0], V[1], V[2]


@kernel
def angular(V):
    """Return the angular part of a spatial vector."""
    return V[3], V[4], V[5]


@kernel
def put_spatial(out, a, b):
    """Write a spatial vector from its linear and angular part."""
    out[0], out[1], out[2] = a
    out[3], out[4], out[5] = b


@kernel
def add_spatial(out, a, b):
    """Add a linear and an angular part to a spatial vector."""
    out[0], out[1], out[2] = out[0] + a[0], out[1] + a[1], out[2] + a[2]
    out[3], out[4], out[5] = out[3] + b[0], out[4] + b[1], out[5] + b[2]


@kernel
def inner_spatial(f, s):
    """Return force times motion of two spatial vectors."""
    return f[0] * s[0] + f[1] * s[1] + f[2] * s[2] + f[3] * s[3] + f[4] * s[4] + f[5] * s[5]


@kernel
def velocity_at(V, p):
    """Return the velocity of the point of a body that is at p now: v + omega x p."""
    return add(linear(V), cross(angular(V), p))


@kernel
def acceleration_at(V, A, p):
    """Return the classical acceleration of the point of a body that is at p now."""
    return add(velocity_at(A, p), cross(angular(V), velocity_at(V, p)))
