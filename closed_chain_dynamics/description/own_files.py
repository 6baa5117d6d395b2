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
Which files a description may have read: those of its own folder.

That is the folder of the model file or, where this lies in a ROS package or in its folder `urdf`,
the package. Links lead where they point to. Packages that are set up (AMENT_PREFIX_PATH) and the
folders that CLOSED_CHAIN_MODEL_PATH names are trusted as well: the user has chosen them.
"""

from collections.abc import Iterator
import os
from pathlib import Path

__all__ = ['MODEL_PATH', 'is_own', 'own_folder']

MODEL_PATH = 'CLOSED_CHAIN_MODEL_PATH'
PACKAGE_FILE = 'package.xml'
BESIDE_MESHES = ('urdf', 'xacro', 'mjcf', 'sdf', 'robots')  # folders of a package that hold models
MOST_ABOVE = 4  # folders between a model and the top of its package


def own_folder(model: str | os.PathLike[str]) -> Path:
    """Return the folder that belongs to a model file, links followed."""
    folder = Path(model).resolve().parent
    for above in (folder, *folder.parents[:MOST_ABOVE]):
        if (above / PACKAGE_FILE).is_file():
            return above
    return folder.parent if folder.name in BESIDE_MESHES else folder


def is_own(path: str | os.PathLike[str], model: str | os.PathLike[str] | None) -> bool:
    """Tell whether a file may be read because a model names it; no model: it came as a text."""
    real = Path(path).resolve()
    if model and real.is_relative_to(own_folder(model)):
        return True
    # a package that is set up may itself consist of links: its build has made them
    plain = Path(os.path.normpath(os.path.abspath(path)))
    return any(
        real.is_relative_to(each.resolve()) or plain.is_relative_to(each) for each in _trusted()
    )


def _trusted() -> Iterator[Path]:
    for prefix in _listed('AMENT_PREFIX_PATH'):
        yield prefix / 'share'
    yield from _listed(MODEL_PATH)


def _listed(variable: str) -> list[Path]:
    """Return the folders of a variable; relative ones are nobody's choice."""
    parts = (Path(each) for each in os.environ.get(variable, '').split(os.pathsep) if each)
    return [Path(os.path.normpath(each)) for each in parts if each.is_absolute()]
