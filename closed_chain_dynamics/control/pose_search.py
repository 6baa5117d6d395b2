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

"""A pose that closes the loops, looked for from a pose nearby or from anywhere."""

from collections.abc import Callable

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.control.named_joints import NamedJoints
from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.errors import AssemblyError
from closed_chain_dynamics.kernels.fitting import distance
from closed_chain_dynamics.kernels.step import STAGES
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['close', 'find_pose', 'misfits', 'with_named']

POSE_ATTEMPTS = 6  # starts for assembling a pose anew: it must not take long
CLOSED_NEAR_SINGULAR = 1e-12  # gap of loops that are closed near singular poses [m or rad]


def with_named(named: NamedJoints, q: Vector, position: Vector) -> Vector:
    """Return q with the named joints where they are said to be; raise where that is no pose."""
    robot, zero = named.robot, np.zeros(named.robot.nv)
    target: Vector = q.copy()
    target[named.q_places] = position
    status = kernels.check_state(robot.handle, target, zero, zero)
    if status:
        robot.raise_for(status, target)
    return target


def find_pose(
    named: NamedJoints, position: Vector, start: Vector | None, fit: Callable[[Vector], Vector]
) -> Vector:
    """
    Assemble the pose, holding as many of the named joints as agree with the loops.

    `fit(q)`: the pose near a closed one that fits them best.
    """
    robot = named.robot
    held = named.held(with_named(named, robot.neutral(), position))
    try:
        return assemble(robot, held, start=start, limits=False, attempts=POSE_ATTEMPTS)
    except AssemblyError:  # they contradict each other a little, as sensors do
        near = start if start is not None else assemble(robot, limits=False)
        near = with_named(named, near, position)
        return fit(assemble(robot, {}, start=near, limits=False, attempts=POSE_ATTEMPTS))


def misfits(named: NamedJoints, q: Vector, position: Vector) -> Vector:
    """Return by how much each named coordinate is off in a pose [rad, or typical lengths]."""
    robot, away = named.robot, np.empty(named.robot.nv)
    kernels.difference(robot.handle, q, with_named(named, q, position), away)
    off: Vector = np.abs(away / robot.structure.dofs['scale'])[named.v_places]
    return off


def close(robot: Mechanism, q: Vector, farthest: float) -> bool:
    """
    Close the loops of q in place; return whether they are closed.

    theta_S follows theta_G, unless that is further than `farthest` [rad, or typical lengths];
    then, near singular poses, by the smallest motion.
    """
    kept, away, zero = q.copy(), np.empty(robot.nv), np.zeros(robot.nv)
    work = np.zeros((STAGES, max(robot.nq, 2 * robot.nv + 2)))
    if (
        not kernels.close_loops(robot.handle, q, zero, work)
        and distance(robot.handle, kept, q, away) <= farthest
    ):
        return True
    q[:] = kept
    for cluster in range(len(robot.structure.clusters)):
        closure = Closure(robot, cluster, np.zeros(robot.nv, dtype=bool), False)
        if closure.units.size:
            q[:] = closure.close(q, CLOSED_NEAR_SINGULAR)[0]
    gaps = robot.loop_gaps(q).values()
    return bool(max(map(max, gaps), default=0.0) < robot.structure.world['closing_tolerance'])
