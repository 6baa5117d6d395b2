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
Stops and friction of the joints of a mechanism in motion: hit, rest, leave; lock and unlock.

A joint that hits the end of its range loses its speed or comes back with a share of it, and then
rests at the stop while the stop pushes. A joint that friction brings to rest locks until more than
its friction pulls at it; while it slides, friction is constant. All are events at instants, and
what is held is part of the structure: a row of J_C. Friction acts through forces, not through
impulses. What happens next is decided for all joints together, by `Responses.forces`.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.bounded_forces import Responses
from closed_chain_dynamics.dynamics.tree import mass_matrix, momentum
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Vector
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.motion import Motion
from closed_chain_dynamics.simulation.stop_impacts import StopImpacts

__all__ = ['JointEvents']

REST_SPEED = 1e-7  # below this a joint stands still [rad/s or m/s]
BOUNCE_SPEED = 1e-3  # a joint that hits its stop slower than this does not bounce [rad/s or m/s]
NEAR = 1e-9  # a joint this near to its stop is at it [rad or m]
CAUGHT = 1e-7  # and one that hardly moves, this near: two stops do not rattle for ever
AT_BOUND = 1e-10  # share of a bound by which a force is at it
MOST_IMPACTS = 20  # that follow each other at one instant

States = NDArray[np.float64]
# what can hold pushes between these forces, friction left aside
BOUNDS = {
    at.STUCK: (0.0, 0.0),
    at.AT_LOWER: (0.0, np.inf),
    at.AT_UPPER: (-np.inf, 0.0),
    at.FIXED: (-np.inf, np.inf),
}


