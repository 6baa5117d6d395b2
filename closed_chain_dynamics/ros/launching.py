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

"""What the launch files share: arguments, and programs of `composition` as launch actions."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from closed_chain_dynamics.model.library import PACKAGE, share_folder
from closed_chain_dynamics.ros.composition import Program, enclave
from launch import LaunchDescription

__all__ = ['describe', 'is_true', 'rviz']


def describe(
    arguments: Mapping[str, tuple[str, str]],
    programs: Callable[[dict[str, str]], Iterable[Program]],
    *more: Any,
) -> LaunchDescription:
    """
    Return a LaunchDescription.

    `arguments`: {name: (default, what it is)}; `programs(given)` returns what to start, where
    `given` has the values of the arguments as text, by name; `more`: further actions.
    """

    def start(context: Any) -> list[Node]:
        given = {name: LaunchConfiguration(name).perform(context) for name in arguments}
        return [
            Node(
                package=PACKAGE,
                executable=each.executable,
                namespace=given.get('namespace', ''),
                parameters=[*filter(None, [each.parameter_file]), each.parameters],
                remappings=list(each.remappings.items()),
                ros_arguments=['--enclave', enclave(each.executable)],
                output='screen',
                emulate_tty=True,
            )
            for each in programs(given)
        ]

    return LaunchDescription(
        [
            *(
                DeclareLaunchArgument(name, default_value=default, description=about)
                for name, (default, about) in arguments.items()
            ),
            OpaqueFunction(function=start),
            *more,
        ]
    )


def is_true(text: str) -> bool:
    """Return whether the value of an argument means yes."""
    if text.lower() in ('true', '1', 'false', '0'):
        return text.lower() in ('true', '1')
    raise ValueError(f'write true or false, not {text!r}')


def rviz(argument: str, **parameters: Any) -> Node:
    """Return RViz with the configuration of this package, if an argument says so."""
    return Node(
        package='rviz2',
        executable='rviz2',
        condition=IfCondition(LaunchConfiguration(argument)),
        arguments=['-d', str(share_folder() / 'config' / 'mechanism.rviz')],
        parameters=[parameters],
    )
