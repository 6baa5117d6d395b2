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
Draws what there is to see of a mechanism into the browser.

Shapes of links are sent once; afterwards only placements, colours, lines and arrows change.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
import viser.transforms as tf

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.animation import framing
from closed_chain_dynamics.recording.camera import FIELD_OF_VIEW, fit_camera
from closed_chain_dynamics.recording.colours import CLOSED_COLOUR, OPEN_COLOUR
from closed_chain_dynamics.recording.picture import FLOOR, LINES
from closed_chain_dynamics.recording.shapes import Triangles, triangles_of
from closed_chain_dynamics.viewer.arrows import Arrows
from closed_chain_dynamics.viewer.meshes import Mesh, load_meshes
from closed_chain_dynamics.viewer.observation import Loop, Observation, ShownForce

__all__ = ['LOOP_COLOURS', 'Scene', 'put']

LOOP_COLOURS = {
    'closed': CLOSED_COLOUR,
    'open': OPEN_COLOUR,
    'sliding': (224, 142, 24),
    'sticking': (34, 110, 196),
}
FORCES = {
    kind: np.array(colour, dtype=float)
    for kind, colour in (
        ('loop', (178, 24, 140)),
        ('contact', (178, 24, 140)),
        ('joint', (94, 84, 190)),
    )
}
MASS_COLOUR, SPRING_COLOUR = (245, 196, 0), (110, 118, 130)
BALL_RADIUS, LINE_HALF_WIDTH = (
    0.028,
    0.004,
)  # radius of loop joints and half-width of lines, share of the radius
LONG_ARROW = 0.5  # length of a large force, share of the radius
LONGEST_ARROW = 0.8  # of any force, share of the radius
COILS, LINES_PER_COIL = 8, 8  # of a spring, and lines per coil
VIEW_SIZE = (900, 800)  # of the picture beside the panel, for which the camera is placed [pixels]
BACK = 1.15  # how much further away the camera is than what just fits
NO_ARROW = 1e-6  # forces below this share of a large one are not drawn


