"""The package as a whole: its metadata, its public names, and what is installed."""

import ast
import contextlib
import importlib
import os
from pathlib import Path
import pkgutil
import re
import shutil
import subprocess
import sys
import zipfile

from lxml import etree
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.model import library

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = 'closed_chain_dynamics'

# What the core must never load: ROS, viewers, and the peers that only tests compare with.
OUTSIDE = {
    'rclpy',
    'launch',
    'std_msgs',
    'sensor_msgs',
    'geometry_msgs',
    'viser',
    'matplotlib',
    'sympy',
    'pinocchio',
    'mujoco',
    'urdf_parser_py',
    'hypothesis',
    'pytest',
}
# Layers that may load some of it.
OUTER_LAYERS = (f'{PACKAGE}.ros', f'{PACKAGE}.viewer', f'{PACKAGE}.symbolic')

# PyPI and rosdep call some packages differently.
ROSDEP = {'pyyaml': 'python3-yaml', 'xacro': 'xacro'}


@pytest.fixture(scope='module')
def manifest():
    return etree.parse(str(ROOT / 'package.xml')).getroot()


@pytest.fixture(scope='module')
def setup_arguments():
    """Return the arguments of setup() that are plain values."""
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / 'setup.py').read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'setup'
    ]
    arguments = {}
    for keyword in calls[0].keywords:
        with contextlib.suppress(ValueError):
            arguments[keyword.arg] = ast.literal_eval(keyword.value)
    return arguments


@pytest.fixture(scope='module')
def tree(tmp_path_factory):
    """Return a copy of the source tree, so that building leaves nothing behind."""
    copy = tmp_path_factory.mktemp('source') / PACKAGE
    copy.mkdir()
    for name in ('package.xml', 'setup.py', 'setup.cfg', 'pyproject.toml', 'README.md', 'LICENSE'):
        shutil.copy(ROOT / name, copy)
    for name in ('resource', 'urdf', 'config', 'launch', 'benchmarks', PACKAGE):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns('__pycache__'))
    return copy


@pytest.fixture(scope='module')
def wheel(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp('wheel')
    pip('wheel', '--no-deps', '--no-build-isolation', '--wheel-dir', folder, tree)
    (built,) = folder.glob('*.whl')
    return built


def pip(*arguments):
    done = subprocess.run(
        [sys.executable, '-m', 'pip', *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def modules(package=ccd):
    for found in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
        if not found.name.startswith(OUTER_LAYERS):
            yield found.name


def test_manifest_is_format_3_and_says_what_ament_needs(manifest):
    assert manifest.tag == 'package' and manifest.get('format') == '3'
    assert manifest.findtext('name') == PACKAGE
    assert manifest.findtext('export/build_type') == 'ament_python'
    assert manifest.findtext('license') == 'Apache-2.0'
    assert (
        (ROOT / manifest.find('license').get('file'))
        .read_text()
        .lstrip()
        .startswith('Apache License')
    )
    assert re.fullmatch(r'[^@\s]+@[^@\s]+', manifest.find('maintainer').get('email'))
    dependencies = [
        (each.tag, each.text)
        for each in manifest.iterchildren('{*}*')
        if each.tag.endswith('depend')
    ]
    assert len(dependencies) == len(set(dependencies))


def test_version_is_the_same_everywhere(manifest, setup_arguments):
    assert manifest.findtext('version') == setup_arguments['version'] == ccd.__version__


def test_every_dependency_of_pip_is_a_dependency_of_ros(manifest, setup_arguments):
    names = [re.match(r'[\w-]+', each)[0] for each in setup_arguments['install_requires']]
    keys = {ROSDEP.get(name, f'python3-{name}') for name in names}
    assert keys <= {each.text for each in manifest.findall('exec_depend')}


def test_resource_marker_is_there():
    assert (ROOT / 'resource' / PACKAGE).is_file()


def test_every_public_name_resolves():
    assert ccd.__all__
    for name in (PACKAGE, *modules()):
        module = importlib.import_module(name)
        public = getattr(module, '__all__', [])
        assert len(public) == len(set(public)), name
        for each in public:
            assert hasattr(module, each), f'{name}.__all__ has {each}'


def test_core_loads_no_ros_no_viewer_and_no_peer():
    script = (
        f'import importlib, sys\n'
        f'for name in {[PACKAGE, *modules()]!r}: importlib.import_module(name)\n'
        f'print(*sorted({{name.split(".")[0] for name in sys.modules}}))'
    )
    done = subprocess.run([sys.executable, '-c', script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not OUTSIDE & set(done.stdout.split())


@pytest.mark.parametrize('words', [['check'], ['format', '--check']], ids=' '.join)
def test_style(words):
    done = subprocess.run(
        [sys.executable, '-m', 'ruff', *words], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_wheel_holds_every_module_and_every_model(wheel, tree):
    names = zipfile.ZipFile(wheel).namelist()
    wanted = {path.relative_to(tree).as_posix() for path in (tree / PACKAGE).rglob('*.py')}
    assert wanted <= set(names)
    for folder in ('urdf', 'benchmarks'):
        share = f'.data/data/share/{PACKAGE}/{folder}/'
        assert {name.split(share)[1] for name in names if share in name} == {
            path.relative_to(tree / folder).as_posix()
            for path in (tree / folder).rglob('*')
            if path.is_file()
        }


@pytest.mark.parametrize('where', ['--prefix', '--target'])
def test_models_and_benchmarks_are_found_in_an_installed_wheel(wheel, tmp_path, where):
    pip(
        'install',
        '--no-deps',
        '--no-compile',
        '--ignore-installed',
        '--no-warn-script-location',
        where,
        tmp_path / 'there',
        wheel,
    )
    (code,) = (tmp_path / 'there').rglob(f'{PACKAGE}/errors.py')
    (command,) = (tmp_path / 'there').rglob('closed-chain')
    assert command.parent.name == 'bin'
    share = tmp_path / 'there' / 'share' / PACKAGE

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, 'PYTHONPATH': str(code.parent.parent)},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = run(command, 'models', '--json')
    for name in library.shipped():
        assert str(share / 'urdf' / name) in listed
    script = f'from {PACKAGE}.cli import bench; print(bench.side_by_side().__file__)'
    assert run('-c', script).strip() == str(share / 'benchmarks' / 'side_by_side.py')
