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

import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv

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


def test_a_wheel_of_the_source_distribution_works_in_an_empty_environment(wheel, tmp_path):
    """The environment is new; only libraries that the package depends on come from this one."""
    here = tmp_path / 'environment'
    venv.create(here, with_pip=False)
    python = here / 'bin' / 'python'
    run(
        *(sys.executable, '-m', 'pip', '--python', python, 'install', '-qq', '--no-deps'),
        *('--no-index', '--disable-pip-version-check', '--no-compile', wheel),
        cwd=tmp_path,
    )
    inside = Path(
        run(python, '-c', 'import site; print(site.getsitepackages()[0])', cwd=tmp_path).strip()
    )
    (inside / 'dependencies.pth').write_text(sysconfig.get_paths()['purelib'] + '\n')
    clean = {k: v for k, v in os.environ.items() if k not in ('PYTHONPATH', 'VIRTUAL_ENV')}
    where = f'import {PACKAGE} as ccd; print(ccd.__version__, ccd.__file__)'
    version, path = run(python, '-c', where, cwd=tmp_path, env=clean).split()
    assert version == ccd.__version__ and Path(path).is_relative_to(inside)
    said = run(here / 'bin' / 'closed-chain', 'check', 'four_bar', cwd=tmp_path, env=clean)
    assert 'Mobility 1 = 3 joint velocities - rank 2 of 5 constraint rows.' in said
    assert (here / 'bin' / 'torque_node').is_file()


def test_the_newest_entry_of_the_changelog_is_this_version_with_its_date():
    """Bloom reads versions and dates from the headings."""
    text = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    headings = re.findall(r'^(.+)\n-+$', text, re.MULTILINE)
    released = [each for each in headings if each != 'Forthcoming']
    version = etree.parse(str(ROOT / 'package.xml')).findtext('version')
    assert re.fullmatch(rf'{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)', released[0])


def test_the_container_installs_what_the_package_needs():
    """It cannot be built without its base image; what it names must be there."""
    text = (ROOT / 'Dockerfile').read_text(encoding='utf-8')
    assert re.search(r'^FROM ros:(humble|jazzy|kilted)', text, re.MULTILINE)
    for source in re.findall(r'^COPY (?:--\S+ )*(\S+) ', text, re.MULTILINE):
        assert (ROOT / source).exists(), source
    assert (
        '"dockerfile": "../Dockerfile"' in (ROOT / '.devcontainer/devcontainer.json').read_text()
    )
