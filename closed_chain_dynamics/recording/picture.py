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
Draws a mechanism into a picture, without a display: shaded solids over a ground with shadows.

Loop joints are dots, green while they are closed and red while they are open.
"""

from collections.abc import Iterable
from dataclasses import replace
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording import raster
from closed_chain_dynamics.recording.camera import Camera
from closed_chain_dynamics.recording.colours import GREY, INK, Colour
from closed_chain_dynamics.recording.shapes import Triangles

__all__ = ['Dot', 'Painter', 'pillow']

Dot = tuple[Array, Colour]  # where in the world, and its colour

FINE = 2  # pixels are computed so many times finer, then averaged
LIGHT = np.array([-0.40, 0.60, 0.80])  # towards it: right, towards the viewer, up
AMBIENT, DIFFUSE, GLOSS, SHININESS = 0.56, 0.58, 0.14, 24
SHADOW, OUTLINE = 0.26, 0.62  # how much darker a shadow makes, how dark an outline
LIGHT_MAP = 1200  # side of the picture that the light has [pixels]
SHADING_DEPTH = 0.02  # share of the size by which something must stand out to shade
SKY, FLOOR, LINES = (250, 251, 253), (232, 236, 241), (205, 211, 219)


def pillow() -> tuple[Any, Any, Any, Any]:
    """Return the imaging library, or say how to get it."""
    try:
        from PIL import Image, ImageDraw, ImageFilter, ImageFont
    except ImportError:
        raise ClosedChainError(
            'drawing pictures needs the library pillow', repair='Install it: pip install pillow.'
        ) from None
    return Image, ImageDraw, ImageFilter, ImageFont


class Painter:
    """Paints one picture after the other from the same place."""

    def __init__(self, triangles: Triangles, camera: Camera, title: str = '') -> None:
        self.triangles, self.title = triangles, title
        self.size = camera.size
        width, height = camera.size
        self.camera = replace(camera, size=(FINE * width, FINE * height))
        self.Image, self.ImageDraw, self.ImageFilter, font = pillow()
        self.small = font.load_default(size=max(10, camera.size[1] / 34) * FINE)
        azimuth = camera.axes[0]
        level = np.array([-azimuth[1], azimuth[0], 0.0])  # horizontally away from the eye
        light = LIGHT[0] * azimuth - LIGHT[1] * level + (0.0, 0.0, LIGHT[2])
        self.light = light / np.linalg.norm(light)
        self.background = self._background()

    def paint(
        self,
        rotations: Array,
        positions: Array,
        dots: Iterable[Dot] = (),
        time: float | None = None,
        caption: tuple[str, Colour] = ('', INK),
    ) -> Any:
        """
        Return a picture of links at placements, by link: (links, 3, 3) and (links, 3).

        `dots`: (point (3,), colour); `time` [s] and `caption` (text, colour) go to the corner.
        """
        R, p = rotations[self.triangles.links], positions[self.triangles.links]
        corners = self.triangles.corners @ R.transpose(0, 2, 1) + p[:, None]
        normals = self.triangles.normals @ R.transpose(0, 2, 1)
        image = self.background.copy()
        owner, nearness = self._draw_solids(image, corners, normals)
        shadow = self._shadows(corners, normals, nearness)
        out = raster.finish(image, owner, shadow, SHADOW, OUTLINE)
        picture = self.Image.fromarray(out)
        self._draw_dots(picture, dots)
        picture = self._labelled(picture, time, caption)
        return picture.resize(self.size, self.Image.Resampling.BOX)

    def _draw_solids(
        self, image: NDArray[np.float32], corners: Array, normals: Array
    ) -> tuple[NDArray[np.int_], Array]:
        """Shade the corners of what faces the eye and fill the triangles between them."""
        towards = self.camera.eye - corners
        towards /= np.linalg.norm(towards, axis=-1, keepdims=True)
        facing = np.any((normals * towards).sum(axis=-1) > 0.0, axis=1)
        corners, normals, towards = corners[facing], normals[facing], towards[facing]
        half = self.light + towards
        half /= np.linalg.norm(half, axis=-1, keepdims=True)
        lit = np.maximum(normals @ self.light, 0.0)
        sky = 0.5 + 0.5 * normals[..., 2]
        gloss = GLOSS * np.maximum((normals * half).sum(axis=-1), 0.0) ** SHININESS
        shade = AMBIENT * (0.75 + 0.5 * sky) + DIFFUSE * lit
        colours = 255.0 * (
            self.triangles.colours[facing, None] * shade[..., None] + gloss[..., None]
        )
        seen = raster.nearest(self.camera.project(corners), *image.shape[:2])
        image[seen.where] = seen.spread(colours)
        owner = np.full(image.shape[:2], -1)
        owner[seen.where] = self.triangles.links[facing][seen.triangles]
        return owner, seen.nearness

    def _shadows(self, corners: Array, normals: Array, nearness: Array) -> NDArray[np.uint8]:
        """Return how much each pixel lies in the shadow of something, 0 to 255, blurred."""
        camera, side = self.camera, LIGHT_MAP
        across = np.cross(self.light, (0.0, 1.0, 0.0))
        across /= np.linalg.norm(across)
        axes = np.array([across, np.cross(self.light, across), self.light])
        axes[:2] *= side / (2.6 * camera.radius)
        # heights start below everything, since a map is zero where the light meets nothing
        offset = np.array([0.5 * side, 0.5 * side, 10.0 * camera.radius]) - axes @ camera.centre
        facing = np.any(normals @ self.light > 0.0, axis=1)
        points = corners[facing] @ axes.T + offset
        light_map = raster.nearest(points, side, side).nearness
        shown = camera.places(nearness[FINE // 2 :: FINE, FINE // 2 :: FINE])
        dark = raster.in_shadow(
            shown, np.column_stack([axes, offset]), light_map, SHADING_DEPTH * camera.radius
        )
        shadow = np.where(dark, np.uint8(255), np.uint8(0))
        blur = self.ImageFilter.GaussianBlur(0.005 * shadow.shape[0])
        return np.array(self.Image.fromarray(shadow).filter(blur))

    def _background(self) -> NDArray[np.float32]:
        """Return sky and ground with its grid, which fade into each other."""
        width, height = self.camera.size
        shade = np.linspace(0.0, 1.0, height)[:, None, None]
        image = np.ones((height, width, 3)) * ((1.0 - shade) * SKY + shade * np.array(FLOOR))
        picture = self.Image.fromarray(image.astype(np.uint8))
        draw = self.ImageDraw.Draw(picture)
        reach = 2.2 * self.camera.radius
        step = _round_number(reach / 7.0)
        first = np.round(self.camera.centre[:2] / step) * step
        offsets = np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1) * step
        pieces = np.linspace(offsets[0], offsets[-1], 8 * len(offsets))
        for offset in offsets:
            for along in (0, 1):
                line = np.full((len(pieces), 3), self.camera.ground)
                line[:, along] = first[along] + pieces
                line[:, 1 - along] = first[1 - along] + offset
                self._fading(draw, image, line, reach)
        return np.asarray(picture, dtype=np.float32)

    def _fading(self, draw: Any, image: Array, line: Array, reach: float) -> None:
        """Draw a line on the ground that fades with the distance from the middle."""
        height, _width = image.shape[:2]
        strength = 1.0 - np.linalg.norm(line[:, :2] - self.camera.centre[:2], axis=1) / reach
        depth = (line - self.camera.eye) @ self.camera.axes[2]
        points = self.camera.project(line)
        for k in range(len(line) - 1):
            if strength[k] > 0.0 and depth[k] < 0.0 and depth[k + 1] < 0.0:
                row = int(np.clip(points[k, 1], 0, height - 1))
                share = min(1.0, 1.6 * strength[k])
                colour = (1.0 - share) * image[row, 0] + share * np.array(LINES)
                draw.line(
                    [tuple(points[k, :2]), tuple(points[k + 1, :2])],
                    fill=tuple(colour.astype(int)),
                    width=FINE,
                )

    def _draw_dots(self, picture: Any, dots: Iterable[Dot]) -> None:
        draw = self.ImageDraw.Draw(picture)
        radius = 0.0105 * self.camera.size[1]
        for point, colour in dots:
            x, y, _ = self.camera.project(np.asarray(point))
            for r, fill in ((radius + 1.3 * FINE, (255, 255, 255)), (radius, colour)):
                draw.ellipse([x - r, y - r, x + r, y + r], fill=fill)

    def _labelled(self, picture: Any, time: float | None, caption: tuple[str, Colour]) -> Any:
        draw = self.ImageDraw.Draw(picture)
        width, height = self.camera.size
        edge = 0.025 * width
        draw.text((edge, edge), self.title, font=self.small, fill=GREY)
        if time is not None:
            draw.text(
                (edge, height - edge), f't = {time:.2f} s', font=self.small, fill=INK, anchor='ls'
            )
        draw.text(
            (width - edge, height - edge),
            caption[0],
            font=self.small,
            fill=caption[1],
            anchor='rs',
        )
        return picture


def _round_number(value: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is near a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return power * min((1.0, 2.0, 5.0, 10.0), key=lambda digit: abs(digit - value / power))
