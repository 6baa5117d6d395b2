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

from importlib import util
import os
from pathlib import Path
import platform
import sys

from closed_chain_dynamics.cli.doctor_probes import Check, Finding, imported, library, program

__all__ = ['findings']

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome', 'firefox', 'microsoft-edge')
COMPILERS = ('cc', 'gcc', 'clang')
MESSAGES = ('diagnostic', 'geometry', 'rosgraph', 'sensor', 'std', 'trajectory', 'visualization')


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
        (name, 'core', library(module, f'{pip} {name}', 'the core needs it'))
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
            program(
                COMPILERS,
                'apt install gcc',
                'compiles generated C code, and interfaces where no ROS brings them',
            ),
        ),
    ]
    checks += [
        ('rclpy', 'ros', imported('rclpy', f"{pip} 'ros-jazzy-rclpy[fastrtps]'", 'the nodes'))
    ]
    names = [f'ros-jazzy-{each}-msgs' for each in MESSAGES] + ['ros-jazzy-std-srvs']
    checks += [
        ('messages', 'ros', _messages(f'{pip} {" ".join(names)}')),
        (
            'tf2_msgs',
            'ros',
            imported(
                'tf2_msgs.msg',
                f'{sys.executable} -m closed_chain_dynamics.ros.interface_setup',
                'frames for RViz',
            ),
        ),
        (
            'launch_ros',
            'ros',
            library(
                'launch_ros', _apt('launch-ros'), "launch files; 'closed-chain up' does without"
            ),
        ),
        (
            'rviz2',
            'ros',
            program(('rviz2',), _apt('rviz2'), 'shows the robot; the browser view does as well'),
        ),
    ]
    checks += [
        ('viser', 'viewer', library('viser', f'{pip} viser', 'the view itself')),
        (
            'browser',
            'viewer',
            program(
                BROWSERS, 'apt install chromium', 'to look at it; one on another machine will do'
            ),
        ),
    ]
    checks += [
        ('matplotlib', 'files', library('matplotlib', f'{pip} matplotlib', 'plots')),
        ('pillow', 'files', library('PIL', f'{pip} pillow', 'pictures and GIF')),
        ('ffmpeg', 'files', program(('ffmpeg',), 'apt install ffmpeg', 'MP4')),
        ('rosbags', 'files', library('rosbags', f'{pip} rosbags', 'MCAP and ROS 2 bags')),
    ]
    checks += [
        ('sympy', 'peers', library('sympy', f'{pip} sympy', 'symbolic models')),
        ('pin', 'peers', library('pinocchio', f'{pip} pin', 'Pinocchio, for bench')),
        ('mujoco', 'peers', library('mujoco', f'{pip} mujoco', 'MuJoCo, for bench')),
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
    from closed_chain_dynamics.model.library import share_folder, shipped

    about = f'{len(shipped())} models in {share_folder() / "urdf"}'
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
