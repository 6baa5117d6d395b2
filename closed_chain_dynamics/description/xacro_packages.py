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
$(find package) of xacro where the package is a folder beside the file, and nobody has built it.

A repository that was only copied has its packages side by side. Those that are set up come first.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import re
from threading import Lock
from typing import Any

from closed_chain_dynamics.description.own_files import MOST_ABOVE, PACKAGE_FILE

__all__ = ['packages_around']

PACKAGE_NAME = re.compile(rb'<name>\s*([^<\s]+)\s*</name>')
LEVELS = 2  # folders above a package whose parts are looked through
PATCHING = Lock()  # xacro has one function for all files


@contextmanager
def packages_around(path: Path) -> Iterator[None]:
    """Let xacro find the package that a file lies in, and those beside it."""
    from xacro import substitution_args

    set_up = substitution_args._eval_find

    def find(name: str) -> Any:
        try:
            return set_up(name)
        except Exception:  # whatever the index of packages says of one that it does not have
            for folder in _packages(path):
                if _name(folder) == name:
                    return str(folder)
            raise

    with PATCHING:
        substitution_args._eval_find = find
        try:
            yield
        finally:
            substitution_args._eval_find = set_up


def _packages(path: Path) -> Iterator[Path]:
    """Yield the folders of the package around a file, then of those beside it."""
    above = path.resolve().parents[: MOST_ABOVE + 1]
    own = next((each for each in above if (each / PACKAGE_FILE).is_file()), None)
    if own is None:
        return
    yield own
    for folder in own.parents[:LEVELS]:
        yield from sorted(each.parent for each in folder.glob(f'*/{PACKAGE_FILE}'))


def _name(folder: Path) -> str:
    try:
        found = PACKAGE_NAME.search((folder / PACKAGE_FILE).read_bytes())
    except OSError:
        return ''
    return found[1].decode(errors='replace') if found else ''
