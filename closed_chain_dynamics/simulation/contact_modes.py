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
What contacts do next: stick, slide or open, decided for all of them together (Coulomb's law).

Contacts that stand still stick if any distribution of their forces lies within all friction cones
(`kernels/friction_cones.py`). Otherwise forces and accelerations are found together: some points
begin to slide, or to leave. Those slide with mu from then on, the others hold with mu_static.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.contact_problem import (
    REST_SPEED,
    Coulomb,
    contact_problem,
    free_acceleration,
    solve_contacts,
)
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Vector
from closed_chain_dynamics.simulation.motion import Motion

__all__ = ['ContactModes']

AT_THE_LIMIT = 1e-6  # share of the friction that is left where a contact begins to slip
TOUCHING = 1e-9  # open contacts nearer than this touch [m]
HELD = 1e-6  # acceleration of a point that friction holds: rounding [m/s^2]


class ContactModes:
    """The contacts of a mechanism in motion: which are closed, stick, slide, and how."""

    def __init__(self, motion: Motion) -> None:
        self.motion, self.robot = motion, motion.robot
        self.begun: frozenset[int] = frozenset()  # those that stood and slide since `settle`
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
        return float(kernels.surface_distance(loop, self.frame(k))) < TOUCHING

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
        self.robot.build()

    def note(self, k: int, direction: Vector) -> None:
        """Note in which direction a contact slides; it keeps to it until an event."""
        size = np.linalg.norm(direction)
        if size > 0.0:
            self.loop(k)['direction'] = self.frame(k)['R_1'].T @ direction / size
            self.robot.structure.changed()

    # --- deciding ------------------------------------------------------------------------------
    def settle(self, within: float = 0.0) -> None:
        """
        Decide what all closed contacts do next, and the open ones that rest on a surface.

        Those that friction stops `within` a time [s] stand still, and within ten times as long
        where all of them can hold then: contacts of one body come to rest together.
        """
        self.begun = frozenset()
        if within and self._stops(10.0 * within):
            return
        resting, moving = self._sorted(within)
        if not resting and not moving:
            return
        for k in moving:
            self.note(k, self.velocity(k)[0])
        self._stick(resting, moving)
        if not self._holds(resting + moving):
            self._let_go(resting + moving)

    def _sorted(self, within: float) -> tuple[list[int], list[int]]:
        """Return the contacts that stand still within a time [s], and those that move."""
        resting: list[int] = []
        moving: list[int] = []
        g = float(np.linalg.norm(self.robot.structure.world['gravity']))
        gaining = self._gaining() if within else frozenset()
        for k in self.loops:
            velocity, away = self.velocity(k)
            if self.mode(k) is None and not (self.touches(k) and abs(away) < REST_SPEED):
                continue
            rate = 0.0 if k in gaining else g * float(self.loop(k)['mu'])
            slow = max(REST_SPEED, within * rate)
            (resting if np.linalg.norm(velocity) <= slow else moving).append(k)
        return resting, moving

    def _gaining(self) -> frozenset[int]:
        """Return the contacts that slide on, faster and faster: friction does not stop them."""
        motion, sliding = self.motion, [k for k in self.loops if self.mode(k) == at.SLIDE]
        if not sliding:
            return frozenset()
        a = motion.accelerations()
        problem = contact_problem(self.robot, motion.q, motion.v, sliding)
        _, along, across = (problem.J @ a + problem.bias).reshape(-1, 3).T  # t_1 is the motion
        return frozenset(k for k, x, y in zip(sliding, along, across) if x > abs(y))

    def _stops(self, within: float) -> bool:
        """Stop all contacts that friction stops within a time [s], if they hold then."""
        motion, table = self.motion, self.robot.structure.loops
        kept = motion.q.copy(), motion.v.copy(), motion.lost, table.copy()
        resting, moving = self._sorted(within)
        if not resting or moving:
            return False
        self._stick(resting, moving)
        if self._holds(resting):
            return True
        motion.q, motion.v, motion.lost, table[:] = kept
        self.robot.build()
        return False

    def _stick(self, resting: Sequence[int], moving: Sequence[int]) -> None:
        """Let contacts stick that stand still, and the others slide."""
        sticky = {k: at.STICK if self.loop(k)['mu_static'] > 0.0 else at.SLIDE for k in resting}
        self.set({**sticky, **dict.fromkeys(moving, at.SLIDE)})
        self._close(resting)

    def _close(self, resting: Sequence[int]) -> None:
        """Take what is left of the speed of contacts that stand still, and book it."""
        if resting:
            before = float(self.motion.energy())
            self.motion.close()
            self.motion.lost += before - float(self.motion.energy())

    def _holds(self, loops: Sequence[int]) -> bool:
        """Return whether all contacts can go on as they are."""
        signs = self.motion.signs()
        if any(signs[k].min() < 0.0 for k in loops):
            return False
        motion = self.motion
        J_C, _, bias = constraint_jacobian(self.robot, motion.q, motion.v)
        rest = np.abs(J_C @ motion.acceleration + bias)
        rows = [self.loop(k)['row'] + i for k in loops for i in range(self.loop(k)['n_rows'])]
        return float(rest[rows].max(initial=0.0)) <= HELD  # else no force can keep them closed

    def _let_go(self, loops: Sequence[int]) -> None:
        """Let contacts begin to slide, or to leave, as their forces ask for."""
        motion, robot = self.motion, self.robot
        problem = contact_problem(robot, motion.q, motion.v, loops)
        with motion.forces():
            c = problem.J @ free_acceleration(robot, motion.q, motion.v, loops) + problem.bias
        table, slipped = robot.structure.loops, problem.moving.copy()
        for _ in range(len(loops) + 1):  # what slips drags with less than what holds
            mu = np.where(slipped, table['mu'][list(loops)], table['mu_static'][list(loops)])
            found = solve_contacts(robot, problem, c, mu, drags=True)
            more = slipped | found.slides
            if np.array_equal(more, slipped):
                break
            slipped = more
        if not np.any(found.opens | found.slides & ~problem.moving):
            found = _beginning(found, mu, problem.moving)
        self._apply(loops, found, problem.moving, problem.frames)

    def _apply(
        self,
        loops: Sequence[int],
        found: Coulomb,
        moving: NDArray[np.bool_],
        frames: NDArray[np.float64],
    ) -> None:
        """Let contacts do what Coulomb's law says, and aim the drags of those that begin."""
        modes: dict[int, int | None] = {}
        for i, k in enumerate(loops):
            sticks = not found.slides[i] and self.loop(k)['mu_static'] > 0.0
            modes[k] = None if found.opens[i] else at.STICK if sticks else at.SLIDE
        self.set(modes)
        begin = [k for i, k in enumerate(loops) if modes[k] == at.SLIDE and not moving[i]]
        self.begun = frozenset(begin)
        for i, k in enumerate(loops):
            if k in begin:
                self.velocity(k)
                self.note(k, found.u[i, 1:] @ frames[i, 1:])
                self.loop(k)['slow'] = REST_SPEED
        if begin:
            with self.motion.forces():
                status = kernels.compute_aim(
                    self.robot.handle, self.motion.q, self.motion.v, self.motion.work
                )
            for k in begin:
                self.loop(k)['slow'] = 0.0
            if status:
                self.motion.refuse(status)
        for _ in loops:  # redundant drags: forces of least norm may pull where others need not
            signs = self.motion.signs()
            pulls = {k: signs[k, 1] for k in loops if self.mode(k) == at.SLIDE}
            worst = min(pulls, key=lambda k: pulls[k], default=None)
            if worst is None or pulls[worst] >= 0.0:
                return
            self.set({worst: None})


def _beginning(found: Coulomb, mu: Vector, moving: NDArray[np.bool_]) -> Coulomb:
    """
    Let those slip that are at their limit, though nothing accelerates yet to more than rounding.

    That is how it is at the very instant at which contacts cannot hold any longer.
    """
    friction, most = np.linalg.norm(found.p[:, 1:], axis=1), mu * np.abs(found.p[:, 0])
    slides = ~moving & (friction >= (1.0 - AT_THE_LIMIT) * most)
    u = found.u.copy()
    u[slides, 1:] = -found.p[slides, 1:]
    return replace(found, u=u, slides=found.slides | slides)
