"""A room of the package imports only rooms below it: the contract stands in pyproject.toml."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
