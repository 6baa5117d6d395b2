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
What ``closed-chain doctor`` looks for.

A check is a function that returns a Finding; one that fails itself is reported like any other
trouble. Versions come from installed metadata, so that nothing heavy is imported for them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata, util
import os
from pathlib import Path
import platform
import re
import shutil
import subprocess
import sys

__all__ = ['Finding', 'findings']

ANSWER_WITHIN = 30  # [s] for a program that is asked for its version
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome', 'firefox', 'microsoft-edge')
COMPILERS = ('cc', 'gcc', 'clang')
MESSAGES = ('diagnostic', 'geometry', 'rosgraph', 'sensor', 'std', 'trajectory', 'visualization')


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


def findings() -> list[Finding]:
    """Return all Findings; a check that fails itself gives a broken one."""
    found = []
    for name, group, check in _checks():
        try:
            found.append(check(name, group))
        except Exception as error:  # whatever it is: the next check may still be of use
            found.append(
                Finding(
                    name,
                    group,
                    'broken',
                    about=' '.join(f'the check failed: {type(error).__name__}: {error}'.split()),
                )
            )
    return found


def _checks() -> list[tuple[str, str, Check]]:
    """Return (name, group, check) of everything that is looked for."""
    pip = f'{sys.executable} -m pip install'
    checks: list[tuple[str, str, Check]] = [('python', 'core', _python)]
    checks += [
        (name, 'core', _library(module, f'{pip} {name}', 'the core needs it'))
        for name, module in (
            ('argcomplete', 'argcomplete'),
            ('numpy', 'numpy'),
            ('numba', 'numba'),
            ('scipy', 'scipy'),
            ('lxml', 'lxml'),
            ('pyyaml', 'yaml'),
            ('xacro', 'xacro'),
        )
    ]
    checks += [
        ('package', 'core', _package),
        ('kernels', 'core', _kernels),
        ('trial', 'core', _trial),
        (
            'compiler',
            'core',
            _program(
                COMPILERS,
                'apt install gcc',
                'compiles generated C code, and interfaces where no ROS brings them',
            ),
        ),
    ]
    checks += [
        ('rclpy', 'ros', _imported('rclpy', f"{pip} 'ros-jazzy-rclpy[fastrtps]'", 'the nodes'))
    ]
    names = [f'ros-jazzy-{each}-msgs' for each in MESSAGES] + ['ros-jazzy-std-srvs']
    checks += [
        ('messages', 'ros', _messages(f'{pip} {" ".join(names)}')),
        (
            'tf2_msgs',
            'ros',
            _imported(
                'tf2_msgs.msg',
                f'{sys.executable} -m closed_chain_dynamics.ros.interface_setup',
                'frames for RViz',
            ),
        ),
        (
            'launch_ros',
            'ros',
            _library(
                'launch_ros', _apt('launch-ros'), "launch files; 'closed-chain up' does without"
            ),
        ),
        (
            'rviz2',
            'ros',
            _program(('rviz2',), _apt('rviz2'), 'shows the robot; the browser view does as well'),
        ),
    ]
    checks += [
        ('viser', 'viewer', _library('viser', f'{pip} viser', 'the view itself')),
        (
            'browser',
            'viewer',
            _program(
                BROWSERS, 'apt install chromium', 'to look at it; one on another machine will do'
            ),
        ),
    ]
    checks += [
        ('matplotlib', 'files', _library('matplotlib', f'{pip} matplotlib', 'plots')),
        ('pillow', 'files', _library('PIL', f'{pip} pillow', 'pictures and GIF')),
        ('ffmpeg', 'files', _program(('ffmpeg',), 'apt install ffmpeg', 'MP4')),
        ('rosbags', 'files', _library('rosbags', f'{pip} rosbags', 'MCAP and ROS 2 bags')),
    ]
    checks += [
        ('sympy', 'peers', _library('sympy', f'{pip} sympy', 'symbolic models')),
        ('pin', 'peers', _library('pinocchio', f'{pip} pin', 'Pinocchio, for bench')),
        ('mujoco', 'peers', _library('mujoco', f'{pip} mujoco', 'MuJoCo, for bench')),
    ]
    return checks


def _apt(package: str) -> str:
    distribution = os.environ.get('ROS_DISTRO', 'jazzy')
    return f'apt install ros-{distribution}-{package}   # from the ROS 2 repository'


def _python(name: str, group: str) -> Finding:
    good = (3, 10) <= sys.version_info[:2] < (3, 14)
    return Finding(
        name,
        group,
        'ok' if good else 'broken',
        platform.python_version(),
        sys.executable if good else '3.10 to 3.13 are supported',
    )


def _library(module: str, remedy: str, about: str) -> Check:
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


def _program(names: Sequence[str], remedy: str, about: str) -> Check:
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


def _imported(module: str, remedy: str, about: str) -> Check:
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


def _messages(remedy: str) -> Check:
    def check(name: str, group: str) -> Finding:
        wanted = [f'{each}_msgs' for each in MESSAGES] + ['std_srvs']
        missing = [each for each in wanted if util.find_spec(each) is None]
        if missing:
            return Finding(name, group, 'missing', about=', '.join(missing), remedy=remedy)
        return Finding(name, group, 'ok', about=', '.join(wanted))

    return check


def _package(name: str, group: str) -> Finding:
    """Import the core, and look for the files that come with it."""
    import closed_chain_dynamics as ccd
    from closed_chain_dynamics.model import library

    shipped = library.shipped()
    about = f'{len(shipped)} models in {library.share_folder() / "urdf"}'
    return Finding(name, group, 'ok', ccd.__version__, about)


def _kernels(name: str, group: str) -> Finding:
    """Say where compiled kernels are kept, whether they are there, and whether they can be."""
    from closed_chain_dynamics import kernels

    # what Python calls is a dispatcher of numba with a cache of its own
    every = [each.entry for name, each in vars(kernels).items() if name.startswith('compute_')]
    folder = Path(every[0].stats.cache_path)
    there = sum(bool(each._cache._cache_file._load_index()) for each in every)
    state = 'warm' if there == len(every) else 'cold' if there == 0 else 'partly warm'
    writable = os.access(folder if folder.exists() else folder.parent, os.W_OK)
    about = f'{state}: {there} of {len(every)} are compiled, in {folder}'
    if not writable:
        return Finding(
            name,
            group,
            'broken',
            about=f'{about}, which cannot be written: every start compiles again',
            remedy='export NUMBA_CACHE_DIR=~/.cache/numba',
        )
    remedy = (
        ''
        if state == 'warm'
        else f"{sys.executable} -c 'import closed_chain_dynamics as ccd; ccd.warm_up()'"
    )
    return Finding(name, group, 'ok', about=about, remedy=remedy)


def _trial(name: str, group: str) -> Finding:
    """Compute a torque."""
    import numpy as np

    import closed_chain_dynamics as ccd

    robot = ccd.load('four_bar')
    q = ccd.assemble(robot, {'crank': 1.0})
    torque = ccd.inverse_dynamics(robot, q, np.zeros(robot.nv), np.zeros(robot.nv)).tau_A[0]
    # at rest the motor carries the weights: the slope of the potential energy
    height = [
        ccd.energy(robot, ccd.assemble(robot, {'crank': 1.0 + step}, start=q), np.zeros(robot.nv))[
            1
        ]
        for step in (-1e-5, 1e-5)
    ]
    good = abs(torque - (height[1] - height[0]) / 2e-5) < 1e-6
    return Finding(
        name,
        group,
        'ok' if good else 'broken',
        about='the torque that holds a '
        f'four-bar is {"" if good else "not "}the slope of its potential energy',
    )
