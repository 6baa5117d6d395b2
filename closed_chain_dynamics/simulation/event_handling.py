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
Events of a mechanism in motion, of contacts and of joints: impacts first, then what goes on.

A contact is a point, ball or wheel of one link on a surface of another. It slides, with the drag
K f_n against its motion, or it sticks, and then three rows hold it. A unilateral one is open until
it touches and opens again when it would have to pull. A joint may rest at a stop, or be locked by
friction. Each change is an event at an instant that the step has been halved down to; what
follows is decided for all contacts and joints together.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.contact_problem import REST_SPEED
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.contact_modes import ContactModes
from closed_chain_dynamics.simulation.friction_jams import resolve_lock
from closed_chain_dynamics.simulation.impact_events import ImpactEvents
from closed_chain_dynamics.simulation.impulse_step import ImpulseStep
from closed_chain_dynamics.simulation.joint_holds import JointHolds
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism
from closed_chain_dynamics.simulation.settling import Settling

__all__ = ['EventHandling']

# contacts of one body that stop together do so to the error of a step: those that friction stops
# within this share of it stand still when the first does, but of no step longer than this [s]
STOPPING_SHARE, LONGEST_STOPPING = 0.01, 1e-3
STOPS_IN = (0.01, 0.1, 1.0)  # steps within which friction stops what it would lock otherwise

Signs = NDArray[np.float64]


@dataclass(frozen=True)
class _Before:
    """What contacts and joints did before an event, and which contacts had slid."""

    contacts: dict[int, int | None]
    slid: dict[int, bool]
    joints: dict[int, int]
    mobility: int


