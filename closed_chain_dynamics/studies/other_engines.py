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
Whether the tool that a file was written for computes the same numbers: MuJoCo, or Pinocchio.

States are random and the same for both. Loops are compared by the accelerations of a motion
through a closed pose: the other tool's M, forces and Jacobian of its constraints, solved as hard
constraints, because MuJoCo's own solver makes them soft.
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.tree import integrate, mass_matrix, newton_euler
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.engine_twins import MuJoCo, Pinocchio, Twin, Unreadable

__all__ = ['Unreadable', 'differences', 'engine_of', 'tree_differences']

COMPARED_STATES = 3  # random states that are compared
PEER_ROUNDING = 1e-12  # of the other tool, relative: what is less counts as nothing
ENGINES = {'.xml': 'mujoco', '.urdf': 'pinocchio', '.xacro': 'pinocchio'}


def engine_of(path: Path) -> str:
    """Return the name of the tool that a file is written for, or '' where none is installed."""
    name = ENGINES.get(path.suffix.lower(), '')
    if name == 'mujoco' and b'<mujoco' not in path.read_bytes():
        name = 'pinocchio'
    try:
        return name if name and import_module(name) else ''
    except ImportError:
        return ''


def differences(robot: Mechanism | None, path: Path, q: Array | None) -> dict[str, float]:
    """
    Return the largest differences to the own tool of a file, relative to its largest numbers.

    Without a mechanism only whether the tool reads the file is found out: Unreadable, or nothing.
    `q` is a closed pose, or None where there is none. `doubt`: what rounded digits of
    over-constrained loops leave open of the accelerations.
    """
    engine = engine_of(path)
    if not engine:
        return {}
    twin = MuJoCo(path) if engine == 'mujoco' else Pinocchio(path)
    if robot is None:
        return {}
    twin.attach(robot)
    rng = np.random.default_rng(1)
    found = tree_differences(robot, twin, rng)
    if q is not None and robot.nv and twin.has_loops:
        smooth = _without_friction(robot)
        try:
            theirs = twin.acceleration(
                q, rng.normal(size=robot.nv), coordinates(smooth, q).mobility
            )
            if theirs:
                v, expected, found['doubt'] = theirs
                own = forward_dynamics(smooth, q, v).acceleration
                size = max(np.abs(expected).max(initial=0.0), 1.0)
                found['acceleration'] = _relative(own, expected, size)
        except (ClosedChainError, np.linalg.LinAlgError):
            pass  # a singular pose has no accelerations to compare
    return found


def tree_differences(
    robot: Mechanism, twin: Twin, rng: np.random.Generator, states: int = COMPARED_STATES
) -> dict[str, float]:
    """Return the largest differences of M and bias of the tree in random states, relative."""
    found = {'M': 0.0, 'bias': 0.0}
    for _ in range(states):
        pose = integrate(robot, robot.neutral(), rng.normal(size=robot.nv))
        v = rng.normal(size=robot.nv)
        twin.set(pose, v)
        M, bias = twin.mass_matrix(), twin.bias()
        own_bias = newton_euler(robot, pose, v, np.zeros(robot.nv))
        # forces that cancel leave the rounding of those that made them
        size = max(np.abs(bias).max(initial=0.0), np.abs(M).max(initial=1e-9) * float(v @ v))
        largest = np.abs(M).max(initial=1e-9)
        found['M'] = max(found['M'], _relative(mass_matrix(robot, pose), M, largest))
        found['bias'] = max(found['bias'], _relative(own_bias, bias, size))
    return found


def _relative(own: Array, expected: Array, size: float) -> float:
    return float(np.abs(own - expected).max(initial=0.0) / max(size, PEER_ROUNDING))


def _without_friction(robot: Mechanism) -> Mechanism:
    """Return the mechanism without Coulomb friction, which jumps where a joint turns back."""
    description = robot.description
    return Mechanism(
        replace(
            description,
            joints=tuple(
                replace(joint, dynamics=replace(joint.dynamics, friction=0.0))
                for joint in description.joints
            ),
            loops=tuple(
                replace(loop, dynamics=replace(loop.dynamics, friction=0.0))
                for loop in description.loops
            ),
        ),
        gravity=robot.gravity,
    )