class Scene:
    """The picture of one mechanism."""

    def __init__(self, server: Any, seen: Observation) -> None:
        self.server, self.scene = server, server.scene
        robot = seen.snapshot.robot
        triangles = triangles_of(robot)
        meshes, self.notes = load_meshes(robot)
        self._place_camera(robot, triangles, seen)
        self._add_lights()
        unit = LONG_ARROW * self.radius / _large_force(robot, seen.forces)
        self._arrows = Arrows(
            unit, LONGEST_ARROW * self.radius, NO_ARROW * LONG_ARROW * self.radius
        )
        self.shown = {
            'loops': True,
            'forces': True,
            'joint forces': False,
            'centre of mass': True,
            'springs': True,
            'names': False,
        }
        self.force_scale = 1.0
        self._add_links(robot, triangles, meshes)
        self._add_marks(robot, seen)
        self.draw(seen)

    # --- once ------------------------------------------------------------------------------------
    def _place_camera(self, robot: Mechanism, triangles: Triangles, seen: Observation) -> None:
        points, ground = framing(robot, triangles, seen.rotations[None], seen.positions[None])
        self.camera = camera = fit_camera(points, ground, None, VIEW_SIZE)
        self.radius = camera.radius
        start = self.server.initial_camera
        start.position = camera.centre + BACK * (camera.eye - camera.centre)
        start.look_at, start.up = camera.centre, (0.0, 0.0, 1.0)
        start.fov = FIELD_OF_VIEW
        self.scene.set_up_direction('+z')
        self.scene.world_axes.visible = False
        cell = 10.0 ** np.floor(np.log10(2.0 * self.radius))
        self.scene.add_grid(
            '/ground',
            position=(*(np.round(camera.centre[:2] / cell) * cell), ground - 1e-3 * cell),
            infinite_grid=True,
            cell_size=cell / 2.0,
            section_size=cell,
            cell_color=FLOOR,
            section_color=LINES,
            fade_distance=14.0 * self.radius,
            shadow_opacity=0.12,
        )

    def _add_lights(self) -> None:
        """Light the scene by sky and sun, without pictures of surroundings: they cost time."""
        self.scene.configure_environment_map(None)
        self.scene.configure_default_lights(False)
        self.scene.add_light_hemisphere(
            '/lights/sky', sky_color=(255, 255, 255), ground_color=(170, 168, 165), intensity=1.7
        )
        self.scene.add_light_directional(
            '/lights/sun',
            intensity=2.2,
            position=self.camera.eye
            + 2.0 * self.radius * (self.camera.axes[1] - 0.5 * self.camera.axes[0]),
        )

    def _add_links(self, robot: Mechanism, triangles: Triangles, meshes: Sequence[Mesh]) -> None:
        self.frames = [
            self.scene.add_frame(f'/links/{number}', show_axes=False)
            for number in range(len(robot.link_names))
        ]
        drawn = {link for link, _, _ in meshes}
        for number, name in enumerate(robot.link_names):
            link = next(each for each in robot.description.links if each.name == name)
            if name in drawn and all(each.geometry.kind == 'mesh' for each in link.visuals):
                continue  # these triangles are the sticks of a link without visuals
            self._add_triangles(number, triangles)
        for place, (name, shape, mesh) in enumerate(meshes):
            node = f'/links/{robot.link_names.index(name)}/mesh{place}'
            where = {
                'position': shape.origin.position,
                'wxyz': tf.SO3.from_matrix(shape.origin.rotation).wxyz,
            }
            if shape.rgba:
                self.scene.add_mesh_simple(
                    node,
                    mesh.vertices,
                    mesh.faces,
                    **where,
                    color=shape.rgba[:3],
                    opacity=_opacity(shape.rgba),
                )
            else:
                self.scene.add_mesh_trimesh(node, mesh, **where)

    def _add_triangles(self, link: int, triangles: Triangles) -> None:
        """Add the triangles of a link, one mesh per colour."""
        mine = triangles.links == link
        colours, groups = np.unique(triangles.colours[mine], axis=0, return_inverse=True)
        for k, colour in enumerate(colours):
            chosen = np.flatnonzero(mine)[groups.ravel() == k]
            vertices, faces = _indexed(triangles.corners[chosen], triangles.normals[chosen])
            self.scene.add_mesh_simple(f'/links/{link}/{k}', vertices, faces, color=tuple(colour))

    def _add_marks(self, robot: Mechanism, seen: Observation) -> None:
        """Add what is drawn over the links: loops, springs, forces, the centre of mass."""
        size, self.balls, self.labels = BALL_RADIUS * self.radius, {}, {}
        for number, loop in enumerate(robot.description.loops):
            for end, (link, origin) in enumerate(
                ((loop.parent, loop.parent_origin), (loop.child, loop.child_origin))
            ):
                node = f'/links/{robot.link_names.index(link)}/loop{number}_{end}'
                self.balls[loop.name, end] = self.scene.add_icosphere(
                    node,
                    radius=size * (1.0 + 0.15 * end),
                    position=origin.position,
                    cast_shadow=False,
                )
            self.labels[loop.name] = self.scene.add_label(f'/labels/{number}', loop.name)
        nowhere = np.zeros((0, 2, 3))
        self.gaps = self.scene.add_line_segments(
            '/gaps', nowhere, OPEN_COLOUR, thickness_units='screen', thickness=2.0
        )
        self.springs = self.scene.add_line_segments(
            '/springs', nowhere, SPRING_COLOUR, thickness=LINE_HALF_WIDTH * self.radius
        )
        self.arrows = self.scene.add_arrows(
            '/forces',
            nowhere,
            np.zeros((0, 3)),
            shaft_radius=2.0 * LINE_HALF_WIDTH * self.radius,
            head_radius=6.0 * LINE_HALF_WIDTH * self.radius,
            head_length=14.0 * LINE_HALF_WIDTH * self.radius,
        )
        self.mass = self.scene.add_icosphere(
            '/mass', radius=0.9 * size, color=MASS_COLOUR, cast_shadow=False
        )

    # --- every time ------------------------------------------------------------------------------
    def draw(self, seen: Observation) -> None:
        """Move everything to where it is now."""
        turns = tf.SO3.from_matrix(seen.rotations).wxyz
        with self.server.atomic():
            for frame, position, wxyz in zip(self.frames, seen.positions, turns):
                frame.position, frame.wxyz = position, wxyz
            self._draw_loops(seen.loops)
            self._draw_forces(seen.forces, seen.snapshot.time)
            _show(
                self.springs,
                np.concatenate(
                    [_coil(ends[0], ends[1], BALL_RADIUS * self.radius) for ends in seen.springs]
                )
                if seen.springs and self.shown['springs']
                else (),
            )
            self.mass.position = seen.center_of_mass
            put(self.mass, 'visible', self.shown['centre of mass'])

    def _draw_loops(self, loops: Iterable[Loop]) -> None:
        for loop in loops:
            for end in (0, 1):
                ball = self.balls.get((loop.name, end))
                if ball is not None:  # a joint of the tree has none
                    put(ball, 'color', LOOP_COLOURS[loop.state])
                    put(ball, 'visible', self.shown['loops'])
            if loop.name in self.labels:
                label = self.labels[loop.name]
                put(label, 'visible', self.shown['names'])
                label.position = loop.ends[1]
        apart = [loop.ends for loop in loops if loop.state == 'open']
        _show(self.gaps, apart if self.shown['loops'] else ())

    def _draw_forces(self, forces: Iterable[ShownForce], time: float) -> None:
        drawn = [
            force
            for force in forces
            if self.shown['joint forces' if force.kind == 'joint' else 'forces']
        ]
        _show(self.arrows, *self._arrows.draw(drawn, time, self.force_scale, FORCES))


