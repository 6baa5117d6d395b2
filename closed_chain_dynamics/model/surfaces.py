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
Surfaces that are given as a function C(x, y, z) = 0, for points that slide on them.

This is Eq. (1) of Li et al. The function is compiled once and called from the kernels by its
address. Its gradient comes from complex steps, C(x + i h) / h, which cost no digits; so it must be
analytic: sums, products, powers and NumPy's functions of its arguments, no abs and no comparisons.
"""

from collections.abc import Callable
from typing import Any

from numba import cfunc, njit, types
from numba.cloudpickle import dumps, loads
from numba.core.errors import NumbaError
import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.errors import DescriptionError

__all__ = ['Surface']

IMAGINARY_STEP = 1e-40  # of the imaginary part: its square vanishes beside any coordinate
SurfaceFunction = Callable[[Any, Any, Any], Any]


def _compiled(function: SurfaceFunction) -> Any:
    """Return a cfunc `void (r, out)` that writes C and its gradient, (4,), at r, (3,)."""
    C, step, pointer = njit(function), IMAGINARY_STEP, types.CPointer(types.float64)

    @cfunc(types.void(pointer, pointer))  # type: ignore[untyped-decorator]
    def evaluate(r: Any, out: Any) -> None:
        x, y, z = complex(r[0]), complex(r[1]), complex(r[2])
        out[0] = C(x, y, z).real
        out[1] = C(x + step * 1j, y, z).imag / step
        out[2] = C(x, y + step * 1j, z).imag / step
        out[3] = C(x, y, z + step * 1j).imag / step

    return evaluate


class Surface:
    """
    A surface C(x, y, z) = 0 in the parent's loop frame [m], compiled; C is positive outside.

    C need not be a distance: the kernels divide by the length of its gradient. A pickle holds the
    function, lambdas included, and it is compiled again where it is unpickled.
    """

    def __init__(self, function: SurfaceFunction, where: str) -> None:
        self.function, self._where = function, where
        try:
            self._compiled = _compiled(function)
        except (NumbaError, TypeError) as error:
            raise DescriptionError(
                f'its surface cannot be compiled: {str(error).strip().splitlines()[0]}',
                where=where,
                repair='Write C(x, y, z) with + - * / ** and functions of numpy, for example '
                'lambda x, y, z: z - x * x - y * y.',
            ) from None
        self._check_gradient()

    @property
    def address(self) -> int:
        """Return where the compiled function is in this process."""
        return int(self._compiled.address)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dumps(self.function), self._where)

    def values(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return C and its gradient at a place, (4,)."""
        out, call = np.zeros(4), self._compiled.ctypes
        arrays = zip((place, out), call.argtypes)
        call(*(array.ctypes.data_as(kind) for array, kind in arrays))
        return out

    def _check_gradient(self) -> None:
        """Refuse a function whose complex steps are not its gradient at a place as good as any."""
        place, h = np.array([0.31, 0.47, 0.59]), 1e-6
        gradient = self.values(place)[1:]
        difference = np.array(
            [
                self.values(place + h * axis)[0] - self.values(place - h * axis)[0]
                for axis in np.eye(3)
            ]
        ) / (2.0 * h)
        if np.abs(gradient - difference).max() > 1e-4 * np.abs(difference).max():
            raise DescriptionError(
                'its surface function is not analytic',
                where=self._where,
                repair='Leave out abs, comparisons and complex numbers.',
            )
        if not np.any(difference) and not np.any(np.isnan(gradient)):
            raise DescriptionError(
                'its surface function is constant and has no normal',
                where=self._where,
                repair='C must change with x, y or z.',
            )


def _restored(function: bytes, where: str) -> Surface:
    return Surface(loads(function), where)
