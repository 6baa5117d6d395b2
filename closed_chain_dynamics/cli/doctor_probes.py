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
How ``closed-chain doctor`` looks for a library, a program, or a module that has to work.

A probe returns a check: a function of a name and its group that returns a Finding.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata, util
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys

__all__ = ['Check', 'Finding', 'imported', 'library', 'program']

ANSWER_WITHIN = 30  # [s] for a program that is asked for its version


@dataclass
class Finding:
    """What was found out about one thing."""

    name: str
    group: str
    state: str  # ok, missing or broken
    version: str = ''
    about: str = ''  # what it is for, where it is, or what is wrong with it
    remedy: str = ''  # the command that gets it


Check = Callable[[str, str], Finding]  # of the name and the group of what is looked for


def library(module: str, remedy: str, about: str) -> Check:
    """Return a check that finds a module without importing it."""

    def check(name: str, group: str) -> Finding:
        if util.find_spec(module) is None:
            return Finding(name, group, 'missing', about=about, remedy=remedy)
        return Finding(name, group, 'ok', _version(name, module), about)

    return check


def _version(*names: str) -> str:
    """Return the version that the installed metadata has under one of several names."""
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ''


def program(names: Sequence[str], remedy: str, about: str) -> Check:
    """Return a check that finds the first of some programs and asks it for its version."""

    def check(name: str, group: str) -> Finding:
        path = next(filter(None, map(shutil.which, names)), None)
        if path is None:
            return Finding(name, group, 'missing', about=about, remedy=remedy)
        flag = '-version' if name == 'ffmpeg' else '--version'
        # a window program may want a display just to tell its version
        said = '' if name == 'rviz2' else _first_line(_ask(path, flag).stdout)
        version = re.search(r'\d+(\.\d+)+', said)
        return Finding(name, group, 'ok', version[0] if version else said, path)

    return check


def _ask(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=ANSWER_WITHIN, errors='replace'
    )


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), '')


def imported(module: str, remedy: str, about: str) -> Check:
    """Return a check that imports a module in a process of its own: found is not yet working."""

    def check(name: str, group: str) -> Finding:
        package = module.partition('.')[0]
        spec = util.find_spec(package)
        if spec is None:
            return Finding(name, group, 'missing', about=about, remedy=remedy)
        place = Path(spec.origin or next(iter(spec.submodule_search_locations or ())))
        done = _ask(sys.executable, '-c', f'import {module}')
        if done.returncode:
            return Finding(name, group, 'broken', remedy=remedy, about=_last_line(done.stderr))
        source = _source(place)
        return Finding(name, group, 'ok', _version(f'ros-jazzy-{package}', package), source)

    return check


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ['it cannot be imported'])[-1][:200]


def _source(place: Path) -> str:
    """Return whether a ROS module comes from a distribution or from PyPI."""
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        if Path(prefix) in place.parents and Path(prefix) != Path(sys.prefix):
            return f'of the distribution {os.environ.get("ROS_DISTRO", "")}, {prefix}'
    return 'in this Python environment, no ROS distribution needed'
