"""
Surfaces that are given as a function C(x, y, z) = 0, for points that slide on them (paper 3, (1)).

The function is compiled once and called from the kernels by its address. Its gradient comes from
complex steps, C(x + i h) / h, which cost no digits; so it must be analytic: sums, products, powers
and NumPy's functions of its arguments, no abs and no comparisons.
"""

import numpy as np

from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.kernels import layout as at

__all__ = ['compile_surface', 'set_surface']

STEP = 1e-40  # of the imaginary part: its square vanishes beside any coordinate


def compile_surface(function):
    """Return a cfunc `void (r, out)` that writes C and its gradient, (4,), at r, (3,)."""
    from numba import cfunc, njit, types

    C, step, pointer = njit(function), STEP, types.CPointer(types.float64)

    @cfunc(types.void(pointer, pointer))
    def evaluate(r, out):
        x, y, z = complex(r[0]), complex(r[1]), complex(r[2])
        out[0] = C(x, y, z).real
        out[1] = C(x + step * 1j, y, z).imag / step
        out[2] = C(x, y + step * 1j, z).imag / step
        out[3] = C(x, y, z + step * 1j).imag / step

    return evaluate


def set_surface(robot, name, function):
    """
    Let the point of a surface loop slide on C(x, y, z) = 0, in its parent's loop frame [m].

    `function` is C, positive outside; z of the frame is along the contact's normal. It need not
    be a distance: the kernels divide by the length of its gradient.
    """
    from numba.core.errors import NumbaError

    row = robot.table(at.LOOP_I)[robot.index('loop', name)]
    where = f'loop joint {name!r}'
    if row[at.LOOP_TYPE] != at.LOOP_SURFACE:
        raise DescriptionError(
            'it is no point on a surface',
            where=where,
            file=robot.description.file,
            repair='Write type="surface".',
        )
    try:
        compiled = compile_surface(function)
    except (NumbaError, TypeError) as error:
        raise DescriptionError(
            f'its surface cannot be compiled: {str(error).strip().splitlines()[0]}',
            where=where,
            repair='Write C(x, y, z) with + - * / ** and functions of numpy, for example '
            'lambda x, y, z: z - x * x - y * y.',
        ) from None
    _check_gradient(compiled, where)
    robot._surfaces = {**getattr(robot, '_surfaces', {}), name: compiled}  # kept alive
    row[at.LOOP_SHAPE], row[at.LOOP_FUNCTION] = at.FUNCTION, compiled.address


def _check_gradient(compiled, where):
    """Refuse a function whose complex steps are not its gradient at a place as good as any."""

    def values(place):
        out = np.zeros(4)
        compiled.ctypes(
            *(
                array.ctypes.data_as(kind)
                for array, kind in zip((place, out), compiled.ctypes.argtypes)
            )
        )
        return out

    place, h = np.array([0.31, 0.47, 0.59]), 1e-6
    gradient = values(place)[1:]
    difference = np.array(
        [values(place + h * axis)[0] - values(place - h * axis)[0] for axis in np.eye(3)]
    ) / (2.0 * h)
    if np.abs(gradient - difference).max() > 1e-4 * np.abs(difference).max():
        raise DescriptionError(
            'its surface function is not analytic',
            where=where,
            repair='Leave out abs, comparisons and complex numbers.',
        )
    if not np.any(difference) and not np.any(np.isnan(gradient)):
        raise DescriptionError(
            'its surface function is constant and has no normal',
            where=where,
            repair='C must change with x, y or z.',
        )
