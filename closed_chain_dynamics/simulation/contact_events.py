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
Contacts of a simulation: touch-down, lift-off, stick and slip (paper 3 and its outlook).

A contact is a point, ball or wheel of one link on a surface of another. It slides, with the drag
K f_n against its motion, or it sticks, and then three rows hold it. A unilateral one is open until
it touches and opens again when it would have to pull. Each change is an event at an instant that
the step has been halved down to; what follows here is what the contacts do next.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.dynamics.contact_impacts import contact_impact
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.contact_modes import ContactModes
from closed_chain_dynamics.simulation.friction_jams import resolve_lock
from closed_chain_dynamics.simulation.motion import Motion

__all__ = ['ContactEvents']

# contacts of one body that stop together do so to the error of a step: those that friction stops
# within this share of it stand still when the first does, but of no step longer than this [s]
STOPPING, LONGEST = 0.01, 1e-3

Signs = NDArray[np.float64]


class ContactEvents:
    """What the contacts of a mechanism in motion do at their events."""

    def __init__(self, motion: Motion) -> None:
        self.motion, self.robot = motion, motion.robot
        self.modes = ContactModes(motion)
        self.loops = self.modes.loops

    def begin(self) -> list[Event]:
        """
        Decide for every closed contact whether it sticks or slides, at the start of a run.

        Only where friction locks at once something happens: those events are returned.
        """
        return self._decide(0.0)

    def unlock(self, lock: StructureError) -> list[Event]:
        """Let contacts that friction locks do what they can; return the events."""
        return resolve_lock(self.modes, lock) + self._settle()

    def handle(self, signs: Signs) -> list[Event]:
        """Let the contacts whose signs are below zero do what they do next; return the events."""
        touched = any(signs[k, 0] < 0.0 and self.modes.mode(k) is None for k in self.loops)
        if touched:
            return self._touch_down() + self._settle()
        return self._settle(STOPPING * min(self.motion.dt, LONGEST))

    def _name(self, k: int) -> str:
        return self.robot.loop_names[k]

    def _touch_down(self) -> list[Event]:
        """Close the open contacts that touch: the velocities jump, and may bounce."""
        motion, modes, before = self.motion, self.modes, float(self.motion.energy())
        touching = []
        for k in self.loops:
            away = modes.velocity(k)[1]
            if modes.touches(k) and away < 0.0:
                touching.append(k)
        closed = [k for k in self.loops if modes.mode(k) is not None]
        hit = contact_impact(self.robot, motion.q, motion.v, closed + touching, touching)
        motion.v = hit.impact.v_after.copy()
        modes.set({k: None if k in hit.open else at.SLIDE for k in touching})
        lifted = [k for k in closed if k in hit.open]
        modes.set(dict.fromkeys(lifted, None))
        motion.close()
        total, lost = before - float(motion.energy()), max(hit.impact.energy_lost, 0.0)
        motion.lost += total
        events = [
            motion.event(
                'bounce' if k in hit.open else 'touch_down', self._name(k), 0.0, hit.impact
            )
            for k in touching
        ]
        # one impact, whatever number of contacts shares it; the rest went into closing the gap
        events[0] = replace(events[0], energy_lost=lost, energy_of_gap=total - lost)
        return events + [motion.event('lift_off', self._name(k)) for k in lifted]

    def _decide(self, within: float) -> list[Event]:
        """Let the contacts find what they do next; return the events where friction locks."""
        events: list[Event] = []
        for last in (False,) * len(self.loops) + (True,):
            try:
                self.modes.settle(within)
                break
            except StructureError as lock:
                if last:
                    raise
                events += resolve_lock(self.modes, lock)
        return events

    def _settle(self, within: float = 0.0) -> list[Event]:
        """Decide what the contacts do next; return the events."""
        modes = self.modes
        was = {k: modes.mode(k) for k in self.loops}
        slid = {k: bool(np.any(modes.loop(k)['direction'])) for k in self.loops}
        events = self._decide(within)
        told = {event.name for event in events}
        for k in self.loops:
            now = modes.mode(k)
            if self._name(k) in told or (now == was[k] and not (slid[k] and k in modes.begun)):
                continue
            kind = 'slip'
            if now is None:
                kind = 'lift_off'
            elif was[k] is None:
                kind = 'touch_down'
            elif now == at.STICK:
                kind = 'stick'
                if not slid[k]:  # it has never moved: nothing has happened
                    continue
            events.append(self.motion.event(kind, self._name(k)))
        return events
