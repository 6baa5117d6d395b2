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

"""Mesh files that URDF names: where they are, and what is in them."""

from collections.abc import Iterator
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from closed_chain_dynamics.description.elements import Shape
from closed_chain_dynamics.description.own_files import (
    MODEL_PATH,
    PACKAGE_FILE,
    is_own,
    own_folder,
)
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Mesh', 'find_mesh', 'load_meshes']

Mesh = tuple[str, Shape, Any]  # link, where it is on it, and a trimesh.Trimesh
PACKAGE_SCHEME, FILE_SCHEME = 'package://', 'file://'


def load_meshes(robot: Mechanism) -> tuple[list[Mesh], list[str]]:
    """
    Return the meshes of all links and notes on those that cannot be shown.

    The meshes are a list of (link, Shape, trimesh.Trimesh), scaled as the file says.
    """
    import trimesh

    meshes, notes = [], []
    for link in robot.description.links:
        for shape in link.visuals:
            if shape.geometry.kind != 'mesh':
                continue
            path = find_mesh(shape.geometry.filename, robot.description.file)
            try:
                if path is None:
                    raise OSError(_why_not(shape.geometry.filename, robot.description.file))
                mesh: Any = trimesh.load(path, force='mesh')
                mesh.apply_scale(shape.geometry.scale)
                meshes.append((link.name, shape, mesh))
            except Exception as error:  # what a reader of foreign files raises is anybody's guess
                notes.append(
                    f'Link {link.name!r} is drawn without {shape.geometry.filename!r}: '
                    f'{error or type(error).__name__}.'
                )
    return meshes, notes


def _why_not(name: str, model: str) -> str:
    """Return why a mesh was not found."""
    plain = unquote(name.removeprefix(FILE_SCHEME))
    if not name.startswith(PACKAGE_SCHEME) and (Path(model).parent / plain).is_file():
        return f'it lies outside the folder of the model; {MODEL_PATH} may name its folder'
    return 'there is no such file'


def find_mesh(name: str, model: str | Path | None) -> Path | None:
    """
    Return the path of a mesh that a model file names, or None.

    `package://name/...` is looked for in the ROS packages that are set up, then in packages beside
    and above the model file; anything else is a path, from the folder of the model file. What is
    outside of the folder of the model, or of the package, is not read: see `own_files`.
    """
    return next((place for place in _places(name, model) if place.is_file()), None)


def _places(name: str, model: str | Path | None) -> Iterator[Path]:
    """Yield where a mesh may be."""
    folder = Path(model).resolve().parent if model else None
    if not name.startswith(PACKAGE_SCHEME):
        path = Path(unquote(name[len(FILE_SCHEME) :]) if name.startswith(FILE_SCHEME) else name)
        if folder or path.is_absolute():
            path = (folder or Path()) / path
            if is_own(path, model):
                yield path
        return
    package, _, rest = unquote(name[len(PACKAGE_SCHEME) :]).partition('/')
    if not package or package in ('.', '..') or '..' in Path(rest).parts:
        return
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        yield Path(prefix) / 'share' / package / rest
    for above in (folder, *folder.parents) if folder else ():
        for home in ([above] if above.name == package else []) + [above / package]:
            if is_own(home / rest, model) or (
                not home.is_relative_to(own_folder(str(model)))
                and (home / PACKAGE_FILE).is_file()
                and (home / rest).resolve().is_relative_to(home.resolve())
            ):
                yield home / rest
