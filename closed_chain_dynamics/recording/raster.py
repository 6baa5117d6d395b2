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

"""Pictures without a display: triangles into pixels, the nearest in front, in NumPy alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array

__all__ = ['Seen', 'finish', 'in_shadow', 'nearest']

SLIVER = 1e-9  # triangles of a smaller area are edges [pixels^2]


@dataclass
class Seen:
    """What is nearest in the pixels of a picture that show something."""

    where: NDArray[np.bool_]  # (height, width): the pixels that show something
    triangles: NDArray[np.int_]  # (pixels,): which triangle each of them shows
    shares: Array  # (pixels, 3): how much of each of its corners
    nearness: Array  # (height, width): 1 / distance, zero where there is nothing

    def spread(self, corners: Array) -> Array:
        """Return values at the corners of triangles, (n, 3, ...), in the pixels that show them."""
        values: Array = np.einsum('pc,pc...->p...', self.shares, corners[self.triangles])
        return values


def nearest(points: Array, height: int, width: int) -> Seen:
    """
    Return what of triangles is Seen in a picture.

    `points` (n, 3, 3): column and row of a corner in pixels, and 1 / its distance, which is what
    changes linearly across a triangle in perspective. Triangles are cut into rows, and rows into
    pixels, all of them at once.
    """
    x, y, near = np.moveaxis(points, -1, 0)
    area, shares = _shares(x, y)
    first, count = _between(y.min(axis=1), y.max(axis=1), height)
    owner, row = _counted(first, np.where(np.abs(area) > SLIVER, count, 0))
    first, count = _between(*_span(x[owner], y[owner], row + 0.5), width)
    stretch, column = _counted(first, count)
    owner, row = owner[stretch], row[stretch]
    slope = (near[:, :, None] * shares).sum(axis=1)
    depth = slope[owner, 0] + slope[owner, 1] * (column + 0.5) + slope[owner, 2] * (row + 0.5)
    pixel = row * width + column
    nearness = np.zeros(height * width)
    np.maximum.at(nearness, pixel, depth)
    in_front = depth == nearness[pixel]
    shown = np.full(height * width, -1)
    shown[pixel[in_front]] = owner[in_front]
    where = shown.reshape(height, width) >= 0
    row, column = np.nonzero(where)
    triangles = shown[shown >= 0]
    middles = np.stack([np.ones(len(row)), column + 0.5, row + 0.5], axis=-1)
    return Seen(
        where,
        triangles,
        np.einsum('pck,pk->pc', shares[triangles], middles),
        nearness.reshape(height, width),
    )


def _shares(x: Array, y: Array) -> tuple[Array, Array]:
    """
    Return twice the area of triangles, and the share of each corner in a point of the picture.

    The shares, (n, 3, 3), are those of each corner: a constant, and what a column and a row add.
    """
    x_1, x_2, y_1, y_2 = (np.roll(each, -k, axis=1) for each in (x, y) for k in (1, 2))
    parts = np.stack([x_1 * y_2 - x_2 * y_1, y_1 - y_2, x_2 - x_1], axis=-1)
    area = parts[..., 0].sum(axis=1)
    return area, parts / np.where(area, area, 1.0)[:, None, None]


def _between(low: Array, high: Array, size: int) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the first pixel whose middle lies between two places, and how many do."""
    first = np.clip(np.ceil(low - 0.5), 0, size).astype(int)
    last = np.clip(np.floor(high - 0.5), -1, size - 1).astype(int)
    return first, np.maximum(last - first + 1, 0)


def _counted(
    first: NDArray[np.int_], count: NDArray[np.int_]
) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return who is counted and the numbers: first, first + 1, ... so many of each."""
    owner = np.repeat(np.arange(len(count)), count)
    begin = np.cumsum(count) - count
    return owner, np.arange(len(owner)) - begin[owner] + first[owner]


def _span(x: Array, y: Array, row: NDArray[np.floating]) -> tuple[Array, Array]:
    """Return where a horizontal line enters and leaves triangles that it meets."""
    left, right = np.full(len(row), np.inf), np.full(len(row), -np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        rise = y[:, j] - y[:, i]
        crosses = (np.minimum(y[:, i], y[:, j]) <= row) & (row <= np.maximum(y[:, i], y[:, j]))
        crosses &= rise != 0.0
        share = np.where(crosses, row - y[:, i], 0.0) / np.where(crosses, rise, 1.0)
        place = x[:, i] + share * (x[:, j] - x[:, i])
        left = np.where(crosses, np.minimum(left, place), left)
        right = np.where(crosses, np.maximum(right, place), right)
    missed = left > right  # by rounding: an empty span
    return np.where(missed, 0.0, left), np.where(missed, -1.0, right)


def in_shadow(
    points: Array, light_axes: Array, light_map: Array, bias: float
) -> NDArray[np.bool_]:
    """
    Return whether something stands between points (..., 3) and the light.

    `light_map` is the picture that the light has, the height towards it for nearness; `light_axes`
    (3, 4) gives its column, row and height of a point in the world. `bias` keeps what is lit from
    shading itself [m].
    """
    u, v, height = np.moveaxis(points @ light_axes[:, :3].T + light_axes[:, 3], -1, 0)
    with np.errstate(invalid='ignore'):  # the sky has no place
        row, column = np.floor(v), np.floor(u)
        rows, columns = light_map.shape
        there = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    found = np.zeros(there.shape, dtype=bool)
    higher = light_map[row[there].astype(int), column[there].astype(int)]
    found[there] = higher > height[there] + bias
    return found


def finish(
    image: NDArray[np.float32],
    owner: NDArray[np.int_],
    shadow: NDArray[np.uint8],
    darker: float,
    outline: float,
) -> NDArray[np.uint8]:
    """
    Return a picture of bytes: darker in shadow, and with a line where one thing meets another.

    `shadow` (height / k, width / k), 0 to 255, is coarser than the rest by a whole number k.
    """
    k = owner.shape[0] // shadow.shape[0]
    light = 1.0 - np.float32(darker / 255.0) * shadow.repeat(k, axis=0).repeat(k, axis=1)
    edge = np.zeros(owner.shape, dtype=bool)
    edge[1:] |= owner[1:] != owner[:-1]
    edge[:, 1:] |= owner[:, 1:] != owner[:, :-1]
    light[edge] *= outline  # tells a link from one behind it that has the same colour
    picture: NDArray[np.uint8] = np.clip(light[..., None] * image, 0.0, 255.0).astype(np.uint8)
    return picture
