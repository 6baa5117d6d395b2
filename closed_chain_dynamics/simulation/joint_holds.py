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
Stops and friction of the joints of a mechanism in motion: which may hold, and which do.

A joint rests at the end of its range while the stop pushes. A joint that friction brings to rest
locks until more than its friction pulls at it; while it slides, friction is constant. What is held
is part of the structure: a row of J_C. Friction acts through forces, not through impulses.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.contact_impacts import BOUNCE_SPEED
from closed_chain_dynamics.dynamics.contact_problem import REST_SPEED, Held
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism

__all__ = ['JointHolds']

AT_STOP = 1e-9  # a joint this near to its stop is at it [rad or m]
CAUGHT_AT_STOP = 1e-7  # and one that hardly moves, this near: two stops do not rattle for ever

JointStates = NDArray[np.float64]
# what can hold pushes between these forces, friction left aside
HOLDING_FORCES = {
    at.STUCK: (0.0, 0.0),
    at.AT_LOWER: (0.0, np.inf),
    at.AT_UPPER: (-np.inf, 0.0),
    at.FIXED: (-np.inf, np.inf),
}


class JointHolds:
    """What may hold the joints of a mechanism in motion: their stops, and friction."""

    def __init__(self, motion: MovingMechanism, limits: bool) -> None:
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

    def rubs(self, h: int) -> bool:
        """Return whether a coordinate has friction."""
        return bool(self._law(h)['friction'] > 0.0)

    def _joined(self) -> list[int]:
        """Return the coordinates whose joint is there: neither cut nor open."""
        holds, loops = self.robot.structure.holds, self.robot.structure.loops
        return [
            h
            for h, hold in enumerate(holds)
            if hold['dof'] >= 0 and (hold['loop'] < 0 or loops[hold['loop']]['active'])
        ]

    def _states(self) -> JointStates:
        """Return position and rate of every coordinate, (holds, 2)."""
        states = np.zeros((self.count, 2))
        kernels.compute_hold_states(self.robot.handle, self.motion.q, self.motion.v, states)
        return states

    def modes(self) -> dict[int, int]:
        """Return what holds the coordinates that are held."""
        return {h: int(self._hold(h)['mode']) for h in self._joined() if self._hold(h)['active']}

    def beyond(self) -> list[int]:
        """Return the coordinates that are beyond the ends of their range."""
        states, holds = self._states(), self.robot.structure.holds
        return [
            h
            for h in self._joined()
            if not holds[h]['lower'] - AT_STOP <= states[h, 0] <= holds[h]['upper'] + AT_STOP
        ]

    def passed(self) -> dict[int, int]:
        """Return the coordinates that are beyond a stop, and beyond which."""
        states, found = self._states(), {}
        for h in self._joined():
            hold = self._hold(h)
            if hold['placed'] and not hold['lower'] <= states[h, 0] <= hold['upper']:
                found[h] = at.AT_LOWER if states[h, 0] < hold['lower'] else at.AT_UPPER
        return found

    def gaps(self, modes: dict[int, int]) -> Vector:
        """Return how far coordinates are from the stops that may hold them, positive below."""
        states, gaps = self._states(), np.zeros(len(modes))
        for i, (h, mode) in enumerate(modes.items()):
            hold = self._hold(h)
            if mode == at.AT_LOWER:
                gaps[i] = max(states[h, 0] - hold['lower'], 0.0)
            elif mode == at.AT_UPPER:
                gaps[i] = min(states[h, 0] - hold['upper'], 0.0)
        return gaps

    def at_stops(self) -> tuple[dict[int, int], dict[int, float]]:
        """Return which stops coordinates are at, and how fast they run into them."""
        states, joined = self._states(), self._joined()
        stops = {h: self._stop_at(h, *states[h]) for h in joined}
        at_stop = {h: stop for h, stop in stops.items() if stop is not None}
        return at_stop, {h: _speed(stop, states[h, 1]) for h, stop in at_stop.items()}

    def held(self, modes: dict[int, int], *, friction: bool) -> Held:
        """Return rows, biases and bounds of coordinates that may be held in these ways."""
        rubs = np.array([float(self._law(h)['friction']) * friction for h in modes])
        bounds = np.array([HOLDING_FORCES[mode] for mode in modes.values()]).reshape(-1, 2)
        return Held(*self._rows(modes), bounds + np.multiply.outer(rubs, [-1.0, 1.0]))

    def restitution(self, which: Collection[int]) -> list[float]:
        """Return with which share of their speed coordinates come back from their stops."""
        return [float(self._law(h)['restitution']) for h in which]

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
        hold, near = self._hold(h), AT_STOP if abs(rate) > BOUNCE_SPEED else CAUGHT_AT_STOP
        low, high = position - hold['lower'] <= near, hold['upper'] - position <= near
        if not (hold['placed'] and (low or high)):
            return None
        if position - hold['lower'] < -AT_STOP:
            hold['lower'] = position
        if hold['upper'] - position < -AT_STOP:
            hold['upper'] = position
        return at.FIXED if low and high else at.AT_LOWER if low else at.AT_UPPER

    # --- changing ------------------------------------------------------------------------------
    def forget(self) -> None:
        """Forget in which directions joints slide, where everything is new."""
        for h in self._joined():
            law = self._law(h)
            if law['friction'] > 0.0:
                law['slip'], law['direction'] = at.SLIDING, 0.0

    def release(self, *, all_but_stuck: bool = False) -> None:
        """Let joints go; `all_but_stuck`: not those that friction alone holds."""
        gone = False
        for h in self._joined():
            hold, law = self._hold(h), self._law(h)
            if all_but_stuck and hold['active'] and hold['mode'] == at.STUCK:
                continue
            if law['slip'] == at.STANDING:
                law['slip'], law['direction'] = at.SLIDING, 0.0
            gone, hold['active'] = gone or bool(hold['active']), 0
        if gone:
            self.robot.regroup()

    def standing(self, turned: Collection[int]) -> dict[int, int]:
        """
        Return the joints that stand still and what might hold them; note how others slide.

        `turned`: joints whose speed is just passing zero.
        """
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
        return standing

    def hold(self, modes: dict[int, int]) -> None:
        """Hold joints: at their stops, or where they are. The structure is not built anew."""
        states = self._states()
        for h, mode in modes.items():
            hold, law = self._hold(h), self._law(h)
            where = {at.AT_LOWER: hold['lower'], at.AT_UPPER: hold['upper']}
            hold['active'], hold['mode'] = 1, mode
            hold['position'] = where.get(mode, states[h, 0])
            if law['friction'] > 0.0:
                law['slip'], law['direction'] = at.STANDING, 0.0

    def let_slip(self, h: int, force: float) -> None:
        """Let a joint go that what holds it, at the force given, does not hold."""
        hold, law = self._hold(h), self._law(h)
        hold['active'] = 0
        if law['friction'] > 0.0:
            law['slip'], law['direction'] = at.SLIDING, -np.sign(force)

    def force(self, h: int) -> float:
        """Return the force that holds a joint, as the last computation has found it."""
        return float(self._hold(h)['force'])

    def rows_of(self) -> list[int]:
        """Return the rows of J_C that hold joints."""
        return [int(hold['row']) for hold in self.robot.structure.holds if hold['active']]


def _speed(stop: int, rate: float) -> float:
    """Return how fast a coordinate runs into its stop."""
    return abs(rate) if stop == at.FIXED else rate if stop == at.AT_UPPER else -rate
