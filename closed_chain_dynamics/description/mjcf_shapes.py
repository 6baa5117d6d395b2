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

"""Geoms of a compiled MJCF model as shapes to look at and shapes that collide."""

from typing import Any

import numpy as np

from closed_chain_dynamics.description.elements import Geometry, Shape
from closed_chain_dynamics.description.mjcf_compile import Compiled
from closed_chain_dynamics.description.rotations import pose_of, rotation

__all__ = ['read_shapes']

SHOWN_GROUPS = 3  # MuJoCo's viewers show the groups 0, 1 and 2 unless told otherwise


def read_shapes(compiled: Compiled, body: int) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Return visuals and collisions of a body; planes and terrains are left out."""
    model = compiled.model
    visuals, collisions = [], []
    first = int(model.body_geomadr[body])
    for geom in range(first, first + int(model.body_geomnum[body])):
        shape = _shape(compiled, geom)
        if shape is None:
            continue
        if model.geom_group[geom] < SHOWN_GROUPS:
            visuals.append(shape)
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            collisions.append(shape)
    return tuple(visuals or collisions), tuple(collisions)


def _shape(compiled: Compiled, geom: int) -> Shape | None:
    model, kinds = compiled.model, compiled.mujoco.mjtGeom
    R, p = rotation(model.geom_quat[geom]), np.array(model.geom_pos[geom])
    kind, size = model.geom_type[geom], tuple(map(float, model.geom_size[geom]))
    # MuJoCo writes halves, URDF whole lengths
    solids = {
        int(kinds.mjGEOM_BOX): ('box', tuple(2.0 * each for each in size)),
        int(kinds.mjGEOM_SPHERE): ('sphere', size[:1]),
        int(kinds.mjGEOM_CAPSULE): ('capsule', (size[0], 2.0 * size[1])),
        int(kinds.mjGEOM_CYLINDER): ('cylinder', (size[0], 2.0 * size[1])),
        # URDF has no ellipsoid: show a ball of its volume
        int(kinds.mjGEOM_ELLIPSOID): ('sphere', (float(np.prod(size)) ** (1.0 / 3.0),)),
    }
    if int(kind) in solids:
        geometry = Geometry(*solids[int(kind)])
    elif kind == kinds.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        file = _mesh_file(model, mesh)
        if not file:  # its points stand in the XML
            return None
        # the compiler moves a mesh into its principal axes; the file is as it was drawn
        R_mesh, p_mesh = rotation(model.mesh_quat[mesh]), np.array(model.mesh_pos[mesh])
        R = R @ R_mesh.T
        p = p - R @ p_mesh
        geometry = Geometry('mesh', (), file, tuple(map(float, model.mesh_scale[mesh])))
    else:
        return None
    material = int(model.geom_matid[geom])
    own = model.geom_rgba[geom]
    plain = np.allclose(own, (0.5, 0.5, 0.5, 1.0))  # the colour of a geom that states none
    color = model.mat_rgba[material] if material >= 0 and plain else own
    rgba = tuple(round(float(each), 6) for each in color)  # MuJoCo keeps colours as floats
    return Shape(geometry, pose_of(R, p), rgba, name=compiled.name('GEOM', geom))


def _mesh_file(model: Any, mesh: int) -> str:
    """Return where the mesh lies, empty where it stands in the XML."""
    start = int(model.mesh_pathadr[mesh])
    if start < 0:
        return ''
    return bytes(model.paths)[start:].split(b'\0')[0].decode()
