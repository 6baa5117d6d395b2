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

"""From a source to a loaded library: trace, print, compile, keep on disk."""

import ctypes
from dataclasses import dataclass
import hashlib
import json
from pathlib import Path
from typing import Any

from closed_chain_dynamics.codegen.cache import put, stem
from closed_chain_dynamics.codegen.compiler import Compiler, compile_text, find_compiler
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import GenerationError

__all__ = ['VARIANTS', 'Library', 'build', 'is_built', 'require_casadi']

VARIANTS = 4  # of the code of a run, for poses in which the pivots of others fail


@dataclass(frozen=True)
class Library:
    """A loaded library, and the shapes of what goes in and comes out."""

    dll: ctypes.CDLL
    inputs: dict[str, int]
    outputs: dict[str, tuple[int, int]]
    kept: int  # inputs before the outputs in a result: all or none


def require_casadi() -> None:
    """Raise unless CasADi can be imported."""
    try:
        import casadi  # noqa: F401
    except ImportError:
        raise GenerationError(
            'CasADi is not installed, and code is generated with it',
            where='codegen',
            repair="Install it: pip install 'closed_chain_dynamics[codegen]'.",
        ) from None


def is_built(source: Source, name: str, variant: int = 0) -> bool:
    """Return whether the library of a function, for single states, is on the disk."""
    path = stem(source, name, find_compiler(), 1, variant)
    return path.with_suffix('.so').exists() and path.with_suffix('.json').exists()


def build(source: Source, name: str, *, lanes: int = 1, variant: int = 0) -> Library:
    """Return the library of a function, from the disk or compiled now."""
    require_casadi()
    compiler = find_compiler()
    path = stem(source, name, compiler, lanes, variant)
    if not (path.with_suffix('.so').exists() and path.with_suffix('.json').exists()):
        _make(compiler, source, name, lanes, path)
    try:
        return _load(path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # damaged, copied
        _make(compiler, source, name, lanes, path)
    try:
        return _load(path)
    except OSError as error:
        raise GenerationError(
            f'what {compiler.path} compiled cannot be loaded: {str(error).rpartition(": ")[2]}',
            where=str(path.parent),
            repair='Let the variable CC name a compiler for this machine, or set XDG_CACHE_HOME '
            'to a folder that programs may be started from.',
        ) from None


def _make(compiler: Compiler, source: Source, name: str, lanes: int, path: Path) -> None:
    """Trace, print and compile a function, and put it on the disk."""
    from closed_chain_dynamics.codegen.c_text import c_text

    text, described = c_text(source, name)
    library = compile_text(compiler, text, lanes, source.name)
    put(path.with_suffix('.so'), library)
    seal = _seal(path.name, described, library)
    put(path.with_suffix('.json'), json.dumps({**described, 'seal': seal}).encode())


def _seal(name: str, described: dict[str, Any], library: bytes) -> str:
    """Return a hash by which a library is known that was damaged, copied or renamed."""
    told = f'{name} {json.dumps(described)}'
    return hashlib.sha256(told.encode() + library).hexdigest()


def _load(path: Path) -> Library:
    described: dict[str, Any] = json.loads(path.with_suffix('.json').read_text())
    seal, library = described.pop('seal'), path.with_suffix('.so')
    if _seal(path.name, described, library.read_bytes()) != seal:
        raise ValueError(f'{path.name} is not what was built')
    outputs = {k: (r, c) for k, (r, c) in described['outputs'].items()}
    return Library(ctypes.CDLL(str(library)), described['inputs'], outputs, described['kept'])
