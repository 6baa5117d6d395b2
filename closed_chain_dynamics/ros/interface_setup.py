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
Builds interface packages that PyPI does not have: tf2_msgs, control_msgs and nav_msgs.

``python -m closed_chain_dynamics.ros.interface_setup`` builds what cannot be imported, on machines
where no ROS distribution is used. Each package has just the interfaces that the nodes use.
Their fields, and so their types, are those of the distribution: other programs understand them.
"""

from dataclasses import dataclass
import importlib.util
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

__all__ = ['PACKAGES', 'Package', 'main']


@dataclass(frozen=True)
class Package:
    """An interface package: what it depends on, and its interfaces, by the name of their file."""

    name: str
    depends: tuple[str, ...]
    interfaces: dict[str, str]


TF2_MSGS = Package(
    'tf2_msgs',
    ('geometry_msgs',),
    {'msg/TFMessage.msg': 'geometry_msgs/TransformStamped[] transforms'},
)
NAV_MSGS = Package(
    'nav_msgs',
    ('geometry_msgs', 'std_msgs'),
    {
        'msg/Odometry.msg': """\
std_msgs/Header header
string child_frame_id
geometry_msgs/PoseWithCovariance pose
geometry_msgs/TwistWithCovariance twist"""
    },
)
CONTROL_MSGS = Package(
    'control_msgs',
    ('action_msgs', 'builtin_interfaces', 'std_msgs', 'trajectory_msgs'),
    {
        'msg/JointTolerance.msg': """\
string name
float64 position
float64 velocity
float64 acceleration""",
        'msg/JointComponentTolerance.msg': """\
uint16 X_AXIS=1
uint16 Y_AXIS=2
uint16 Z_AXIS=3
uint16 TRANSLATION=4
uint16 ROTATION=5
string joint_name
uint16 component
float64 position
float64 velocity
float64 acceleration""",
        'action/FollowJointTrajectory.action': """\
trajectory_msgs/JointTrajectory trajectory
trajectory_msgs/MultiDOFJointTrajectory multi_dof_trajectory
JointTolerance[] path_tolerance
JointComponentTolerance[] component_path_tolerance
JointTolerance[] goal_tolerance
JointComponentTolerance[] component_goal_tolerance
builtin_interfaces/Duration goal_time_tolerance
---
int32 error_code
int32 SUCCESSFUL=0
int32 INVALID_GOAL=-1
int32 INVALID_JOINTS=-2
int32 OLD_HEADER_TIMESTAMP=-3
int32 PATH_TOLERANCE_VIOLATED=-4
int32 GOAL_TOLERANCE_VIOLATED=-5
string error_string
---
std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint desired
trajectory_msgs/JointTrajectoryPoint actual
trajectory_msgs/JointTrajectoryPoint error
string[] multi_dof_joint_names
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_desired
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_actual
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error""",
    },
)
PACKAGES = (TF2_MSGS, NAV_MSGS, CONTROL_MSGS)
INTERFACES_VERSION = '0.36.0'
# What the generators from PyPI need besides rclpy; the names stand in setup.py, extra 'generate'.
PACKAGE_XML = """\
<package format="3">
  <name>{name}</name>
  <version>{version}</version>
  <description>The interfaces that closed_chain_dynamics uses.</description>
  <maintainer email="nobody@example.com">generated</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  {depends}
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""
# The wheels' targets name include folders of the machine that built them: take those away.
CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.21)
project({name})
function(forget_foreign_folders)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    if(target MATCHES "__rosidl_generator_py$")
      set_target_properties(${{target}} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL forget_foreign_folders)
find_package(ament_cmake REQUIRED)
{found}
find_package(rosidl_default_generators REQUIRED)
rosidl_generate_interfaces({name} {interfaces} DEPENDENCIES {depends})
ament_package()
"""


def missing() -> list[Package]:
    """Return the packages to build: none where a ROS distribution is used."""
    rclpy = importlib.util.find_spec('rclpy')
    if rclpy is not None and not str(rclpy.origin).startswith(sys.prefix):
        return []
    return [each for each in PACKAGES if not importlib.util.find_spec(each.name)]


def main() -> int:
    """Build and install what is missing; return the exit code."""
    wanted = missing()
    if not wanted:
        return 0
    names = ', '.join(each.name for each in wanted)
    if not importlib.util.find_spec('rclpy'):
        return _complain(f'{names}: there is no rclpy in this environment to build for.')
    tools = [tool for tool in ('cmake', 'c++', 'make') if not _tool(tool)]
    if tools:
        return _complain(
            f'{names}: building needs {", ".join(tools)}. On Debian: apt install '
            'build-essential cmake.'
        )
    print(f'Building {names} (less than a minute, once).')
    with tempfile.TemporaryDirectory() as folder:
        for package in wanted:
            source = Path(folder, package.name)
            write_package(package, source)
            if _build(package.name, source, Path(folder, f'{package.name}_build')):
                return 1
    return 0


def write_package(package: Package, folder: Path) -> None:
    """Write the sources of a package into a folder."""
    name, depends = package.name, package.depends
    files = {
        'package.xml': PACKAGE_XML.format(
            name=name,
            version=INTERFACES_VERSION,
            depends='\n  '.join(f'<depend>{each}</depend>' for each in depends),
        ),
        'CMakeLists.txt': CMAKE_LISTS.format(
            name=name,
            found='\n'.join(f'find_package({each} REQUIRED)' for each in depends),
            interfaces=' '.join(f'"{each}"' for each in package.interfaces),
            depends=' '.join(depends),
        ),
        **package.interfaces,
    }
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.rstrip() + '\n')


def _build(name: str, source: Path, build: Path) -> int:
    cmake, prefix = _tool('cmake'), sys.prefix
    for step in (
        [
            cmake,
            '-S',
            source,
            '-B',
            build,
            '-DBUILD_TESTING=OFF',
            f'-DCMAKE_PREFIX_PATH={prefix}',
            f'-DCMAKE_INSTALL_PREFIX={prefix}',
            f'-DPython3_EXECUTABLE={sys.executable}',
        ],
        [cmake, '--build', build, '--parallel', '2'],
        [cmake, '--install', build],
    ):
        done = subprocess.run(
            [str(each) for each in step],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            print(done.stdout[-4000:], file=sys.stderr)
            return _complain(
                f'{name}: {" ".join(map(str, step[:4]))} failed; what it said is above.'
            )
    return 0


def _complain(text: str) -> int:
    print(text, file=sys.stderr)
    return 1


def _tool(name: str) -> str | None:
    """Return the path of a program, that of this environment first."""
    own = Path(sys.prefix, 'bin', name)
    return str(own) if own.is_file() else shutil.which(name)


if __name__ == '__main__':
    sys.exit(main())
