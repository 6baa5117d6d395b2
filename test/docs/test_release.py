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

"""A release: source distribution and wheel, installed where nothing of this folder is in reach."""

from importlib import metadata
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile

from lxml import etree
import pytest

import closed_chain_dynamics as ccd

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = 'closed_chain_dynamics'
NOT_SOURCE = ('.*', 'build', 'dist', 'install', 'log', '__pycache__', '*.egg-info', 'docs', 'test')


def run(*words, cwd, **options):
    """Run a program that must succeed, and return what it wrote."""
    done = subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope='module')
def sdist(tmp_path_factory):
    """Return a source distribution, made by the build backend as `python -m build` does."""
    pytest.importorskip('setuptools', reason='setuptools is not installed')
    folder = tmp_path_factory.mktemp('release')
    shutil.copytree(ROOT, folder / 'tree', ignore=shutil.ignore_patterns(*NOT_SOURCE))
    make = f'from setuptools import build_meta as it; it.build_sdist({str(folder)!r})'
    run(sys.executable, '-c', make, cwd=folder / 'tree')
    (built,) = folder.glob('*.tar.gz')
    return built


@pytest.fixture(scope='module')
def wheel(sdist, tmp_path_factory):
    """Return a wheel that was built from the source distribution, not from this folder."""
    folder = tmp_path_factory.mktemp('wheel')
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter='data')
    (source,) = folder.iterdir()
    make = f'from setuptools import build_meta as it; it.build_wheel({str(folder)!r})'
    run(sys.executable, '-c', make, cwd=source)
    (built,) = folder.glob('*.whl')
    return built


def test_the_source_distribution_has_the_package_and_no_part_of_the_tests(sdist):
    """Setuptools takes files named test/test*.py by itself, but not what they import."""
    with tarfile.open(sdist) as archive:
        top = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    assert {PACKAGE, 'urdf', 'CHANGELOG.rst', 'CITATION.cff', 'package.xml'} <= top
    assert not top & {'test', 'docs', 'examples', 'build', '.venv'}


def required(wheel):
    """Return what a wheel requires without extras, and what that requires, by name."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith('.dist-info/METADATA'))
        lines = archive.read(name).decode().splitlines()
    waiting = [each.partition(': ')[2] for each in lines if each.startswith('Requires-Dist: ')]
    found = set()
    while waiting:
        wanted = waiting.pop()
        name = re.match(r'[\w.-]+', wanted)[0]
        if 'extra ==' not in wanted and name not in found:
            found.add(name)
            waiting += metadata.requires(name) or []
    return found


def clean_environment():
    """Return the environment without what leads Python to other packages."""
    return {k: v for k, v in os.environ.items() if k not in ('PYTHONPATH', 'VIRTUAL_ENV')}


@pytest.fixture(scope='module')
def bare(wheel, tmp_path_factory):
    """Return a new environment with the wheel and what it requires, linked from this one."""
    here = tmp_path_factory.mktemp('bare') / 'environment'
    venv.create(here, with_pip=False)
    python = here / 'bin' / 'python'
    # without the path of a colcon workspace: pip would find the package there and install nothing
    run(
        *(sys.executable, '-m', 'pip', '--python', python, 'install', '-qq', '--no-deps'),
        *('--no-index', '--disable-pip-version-check', '--no-compile', wheel),
        cwd=here,
        env=clean_environment(),
    )
    inside = Path(
        run(python, '-c', 'import site; print(site.getsitepackages()[0])', cwd=here).strip()
    )
    for name in required(wheel):
        listed = metadata.files(name)
        if listed is None:
            pytest.skip(f'{name} was installed by the system, which does not list its files')
        for part in {each.parts[0] for each in listed} - {'..', '__pycache__'}:
            # in a workspace of ROS not all packages are in the folder of this interpreter
            (inside / part).symlink_to(metadata.distribution(name).locate_file(part))
    return here


def in_bare(here, *words):
    """Run a program of an environment, in its folder, and return what it wrote."""
    return run(here / 'bin' / words[0], *words[1:], cwd=here, env=clean_environment())


def test_a_wheel_of_the_source_distribution_works_in_an_empty_environment(bare):
    where = f'import {PACKAGE} as ccd; print(ccd.__version__, ccd.__file__)'
    version, path = in_bare(bare, 'python', '-c', where).split()
    assert version == ccd.__version__ and Path(path).is_relative_to(bare)
    said = in_bare(bare, 'closed-chain', 'check', 'four_bar')
    assert 'Mobility 1 = 3 joint velocities - rank 2 of 5 constraint rows.' in said
    assert (bare / 'bin' / 'torque_node').is_file()


def test_only_what_has_an_extra_needs_one(bare):
    """Equations, code, nodes and the view do; a simulation and the commands do not."""
    script = f"""
import importlib, pkgutil
import {PACKAGE} as ccd
ccd.Simulation(ccd.load('four_bar'))
for each in pkgutil.walk_packages(ccd.__path__, '{PACKAGE}.', onerror=lambda name: None):
    try:
        importlib.import_module(each.name)
    except ModuleNotFoundError as error:
        print(each.name.split('.')[1], error.name.split('.')[0])
    except ccd.ClosedChainError:
        print(each.name.split('.')[1], 'told')
"""
    missed = {tuple(line.split()) for line in in_bare(bare, 'python', '-c', script).splitlines()}
    assert {room for room, _ in missed} <= {'codegen', 'ros', 'symbolic', 'viewer'}, missed


def test_the_newest_entry_of_the_changelog_is_this_version_with_its_date():
    """Bloom reads versions and dates from the headings."""
    text = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    headings = re.findall(r'^(.+)\n-+$', text, re.MULTILINE)
    released = [each for each in headings if each != 'Forthcoming']
    version = etree.parse(str(ROOT / 'package.xml')).findtext('version')
    assert re.fullmatch(rf'{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)', released[0])


def test_no_dependency_is_one_that_bloom_refuses():
    """Its generator for Debian stops at a key that rosdep resolves to pip, named ...-pip."""
    keys = [each.text or '' for each in etree.parse(str(ROOT / 'package.xml')).getroot()]
    assert 'rclpy' in keys and not [key for key in keys if re.fullmatch('.+-.+-pip', key)]


def test_the_container_installs_what_the_package_needs():
    """It cannot be built without its base image; what it names must be there."""
    text = (ROOT / 'Dockerfile').read_text(encoding='utf-8')
    assert re.search(r'^FROM ros:(humble|jazzy|kilted)', text, re.MULTILINE)
    for source in re.findall(r'^COPY (?:--\S+ )*(\S+) ', text, re.MULTILINE):
        assert (ROOT / source).exists(), source
    # Podman and Buildah ignore SHELL: every command must be one that /bin/sh understands
    assert 'SHELL' not in text and not re.search(r'(RUN|&&) source ', text)
    assert (
        '"dockerfile": "../Dockerfile"' in (ROOT / '.devcontainer/devcontainer.json').read_text()
    )
