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
Impacts at one instant: contacts that touch and joints that hit their stops, all together.

Everything that is closed, or at a stop, takes part: impulses of all are found at once, by the law
of impacts with friction (`dynamics/contact_impacts.py`). Friction of joints acts through forces,
so a joint that friction holds is let go before. Where all is slow, that would shake loose what
friction holds, to be caught again at once, and again: there what sticks stays.

Something between two things that it hits in turn, a foot between the floor and the stop of its
knee, bounces ever faster over an ever shorter way. What comes back to where it has hit before from
next to no distance has no more restitution: it stays.
"""

from dataclasses import replace

import numpy as np

from closed_chain_dynamics.dynamics.contact_impacts import BOUNCE_SPEED, contact_impact
from closed_chain_dynamics.dynamics.contact_problem import REST_SPEED
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.contact_modes import ContactModes
from closed_chain_dynamics.simulation.joint_holds import JointHolds

__all__ = ['ImpactEvents']

MOST_IMPACTS = 20  # that follow each other at one instant
NO_WAY = 1e-5  # speed times time since the last hit, below which nothing bounces again [m or rad]
CONTACT = -1  # the side that a contact is hit from, beside those of stops
FELT_IMPULSE = 1e-9  # share of the largest impulse below which a stop has felt none


class ImpactEvents:
    """What happens to a mechanism in motion whose contacts touch or whose joints hit stops."""

    def __init__(self, modes: ContactModes, joints: JointHolds) -> None:
        self.modes, self.joints = modes, joints
        self.motion, self.robot = modes.motion, modes.robot
        self._hits: dict[tuple[int, int], float] = {}  # when contacts and stops were hit

    def happen(self) -> list[Event]:
        """Let impacts follow each other until nothing runs into anything; return the events."""
        events: list[Event] = []
        for turn in range(MOST_IMPACTS):
            stops, speeds = self.joints.at_stops()
            touching = self._touching(REST_SPEED if turn else 0.0)
            fastest = max([*speeds.values(), *touching.values()], default=0.0)
            if not touching and fastest <= REST_SPEED:
                break
            slow = fastest <= BOUNCE_SPEED
            self.joints.release(all_but_stuck=slow)
            kept = at.STICK if slow else None
            closed = [k for k in self.modes.closed() if self.modes.mode(k) != kept]
            events += self._impact(closed, touching, stops, speeds)
        return events

    def _touching(self, speed: float) -> dict[int, float]:
        """Return the open contacts that touch, and how fast, above a speed [m/s]."""
        found = {}
        for k in self.modes.loops:
            away = self.modes.velocity(k)[1]
            if self.modes.touches(k) and away < -speed:
                found[k] = -away
        return found

    def _restitution(
        self,
        closed: list[int],
        touching: dict[int, float],
        stops: dict[int, int],
        speeds: dict[int, float],
    ) -> list[float]:
        """Return the restitution of contacts, then of stops: none of what has hardly been away."""
        table, shares = self.robot.structure.loops['restitution'], [0.0] * len(closed)
        hits = [(CONTACT, k, float(table[k]), speed) for k, speed in touching.items()]
        for (h, side), e in zip(stops.items(), self.joints.restitution(stops)):
            hits.append((side, h, e, speeds[h]))
        for side, place, e, speed in hits:
            last = self._hits.get((side, place))
            short = last is not None and speed * (self.motion.time - last) <= NO_WAY
            shares.append(0.0 if short else e)
            if speed > REST_SPEED:
                self._hits[side, place] = self.motion.time
        return shares

    def _impact(
        self,
        closed: list[int],
        touching: dict[int, float],
        stops: dict[int, int],
        speeds: dict[int, float],
    ) -> list[Event]:
        """Let one impact of contacts and stops happen; return its events."""
        motion, modes, before = self.motion, self.modes, float(self.motion.energy())
        hit = contact_impact(
            *(self.robot, motion.q, motion.v, closed + list(touching), list(touching)),
            stops=self.joints.held(stops, friction=False),
            restitution=self._restitution(closed, touching, stops, speeds),
        )
        motion.v = hit.impact.v_after.copy()
        lifted = [k for k in closed if k in hit.open]
        modes.set({k: None if k in hit.open else at.SLIDE for k in [*closed, *touching]})
        motion.catch()
        total, lost = before - float(motion.energy()), max(hit.impact.energy_lost, 0.0)
        motion.lost += total
        names, mobility = self.robot.loop_names, motion.mobility()
        events = [
            motion.event('bounce' if k in hit.open else 'touch_down', names[k], 0.0, hit.impact)
            for k in touching
        ]
        change = hit.impact.momentum_after - hit.impact.momentum_before
        least = FELT_IMPULSE * float(
            np.abs(np.append(hit.impact.impulse, hit.stops)).max(initial=0.0)
        )
        for h, impulse in zip(stops, hit.stops):  # one that rests at its stop may feel it, too
            if abs(impulse) > least or speeds[h] > REST_SPEED:
                bounces = hit.bounces and speeds[h] > BOUNCE_SPEED
                kind, name = 'bounce' if bounces else 'stop', self.joints.name(h)
                events.append(
                    Event(
                        *(motion.time, kind, name, mobility, mobility, 0.0),
                        np.array([impulse]),
                        change if not events else np.zeros(6),
                    )
                )
        # one impact, whatever number shares it; the rest went into closing the gap
        events[0] = replace(events[0], energy_lost=lost, energy_of_gap=total - lost)
        return events + [motion.event('lift_off', names[k]) for k in lifted]
