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

"""Where a picture is seen from: the pixels of points, and a view that a motion fits into."""

from dataclasses import dataclass
import math

import numpy as np

from closed_chain_dynamics.arrays import Array

__all__ = ['FIELD_OF_VIEW', 'FILM_SIZE', 'Camera', 'View', 'fit_camera']

View = str | tuple[float, float] | None  # the name of one, or azimuth and elevation [deg]

FILM_SIZE = (640, 480)  # [pixels]
FIELD_OF_VIEW = math.radians(28.0)
FILLED_SHARE = 0.86  # share of the picture that the motion fills


@dataclass
class Camera:
    """Where the eye is, and how far the picture reaches."""

    eye: Array  # (3,) [m]
    axes: Array  # rows: right, up, and towards the viewer, (3, 3)
    size: tuple[int, int]  # width and height of the picture [pixels]
    radius: float  # of what is looked at [m]
    ground: float  # height of the ground [m]
    centre: Array  # what is looked at, (3,) [m]

    def project(self, points: Array) -> Array:
        """Return column, row and 1 / distance of points in the world, (..., 3)."""
        seen = (points - self.eye) @ self.axes.T
        width, height = self.size
        near = 1.0 / np.maximum(-seen[..., 2], 1e-6)
        return np.stack(
            [
                0.5 * width + self.scale * seen[..., 0] * near,
                0.5 * height - self.scale * seen[..., 1] * near,
                near,
            ],
            axis=-1,
        )

    def places(self, nearness: Array) -> Array:
        """Return the points in the world that pixels show, (..., 3); of nothing, the ground's."""
        rows, columns = nearness.shape
        scale = self.scale * rows / self.size[1]
        up, right = np.meshgrid(
            (0.5 * rows - np.arange(rows) - 0.5) / scale,
            (np.arange(columns) + 0.5 - 0.5 * columns) / scale,
            indexing='ij',
        )
        rays = np.stack([right, up, -np.ones_like(up)], axis=-1) @ self.axes
        with np.errstate(divide='ignore', invalid='ignore'):
            ground = np.where(
                rays[..., 2] < 0.0, (self.ground - self.eye[2]) / rays[..., 2], np.nan
            )
            distance = np.where(nearness > 0.0, 1.0 / nearness, ground)
        return self.eye + distance[..., None] * rays

    @property
    def scale(self) -> float:
        """Return how many pixels a length is that is as long as it is far away."""
        return 0.5 * self.size[1] / math.tan(0.5 * FIELD_OF_VIEW)


def fit_camera(
    points: Array, ground: float, view: tuple[float, float] | None, size: tuple[int, int]
) -> Camera:
    """
    Return the Camera that has all points in the picture, over a ground at some height.

    `view`: azimuth and elevation of the eye [deg], azimuth 0 looking along +y from the front;
    None looks across the widest side, a little from above.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    if view is None:
        view = (25.0 if high[0] - low[0] >= high[1] - low[1] else 115.0, 14.0)
    azimuth, elevation = np.radians(view)
    towards = np.array(
        [
            np.sin(azimuth) * np.cos(elevation),
            -np.cos(azimuth) * np.cos(elevation),
            np.sin(elevation),
        ]
    )
    right = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
    axes = np.array([right, np.cross(towards, right), towards])
    seen = points @ axes.T
    centre = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    away = seen - centre
    slope = np.tan(0.5 * FIELD_OF_VIEW) * FILLED_SHARE
    reach = np.maximum(np.abs(away[:, 0]) * size[1] / size[0], np.abs(away[:, 1])) / slope
    radius = max(float(np.linalg.norm(high - low)) / 2.0, 1e-6)
    distance = max(float((reach + away[:, 2]).max()), 1e-3 * radius) + 1e-3 * radius
    eye = (centre + (0.0, 0.0, distance)) @ axes
    return Camera(eye, axes, size, radius, float(ground), centre @ axes)
