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
Stops that joints hit while contacts are closed: impulses of both, found together.

If contacts that hold as they are carry what a stop's impact sends through them, within their
cones, nothing more is to be done. Otherwise stops and contacts answer to each other in turns until
nothing changes: a stop takes the speed of its joint, contacts take what that does to their points,
by the law of impacts with friction. Some slide after it, some open.
"""

import numpy as np

from closed_chain_dynamics.dynamics.bounded_forces import Responses
from closed_chain_dynamics.dynamics.constraints import Matrix, constraint_jacobian
from closed_chain_dynamics.dynamics.contact_impacts import BOUNCE_SPEED
from closed_chain_dynamics.dynamics.contact_problem import (
    contact_problem,
    contacts_as,
    solve_contacts,
)
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Vector
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.contact_modes import ContactModes

__all__ = ['StopImpacts']

PULLING = 1e-9  # share of the largest impulse below which one does not pull, or drag
MOST_TURNS = 2000
SETTLED = 1e-12  # share of the largest speed that a turn still changes


class StopImpacts:
    """What closed contacts do in the impacts of stops."""

    def __init__(self, modes: ContactModes) -> None:
        self.modes, self.motion = modes, modes.motion

    def _closed(self) -> list[int]:
        return [k for k in self.modes.loops if self.modes.mode(k) is not None]

    def hold(self, carried: Vector) -> bool:
        """Return whether contacts carry a change of momentum, (nv,), that loops have to carry."""
        closed = self._closed()
        if not closed:
            return True
        J_C = constraint_jacobian(self.motion.robot, self.motion.q)[0]
        impulses = np.linalg.lstsq(J_C.T, carried, rcond=None)[0]
        least = PULLING * float(np.abs(impulses).max(initial=0.0))
        return all(self._holds(k, impulses, least) for k in closed)

    def _holds(self, k: int, impulses: Vector, least: float) -> bool:
        """Return whether the impulse of one contact is within its cone."""
        loop = self.modes.loop(k)
        first, sticks = int(loop['row']), int(loop['n_rows']) == 3
        if not sticks:  # one that slides drags as soon as it is pressed
            return bool(abs(impulses[first]) <= least or loop['mu'] == 0.0 <= impulses[first])
        self.modes.velocity(k)  # places it
        frame = self.modes.frame(k)
        total = frame['R_1'] @ impulses[first : first + 3]
        push = float(frame['normal'] @ total)
        drag = float(np.linalg.norm(total - push * frame['normal']))
        both = loop['contact'] != at.UNILATERAL
        return drag <= float(loop['mu_static']) * (abs(push) if both else push) + least

    def share(
        self, rows: Matrix, lower: Vector, upper: Vector, more: float
    ) -> tuple[Vector, Vector, list[Event]]:
        """
        Return impulses of stops along rows, the jump of velocities (nv,), and what opened.

        `more`: the share of their impulses that stops push with once more, in a second phase.
        """
        motion, robot, closed = self.motion, self.motion.robot, self._closed()
        problem = contact_problem(robot, motion.q, motion.v, closed)
        mu, v = robot.structure.loops['mu'][closed], motion.v
        with contacts_as(robot, closed, at.SLIDE, 0):
            answer = Responses.of(robot, motion.q, rows)
        back = np.zeros(robot.nv)
        for _ in range(MOST_TURNS):
            impulses = answer.forces(rows @ (v + back), lower, upper)
            jump, was = answer.moved @ impulses, back
            found = solve_contacts(robot, problem, problem.J @ (v + jump), mu, drags=False)
            back = problem.response @ found.p.ravel()
            size = float(np.abs(v).max() + np.abs(jump).max(initial=0.0))
            if np.abs(back - was).max(initial=0.0) <= SETTLED * size:
                break
        jump = jump + back
        if more:
            jump = jump + answer.moved @ (more * impulses)
            found = solve_contacts(robot, problem, problem.J @ (v + jump), mu, drags=False)
            jump = jump + problem.response @ found.p.ravel()
        opened = [
            k for k, opens in zip(closed, found.opens & (found.u[:, 0] > BOUNCE_SPEED)) if opens
        ]
        self.modes.set({k: None if k in opened else at.SLIDE for k in closed})
        events = [motion.event('lift_off', robot.loop_names[k]) for k in opened]
        return (1.0 + more) * impulses, jump, events
