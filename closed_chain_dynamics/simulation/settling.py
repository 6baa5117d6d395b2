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
What contacts and joints do next, decided for all of them together (Coulomb's law, and stops).

Contacts and joints that stand still hold if any distribution of their forces lies within all
friction cones and bounds (`kernels/friction_cones.py`). Otherwise forces and accelerations are
found together: some points begin to slide or to leave, some joints give way. Those slide with mu
from then on, the others hold with mu_static.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.contact_problem import (
    REST_SPEED,
    ContactProblem,
    Coulomb,
    contact_problem,
    free_acceleration,
    solve_contacts,
)
from closed_chain_dynamics.dynamics.coulomb_law import SLIDES, STICKS
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.aiming import HELD_STILL
from closed_chain_dynamics.simulation.contact_modes import ContactModes
from closed_chain_dynamics.simulation.joint_holds import JointHolds

__all__ = ['Settling']

SLIPPING_SHARE = 1e-6  # share of the friction that is left where a contact begins to slip


class Settling:
    """Decides what the contacts and joints of a mechanism in motion do next."""

    def __init__(self, modes: ContactModes, joints: JointHolds) -> None:
        self.modes, self.joints = modes, joints
        self.motion, self.robot = modes.motion, modes.robot
        self.begun: frozenset[int] = frozenset()  # contacts that stood and slide since `settle`

    def settle(self, turned: Collection[int] = (), within: float = 0.0) -> None:
        """
        Decide what all closed contacts do next, open ones that rest on a surface, and joints.

        Contacts that friction stops `within` a time [s] stand still, and within ten times as long
        where all of them can hold then: contacts of one body come to rest together. `turned`:
        joints whose speed is just passing zero.
        """
        self.begun = frozenset()
        gaining = self.modes.gaining() if within else frozenset[int]()
        self.joints.release()
        standing = self.joints.standing(turned)
        if within and self._stops(10.0 * within, gaining, standing):
            return
        resting, moving = self.modes.sorted(within, gaining)
        if not (resting or moving or standing):
            return
        for k in moving:
            self.modes.note(k, self.modes.velocity(k)[0])
        self._hold(resting, moving, standing)
        lock = None
        try:
            if self._holds(resting + moving):
                return
        except StructureError as error:  # friction locks so: perhaps not if something gives way
            lock = error
        try:
            self._let_go(resting + moving, standing)
        except StructureError as error:
            raise (lock or self.motion.lock()) from error

    def _stops(self, within: float, gaining: frozenset[int], standing: dict[int, int]) -> bool:
        """Stop all contacts that friction stops within a time [s], if everything holds then."""
        motion, table = self.motion, self.robot.structure.loops
        resting, moving = self.modes.sorted(within, gaining)
        if not resting or moving:
            return False
        kept = motion.q.copy(), motion.v.copy(), motion.lost, table.copy()  # resting: no books
        self._hold(resting, moving, standing)
        if self._holds(resting):
            return True
        motion.q, motion.v, motion.lost, table[:] = kept
        self.joints.release()
        self.robot.regroup()
        return False

    def _hold(
        self, resting: Sequence[int], moving: Sequence[int], standing: dict[int, int]
    ) -> None:
        """Let contacts stick that stand still, the others slide, and hold joints that stand."""
        rough = self.robot.structure.loops['mu_static']
        sticky = {k: at.STICK if rough[k] > 0.0 else at.SLIDE for k in resting}
        before = self.motion.energy()
        stops = {h: mode for h, mode in standing.items() if mode != at.STUCK}
        if 0 < len(stops) < len(standing):  # what friction holds is held where the stops leave it
            self.joints.hold(stops)
            self.robot.regroup()
            self.motion.catch()
        self.joints.hold(standing)
        self.modes.set({**sticky, **dict.fromkeys(moving, at.SLIDE)})
        if not (resting or standing):
            return
        self.motion.catch()  # takes what is left of the speed of what stands still
        now = self.motion.energy()
        taken = before.kinetic - now.kinetic
        self.motion.lost += before.potential - now.potential  # what is left of gaps was closed
        if resting or not any(self.joints.rubs(h) for h in standing):
            self.motion.lost += taken
        else:  # of joints, friction takes it
            self.motion.books[1] += taken

    def _signs(self) -> NDArray[np.float64]:
        """Return the least sign of everything that is closed or held; 1 of all else."""
        signs, n = self.motion.signs().min(axis=1), len(self.robot.loop_names)
        mine = np.ones(len(signs))
        mine[self.modes.closed()] = signs[self.modes.closed()]
        held = n + np.flatnonzero(self.robot.structure.holds['active'])
        mine[held] = signs[held]
        return mine

    def _holds(self, loops: Sequence[int]) -> bool:
        """Return whether all contacts and joints can go on as they are."""
        if self._signs().min(initial=1.0) < 0.0:
            return False
        motion, table = self.motion, self.robot.structure.loops
        J_C, _, bias = constraint_jacobian(self.robot, motion.q, motion.v)
        rest = np.abs(J_C @ motion.acceleration + bias)
        rows = [table['row'][k] + i for k in loops for i in range(table['n_rows'][k])]
        rows += self.joints.rows_of()
        # else no force can keep them closed
        return float(rest[rows].max(initial=0.0)) <= HELD_STILL

    def _let_go(self, loops: Sequence[int], standing: dict[int, int]) -> None:
        """Let contacts begin to slide or to leave, and joints give way, as forces ask for."""
        motion, robot, n = self.motion, self.robot, len(loops)
        self.joints.release()
        held = self.joints.held(standing, friction=True)
        problem = contact_problem(robot, motion.q, motion.v, loops, held)
        with motion.forces():
            c = problem.J @ free_acceleration(robot, motion.q, motion.v, loops) + problem.bias
        table, slipped = robot.structure.loops, problem.moving[:n].copy()
        for _ in range(n + 1):  # what slips drags with less than what holds
            mu = np.where(slipped, table['mu'][list(loops)], table['mu_static'][list(loops)])
            found = solve_contacts(robot, problem, c, mu, drags=True)
            more = slipped | found.slides[:n]
            if np.array_equal(more, slipped):
                break
            slipped = more
        if not np.any(found.opens | found.slides & ~problem.moving):
            found = _beginning(found, mu, problem.moving)
        gives = {}
        for h, force, mode in zip(standing, found.p[n:, 0], found.modes[n:]):
            if mode != STICKS:
                gives[h] = force
        self.joints.hold({h: mode for h, mode in standing.items() if h not in gives})
        for h, force in gives.items():
            self.joints.let_slip(h, force)
        self._apply(problem, found)

    def _apply(self, problem: ContactProblem, found: Coulomb) -> None:
        """Let contacts do what Coulomb's law says, and aim the drags of those that begin."""
        modes: dict[int, int | None] = {}
        table = self.robot.structure.loops
        for k, opens, slides in zip(problem.loops, found.opens, found.slides):
            sticks = not slides and table['mu_static'][k] > 0.0
            modes[k] = None if opens else at.STICK if sticks else at.SLIDE
        self.modes.set(modes)
        begin = {
            k: found.u[i, 1:] @ problem.frames[i, 1:]
            for i, k in enumerate(problem.loops)
            if modes[k] == at.SLIDE and not problem.moving[i]
        }
        self.begun = frozenset(begin)
        self._aim(begin)
        for _ in range(2 * len(problem.moving)):
            if not self._let_worst_go():
                return

    def _aim(self, begin: dict[int, Vector]) -> None:
        """Turn the drags of contacts that begin to slide, about as given, against the motion."""
        table = self.robot.structure.loops
        for k, way in begin.items():
            self.modes.velocity(k)
            self.modes.note(k, way)
            table['slow'][k] = REST_SPEED
        if not begin:
            return
        motion = self.motion
        with motion.forces():
            status = kernels.compute_aim(self.robot.handle, motion.q, motion.v, motion.work)
        for k in begin:
            table['slow'][k] = 0.0
        if status:
            motion.refuse(status)

    def _let_worst_go(self) -> bool:
        """
        Let go what by its sign does not hold after all, the worst; return whether there is one.

        So what has been decided holds as the next step will see it. Where forces of redundant
        drags are not unique, those of least norm may pull where others need not.
        """
        signs, n = self._signs(), len(self.robot.loop_names)
        table, force = self.robot.structure.loops, self.motion.signs()[:n, 1]
        for k in np.flatnonzero(table['active'] & (table['mode'] == at.SLIDE)):
            signs[k] = min(force[k], 1.0)  # its speed says how it will slide, not whether
        worst = int(np.argmin(signs))
        if signs[worst] >= 0.0:
            return False
        if worst >= n:
            self.joints.let_slip(worst - n, self.joints.force(worst - n))
            self.robot.regroup()
        elif force[worst] < 0.0:
            self.modes.set({worst: None})
        else:
            friction = self.modes.frame(worst)['friction'].copy()
            self.modes.set({worst: at.SLIDE})
            self.begun |= {worst}
            self._aim({worst: -friction})
        return True


def _beginning(found: Coulomb, mu: Vector, moving: NDArray[np.bool_]) -> Coulomb:
    """
    Let those slip that are at their limit, though nothing accelerates yet to more than rounding.

    That is how it is at the very instant at which contacts cannot hold any longer.
    """
    n = len(mu)
    friction, most = np.linalg.norm(found.p[:n, 1:], axis=1), mu * np.abs(found.p[:n, 0])
    slides = np.zeros(len(moving), dtype=bool)
    slides[:n] = ~moving[:n] & (friction >= (1.0 - SLIPPING_SHARE) * most) & (most > 0.0)
    u = found.u.copy()
    u[slides, 1:] = -found.p[slides, 1:]
    return replace(found, u=u, modes=np.where(slides, SLIDES, found.modes))
