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
The contacts of a mechanism in motion: where they are, how they move, and what they are set to do.

What that is, is decided in `settling.py`.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.contact_problem import REST_SPEED, contact_problem
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism

__all__ = ['ContactModes']

TOUCHES_WITHIN = 1e-9  # open contacts nearer than this touch [m]
DEEP = 1e-5  # below a surface, more than steps leave it [m]


class ContactModes:
    """The contacts of a mechanism in motion: which are closed, stick, slide, and how."""

    def __init__(self, motion: MovingMechanism) -> None:
        self.motion, self.robot = motion, motion.robot
        modes = self.robot.structure.loops['mode']
        self.loops = [int(k) for k in np.flatnonzero((modes == at.SLIDE) | (modes == at.STICK))]
        for k in self.loops:  # a direction noted in an earlier run says nothing
            self.loop(k)['direction'] = 0.0

    # --- looking -------------------------------------------------------------------------------
    def loop(self, k: int) -> np.void:
        """Return the record of a contact."""
        record: np.void = self.robot.structure.loops[k]
        return record

    def frame(self, k: int) -> np.void:
        """Return where a contact is."""
        record: np.void = self.robot.workspace.frames[k]
        return record

    def velocity(self, k: int) -> tuple[Vector, float]:
        """Return sliding velocity (3,) and speed away from the surface of a contact."""
        motion, moving, loop = self.motion, self.robot.workspace.moving, self.loop(k)
        kernels.compute_loop_placement(self.robot.handle, motion.q, motion.v, k)
        sliding, away = kernels.sliding_velocity(
            self.frame(k), moving[loop['body_1']], moving[loop['body_2']]
        )
        return np.array(sliding), float(away)

    def mode(self, k: int) -> int | None:
        """Return SLIDE or STICK, or None of an open contact."""
        loop = self.loop(k)
        return int(loop['mode']) if loop['active'] else None

    def touches(self, k: int) -> bool:
        """Return whether an open unilateral contact is on its surface, after `velocity`."""
        loop = self.loop(k)
        if loop['active'] or loop['contact'] != at.UNILATERAL:
            return False
        return float(kernels.surface_distance(loop, self.frame(k))) < TOUCHES_WITHIN

    def closed(self) -> list[int]:
        """Return the contacts that are closed."""
        return [k for k in self.loops if self.mode(k) is not None]

    def gap(self, k: int) -> float:
        """Return how far an open contact is from its surface, below zero within it; closed: 0."""
        loop = self.loop(k)
        if loop['active']:
            return 0.0
        if loop['contact'] != at.UNILATERAL:
            return np.inf
        self.velocity(k)
        return float(kernels.surface_distance(loop, self.frame(k)))

    def below(self) -> list[int]:
        """Return the open contacts that are deep below their surface."""
        return [k for k in self.loops if self.gap(k) < -DEEP]

    def sorted(self, within: float, gaining: frozenset[int]) -> tuple[list[int], list[int]]:
        """
        Return the contacts that stand still, or will within a time [s], and those that move.

        Open ones that rest on their surface stand, too. `gaining`: those that do not slow down.
        """
        resting: list[int] = []
        moving: list[int] = []
        g = float(np.linalg.norm(self.robot.structure.world['gravity']))
        for k in self.loops:
            velocity, away = self.velocity(k)
            if self.mode(k) is None and not (self.touches(k) and abs(away) < REST_SPEED):
                continue
            rate = 0.0 if k in gaining else g * float(self.loop(k)['mu'])
            slow = max(REST_SPEED, within * rate)
            (resting if np.linalg.norm(velocity) <= slow else moving).append(k)
        return resting, moving

    def gaining(self) -> frozenset[int]:
        """Return the contacts that slide on, faster and faster: friction does not stop them."""
        return frozenset(k for k, (x, y) in self._changes().items() if x > abs(y))

    def is_caught(self, within: float) -> bool:
        """Return whether friction stops a contact that slides within a time [s]."""
        found = self._changes().items()
        return any(np.linalg.norm(self.velocity(k)[0]) < -within * x for k, (x, _) in found)

    def _changes(self) -> dict[int, Vector]:
        """Return how contacts that slide accelerate, along their motion and across, (2,)."""
        motion, sliding = self.motion, [k for k in self.loops if self.mode(k) == at.SLIDE]
        if not sliding:
            return {}
        a = motion.accelerations()
        problem = contact_problem(self.robot, motion.q, motion.v, sliding)
        rates = (problem.J @ a + problem.bias).reshape(-1, 3)
        return dict(zip(sliding, rates[:, 1:]))  # t_1 is the motion

    # --- changing ------------------------------------------------------------------------------
    def set(self, modes: dict[int, int | None]) -> None:
        """Let contacts stick where they are, slide, or be open."""
        for k, mode in modes.items():
            loop = self.loop(k)
            if mode == at.STICK and self.mode(k) != at.STICK:
                self.velocity(k)
                frame = self.frame(k)
                loop['anchor'] = frame['R_1'].T @ (frame['p_2'] - frame['p_1'])
            loop['active'] = mode is not None
            loop['mode'] = at.SLIDE if mode is None else mode
            loop['n_rows'] = 3 if mode == at.STICK else 1
            if mode is None:
                loop['direction'] = 0.0
        self.robot.regroup()

    def note(self, k: int, direction: Vector) -> None:
        """Note in which direction a contact slides; it keeps to it until an event."""
        size = np.linalg.norm(direction)
        if size > 0.0:
            self.loop(k)['direction'] = self.frame(k)['R_1'].T @ direction / size
            self.robot.structure.changed()
