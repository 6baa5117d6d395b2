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

"""How far a point of the ground is within the polygon of the points that stand on it."""

import math

import numpy as np

from closed_chain_dynamics.arrays import Array

__all__ = ['hull', 'inside']


def hull(points: Array) -> Array:
    """Return the corners of the convex hull in order, counter-clockwise (Andrew's chains)."""
    order = sorted({(float(x), float(y)) for x, y in points})
    if len(order) < 3:
        return np.array(order)

    def chain(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for x, y in points:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0:
                    break
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    return np.array(chain(order) + chain(order[::-1]))


def inside(point: Array, points: Array) -> float:
    """Return how far a point is from the edge of the hull: positive within, else negative."""
    corners = hull(points)
    if not np.all(np.isfinite(point)):
        return math.nan
    ends = np.roll(corners, -1, axis=0)
    along = ends - corners
    size = np.maximum((along**2).sum(axis=1), np.finfo(float).tiny)
    share = (((point - corners) * along).sum(axis=1) / size).clip(0.0, 1.0)
    away = float(np.linalg.norm(corners + share[:, None] * along - point, axis=1).min())
    turns = along[:, 0] * (point - corners)[:, 1] - along[:, 1] * (point - corners)[:, 0]
    return away if len(corners) > 2 and np.all(turns >= 0.0) else -away