class JointEvents:
    """What the joints of a mechanism in motion do at their stops and where friction holds them."""

    def __init__(self, motion: Motion, limits: bool) -> None:
        self.motion, self.robot = motion, motion.robot
        home, holds = self.robot.model.holds, self.robot.structure.holds
        holds['lower'] = home['lower'] if limits else -np.inf
        holds['upper'] = home['upper'] if limits else np.inf
        self.count = len(holds)

    # --- looking -------------------------------------------------------------------------------
    def _hold(self, h: int) -> np.void:
        record: np.void = self.robot.structure.holds[h]
        return record

    def _law(self, h: int) -> np.void:
        hold, structure = self._hold(h), self.robot.structure
        table = structure.dofs if hold['loop'] < 0 else structure.loop_dofs
        record: np.void = table[hold['dof']]
        return record

    def name(self, h: int) -> str:
        """Return the name of a coordinate."""
        return self.robot.held_name(h)

    def _joined(self) -> list[int]:
        """Return the coordinates whose joint is there: neither cut nor open."""
        holds, loops = self.robot.structure.holds, self.robot.structure.loops
        return [
            h
            for h, hold in enumerate(holds)
            if hold['dof'] >= 0 and (hold['loop'] < 0 or loops[hold['loop']]['active'])
        ]

    def _states(self) -> States:
        """Return position and rate of every coordinate, (holds, 2)."""
        states = np.zeros((self.count, 2))
        kernels.compute_hold_states(self.robot.handle, self.motion.q, self.motion.v, states)
        return states

    def _rows(self, which: Collection[int]) -> tuple[NDArray[np.float64], Vector]:
        """Return rows and biases of coordinates, (n, nv) and (n,)."""
        robot, motion = self.robot, self.motion
        rows, biases = np.zeros((len(which), robot.nv)), np.zeros(len(which))
        count = len(robot.loop_coordinate_names)
        L, positions, bias = np.empty((count, robot.nv)), np.empty(count), np.empty(count)
        if any(self._hold(h)['loop'] >= 0 for h in which):
            kernels.compute_loop_jacobian(robot.handle, motion.q, motion.v, L, positions)
            kernels.compute_loop_bias(robot.handle, motion.q, motion.v, bias)
        for i, h in enumerate(which):
            hold = self._hold(h)
            if hold['loop'] < 0:
                rows[i, hold['dof']] = 1.0
            else:
                rows[i], biases[i] = L[hold['dof']], bias[hold['dof']]
        return rows, biases

    def _stop_at(self, h: int, position: float, rate: float) -> int | None:
        """Return which stop a coordinate is at; one that was passed is where the joint is now."""
        hold, near = self._hold(h), NEAR if abs(rate) > BOUNCE_SPEED else CAUGHT
        low, high = position - hold['lower'] <= near, hold['upper'] - position <= near
        if not (hold['placed'] and (low or high)):
            return None
        if position - hold['lower'] < -NEAR:
            hold['lower'] = position
        if hold['upper'] - position < -NEAR:
            hold['upper'] = position
        return at.FIXED if low and high else at.AT_LOWER if low else at.AT_UPPER

    # --- events --------------------------------------------------------------------------------
    def begin(self) -> list[Event]:
        """Find out what is held, before the first step and wherever everything is new."""
        events, states = [], self._states()
        for h in self._joined():
            hold, law = self._hold(h), self._law(h)
            if law['friction'] > 0.0:
                law['slip'], law['direction'] = at.SLIDING, 0.0
            if not hold['lower'] - NEAR <= states[h, 0] <= hold['upper'] + NEAR:
                events.append(self.motion.event('beyond_limit', self.name(h)))
        return events + [event for event in self.settle() if event.impulse.size]

    def release(self) -> None:
        """Let all joints go; `settle` finds anew what holds them."""
        for h in self._joined():
            law = self._law(h)
            if law['slip'] == at.STANDING:
                law['slip'], law['direction'] = at.SLIDING, 0.0
        if np.any(self.robot.structure.holds['active']):
            self.robot.structure.holds['active'] = 0
            self.robot.build()

    def settle(
        self, turned: Collection[int] = (), contacts: StopImpacts | None = None
    ) -> list[Event]:
        """
        Let joints hit their stops, and find what rests, sticks and goes on; return the events.

        `turned`: joints whose speed is just passing zero. `contacts` answer to impacts where they
        cannot hold as they are.
        """
        was = {h: int(self._hold(h)['mode']) for h in self._joined() if self._hold(h)['active']}
        before = self.motion.mobility()
        self.release()
        events = self._hit(contacts)
        self._rest(turned)
        now = {h: int(self._hold(h)['mode']) for h in self._joined() if self._hold(h)['active']}
        after, told = self.motion.mobility(), {event.name for event in events}
        for event in events:
            event.mobility_before, event.mobility_after = before, after
        for h in self._joined():
            kind = _change(was.get(h), now.get(h))
            if kind and not (kind == 'stop' and self.name(h) in told):
                events.append(Event(self.motion.time, kind, self.name(h), before, after))
        return events

    # --- impacts -------------------------------------------------------------------------------
    def _hit(self, contacts: StopImpacts | None) -> list[Event]:
        """Let the joints that run into their stops be stopped, or thrown back; return events."""
        events: list[Event] = []
        for _ in range(MOST_IMPACTS):
            states = self._states()
            stops = {h: self._stop_at(h, *states[h]) for h in self._joined()}
            at_stop = {h: stop for h, stop in stops.items() if stop is not None}
            speeds = {h: _speed(stop, states[h, 1]) for h, stop in at_stop.items()}
            if max(speeds.values(), default=0.0) <= REST_SPEED:
                break
            events += self._impact(at_stop, speeds, contacts)
        return events

    def _impact(
        self, stops: dict[int, int], speeds: dict[int, float], contacts: StopImpacts | None
    ) -> list[Event]:
        """Let stops take the speed of all joints that run into them, at once; return events."""
        motion, robot = self.motion, self.robot
        energy, moved = float(motion.energy()), momentum(robot, motion.q, motion.v)
        fast = [float(self._law(h)['restitution']) for h in stops if speeds[h] > BOUNCE_SPEED]
        share, events = min(fast, default=0.0), list[Event]()
        # where all is slow, all that is at a stop stays there: the forces decide what leaves
        slow = max(speeds.values()) <= BOUNCE_SPEED
        modes = [at.FIXED if slow else stop for stop in stops.values()]
        lower, upper = (np.array([BOUNDS[mode][k] for mode in modes]) for k in (0, 1))
        answer = Responses.of(robot, motion.q, self._rows(stops)[0])
        impulses = (1.0 + share) * answer.forces(answer.rows @ motion.v, lower, upper)
        jump = answer.moved @ impulses
        carried = mass_matrix(robot, motion.q) @ jump - answer.rows.T @ impulses
        if contacts and not contacts.hold(carried):  # by the loops, J_C^T times their impulse
            impulses, jump, events = contacts.share(answer.rows, lower, upper, share)
        motion.v = motion.v + jump
        lost, change = energy - float(motion.energy()), momentum(robot, motion.q, motion.v) - moved
        motion.lost += lost
        kind = 'bounce' if share else 'stop'
        for h, impulse in zip(stops, impulses):
            if speeds[h] > REST_SPEED:
                name = self.name(h)
                events.append(
                    Event(motion.time, kind, name, 0, 0, lost, np.array([impulse]), change)
                )
                lost, change = 0.0, np.zeros(6)  # one impact, however many joints share it
        return events

    # --- rest ----------------------------------------------------------------------------------
    def _rest(self, turned: Collection[int]) -> None:
        """Hold the joints that stand still as far as stops and friction can."""
        standing, states = self._standing(turned)
        if not standing:
            return
        motion, robot = self.motion, self.robot
        lower, upper = np.empty(len(standing)), np.empty(len(standing))
        for i, (h, mode) in enumerate(standing.items()):
            friction = float(self._law(h)['friction'])
            lower[i], upper[i] = BOUNDS[mode][0] - friction, BOUNDS[mode][1] + friction
        rows, biases = self._rows(standing)
        free = rows @ motion.accelerations() + biases  # without what might hold
        forces = Responses.of(robot, motion.q, rows).forces(free, lower, upper)
        scale = AT_BOUND * np.abs(forces).max(initial=0.0)
        for (h, mode), force, low, high in zip(standing.items(), forces, lower, upper):
            if low < force - scale and force + scale < high:
                self._hold_at(h, mode, states[h, 0])
            else:
                self._let_slip(h, force)
        self._build()
        self._check_holds()

    def _standing(self, turned: Collection[int]) -> tuple[dict[int, int], States]:
        """Return the joints that stand still and what might hold them; note how others slide."""
        states, standing = self._states(), {}
        for h in self._joined():
            law, (position, rate) = self._law(h), states[h]
            rubs = law['friction'] > 0.0
            if abs(rate) > REST_SPEED and h not in turned:
                if rubs:
                    law['slip'], law['direction'] = at.SLIDING, np.sign(rate)
                continue
            stop = self._stop_at(h, position, rate)
            if rubs:
                law['slip'], law['direction'] = at.SLIDING, 0.0
            if rubs or stop is not None:
                standing[h] = at.STUCK if stop is None else stop
        return standing, states

    def _hold_at(self, h: int, mode: int, position: float) -> None:
        """Hold a joint: at its stop, or where it is."""
        hold, law = self._hold(h), self._law(h)
        where = {at.AT_LOWER: hold['lower'], at.AT_UPPER: hold['upper']}
        hold['active'], hold['mode'], hold['position'] = 1, mode, where.get(mode, position)
        if law['friction'] > 0.0:
            law['slip'], law['direction'] = at.STANDING, 0.0

    def _let_slip(self, h: int, force: float) -> None:
        """Let a joint go that its friction, at the force given, does not hold."""
        hold, law = self._hold(h), self._law(h)
        hold['active'] = 0
        if law['friction'] > 0.0:
            law['slip'], law['direction'] = at.SLIDING, -np.sign(force)

    def _build(self) -> None:
        """Let the structure be what is held now, and take what is left of the speed."""
        energy = float(self.motion.energy())
        self.robot.build()
        self.motion.close()
        self.motion.books[1] += energy - float(self.motion.energy())

    def _check_holds(self) -> None:
        """Let go what does not hold after all: contacts that slide have a say in the forces."""
        first = len(self.robot.loop_names)
        for _ in range(self.count):
            signs = self.motion.signs()[first:].min(axis=1, initial=1.0)
            held = np.flatnonzero(self.robot.structure.holds['active'])
            weak = [int(h) for h in held if signs[h] < 0.0]
            if not weak:
                return
            worst = min(weak, key=lambda h: signs[h])
            self._let_slip(worst, float(self._hold(worst)['force']))
            self._build()


def _speed(stop: int, rate: float) -> float:
    """Return how fast a coordinate runs into its stop."""
    return abs(rate) if stop == at.FIXED else rate if stop == at.AT_UPPER else -rate


def _change(was: int | None, now: int | None) -> str:
    """Return what kind of event it is that a joint was held in one way, and now in another."""
    if was == now:
        return ''
    if now is not None:
        return 'lock' if now == at.STUCK else 'stop'
    return 'unlock' if was == at.STUCK else 'leave_stop'