def _large_force(robot: Mechanism, forces: Iterable[ShownForce]) -> float:
    """Return the weight of what moves, or the largest force in loops at first if that is more."""
    weight = robot.model.bodies['mass'][1:].sum() * np.linalg.norm(robot.gravity)
    largest = max(
        [np.linalg.norm(force.vector) for force in forces if force.kind != 'joint'], default=0.0
    )
    return max(weight, largest) or 1.0


def _indexed(corners: Vector, normals: Vector) -> tuple[Vector, NDArray[np.int_]]:
    """Return vertices and faces of triangles, (n, 3, 3), that turn left about their normals."""
    one, two = (corners[:, k] - corners[:, 0] for k in (1, 2))
    astray = np.einsum('ij,ij->i', np.cross(one, two), normals.sum(axis=1)) < 0.0
    both = np.concatenate([corners, normals], axis=-1)
    both[astray] = both[astray, ::-1]
    # corners of equal normal are one vertex: round things look round, edges stay sharp
    vertices, faces = np.unique(both.reshape(-1, 6).round(9), axis=0, return_inverse=True)
    return vertices[:, :3], faces.reshape(-1, 3)


def _show(handle: Any, lines: Any, colours: Any = None) -> None:
    """Put lines or arrows, (n, 2, 3), where a handle's are; an empty one is hidden."""
    put(handle, 'visible', len(lines) > 0)
    if len(lines):
        if colours is not None:
            handle.colors = np.array(colours, dtype=np.uint8)
        handle.points = np.asarray(lines, dtype=np.float32)


def put(handle: Any, name: str, value: Any) -> None:
    """Set what has changed only: nothing is sent otherwise."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


def _opacity(rgba: Sequence[float]) -> float | None:
    return None if rgba[3] >= 1.0 else rgba[3]


def _coil(start: Vector, end: Vector, radius: float) -> Vector:
    """Return the lines of a coil between two points, (n, 2, 3)."""
    way = end - start
    length = np.linalg.norm(way)
    if length == 0.0:
        return np.zeros((0, 2, 3))
    across = np.linalg.svd((way / length)[None])[2][1:]
    s = np.linspace(0.0, 1.0, COILS * LINES_PER_COIL + 1)
    angle = 2.0 * np.pi * COILS * s
    swell = radius * np.minimum(1.0, 8.0 * np.minimum(s, 1.0 - s))
    points = (
        start
        + s[:, None] * way
        + swell[:, None]
        * (np.cos(angle)[:, None] * across[0] + np.sin(angle)[:, None] * across[1])
    )
    return np.stack([points[:-1], points[1:]], axis=1)
