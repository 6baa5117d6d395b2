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

"""The package as a whole: its metadata, its public names, and what is installed."""

import ast
import contextlib
import importlib
import inspect
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
import yaml

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

# PyPI and rosdep call some packages differently, as do an import and its package.
ROSDEP = {'pyyaml': 'python3-yaml', 'xacro': 'xacro'}
IMPORTED = {
    'PIL': 'python3-pil',
    'urdf_parser_py': 'urdfdom_py',
    'yaml': 'python3-yaml',
    **{name: f'python3-{name}' for name in ('argcomplete', 'lxml', 'matplotlib', 'numba')},
    **{name: f'python3-{name}' for name in ('numpy', 'scipy', 'sympy', 'transforms3d')},
}
# What rosdep has no name for, from an extra of pip, and what one of those or numba brings along.
EXTRAS = {
    'casadi',
    'dask',
    'distributed',
    'ezc3d',
    'llvmlite',
    'mujoco',
    'pinocchio',
    'pyarrow',
    'rosbags',
    'SALib',
    'trimesh',
    'viser',
}
FROM_ROS = re.compile(r'\w+_(msgs|srvs|interfaces)|rclpy|launch(_ros)?|tf_transformations|xacro')


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


def called():
    """Return (name, function) of every public function and class, and of what classes offer."""
    for name in ccd.__all__:
        thing = getattr(ccd, name)
        if callable(thing):
            yield name, thing
        if inspect.isclass(thing):
            for key, method in inspect.getmembers(thing, callable):
                if not key.startswith('_') and hasattr(method, '__code__'):
                    yield f'{name}.{key}', method


@pytest.mark.parametrize('name, function', [*called()])
def test_signatures_can_be_read(name, function):
    """As `help` shows them: types by their names, not what those stand for, and all options."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # of Python's own exceptions
        return
    assert 'numpy.' not in str(signature) and '0x' not in str(signature)
    takes_anything = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    assert not takes_anything or name == 'CompiledMechanism.slopes'  # inputs of a trace by name


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


def imports_of(folder):
    """Return the top names of all that a folder's files import, within functions too."""
    names = set()
    for path in folder.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Import):
                names |= {each.name.partition('.')[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition('.')[0])
    return names - {PACKAGE}


def test_everything_that_the_package_imports_is_in_the_manifest(manifest):
    named = {each.text for each in manifest.findall('exec_depend')}
    for name in imports_of(ROOT / PACKAGE) | imports_of(ROOT / 'launch'):
        if name in sys.stdlib_module_names | EXTRAS:
            continue
        if FROM_ROS.fullmatch(name):
            assert name in named
        elif name in IMPORTED:
            assert IMPORTED[name] in named
        else:
            pytest.fail(f'{name} is imported: add it to package.xml or to an extra of setup.py')


def test_the_address_of_the_maintainers_stands_in_one_place(manifest):
    address = manifest.find('maintainer').get('email')
    listed = subprocess.run(
        ['git', 'grep', '--files-with-matches', '--fixed-strings', address],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode == 128:
        pytest.skip('this is not a git repository')
    assert listed.stdout.split() == ['package.xml']


def test_the_workflow_runs_the_pythons_that_are_supported(setup_arguments):
    workflow = yaml.safe_load((ROOT / '.github/workflows/ci.yml').read_text())
    lowest, beyond = (
        int(each) for each in re.findall(r'3\.(\d+)', setup_arguments['python_requires'])
    )
    assert workflow['jobs']['make']['strategy']['matrix']['python'] == [
        f'3.{minor}' for minor in range(lowest, beyond)
    ]
    commands = [step.get('run', '') for step in workflow['jobs']['make']['steps']]
    assert 'make test' in commands and 'make demo SECONDS=10' in commands


def test_the_citation_names_this_version(manifest):
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    assert citation['version'] == manifest.findtext('version')
    assert citation['license'] == manifest.findtext('license')
    assert citation['authors'] and citation['title'] == PACKAGE


def test_every_hook_runs_a_tool_of_the_test_extra(setup_arguments):
    hooks = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())['repos'][0]['hooks']
    tools = {'ruff', 'mypy', 'import-linter'}
    assert {each['id'].removesuffix('-format') for each in hooks} == tools
    assert tools <= set(setup_arguments['extras_require']['test'])


def test_what_contributors_are_told_to_look_at_is_there():
    for page in ('CONTRIBUTING.md', 'SECURITY.md'):
        text = (ROOT / page).read_text(encoding='utf-8')
        for name in re.findall(r'`((?:\w+/)+[\w.]*)`|\]\(([\w./]+)\)', text):
            name = name[0] or name[1]
            assert any((base / name).exists() for base in (ROOT, ROOT / PACKAGE)), (page, name)


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


def test_every_file_has_the_licence_header_that_ament_asks_for():
    """`ament_copyright` looks for these lines at the top, after the line that names a shell."""
    header = (ROOT / 'setup.py').read_text(encoding='utf-8').split('\n\n')[0]
    assert header.startswith('# Copyright 2026 ') and 'Apache License, Version 2.0' in header
    folders = ('', 'closed_chain_dynamics/**/', 'test/**/', 'examples/', 'benchmarks/', 'launch/')
    files = {path for folder in folders for path in ROOT.glob(f'{folder}*.py')}
    assert len(files) > 500
    for path in files:
        text = path.read_text(encoding='utf-8')
        assert header in text[: len(header) + 80] or not text.strip(), path


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
    assert f'{PACKAGE}/py.typed' in names  # type checkers of users look for it
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
