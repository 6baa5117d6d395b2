"""
Events of a mechanism in motion, of contacts and of joints: who decides what, and in which order.

An impact of a contact comes first, with all joints let go: friction of joints acts through forces,
and a stop that the impact drives a joint into is hit right after it, at the same instant.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Vector
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.contact_events import ContactEvents, Signs
from closed_chain_dynamics.simulation.joint_events import JointEvents
from closed_chain_dynamics.simulation.motion import Motion

__all__ = ['EventHandling']

PULLING = 1e-9  # share of the largest impulse below which one does not pull


class EventHandling:
    """What contacts, stops and friction of a mechanism in motion do at their events."""

    def __init__(self, motion: Motion, limits: bool) -> None:
        self.motion, self.contacts = motion, ContactEvents(motion)
        self.joints = JointEvents(motion, limits)

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
            self.contacts.begin()
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
                events += self.joints.settle(lift=self._lift)
                self.contacts.begin()
        if happened.size:
            turned = [int(h) for h in happened if signs[n + h, 0] < 0.0]
            events += self.joints.settle(turned, self._lift)
            if self.contacts.loops:
                self.contacts.begin()
        return events

    def _lift(self, carried: Vector) -> Event | None:
        """Open the contact that pulls most in an impact whose loops carry (nv,); None: none."""
        modes, motion = self.contacts.modes, self.motion
        closed = [
            k
            for k in modes.loops
            if modes.mode(k) is not None and modes.loop(k)['contact'] == at.UNILATERAL
        ]
        if not closed:
            return None
        J_C = constraint_jacobian(motion.robot, motion.q)[0]
        impulses = np.linalg.lstsq(J_C.T, carried, rcond=None)[0]
        pushes = {k: self._push(k, impulses) for k in closed}
        worst = min(pushes, key=lambda k: pushes[k])
        if pushes[worst] >= -PULLING * max(map(abs, pushes.values())):
            return None
        modes.set({worst: None})
        return motion.event('lift_off', motion.robot.loop_names[worst])

    def _push(self, k: int, impulses: Vector) -> float:
        """Return the impulse along the normal of a closed contact."""
        modes = self.contacts.modes
        first, count = int(modes.loop(k)['row']), int(modes.loop(k)['n_rows'])
        if count == 1:
            return float(impulses[first])
        modes.velocity(k)  # places it
        frame = modes.frame(k)
        return float(frame['normal'] @ frame['R_1'] @ impulses[first : first + count])
