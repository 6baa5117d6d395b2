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
Finds model files: those of the user by path, those shipped with the package by name.

Shipped models lie in ``urdf/`` of the source tree, and in ``share/closed_chain_dynamics/urdf``
below the prefix once installed, by pip as well as by colcon.
"""

import os
from pathlib import Path
import re
import sys

from closed_chain_dynamics.errors import (
    ClosedChainError,
    DescriptionError,
    NameNotFound,
    nearest_names,
)

__all__ = ['about', 'find', 'share_folder', 'shipped', 'shipped_lists']

PACKAGE = 'closed_chain_dynamics'
SHOWN_OF_TEXT = 60  # characters of what is no name
SUFFIXES = ('.urdf', '.xacro', '.xml', '.sdf')


def find(name_or_path: str | os.PathLike[str]) -> Path:
    """
    Return the path of a model, given the path of a file or the name of a shipped model.

    A file wins over a shipped model of the same name.
    """
    path = Path(name_or_path).expanduser()
    try:
        if path.is_file():
            return path
    except OSError:  # a text that is no name of a file, being too long
        raise NameNotFound(
            'file or shipped model', str(name_or_path)[:SHOWN_OF_TEXT], shipped()
        ) from None
    name = str(name_or_path)
    known = shipped()
    if name in known:
        return known[name]
    looks_like_path = path.name != name or path.suffix in SUFFIXES or path.is_dir()
    if not looks_like_path:
        here = [each for each in _models_in(Path()) if each.partition('.')[0] == name]
        raise NameNotFound('file or shipped model', name, here or known)
    if path.is_dir():
        raise DescriptionError(
            'this is a folder, and a model is a file',
            file=name,
            repair=nearest_names(path.name, _models_in(path))
            if _models_in(path)
            else f'None of {", ".join(SUFFIXES)} is in it.',
        )
    if not path.parent.is_dir():
        raise DescriptionError(
            'there is no such file, and no such folder either',
            file=name,
            repair=f'Look for {str(path.parent)!r}, or name a shipped model: {", ".join(known)}.',
        )
    raise DescriptionError(
        'there is no such file',
        file=name,
        repair=nearest_names(path.name, [*_models_in(path.parent), *known]),
    )


def shipped() -> dict[str, Path]:
    """Return the shipped models: a dict of name and path, in alphabetical order."""
    folder = share_folder() / 'urdf'
    return {name.split('.')[0]: folder / name for name in _models_in(folder)}


def shipped_lists() -> dict[str, Path]:
    """Return the list files that come with the package: a dict of name and path."""
    return {path.stem: path for path in sorted((share_folder() / 'urdf/lists').glob('*.yaml'))}


def about(path: str | os.PathLike[str]) -> str:
    """Return what a file says about itself: the first paragraph of its first comment."""
    text = Path(path).read_text(encoding='utf-8', errors='replace')
    if Path(path).suffix == '.yaml':
        lines = re.match(r'(?:# .*\n)*', text)
        return ' '.join(lines[0].replace('# ', '').split()) if lines else ''
    comment = re.search(r'<!--(.*?)-->', text, re.DOTALL)
    return ' '.join(comment[1].strip().split('\n\n')[0].split()) if comment else ''


def share_folder() -> Path:
    """Return the folder that holds ``urdf``, ``benchmarks`` and the like of this very package."""
    here = Path(__file__).resolve().parents[1]
    if (here.parent / 'package.xml').is_file():
        return here.parent  # a source tree, also behind an editable or symlinked install
    # The nearest prefix above the package comes first, so that two installed versions do not mix.
    ament = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    prefixes = [*here.parents, Path(sys.prefix), *map(Path, filter(None, ament))]
    for prefix in prefixes:
        share = prefix / 'share' / PACKAGE
        if (share / 'urdf').is_dir():
            return share
    raise ClosedChainError(
        f'the models of {PACKAGE} are not where its code is installed',
        where=str(here),
        repair='Install it again, with pip or colcon.',
    )


def _models_in(folder: Path) -> list[str]:
    """Return the names of the files in a folder that may be models."""
    return sorted(
        path.name for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file()
    )
