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

"""A room of the package imports only rooms below it: the contract stands in pyproject.toml."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# what every module of a kind has, under the name by which it is asked for
OF_EVERY_ONE = {
    'SUMMARY': 'the line of a sub-command in the help of `closed-chain`',
    'DETAILS': 'the paragraphs of its own help',
    'EXAMPLES': 'the examples below them',
    'SCHEMA': 'the kind and version of a JSON report',
    'SETTINGS': 'the parameters of a node',
}
ROOMS = sorted((ROOT / 'closed_chain_dynamics').rglob('__init__.py'))


def test_no_room_imports_one_above_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Function-level imports count."""
    linter = pytest.importorskip('importlinter.cli', reason='import-linter is not installed')
    monkeypatch.chdir(ROOT)
    code = linter.lint_imports(config_filename=str(ROOT / 'pyproject.toml'), no_cache=True)
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize('path', ROOMS, ids=lambda path: path.parent.name)
def test_every_room_says_what_it_is_for(path: Path) -> None:
    """The docstring of its `__init__` says what may live there."""
    assert ast.get_docstring(ast.parse(path.read_text(encoding='utf-8')))


def test_imports_outside_the_kernels_are_absolute() -> None:
    """One way to write them; the kernels name their neighbours."""
    relative = [
        path
        for path in (ROOT / 'closed_chain_dynamics').rglob('*.py')
        if path.parent.name != 'kernels'
        and any(
            isinstance(node, ast.ImportFrom) and node.level
            for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
        )
    ]
    assert not relative


def test_a_kernel_takes_at_most_eight_arguments() -> None:
    """More than that nobody reads: what belongs together is a named tuple or stands in a table."""
    long = [
        f'{path.name}: {node.name}'
        for path in (ROOT / 'closed_chain_dynamics' / 'kernels').glob('*.py')
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > 8
    ]
    assert not long


def test_a_node_is_at_most_150_lines_with_its_contract() -> None:
    """It says what it takes and gives, and lives; what it does with messages stands elsewhere."""
    nodes = (ROOT / 'closed_chain_dynamics' / 'ros' / 'nodes').glob('*_node.py')
    lines = {path.name: len(path.read_text(encoding='utf-8').splitlines()) for path in nodes}
    assert lines and {name: count for name, count in lines.items() if count > 150} == {}


def defined(tree: ast.Module) -> Iterator[str]:
    """Name the classes, types and constants that a module defines for itself."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        for target in (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        ):
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name) and each.id[0].isupper():
                    yield each.id


def test_a_class_a_type_and_a_constant_have_a_name_and_a_place_of_their_own() -> None:
    """One meaning, one name, one place: a reader who looks for a name finds one definition."""
    where = defaultdict(list)
    for path in sorted((ROOT / 'closed_chain_dynamics').rglob('*.py')):
        for name in defined(ast.parse(path.read_text(encoding='utf-8'))):
            where[name].append(str(path.relative_to(ROOT / 'closed_chain_dynamics')))
    twice = {name: paths for name, paths in where.items() if len(paths) > 1}
    assert {name for name in twice if name not in OF_EVERY_ONE} == set(), twice
    assert set(OF_EVERY_ONE) <= set(twice)


@pytest.mark.parametrize('path', ROOMS, ids=lambda path: path.parent.name)
def test_no_function_of_a_room_hides_a_module_of_it(path: Path) -> None:
    """Then `room.name` is the module before it is imported, and the function ever after."""
    modules = {each.stem for each in path.parent.glob('*.py')} - {'__init__'}
    room = '.'.join(path.parent.relative_to(ROOT).parts)
    given = {
        each.asname or each.name
        for node in ast.parse(path.read_text(encoding='utf-8')).body
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module != room
        for each in node.names
    }
    assert not modules & given
