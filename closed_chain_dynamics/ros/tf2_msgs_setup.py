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
Builds tf2_msgs into the present Python environment, where no ROS distribution provides it.

``python -m closed_chain_dynamics.ros.tf2_msgs_setup`` does nothing where tf2_msgs can be imported.
The message is one field, so its type is that of every distribution, and RViz understands it.
"""

import importlib.util
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

__all__ = ['main']

# What the generators from PyPI need besides rclpy; the names stand in setup.py, extra 'generate'.
PACKAGE_XML = """\
<package format="3">
  <name>tf2_msgs</name>
  <version>0.36.0</version>
  <description>The message that tf is made of.</description>
  <maintainer email="nobody@example.com">generated</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>geometry_msgs</depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""
# The wheels' targets name include folders of the machine that built them: take those away.
CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.21)
project(tf2_msgs)
function(forget_foreign_folders)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    if(target MATCHES "__rosidl_generator_py$")
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL forget_foreign_folders)
find_package(ament_cmake REQUIRED)
find_package(geometry_msgs REQUIRED)
find_package(rosidl_default_generators REQUIRED)
rosidl_generate_interfaces(tf2_msgs "msg/TFMessage.msg" DEPENDENCIES geometry_msgs)
ament_package()
"""
FILES = {
    'package.xml': PACKAGE_XML,
    'CMakeLists.txt': CMAKE_LISTS,
    'msg/TFMessage.msg': 'geometry_msgs/TransformStamped[] transforms\n',
}


def main() -> int:
    """Build and install tf2_msgs unless it is there; return the exit code."""
    if importlib.util.find_spec('tf2_msgs'):
        return 0
    if not importlib.util.find_spec('rclpy'):
        print(
            'tf2_msgs: there is no rclpy in this environment, so nothing to build it for.',
            file=sys.stderr,
        )
        return 1
    missing = [tool for tool in ('cmake', 'c++', 'make') if not _tool(tool)]
    if missing:
        print(
            f'tf2_msgs: building it needs {", ".join(missing)}. On Debian: apt install '
            'build-essential cmake.',
            file=sys.stderr,
        )
        return 1
    print('Building tf2_msgs (about 20 s, once).')
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, 'tf2_msgs')
        for name, text in FILES.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return _build(source, Path(folder, 'build'))


def _build(source: Path, build: Path) -> int:
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
            print(
                f'tf2_msgs: {" ".join(map(str, step[:4]))} failed; what it said is above.',
                file=sys.stderr,
            )
            return 1
    return 0


def _tool(name: str) -> str | None:
    """Return the path of a program, that of this environment first."""
    own = Path(sys.prefix, 'bin', name)
    return str(own) if own.is_file() else shutil.which(name)


if __name__ == '__main__':
    sys.exit(main())
