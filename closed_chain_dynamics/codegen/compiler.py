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

"""The C compiler at hand: what it is, what it can do on this machine, and calling it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import errno
import hashlib
import os
from pathlib import Path
import shlex
import shutil
import subprocess
import tempfile

from closed_chain_dynamics.errors import GenerationError

__all__ = ['Compiler', 'cannot_write', 'compile_text', 'find_compiler']

C_OPTIONS = ('-std=gnu11', '-O2', '-fPIC', '-shared', '-fno-math-errno')


@dataclass(frozen=True)
class Compiler:
    """A C compiler, what it says of itself, and what it can do on this machine."""

    path: str
    version: str
    options: tuple[str, ...]
    target: str  # a hash of what it compiles for: with -march=native, this machine's processor
    lanes: int
    libraries: tuple[str, ...]  # of mathematics, with vectors where they are there


_compilers: dict[str, Compiler] = {}


def find_compiler() -> Compiler:
    """Return the C compiler at hand: that of CC, else cc, gcc or clang."""
    wanted = os.environ.get('CC', '')
    if wanted in _compilers:
        return _compilers[wanted]
    # CC may hold options too, or a program that starts the compiler: CC='ccache gcc'
    names, given = _words(wanted) if wanted.strip() else (['cc', 'gcc', 'clang'], ())
    path = next((found for found in map(shutil.which, names) if found), None)
    if path is None:
        raise GenerationError(
            f'no C compiler was found; looked for {", ".join(names)}',
            where='codegen',
            repair='Install gcc or clang, or let the variable CC name one.',
        )
    told = _run([path, *given, '--version']).stdout
    native = _works(path, (*given, '-march=native'), 'int answer;')
    options = (*given, *C_OPTIONS, *(['-march=native'] if native else []))
    flags = _run([path, *options, '-dM', '-E', '-x', 'c', os.devnull]).stdout
    target = hashlib.sha256(flags.encode()).hexdigest()
    lanes = 8 if '__AVX512F__' in flags else 4
    probe = {4: '_ZGVdN4v_sin', 8: '_ZGVeN8v_sin'}[lanes]
    has_vectors = '__AVX2__' in flags and _works(
        path,
        (*options, '-Wl,--no-undefined', '-lmvec', '-lm'),
        f'typedef double real __attribute__((vector_size({8 * lanes})));'
        f'real {probe}(real); real f(real x) {{ return {probe}(x); }}',
    )
    libraries = ('-lmvec', '-lm') if has_vectors else ('-lm',)
    found = Compiler(path, told, options, target, lanes, libraries)
    _compilers[wanted] = found
    return found


def _words(wanted: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the program that CC names, in a list, and what comes behind it."""
    if shutil.which(wanted):  # there may be a space in its path
        return [wanted], ()
    try:
        program, *behind = shlex.split(wanted)
    except ValueError:  # a quotation without end
        return [wanted], ()
    return [program], tuple(behind)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Return what a compiler answers; a file that is no program is refused."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors='replace')
    except OSError as error:
        raise GenerationError(
            f'{command[0]} cannot be started: {error.strerror}',
            where='codegen',
            repair='Let the variable CC name a C compiler.',
        ) from None


def _works(path: str, options: tuple[str, ...], text: str) -> bool:
    """Return whether the compiler takes options for a text; libraries come behind it."""
    with _scratch_folder(text) as source:
        switches = [each for each in options if not each.startswith('-l')]
        libraries = [each for each in options if each.startswith('-l')]
        made = source.with_suffix('.so')
        command = [path, *switches, '-shared', '-fPIC', '-o', str(made), str(source)]
        return _run([*command, *libraries]).returncode == 0


@contextmanager
def _scratch_folder(text: str) -> Iterator[Path]:
    """Give a text as a C file in a folder of its own, which goes afterwards."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / 'generated.c'
            source.write_text(text)
            yield source
    except OSError as error:
        raise cannot_write(error, os.environ.get('TMPDIR', '/tmp')) from None


def compile_text(compiler: Compiler, text: str, lanes: int, where: str) -> bytes:
    """Return the shared library that a C text becomes; `where`: whose text it is."""
    with _scratch_folder(text) as source:
        made = source.with_suffix('.so')
        command = [compiler.path, *compiler.options, f'-DLANES={lanes}']
        if '-lmvec' in compiler.libraries:
            command.append('-DVECTOR_MATH')
        command += ['-o', str(made), str(source), *compiler.libraries]
        done = _run(command)
        full = os.strerror(errno.ENOSPC)
        if full in done.stderr:  # what compilers say of it otherwise does not help
            raise cannot_write(OSError(errno.ENOSPC, full), source.parent)
        if done.returncode or not made.exists():
            first = next((line for line in done.stderr.splitlines() if 'error' in line), '')
            told = first or done.stderr.strip()[:200]
            raise GenerationError(
                f'{compiler.path} could not compile the generated code: '
                f'{told or f"it wrote nothing, exit code {done.returncode}"}',
                where=where,
                repair='Let the variable CC name another compiler.',
            )
        return made.read_bytes()


def cannot_write(error: OSError, folder: Path | str) -> GenerationError:
    """Return what is told where a file cannot be written."""
    return GenerationError(
        f'compiled code cannot be written: {error.strerror}',
        where=str(folder),
        repair='Make room there, or set XDG_CACHE_HOME (TMPDIR) to another folder.',
    )
