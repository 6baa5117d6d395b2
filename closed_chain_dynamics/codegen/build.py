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
From a source to a loaded library: trace, print, compile, keep on disk.

Libraries lie in a folder of the user, named by a hash of all that they depend on: the mechanism
and its structure, the function, the package, and the compiler with its options.
"""

from collections.abc import Iterator
import ctypes
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
import hashlib
from importlib.metadata import version
import json
import os
from pathlib import Path
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.errors import GenerationError
from closed_chain_dynamics.kernels import holds, run, step

if TYPE_CHECKING:
    from closed_chain_dynamics.codegen.traces import Trace

__all__ = [
    'Compiler',
    'Library',
    'build',
    'cache_folder',
    'find_compiler',
    'is_built',
    'require_casadi',
]

HERE = Path(__file__).parent
OPTIONS = ('-std=gnu11', '-O2', '-fPIC', '-shared', '-fno-math-errno')
STEP_PARTS = ('forward_dynamics', 'local_rate', 'advance', 'newton_step', 'settle_velocity')
STEP = 'step'
RUN_PARTS = ('slopes', 'local_rate', 'advance', 'closing', 'look')
RUN = 'run'
VARIANTS = 4  # of the code of a run, for poses in which the pivots of others fail
# modules that only call what was generated: the code does not depend on them
CALLERS = (
    '__init__', 'background', 'batch', 'compiled', 'derivatives', 'export', 'functions', 'runner',
    'parameters', 'sensitivities',
)  # fmt: skip


@dataclass(frozen=True)
class Compiler:
    """A C compiler, what it says of itself, and what it can do on this machine."""

    path: str
    version: str
    options: tuple[str, ...]
    lanes: int
    libraries: tuple[str, ...]  # of the vector version


@dataclass(frozen=True)
class Library:
    """A loaded library, and the shapes of what goes in and comes out."""

    dll: ctypes.CDLL
    inputs: dict[str, int]
    outputs: dict[str, tuple[int, int]]
    margins: int  # numbers behind the outputs


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


_compilers: dict[str, Compiler] = {}


def find_compiler() -> Compiler:
    """Return the C compiler at hand: that of CC, else cc, gcc or clang."""
    wanted = os.environ.get('CC', '')
    if wanted in _compilers:
        return _compilers[wanted]
    names = [wanted] if wanted else ['cc', 'gcc', 'clang']
    path = next((found for found in map(shutil.which, names) if found), None)
    if path is None:
        raise GenerationError(
            f'no C compiler was found; looked for {", ".join(names)}',
            where='codegen',
            repair='Install gcc or clang, or let the variable CC name one.',
        )
    told = subprocess.run([path, '--version'], capture_output=True, text=True).stdout
    native = _works(path, ('-march=native',), 'int answer;')
    options = (*OPTIONS, '-march=native') if native else OPTIONS
    flags = subprocess.run(
        [path, *options, '-dM', '-E', '-x', 'c', os.devnull], capture_output=True, text=True
    ).stdout
    lanes = 8 if '__AVX512F__' in flags else 4
    probe = {4: '_ZGVdN4v_sin', 8: '_ZGVeN8v_sin'}[lanes]
    has_vectors = '__AVX2__' in flags and _works(
        path,
        (*options, '-Wl,--no-undefined', '-lmvec', '-lm'),
        f'typedef double real __attribute__((vector_size({8 * lanes})));'
        f'real {probe}(real); real f(real x) {{ return {probe}(x); }}',
    )
    found = Compiler(path, told, options, lanes, ('-lmvec', '-lm') if has_vectors else ('-lm',))
    _compilers[wanted] = found
    return found


def _works(path: str, options: tuple[str, ...], text: str) -> bool:
    """Return whether the compiler takes options for a text; libraries come behind it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / 'probe.c'
        source.write_text(text)
        switches = [each for each in options if not each.startswith('-l')]
        libraries = [each for each in options if each.startswith('-l')]
        command = [path, *switches, '-shared', '-fPIC', '-o', f'{folder}/probe.so', str(source)]
        return subprocess.run([*command, *libraries], capture_output=True).returncode == 0


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