class EventHandling:
    """What contacts, stops and friction of a mechanism in motion do at their events."""

    def __init__(self, motion: MovingMechanism, limits: bool) -> None:
        self.motion, self.robot = motion, motion.robot
        self.modes, self.joints = ContactModes(motion), JointHolds(motion, limits)
        self._impacts = ImpactEvents(self.modes, self.joints)
        self._settling = Settling(self.modes, self.joints)
        self._impulse_step = ImpulseStep(self.modes, self.joints)

    @property
    def watching(self) -> bool:
        """Return whether anything here may have an event."""
        return bool(self.modes.loops or self.joints.count)

    def name_of(self, row: int) -> str:
        """Return whose signs are in a row of them: a contact's, or a coordinate's."""
        names = self.robot.loop_names
        return names[row] if row < len(names) else self.joints.name(row - len(names))

    def begin(self) -> list[Event]:
        """
        Decide what holds and what slides, at the start of a run and after connecting.

        Only where something hits a stop or friction locks at once something happens, and where a
        contact is below its surface: it is put there.
        """
        lifted = [
            self.motion.event('below_surface', self.robot.loop_names[k])
            for k in self.modes.below()
        ]
        events = [
            self.motion.event('beyond_limit', self.joints.name(h)) for h in self.joints.beyond()
        ]
        self.joints.forget()
        _, speeds = self.joints.at_stops()
        if max(speeds.values(), default=0.0) > REST_SPEED:
            events += self._impacts.happen()
        lost = self.motion.lost
        decided = self._decide((), 0.0)
        for event in lifted:
            event.mobility_after = self.motion.mobility()
        if lifted:  # what it took belongs to all of them
            told = sum(event.energy_lost + event.energy_of_gap for event in decided)
            lifted[0].energy_of_gap = self.motion.lost - lost - told
        return lifted + events + decided

    def unlock(self, lock: StructureError) -> list[Event]:
        """
        Let contacts open or jam where no finite force fits the motion; return the events.

        First, something may give way: a joint at its stop, for instance. Then contacts that slide
        so slowly that friction takes their speed within the step are stopped by it: where the
        drag turns within the step, it may lock what it does not lock now.
        """
        before = self._before()
        for share in (0.0, *STOPS_IN):
            events = self._go_on(before, [], (), share * self.motion.dt)
            if events:
                return events
        return self._go_on(before, resolve_lock(self.modes, self.joints, lock))

    @property
    def one_sided(self) -> bool:
        """Return whether all contacts are: only then can what locks be stepped over."""
        kinds = self.robot.structure.loops['contact'][self.modes.loops]
        return bool(np.all(kinds == at.UNILATERAL))

    def jams(self, within: float) -> bool:
        """
        Return whether friction is about to stop a contact, within a time [s].

        Before it locks, forces grow without bound, and no step is short enough to follow them.
        """
        return self.one_sided and self.modes.is_caught(within)

    def step_over(self, h: float) -> list[Event]:
        """Move on by at most a time h [s] at velocity level, where events pile up."""
        before = self._before()
        self._impulse_step.take(h)
        try:
            return self._go_on(before, [])
        except StructureError:  # forces do not decide: it goes on as the impulses have said
            self._impulse_step.do()
            return self._tell(before, [])

    def note(self) -> None:
        """Note after a step how contacts slide, and how far joints that close loops have come."""
        kernels.note_directions(self.robot.handle)
        kernels.note_turns(self.robot.handle)

    def handle(self, signs: Signs) -> list[Event]:
        """Let everything whose signs are below zero do what it does next; return the events."""
        n, before = len(self.robot.loop_names), self._before()
        loops, holds = self.robot.structure.loops, self.robot.structure.holds
        touched = any(signs[k, 0] < 0.0 and not loops[k]['active'] for k in self.modes.loops)
        ran = np.flatnonzero(signs[n : n + len(holds), 1] < 0.0)
        turned = [int(h) for h in np.flatnonzero(signs[n : n + len(holds), 0] < 0.0)]
        if touched or any(not holds[h]['active'] for h in ran):
            return self._go_on(before, self._impacts.happen(), turned)
        slow = STOPPING_SHARE * min(self.motion.dt, LONGEST_STOPPING)
        return self._go_on(before, [], turned, slow if signs[:n].min(initial=1.0) < 0.0 else 0.0)

    # --- deciding, and telling ------------------------------------------------------------------
    def _decide(self, turned: Collection[int], within: float) -> list[Event]:
        """Let all find what they do next; return the events where friction locks."""
        events: list[Event] = []
        for last in (False,) * (len(self.modes.loops) + 1) + (True,):
            try:
                self._settling.settle(turned, within)
                break
            except StructureError as lock:
                if last:
                    raise
                events += resolve_lock(self.modes, self.joints, lock)
        return events

    def _before(self) -> _Before:
        """Return what contacts and joints do."""
        modes = self.modes
        return _Before(
            {k: modes.mode(k) for k in modes.loops},
            {k: bool(np.any(modes.loop(k)['direction'])) for k in modes.loops},
            self.joints.modes(),
            self.motion.mobility(),
        )

    def _go_on(
        self,
        before: _Before,
        events: list[Event],
        turned: Collection[int] = (),
        within: float = 0.0,
    ) -> list[Event]:
        """Decide what all do next, after events that have happened; return all events."""
        return self._tell(before, events + self._decide(turned, within))

    def _tell(self, before: _Before, events: list[Event]) -> list[Event]:
        """Return events that have happened, and those that are in what all do now."""
        now, after, told = self.joints.modes(), self.motion.mobility(), {e.name for e in events}
        for event in events:
            event.mobility_before, event.mobility_after = before.mobility, after
        for k in self.modes.loops:
            kind, name = self._change(before, k), self.robot.loop_names[k]
            if kind and name not in told:
                events.append(self.motion.event(kind, name))
        for h in {**before.joints, **now}:
            kind, name = _change(before.joints.get(h), now.get(h)), self.joints.name(h)
            if kind and not (kind == 'stop' and name in told):
                events.append(Event(self.motion.time, kind, name, before.mobility, after))
        return events

    def _change(self, before: _Before, k: int) -> str:
        """Return what kind of event it is that a contact did one thing, and now another."""
        was, now, slid = before.contacts[k], self.modes.mode(k), before.slid[k]
        if now == was:
            return 'slip' if slid and k in self._settling.begun else ''
        if now is None:
            return 'lift_off'
        if was is None:
            return 'touch_down'
        if now == at.STICK:
            return 'stick' if slid else ''  # one that never moved: nothing has happened
        return 'slip'


def _change(was: int | None, now: int | None) -> str:
    """Return what kind of event it is that a joint was held in one way, and now in another."""
    if was == now:
        return ''
    if now is not None:
        return 'lock' if now == at.STUCK else 'stop'
    return 'unlock' if was == at.STUCK else 'leave_stop'
