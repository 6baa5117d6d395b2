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

"""What a mechanism looks like, as triangles: the visuals of its links, or else sticks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.elements import Description, Geometry
from closed_chain_dynamics.description.rotations import rotation_to
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Triangles', 'triangles_of']

Solid = tuple[Array, Array]  # corners and normals of triangles, (n, 3, 3)
Part = tuple[NDArray[np.int_], Array, Array, Array]  # links, corners, normals, colours
Profile = list[tuple[Any, Any, Any, Any]]  # stretches: two points and the normals there

CIRCLE_SIDES = 20  # sides of a circle
ARC = 5  # rings from the pole of a sphere to its equator
INVISIBLE = 0.05  # visuals more transparent than this are left out
STICK_RADIUS = 0.018  # radius of a stick, share of the size of the mechanism
PALETTE = (
    (0.25, 0.47, 0.75),
    (0.92, 0.55, 0.20),
    (0.30, 0.62, 0.43),
    (0.72, 0.33, 0.47),
    (0.47, 0.40, 0.68),
    (0.55, 0.47, 0.33),
    (0.22, 0.60, 0.65),
    (0.50, 0.54, 0.60),
)
BOX_FACES = [(axis, side) for axis in range(3) for side in (-1.0, 1.0)]


@dataclass
class Triangles:
    """Triangles in the frames of their links."""

    links: NDArray[np.int_]  # (n,) number of the link in `robot.link_names`
    corners: Array  # (n, 3 corners, 3)
    normals: Array  # (n, 3 corners, 3)
    colours: Array  # (n, 3), 0 to 1
    notes: list[str]  # what could not be drawn, plain sentences


def triangles_of(robot: Mechanism) -> Triangles:
    """Return the Triangles of a mechanism."""
    parts: list[Part] = []
    notes: list[str] = []
    model = robot.description
    sticks = _sticks(model)
    for number, link in enumerate(model.links):
        colour, drawn = PALETTE[number % len(PALETTE)], False
        place = robot.link_names.index(link.name)
        for shape in link.visuals:
            solid = _solid(shape.geometry)
            if solid is None:
                notes.append(f'The {shape.geometry.kind} of link {link.name!r} is not drawn.')
            elif not shape.rgba or shape.rgba[3] >= INVISIBLE:
                parts.append(
                    _placed(
                        place,
                        solid,
                        shape.origin.rotation,
                        shape.origin.position,
                        shape.rgba[:3] or colour,
                    )
                )
                drawn = True
        if not drawn:
            for start, end in sticks[link.name]:
                parts.append(_stick(place, start, end, STICK_RADIUS * _size(model), colour))
    links, corners, normals, colours = (
        map(np.concatenate, zip(*parts))
        if parts
        else (np.zeros(0, int), np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros((0, 3)))
    )
    return Triangles(links, corners, normals, colours, notes)


def _placed(link: int, solid: Solid, R: Array, p: Array, colour: Sequence[float]) -> Part:
    corners, normals = solid
    return (
        np.full(len(corners), link),
        corners @ R.T + p,
        normals @ R.T,
        np.tile(np.array(colour, dtype=float), (len(corners), 1)),
    )


def _solid(geometry: Geometry) -> Solid | None:
    """Return corners and normals of a primitive about its centre, or None for a mesh."""
    if geometry.kind == 'box':
        return _box(np.array(geometry.size))
    if geometry.kind == 'sphere':
        return _lathe(_capsule_profile(geometry.size[0], 0.0))
    if geometry.kind == 'capsule':
        return _lathe(_capsule_profile(*geometry.size))
    if geometry.kind == 'cylinder':
        radius, half = geometry.size[0], 0.5 * geometry.size[1]
        return _lathe(
            [
                ((0, -half), (radius, -half), (0, -1), (0, -1)),
                ((radius, -half), (radius, half), (1, 0), (1, 0)),
                ((radius, half), (0, half), (0, 1), (0, 1)),
            ]
        )
    return None


def _box(size: Array) -> Solid:
    corners, normals = [], []
    for axis, side in BOX_FACES:
        normal = np.zeros(3)
        normal[axis] = side
        one, two = np.roll(normal, 1), np.roll(normal, 2)
        square = [normal + s * one + t * two for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        for triangle in ((0, 1, 2), (0, 2, 3)):
            corners.append([0.5 * size * square[k] for k in triangle])
            normals.append([normal] * 3)
    return np.array(corners), np.array(normals)


def _capsule_profile(radius: float, length: float) -> Profile:
    """Return the outline of a capsule; `length` is that of its straight part."""
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * ARC + 1)
    normals = np.column_stack([np.cos(angles), np.sin(angles)])
    lower, upper = normals[: ARC + 1], normals[ARC:]
    shift = (0.0, 0.5 * length)
    points = np.vstack([radius * lower - shift, radius * upper + shift])
    normals = np.vstack([lower, upper])
    return [
        (points[k], points[k + 1], normals[k], normals[k + 1])
        for k in range(len(points) - 1)
        if not np.array_equal(points[k], points[k + 1])
    ]


def _lathe(profile: Profile) -> Solid:
    """
    Return corners and normals of a profile turned about z.

    `profile`: stretches of its outline, each two points (radius, height) and the normals there.
    """
    angles = np.linspace(0.0, 2.0 * np.pi, CIRCLE_SIDES + 1)
    corners, normals = [], []
    for start, end, normal_start, normal_end in profile:
        ring = [_turned(each, angles) for each in (start, end, normal_start, normal_end)]
        for k in range(CIRCLE_SIDES):
            # a stretch that touches the axis gives one triangle per side, any other two
            for use, picks in (
                (start[0], ((0, k), (0, k + 1), (1, k))),
                (end[0], ((0, k + 1), (1, k + 1), (1, k))),
            ):
                if use > 1e-12:
                    corners.append([ring[i][j] for i, j in picks])
                    normals.append([ring[i + 2][j] for i, j in picks])
    return np.array(corners), np.array(normals)


def _turned(point: Sequence[float] | Array, angles: Array) -> Array:
    return np.column_stack(
        [point[0] * np.cos(angles), point[0] * np.sin(angles), np.full(len(angles), point[1])]
    )


def _sticks(model: Description) -> dict[str, list[tuple[Array, Array]]]:
    """Return the lines that stand for each link: from its origin to what is attached to it."""
    ends: dict[str, list[Array]] = {link.name: [] for link in model.links}
    for joint in model.joints:
        ends[joint.parent].append(joint.origin.position)
    for loop in model.loops:
        ends[loop.parent].append(loop.parent_origin.position)
        ends[loop.child].append(loop.child_origin.position)
    moved = {joint.child for joint in model.joints}
    for link in model.links:
        if not ends[link.name] and link.inertia is not None:
            ends[link.name].append(link.inertia.origin.position)
        if link.name not in moved and link.inertia is None:
            ends[link.name] = []  # the world is not a body
    return {
        name: [(np.zeros(3), end) for end in points if np.linalg.norm(end) > 1e-9]
        for name, points in ends.items()
    }


def _stick(link: int, start: Array, end: Array, radius: float, colour: Sequence[float]) -> Part:
    length = float(np.linalg.norm(end - start))
    return _placed(
        link,
        _lathe(_capsule_profile(radius, length)),
        rotation_to((end - start) / length),
        0.5 * (start + end),
        colour,
    )


def _size(model: Description) -> float:
    """Return a length that the sticks' thickness goes by [m]."""
    lengths = [np.linalg.norm(joint.origin.xyz) for joint in model.joints]
    return max(float(np.linalg.norm(lengths)), 1e-3)  # many short links are no long one
