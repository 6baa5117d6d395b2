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
A trajectory gone through before it is followed, a few poses at a time.

Named joints may ask for what the loops cannot give: a pose that does not exist on the present
branch, a passive joint beyond its limit or too fast, a pose that is nearly singular. A rehearsal
walks ahead of the motion by small steps from the present pose. It takes a bounded number of poses
in a turn, and goes on in the next.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.loop_state import LoopState
from closed_chain_dynamics.control.trajectory import Trajectory

__all__ = ['LARGEST_MISFIT', 'Rehearsal', 'unreachable']

LONGEST_BETWEEN_POSES = 0.02  # of time between two poses [s]
FARTHEST_APART = 0.05  # of a named joint between two poses [rad, or typical lengths]
CAREFUL = 0.2  # share of these steps near what must not be passed
LARGEST_MISFIT = 0.02  # of named joints that contradict each other [rad, or typical lengths]
MOST_REHEARSED = 200  # of a step, after which it is hopeless

# of a step between two poses, and how many more like it there will be before it can end
PoseCheck: TypeAlias = Callable[[Vector, Vector, float], str] | None


def unreachable(names: list[str], position: Vector) -> str:
    """Say that no pose of this branch has the named joints where they are asked to be."""
    asked = ', '.join(f'{name} {x:.4g}' for name, x in zip(names, position))
    return f'no pose of the present branch has {asked}'


class Rehearsal:
    """
    Goes through a trajectory from a pose; `go(poses)` returns what is wrong with it, or nothing.

    `check(before, after, more)` may find more to say about a step, which is then smaller.
    `is_done` when the end was reached.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        limits: JointLimits,
        q: Vector,
        *,
        begin: float = 0.0,
        check: PoseCheck = None,
    ) -> None:
        robot = limits.robot
        self._trajectory, self._limits, self._check = trajectory, limits, check
        self._kept = limits.kept(trajectory.names)  # joints that were cut meanwhile are left out
        self._names = [trajectory.names[k] for k in self._kept]
        self._state = LoopState(robot, self._names, measured=False)
        self._state.restructured(q, np.zeros(robot.nv))
        places = [robot.joint_slices(name) for name in self._names]
        self._in_q = np.array([each.start for each, _ in places], int)
        self._scale: Vector = robot.structure.dofs['scale'][
            [each.start for _, each in places] or slice(0)
        ]
        self._t = max(begin, 0.0)
        self._state.time = self._t
        self._parts, self.is_done, self._problem = 0, False, ''

    def go(self, poses: int, until: float) -> str:
        """
        Take some poses; return what is wrong, in words, once it is due `until` a time.

        What lies further ahead may become possible: a hand that lets go before it.
        """
        for _ in range(poses):
            if self.is_done or self._problem:
                break
            problem = self._next()
            if problem:
                self._problem = f'{problem}, {self._t:.3g} s after its begin'
        return self._problem if self._t <= until else ''

    def _next(self) -> str:
        state, trajectory = self._state, self._trajectory
        q = state.known_q
        kept = self._kept
        rate = np.abs(trajectory.sample(self._t)[1][kept] / self._scale).max(initial=0.0)
        farthest = FARTHEST_APART * (CAREFUL if self._check else 1.0)
        t = min(
            self._t + min(LONGEST_BETWEEN_POSES, farthest / max(rate, 1e-9)), trajectory.duration
        )
        position, velocity = (each[kept] for each in trajectory.sample(t)[:2])
        gap = position - q[self._in_q]
        far = float(np.abs(gap / self._scale).max(initial=0.0))
        whole = far <= 2.0 * FARTHEST_APART
        if not whole:  # on the way to where it begins
            self._parts += 1
            if self._parts > MOST_REHEARSED:
                return unreachable(self._names, position)
            t, velocity = self._t, np.zeros_like(velocity)
            position = q[self._in_q] + gap * FARTHEST_APART / far
        good = state.update(t, position, velocity)
        if not good or state.residual > LARGEST_MISFIT:
            return unreachable(self._names, position)
        problem, fast, _ = self._limits.look(state.known_q, state.v, zones=0.0, since=q)
        if whole and not problem:
            problem = fast
        if not problem and self._check:
            problem = self._check(q, state.known_q, 1.0)
        if whole:
            self._parts, self._t = 0, t
            self.is_done = t >= trajectory.duration
        return problem