@lru_cache(maxsize=1)
def _own_code() -> bytes:
    """Return a hash of what generates code here."""
    digest = hashlib.sha256()
    for file in sorted(HERE.iterdir()):
        if file.suffix in ('.py', '.c', '.h') and file.stem not in CALLERS:
            digest.update(file.read_bytes())
    return digest.digest()


def _key(source: Source, name: str, compiler: Compiler, lanes: int) -> str:
    digest = hashlib.sha256()
    for part in _parts(source):
        digest.update(part)
    digest.update(_own_code())  # another version of this package
    text = f'{name} {lanes} {compiler} {version("casadi")}'
    digest.update(text.encode())
    return digest.hexdigest()[:32]


def _stem(source: Source, name: str, compiler: Compiler, lanes: int, variant: int) -> Path:
    """Return where a library lies; that of a run may be of any pose, since it is watched."""
    if name == RUN:
        loops = tuple(replace(loop, seen=0.0) for loop in source.loops)
        source = replace(source, q=np.zeros(0), loops=loops)
    return cache_folder() / f'{name}-{_key(source, name, compiler, lanes)}-{variant}'


def is_built(source: Source, name: str, variant: int = 0) -> bool:
    """Return whether the library of a function, for single states, is on the disk."""
    stem = _stem(source, name, find_compiler(), 1, variant)
    return stem.with_suffix('.so').exists() and stem.with_suffix('.json').exists()


def build(source: Source, name: str, *, lanes: int = 1, variant: int = 0) -> Library:
    """Return the library of a function, from the disk or compiled now."""
    require_casadi()
    compiler = find_compiler()
    stem = _stem(source, name, compiler, lanes, variant)
    library, shapes = stem.with_suffix('.so'), stem.with_suffix('.json')
    if not (library.exists() and shapes.exists()):
        text, described = c_text(source, name)
        _compile(compiler, text, library, lanes, source.name)
        _put(shapes, json.dumps(described).encode())
    try:
        dll = ctypes.CDLL(str(library))
        described = json.loads(shapes.read_text())
    except (OSError, ValueError):  # half written, or of another machine: once more
        library.unlink(missing_ok=True)
        text, described = c_text(source, name)
        _compile(compiler, text, library, lanes, source.name)
        _put(shapes, json.dumps(described).encode())
        dll = ctypes.CDLL(str(library))
    outputs = {k: (r, c) for k, (r, c) in described['outputs'].items()}
    return Library(dll, described['inputs'], outputs, described['margins'])


def c_text(source: Source, name: str) -> tuple[str, dict[str, Any]]:
    """Return the C text of a function with its driver, and its shapes."""
    from closed_chain_dynamics.codegen.printer import print_function
    from closed_chain_dynamics.codegen.traces import trace

    if name == STEP:
        parts = [trace(source, each) for each in STEP_PARTS]
        text = ''.join(print_function(each) for each in parts)
        return _joined(text, 'roll.c', step_sizes(source, parts)), {
            'inputs': {},
            'outputs': {},
            'margins': 0,
        }
    if name == RUN:
        traces = {each: trace(source, each) for each in RUN_PARTS}
        text = ''.join(print_function(each) for each in traces.values())
        text = _joined(text, 'run.c', run_sizes(source, traces))
        return f'#include <string.h>\n{text}', {'inputs': {}, 'outputs': {}, 'margins': 0}
    traced = trace(source, name)
    values = {k: s for k, s in traced.outputs.items() if k not in ('margin', 'closed')}
    n_values = sum(r * c for r, c in values.values())
    n_all = sum(r * c for r, c in traced.outputs.values())
    defined = {
        'FUNCTION': name,
        'NX': sum(traced.inputs.values()),
        'NY': n_values,
        'NM': n_all - n_values,
        'INPUTS': len(traced.inputs),
        'WIDTHS': '{' + ', '.join(map(str, traced.inputs.values())) + '}',
    }
    described = {'inputs': traced.inputs, 'outputs': values, 'margins': n_all - n_values}
    return _joined(print_function(traced), 'call.c', defined), described


