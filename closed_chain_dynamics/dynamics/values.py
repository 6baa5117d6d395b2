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
Results that are values: they mean the same later, whatever happens to the mechanism or to q.

A result keeps what was asked as bytes, and the structure as it was, which all results share until
something changes. What it computes on demand, it computes on a mechanism of its own. Vectors are
given out as copies, which kernels take as they are; matrices refuse to be written to.
"""

from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.model import Model
from closed_chain_dynamics.model.structure import Structure

__all__ = ['KeptPose', 'Where', 'constant', 'numbers']

Where: TypeAlias = tuple[Model, Structure, bytes]  # the mechanism as it was, and q


def constant(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array, which refuses to be written to from now on."""
    array.flags.writeable = False
    return array


def numbers(kept: bytes) -> Vector:
    """Return numbers that were kept as bytes, in an array of their own."""
    return np.array(np.frombuffer(kept))


class KeptPose:
    """A mechanism in the structure it had, at the pose it had."""

    _where: Where

    @cached_property
    def robot(self) -> Mechanism:
        """Return a mechanism of this result's own, in the structure that was asked about."""
        return Mechanism.in_structure(*self._where[:2])

    @property
    def q(self) -> Vector:
        """Return the configuration, (nq,)."""
        return numbers(self._where[2])
