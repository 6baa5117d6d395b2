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
A step at velocity level over a time h: the way on where events pile up at one instant.

What follows an event is decided by forces. Where friction stops and turns several contacts at
once, such instants may follow each other without end, or no finite force may fit the motion.
Impulses over a time h > 0 know no such instants (Moreau; Anitescu and Potra): the impulses p of
all contacts, stops and joint friction together obey Coulomb's law for velocities at the end of h,

    v' = v + h theta_O'' + response p,    u = J v',

and there always are such p. What would be passed within h takes part with its gap, u_n >= -gap/h.
The pose moves with v', so that the step takes energy: an implicit Euler step for the contacts. A
step that would give some, because the motion turns fast, is taken in halves. All that it takes is
booked as dissipated. Restitution is left out.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.contact_problem import (
    ContactProblem,
    Coulomb,
    contact_problem,
    free_acceleration,
    solve_contacts,
)
from closed_chain_dynamics.dynamics.coulomb_law import STICKS
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.simulation.contact_modes import TOUCHES_WITHIN, ContactModes
from closed_chain_dynamics.simulation.joint_holds import JointHolds

__all__ = ['ImpulseStep']

GIVEN_ENERGY = 1e-12  # share of the energy that a step may give: rounding
MOST_HALVES = 6  # times that a step is halved which would give more


class ImpulseStep:
    """Moves a mechanism on by impulses of its contacts, its stops and the friction of joints."""

    def __init__(self, modes: ContactModes, joints: JointHolds) -> None:
        self.modes, self.joints = modes, joints
        self.motion, self.robot = modes.motion, modes.robot

    def take(self, h: float) -> None:
        """Move on by at most a time h [s]; contacts and joints then do what the impulses say."""
        motion, table = self.motion, self.robot.structure.loops
        q, v, before, kept = motion.q, motion.v, float(motion.energy()), table.copy()
        for halves in range(MOST_HALVES + 1):
            self.joints.release()
            work = self._move(h)
            now = motion.energy()
            given = float(now) - before - work
            if given <= GIVEN_ENERGY * (now.kinetic + abs(now.potential) + abs(work)):
                break
            if halves == MOST_HALVES:  # forces that are stiff within h: they do not get it
                motion.v *= np.sqrt(max(1.0 - given / now.kinetic, 0.0))
                given = float(motion.energy()) - before - work
                break
            motion.q, motion.v, table[:] = q, v, kept
            h *= 0.5
        motion.time += h
        motion.books += work, max(-given, 0.0)
        motion.lost += min(-given, 0.0)  # rounding

    def _move(self, h: float) -> float:
        """Move on by a time h [s]; return the work of motors and external forces."""
        motion, q, v = self.motion, self.motion.q, self.motion.v
        standing = self.joints.standing(range(self.joints.count))  # impulses decide for all
        loops = [k for k in self.modes.loops if self.modes.gap(k) < TOUCHES_WITHIN]
        for _ in range(len(self.modes.loops) + self.joints.count + 1):
            problem, found, a = self._impulses(loops, standing, h)
            motion.v = v + h * a + problem.response @ found.p.ravel()
            motion.q = np.empty_like(q)
            kernels.integrate(self.robot.handle, q, h * motion.v, motion.q)
            passed = [k for k in self.modes.loops if self.modes.gap(k) < 0.0 and k not in loops]
            beyond = {j: s for j, s in self.joints.passed().items() if s != standing.get(j)}
            if not (passed or beyond):
                break
            loops, standing = loops + passed, {**standing, **beyond}
            motion.q, motion.v = q, v
        with motion.forces():
            free_acceleration(self.robot, q, motion.v, self.modes.loops)
        power = float(self.robot.workspace.totals['power'])
        self._decided = problem, found, standing
        self.do()
        return h * power

    def _impulses(
        self, loops: Sequence[int], standing: dict[int, int], h: float
    ) -> tuple[ContactProblem, Coulomb, Vector]:
        """Return the problem of contacts and joints, its impulses over h, and theta_O''."""
        motion, robot, n = self.motion, self.robot, len(loops)
        problem = contact_problem(
            *(robot, motion.q, motion.v, loops, self.joints.held(standing, friction=True))
        )
        with motion.forces():
            a = free_acceleration(robot, motion.q, motion.v, loops)
        c = problem.J @ (motion.v + h * a) + h * problem.bias
        gaps = np.append([max(self.modes.gap(k), 0.0) for k in loops], self.joints.gaps(standing))
        c[::3] += gaps / h
        bounds = h * problem.bounds
        far = gaps[n:] != 0.0  # what comes to its stop moves: friction is against it
        bounds[far] = np.where(np.isinf(bounds[far]), bounds[far], -bounds[far])
        problem = replace(problem, bounds=bounds)
        table, slipped = robot.structure.loops, problem.moving[:n].copy()
        for _ in range(n + 1):  # what slips drags with less than what holds
            mu = np.where(slipped, table['mu'][list(loops)], table['mu_static'][list(loops)])
            found = solve_contacts(robot, problem, c, mu, drags=False, nearly=True)
            more = slipped | found.slides[:n]
            if np.array_equal(more, slipped):
                break
            slipped = more
        return problem, found, a

    def do(self) -> None:
        """Let contacts and joints do what the impulses said, and close what is closed."""
        problem, found, standing = self._decided
        n, rough = len(problem.loops), self.robot.structure.loops['mu_static']
        modes: dict[int, int | None] = {}
        for k, opens, slides in zip(problem.loops, found.opens, found.slides):
            modes[k] = None if opens else at.SLIDE if slides or not rough[k] else at.STICK
        self.joints.release()
        for (j, stop), (force, *_), does in zip(standing.items(), found.p[n:], found.modes[n:]):
            if does == STICKS:
                self.joints.hold({j: stop})
            else:
                self.joints.let_slip(j, force)
        self.modes.set({k: None if mode is None else at.SLIDE for k, mode in modes.items()})
        self.motion.catch()  # first onto the surface: what sticks does so where it is then
        self.modes.set(modes)
        self.motion.catch()
        for k in self.modes.closed():
            self.modes.note(k, self.modes.velocity(k)[0])
