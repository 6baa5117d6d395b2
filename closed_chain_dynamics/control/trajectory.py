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
Trajectories: points of some joints over time, joined by polynomials.

Points with accelerations are joined by quintics, with velocities by cubics, with positions alone
by a cubic spline whose acceleration is continuous. Before the first point the motion starts where
the joints are; after the last it stays there. One point at time zero is one of a stream: it is
extrapolated by its rates until the next one.
"""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

# here and not where it is used: a control loop must not wait for it at its first reference
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from closed_chain_dynamics.arrays import Array, Vector
from closed_chain_dynamics.errors import StateError

__all__ = ['Trajectory']

EXTRAPOLATED = 0.1  # longest time that a point of a stream moves on by its rates [s]


class Trajectory:
    """
    Positions of named joints as functions of time, with velocities and accelerations.

    `times` (n,) [s] from the start, strictly increasing and not negative; `positions`,
    `velocities`, `accelerations` (n, joints). `start`: position and velocity (joints,) at time
    zero, for a first point that comes later.
    """

    def __init__(
        self,
        names: Sequence[str],
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        start: tuple[Vector, Vector] | None = None,
    ) -> None:
        self.names = [str(name) for name in names]
        if not self.names or len(set(self.names)) < len(self.names):
            raise _refused(
                'it names no joint' if not self.names else 'it names a joint twice',
                'Name each joint once.',
            )
        t = _numbers(times, 'times', (-1,))
        if not len(t):
            raise _refused('it has no points', 'Give at least one point.')
        if t[0] < 0.0 or np.any(np.diff(t) <= 0.0):
            raise _refused('its times do not increase', 'Give time_from_start in rising order.')
        shape = (len(t), len(self.names))
        p = _numbers(positions, 'positions', shape)
        v = None if velocities is None else _numbers(velocities, 'velocities', shape)
        a = None if accelerations is None else _numbers(accelerations, 'accelerations', shape)
        if a is not None and v is None:
            raise _refused('it has accelerations but no velocities', 'Give velocities as well.')
        self.is_stream = len(t) == 1 and bool(t[0] == 0.0)
        if self.is_stream:
            zero = np.zeros(shape[1])
            self._taylor = p[0], zero if v is None else v[0], zero if a is None else a[0]
        if t[0] > 0.0 and start is not None:
            t, p = np.append(0.0, t), np.vstack([start[0], p])
            v = v if v is None else np.vstack([start[1], v])
            a = a if a is None else np.vstack([np.zeros(shape[1]), a])
        self.times, self._knots, self._last = t, t.tolist(), p[-1]
        v_start = np.zeros(shape[1]) if start is None else np.asarray(start[1], dtype=float)
        self._pieces = _with_derivatives(_polynomials(t, p, v, a, v_start))

    def __repr__(self) -> str:
        names, last = ', '.join(self.names), self.times[-1]
        return f'<Trajectory of {names}: {len(self.times)} points, {last:g} s>'

    @property
    def duration(self) -> float:
        """Return the time of the last point [s]."""
        return float(self.times[-1])

    def sample(self, t: float) -> tuple[Vector, Vector, Vector]:
        """Return position, velocity and acceleration at a time, three arrays (joints,)."""
        if self.is_stream:
            p, v, a = self._taylor
            t = min(max(t, 0.0), EXTRAPOLATED)
            return p + t * v + 0.5 * t * t * a, v + t * a, a
        if t >= self._knots[-1]:
            zero = np.zeros(len(self.names))
            return self._last, zero, zero
        t = max(t, self._knots[0])
        k = bisect_right(self._knots, t) - 1
        s = t - self._knots[k]
        s2 = s * s
        powers = np.array([1.0, s, s2, s2 * s, s2 * s2, s2 * s2 * s])
        p, v, a = (powers @ self._pieces[k]).reshape(3, -1)
        return p, v, a


def _refused(why: str, repair: str) -> StateError:
    return StateError(why, where='trajectory', repair=repair)


def _numbers(values: ArrayLike, what: str, shape: tuple[int, ...]) -> Array:
    """Return finite numbers of a shape, -1 for any length, or say what is wrong with them."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise _refused(
            f'its {what} are not numbers, one per joint in every point',
            'Give as many as there are joints.',
        ) from None
    if array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape)):
        raise _refused(
            f'its {what} have shape {array.shape} where {shape} is needed',
            'Give as many as there are joints, in every point or in none.',
        )
    if not np.isfinite(array).all():
        raise _refused(f'its {what} are not all finite', 'Give finite numbers only.')
    return array


def _polynomials(
    times: Vector, p: Array, v: Array | None, a: Array | None, v_start: Vector
) -> Array:
    """
    Return coefficients of every piece, (pieces, 6, joints), lowest power first.

    SciPy finds those of cubics; a sample is then one product with a small matrix, which takes a
    fraction of the time of SciPy's three calls. Its quintics (BPoly.from_derivatives) are made
    piece by piece in Python, 50 times as slowly as here: too slow for a control loop that takes a
    reference.
    """
    c = np.zeros((len(times) - 1, 6, p.shape[1]))
    if len(times) < 2:
        return c
    if v is None:  # the velocity is that of the start at first, and zero at last
        spline = CubicSpline(times, p, bc_type=((1, v_start), (1, np.zeros_like(v_start))))
        c[:, :4] = np.moveaxis(spline.c[::-1], 0, 1)
    elif a is None:
        c[:, :4] = np.moveaxis(CubicHermiteSpline(times, p, v).c[::-1], 0, 1)
    else:
        h = np.diff(times)[:, None]
        c[:, 0], c[:, 1], c[:, 2] = p[:-1], v[:-1], 0.5 * a[:-1]
        # what the last three powers must add
        rest = p[1:] - p[:-1] - h * v[:-1] - 0.5 * h**2 * a[:-1]
        rate, bend = h * (v[1:] - v[:-1] - h * a[:-1]), h**2 * (a[1:] - a[:-1])
        c[:, 3] = (10.0 * rest - 4.0 * rate + 0.5 * bend) / h**3
        c[:, 4] = (-15.0 * rest + 7.0 * rate - bend) / h**4
        c[:, 5] = (6.0 * rest - 3.0 * rate + 0.5 * bend) / h**5
    return c


def _with_derivatives(c: Array) -> Array:
    """Return coefficients of positions, velocities and accelerations, (pieces, 6, 3 joints)."""
    joints, powers = c.shape[2], np.arange(1.0, 6.0)[:, None]
    made = np.zeros((c.shape[0], 6, 3 * joints))
    made[:, :, :joints] = c
    made[:, :5, joints : 2 * joints] = powers * c[:, 1:]
    made[:, :5, 2 * joints :] = powers * made[:, 1:, joints : 2 * joints]
    return made