def step_sizes(source: Source, parts: list['Trace']) -> dict[str, int]:
    """Return the sizes that the driver of a simulation step needs."""
    forward, _, _, newton, settle = parts
    open_margins = forward.outputs['margin'][0]
    return {
        'NQ': source.nq,
        'NV': source.nv,
        'NA': len(source.motors),
        'NF': open_margins + forward.outputs['closed'][0],
        'NF_OPEN': open_margins,
        'NN': newton.outputs['margin'][0],
        'NS': settle.outputs['margin'][0] + settle.outputs['closed'][0],
        'LOOPS': int(source.rows > 0),
    }


def run_sizes(source: Source, traces: dict[str, 'Trace']) -> dict[str, Any]:
    """Return sizes and bounds that the driver of a run needs."""
    from closed_chain_dynamics.codegen.run_traces import counted_loops

    closing, couplings = traces['closing'].outputs, len(source.couplings)
    return {
        'NQ': source.nq,
        'NV': source.nv,
        'NA': len(source.motors),
        'NS': traces['slopes'].outputs['margin'][0],
        'NE': closing['errors'][0],
        'NL': closing['errors'][0] - couplings,
        'NF': closing['flips'][0],
        'NC': closing['margin'][0],
        'NW': len(source.watched),
        'NR': sum(w.rubs for w in source.watched),
        'NT': len(counted_loops(source)),
        'REDUNDANT_ROWS': int(source.nv - len(source.independent) < source.rows),
        'CLOSED': step.CLOSED,
        'CLOSING_STEPS': step.CLOSING_STEPS,
        'STANDSTILL': step.STANDSTILL,
        'ROUNDING': run.ROUNDING,
        'EASILY': run.EASILY,
        'TURNING': holds.TURNING,
        'TOUCHING': holds.TOUCHING,
        'QUARTER': holds.QUARTER,
    }


def _joined(functions: str, driver: str, defined: dict[str, Any]) -> str:
    lines = ''.join(f'#define {key} {value}\n' for key, value in defined.items())
    return f'{(HERE / "real.h").read_text()}\n{functions}\n{lines}\n{(HERE / driver).read_text()}'


def _compile(compiler: Compiler, text: str, library: Path, lanes: int, where: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / 'generated.c', Path(folder) / 'generated.so'
        try:
            source.write_text(text)
        except OSError as error:
            raise _disk(error, source) from None
        command = [compiler.path, *compiler.options, f'-DLANES={lanes}']
        if lanes > 1 and '-lmvec' in compiler.libraries:
            command.append('-DVECTOR_MATH')
        command += ['-o', str(made), str(source), *compiler.libraries]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if 'error' in line), '')
            raise GenerationError(
                f'{compiler.path} could not compile the generated code: '
                f'{first or done.stderr.strip()[:200] or f"exit code {done.returncode}"}',
                where=where,
                repair='Let the variable CC name another compiler.',
            )
        _put(library, made.read_bytes())


def _put(path: Path, data: bytes) -> None:
    """Write a file all at once: another process sees the whole of it or nothing."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, 'wb') as file:
            file.write(data)
        os.replace(name, path)
    except OSError as error:
        raise _disk(error, path) from None


def _disk(error: OSError, path: Path) -> GenerationError:
    return GenerationError(
        f'compiled code cannot be written: {error.strerror}',
        where=str(path.parent),
        repair='Make room there, or set XDG_CACHE_HOME (TMPDIR) to another folder.',
    )
