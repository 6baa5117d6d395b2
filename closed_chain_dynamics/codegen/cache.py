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
Compiled libraries on the disk, in a folder of the user.

They are named by a hash of all that they depend on: the mechanism and its structure, the
function, the code of this package that writes C, and the compiler with its options. So a library
of another version is never found, and a file is whole or not there.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
import hashlib
from importlib.metadata import version
import os
from pathlib import Path
import tempfile
from typing import Any

import numpy as np

from closed_chain_dynamics.codegen.compiler import Compiler, cannot_write
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import GenerationError

__all__ = [
    'DERIVATIVES',
    'DRIVE',
    'RUN_LIBRARY',
    'STEP_LIBRARY',
    'cache_folder',
    'fingerprint',
    'put',
    'stem',
    'writers',
]

CODE_FOLDER = Path(__file__).parent
STEP_LIBRARY, RUN_LIBRARY = (
    'step',
    'run',
)  # libraries of several functions: steps, and a simulation's run
DRIVE = 'drive'  # what a control law needs: torques that give theta_G''
DERIVATIVES = 'differentiate'  # loops in C over generated numbers
# modules that only call what was generated: the code does not depend on them
CALLERS = (
    '__init__', 'answers', 'background', 'batch', 'chain_rule', 'compiled',
    'firmware_export', 'forward_derivatives', 'functions', 'parameters', 'results', 'rollouts',
    'runner', 'sensitivities',
)  # fmt: skip


def cache_folder() -> Path:
    """Return the folder of compiled libraries, made if need be."""
    base = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    folder = Path(base).expanduser() / 'closed_chain_dynamics' / 'codegen'
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GenerationError(
            f'the folder for compiled code cannot be made: {error.strerror}',
            where=str(folder),
            repair='Set XDG_CACHE_HOME to a folder that can be written.',
        ) from None
    return folder


def _parts(value: Any) -> Iterator[bytes]:
    """Yield all that a value holds, in a fixed order and to the last digit."""
    if isinstance(value, np.ndarray):
        yield str(value.shape).encode() + np.ascontiguousarray(value).tobytes()
    elif is_dataclass(value):
        for each in fields(value):
            if each.name not in ('W', 'motor_rows'):  # follow from the rest
                yield from _parts(getattr(value, each.name))
    elif isinstance(value, dict):
        yield from _parts(tuple(value.items()))
    elif isinstance(value, tuple):
        yield b'('
        for item in value:
            yield from _parts(item)
        yield b')'
    else:
        yield repr(value).encode() + b','


def writers() -> list[Path]:
    """Return the files that generated code depends on: what writes it, and the core's bounds."""
    own = [
        file
        for file in CODE_FOLDER.iterdir()
        if file.suffix in ('.py', '.c', '.h') and file.stem not in CALLERS
    ]
    package = CODE_FOLDER.parent
    return sorted([*own, *package.glob('kernels/*.py'), *package.glob('model/*.py')])


@lru_cache(maxsize=1)
def _own_code() -> bytes:
    """Return a hash of what generates code here."""
    digest = hashlib.sha256()
    for file in writers():
        digest.update(file.read_bytes())
    return digest.digest()


def fingerprint(source: Source) -> bytes:
    """Return a hash of all that a source holds."""
    digest = hashlib.sha256()
    for part in _parts(source):
        digest.update(part)
    return digest.digest()


def _key(source: Source, name: str, compiler: Compiler, lanes: int) -> str:
    digest = hashlib.sha256(fingerprint(source))
    digest.update(_own_code())  # another version of this package
    text = f'{name} {lanes} {compiler} {version("casadi")}'
    digest.update(text.encode())
    return digest.hexdigest()[:32]


def stem(source: Source, name: str, compiler: Compiler, lanes: int, variant: int) -> Path:
    """Return where a library lies; some may be of any pose, since their pivots are watched."""
    if name == DRIVE:
        source = replace(source, q=np.zeros(0))
    if name == RUN_LIBRARY:
        loops = tuple(replace(loop, seen=0.0) for loop in source.loops)
        source = replace(source, q=np.zeros(0), loops=loops)
    return cache_folder() / f'{name}-{_key(source, name, compiler, lanes)}-{variant}'


def put(path: Path, data: bytes) -> None:
    """Write a file all at once: another process sees the whole of it or nothing."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, 'wb') as file:
                file.write(data)
            os.replace(name, path)
        except OSError:
            Path(name).unlink()  # a disk without room needs it
            raise
    except OSError as error:
        raise cannot_write(error, path.parent) from None
