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

"""Compiled libraries: compilers that fail in other ways, damaged files, what a library is of."""

import ast
import resource

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.codegen.cache import CALLERS, CODE_FOLDER, cache_folder, put, writers
from closed_chain_dynamics.codegen.compiler import find_compiler
from closed_chain_dynamics.errors import GenerationError


def compiler(at, monkeypatch, *lines):
    """Let CC name a program with these lines."""
    program = at / 'compiler'
    program.write_text('\n'.join(['#!/bin/sh', *lines]))
    program.chmod(0o755)
    monkeypatch.setenv('CC', str(program))


def test_a_compiler_that_writes_nothing_is_told(monkeypatch, tmp_path, empty_cache):
    compiler(tmp_path, monkeypatch, 'exit 0')
    with pytest.raises(GenerationError, match='it wrote nothing'):
        ccd.load('pendulum').compile()


def test_a_compiler_that_is_no_program_is_told(monkeypatch, tmp_path, empty_cache):
    file = tmp_path / 'cc'
    file.write_bytes(b'\x01\x02')
    file.chmod(0o755)
    monkeypatch.setenv('CC', str(file))
    with pytest.raises(GenerationError, match='cannot be started'):
        ccd.load('pendulum').compile()


def test_a_compiler_may_be_named_with_options_and_with_what_starts_it(monkeypatch, empty_cache):
    for named in ('gcc -DANY=1', 'env LC_ALL=C gcc', '"/usr/bin/env" gcc'):
        monkeypatch.setenv('CC', named)
        assert find_compiler().options[:1] == (named.split()[1],)
        assert not ccd.load('pendulum').compile().forward_dynamics([0.1], [0.0]).generic
    for named in ('no-such-program gcc', 'gcc "'):
        monkeypatch.setenv('CC', named)
        with pytest.raises(GenerationError, match='no C compiler was found'):
            ccd.load('pendulum').compile()


def test_a_library_that_cannot_be_loaded_is_told(monkeypatch, tmp_path, empty_cache):
    """As from a compiler for another machine, or in a folder without permission to run."""
    compiler(
        tmp_path,
        monkeypatch,
        'while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done',
        'echo other > "${2:-/dev/null}"',
    )
    with pytest.raises(GenerationError, match='cannot be loaded') as told:
        ccd.load('pendulum').compile()
    assert 'XDG_CACHE_HOME' in str(told.value)


def test_a_damaged_library_that_cannot_be_made_again_is_told(empty_cache):
    ccd.load('pendulum').compile()
    (library,) = cache_folder().glob('forward_dynamics-*.so')
    library.unlink()
    library.mkdir()
    with pytest.raises(GenerationError, match='cannot be written'):
        ccd.load('pendulum').compile()


def test_a_compiler_without_room_on_the_disk_is_not_to_blame(monkeypatch, tmp_path, empty_cache):
    says = 'echo "ld: No space left on device" >&2; echo "error: ld returned 1" >&2; exit 1'
    compiler(tmp_path, monkeypatch, says)
    with pytest.raises(GenerationError, match='cannot be written: No space left on device'):
        ccd.load('pendulum').compile()


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))  # bytes that a file may have
    try:
        with pytest.raises(GenerationError, match='cannot be written'):
            put(tmp_path / 'library.so', bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_one_wrong_byte_in_a_library_is_found_out(empty_cache):
    """The loader of the system looks at few bytes of a file; any other may be a number."""
    ccd.load('pendulum').compile()
    (library,) = cache_folder().glob('forward_dynamics-*.so')
    right = library.read_bytes()
    library.unlink()  # what is loaded stays as it is
    library.write_bytes(right[:-1] + bytes([right[-1] ^ 0xFF]))
    ccd.load('pendulum').compile()
    assert library.read_bytes() == right


def test_a_description_that_does_not_belong_to_its_library_is_found_out(empty_cache):
    ccd.load('pendulum').compile()
    (described,) = cache_folder().glob('forward_dynamics-*.json')
    right = described.read_text()
    for wrong in (right.replace('1', '2', 1), '[]', 'null', ''):
        described.write_text(wrong)
        ccd.load('pendulum').compile()
        assert described.read_text() == right


def test_libraries_depend_on_every_bound_that_is_taken_from_the_core():
    known = {str(file.relative_to(CODE_FOLDER.parent.parent)) for file in writers()}
    bounds = set()
    for file in CODE_FOLDER.glob('*.py'):
        if file.stem in CALLERS:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith('closed_chain'):
                path = node.module.replace('.', '/')
                if any(each.name.isupper() for each in node.names):
                    bounds.add(f'{path}.py')
                elif node.module == 'closed_chain_dynamics.kernels':  # modules with bounds
                    bounds |= {f'{path}/{each.name}.py' for each in node.names}
    assert 'closed_chain_dynamics/kernels/loop_closing.py' in bounds
    assert bounds <= known
