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
Events of a mechanism in motion, of contacts and of joints: who decides what, and in which order.

An impact of a contact comes first, with all joints let go: friction of joints acts through forces,
and a stop that the impact drives a joint into is hit right after it, at the same instant.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.contact_events import ContactEvents, Signs
from closed_chain_dynamics.simulation.joint_events import JointEvents
from closed_chain_dynamics.simulation.motion import Motion
from closed_chain_dynamics.simulation.stop_impacts import StopImpacts

__all__ = ['EventHandling']


class EventHandling:
    """What contacts, stops and friction of a mechanism in motion do at their events."""

    def __init__(self, motion: Motion, limits: bool) -> None:
        self.motion, self.contacts = motion, ContactEvents(motion)
        self.joints, self.stops = JointEvents(motion, limits), StopImpacts(self.contacts.modes)

    @property
    def watching(self) -> bool:
        """Return whether anything here may have an event."""
        return bool(self.contacts.loops or self.joints.count)

    def name_of(self, row: int) -> str:
        """Return whose signs are in a row of them: a contact's, or a coordinate's."""
        names = self.motion.robot.loop_names
        return names[row] if row < len(names) else self.joints.name(row - len(names))

    def begin(self) -> list[Event]:
        """Decide what holds and what slides, at the start of a run and after connecting."""
        events = self.joints.begin() if self.joints.count else []
        if self.contacts.loops:
            events = events + self.contacts.begin()
        return events

    def unlock(self, lock: StructureError) -> list[Event]:
        """Let contacts open or jam where no finite force fits the motion; return the events."""
        if self.joints.count:
            self.joints.release()
        events = self.contacts.unlock(lock)
        if self.joints.count:
            events += self.joints.settle(contacts=self.stops) + self.contacts.begin()
        return events

    def note(self) -> None:
        """Note after a step how contacts slide, and how far joints that close loops have come."""
        kernels.note_directions(self.motion.robot.handle)
        kernels.note_turns(self.motion.robot.handle)

    def handle(self, signs: Signs) -> list[Event]:
        """Let everything whose signs are below zero do what it does next; return the events."""
        n = len(self.motion.robot.loop_names)
        happened = np.flatnonzero(signs[n:].min(axis=1, initial=1.0) < 0.0)
        events: list[Event] = []
        if signs[:n].min(initial=1.0) < 0.0:
            touches = any(
                signs[k, 0] < 0.0 and not self.motion.robot.structure.loops[k]['active']
                for k in self.contacts.loops
            )
            if touches and self.joints.count:
                self.joints.release()
            events = self.contacts.handle(signs)
            if touches and self.joints.count:
                events += self.joints.settle(contacts=self.stops) + self.contacts.begin()
        if happened.size:
            turned = [int(h) for h in happened if signs[n + h, 0] < 0.0]
            events += self.joints.settle(turned, self.stops)
            if self.contacts.loops:
                events += self.contacts.begin()
        return events
