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
Which programs make a system, and with which parameters; needs no ROS.

The launch files and `closed-chain up` start what stands here, so that both start the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
import json
from pathlib import Path
from typing import Any

from closed_chain_dynamics.model import library

__all__ = ['Program', 'enclave', 'hardware', 'simulation', 'view']


def enclave(node: str) -> str:
    """Return where the keys of a node are, and what it may do, where ROS 2 security is on."""
    return f'/{library.PACKAGE}/{node}'


@dataclass(frozen=True)
class Program:
    """A node: its executable, parameters beyond those of its file in config/, new topic names."""

    executable: str
    about: str
    parameters: dict[str, Any] = field(default_factory=dict)
    remappings: dict[str, str] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """Return the module that can be run instead of the executable."""
        return f'closed_chain_dynamics.ros.nodes.{self.executable}'

    @property
    def parameter_file(self) -> Path | None:
        """Return the path of its file in config/, or None."""
        path = library.share_folder() / 'config' / f'{self.executable}.yaml'
        return path if path.is_file() else None

    @property
    def arguments(self) -> list[str]:
        """Return what stands behind the executable on a command line."""
        words = ['--ros-args', '--enclave', enclave(self.executable)]
        if self.parameter_file:
            words += ['--params-file', str(self.parameter_file)]
        for name, value in self.parameters.items():
            words += ['-p', f'{name}:={json.dumps(value)}']
        for old, new in self.remappings.items():
            words += ['-r', f'{old}:={new}']
        return words


def simulation(
    model: str | Path,
    *,
    controller: bool = True,
    viewer: bool = False,
    port: int = 8080,
    host: str = '127.0.0.1',
    demo: bool = False,
    simulator: Mapping[str, Any] | None = None,
    torque: Mapping[str, Any] | None = None,
    reference: Mapping[str, Any] | None = None,
) -> list[Program]:
    """
    Return the programs of a simulated system.

    `model`: a file or the name of a shipped model; the simulator alone reads it, the others get
    it on robot_description. `simulator` and `torque` are further parameters of these nodes;
    `reference` those of reference_node, which is started only where they are given.
    """
    programs = [
        Program(
            'simulator_node',
            'forward dynamics, contacts, tf, /clock',
            {'model': str(model), **(simulator or {})},
        )
    ]
    if controller:
        timed = {'use_sim_time': True, **(torque or {})}
        programs.append(Program('torque_node', 'torques that follow a reference', timed))
    if reference is not None:
        timed = {'use_sim_time': True, **reference}
        programs.append(Program('reference_node', 'the reference that the motors follow', timed))
    if demo:
        programs.append(Program('demo_node', 'motions of the figure on the swing'))
    if viewer:
        programs.append(
            Program('viewer_node', 'the view in the browser', {'port': port, 'host': host})
        )
    return programs


def hardware(
    model: str | Path,
    *,
    joint_states: str = 'joint_states',
    commands: str = 'effort_controller/commands',
    complete: str = 'joint_states_complete',
    contacts: bool = True,
) -> list[Program]:
    """
    Return the programs beside a real robot that ros2_control drives.

    `model` may be empty: from robot_description. `joint_states`: what the joint_state_broadcaster
    publishes; `commands`: what the effort controller takes; `complete`: where joint states with
    the passive joints go, those of several degrees beside them.
    """
    named = {'model': str(model)} if model else {}
    programs = [
        Program(
            'torque_node',
            'torques that follow a reference',
            named,
            {'joint_states': joint_states, 'effort_controller/commands': commands},
        ),
        Program(
            'loop_state_node',
            'passive joints from the measured ones',
            named,
            {
                'measured_joint_states': joint_states,
                'joint_states': complete,
                'measured_multi_dof_joint_states': 'multi_dof_joint_states',
                'multi_dof_joint_states': 'multi_dof_joint_states_complete',
            },
        ),
    ]
    if contacts:
        programs.append(Program('contact_node', 'connections and cuts from wrench sensors'))
    return programs


def view(model: str | Path, *, port: int = 8080) -> list[Program]:
    """Return the program that shows a model at rest, with sliders that respect the loops."""
    return [Program('viewer_node', 'the view in the browser', {'model': str(model), 'port': port})]
