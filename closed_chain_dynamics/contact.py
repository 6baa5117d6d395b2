"""
Contacts of a simulation: touch-down, lift-off, stick and slip (paper 3 and its outlook).

A contact is a point of one link on a surface of another. It slides, with the drag K f_n against
its motion, or it sticks, and then three rows hold it where it is. A unilateral one is open until
it touches and opens again when it would have to pull. Each change is an event at an instant that
the step has been halved down to; what follows here is what the contact does next.
"""

import numpy as np

from . import kernels
from .errors import StructureError
from .forward_dynamics import NO_FORCE
from .impact import impact
from .kernels import layout as at

__all__ = ['Contacts', 'contact_forces']

REST_SPEED = 1e-9      # below this a contact stands still [m/s]
BOUNCE_SPEED = 1e-3    # a contact that touches down slower than this does not bounce [m/s]
MOST_EVENTS = 1000     # in one step; more means that it never comes to rest


def contact_forces(robot):
    """
    Return the forces of all contacts as forward dynamics last left them, {name: (normal, drag)}.

    `normal` [N], positive when it pushes; `drag` (3,) the friction force on the child, world axes.
    """
    forces = {}
    for name, loop, row in zip(robot.loop_names, robot.table(at.LOOP_I), robot.table(at.LOOP_W)):
        if loop[at.LOOP_MODE] in (at.SLIDE, at.STICK) and loop[at.LOOP_ACTIVE]:
            forces[name] = (float(row[at.NORMAL_FORCE]),
                            row[at.FRICTION_FORCE:at.FRICTION_FORCE + 3].copy())
    return forces


class Contacts:
    """What the contacts of a simulation do at their events."""

    def __init__(self, sim):
        self.sim = sim
        modes = sim.robot.table(at.LOOP_I)[:, at.LOOP_MODE]
        self.loops = [int(k) for k in np.flatnonzero((modes == at.SLIDE) | (modes == at.STICK))]

    def begin(self):
        """Decide for every closed contact whether it sticks or slides, at the start of a run."""
        for k in self.loops:
            if self._row(k)[at.LOOP_ACTIVE] and self._speed(k) < REST_SPEED:
                self.stop(k)

    def _row(self, k):
        return self.sim.robot.table(at.LOOP_I)[k]

    def _law(self, k):
        return self.sim.robot.table(at.LOOP_F)[k]

    def _frame(self, k):
        """Return the loop's row of results after looking at the present state."""
        self._evaluate()
        return self.sim.robot.table(at.LOOP_W)[k]

    def _evaluate(self, acceleration=None):
        """Compute the motion of the present state; return the signs of all contacts."""
        sim, robot = self.sim, self.sim.robot
        signs = np.ones((len(robot.loop_names), 2))
        status = kernels.compute_signs(robot.mi, robot.mf, robot.w, sim.q, sim.v, sim._torques,
                                       NO_FORCE, sim._forces, sim._work, signs)
        if status:
            sim._raise(status)
        return signs

    def _velocity(self, k):
        """Return sliding velocity (3,) and speed away from the surface of a contact."""
        robot, sim = self.sim.robot, self.sim
        kernels.compute_loop_placement(robot.mi, robot.mf, robot.w, sim.q, sim.v, k)
        loop, body_w = self._row(k), robot.table(at.BODY_W)
        *sliding, away = kernels.sliding_velocity(
            robot.table(at.LOOP_W)[k], body_w[loop[at.LOOP_BODY_1]], body_w[loop[at.LOOP_BODY_2]])
        return np.array(sliding), away

    def _speed(self, k):
        return float(np.linalg.norm(self._velocity(k)[0]))

    def _set_mode(self, k, mode, active=1):
        loop = self._row(k)
        loop[at.LOOP_MODE], loop[at.LOOP_ACTIVE] = mode, active
        loop[at.LOOP_N_ROWS] = 3 if mode == at.STICK else 1
        self.sim.robot._build()

    def _to_frame_1(self, k, vector):
        R = self.sim.robot.table(at.LOOP_W)[k, :9].reshape(3, 3)
        return R.T @ vector

    # --- events ----------------------------------------------------------------------------------
    def handle(self, signs):
        """Let the contacts whose signs are below zero do what they do next; return the events."""
        happened = []
        for k in self.loops:
            loop = self._row(k)
            if not loop[at.LOOP_ACTIVE]:
                if signs[k, 0] < 0.0 and self._velocity(k)[1] < 0.0:
                    happened.append(self.touch_down(k))
            elif signs[k, 1] < 0.0:
                happened.append(self.lift_off(k))
            elif signs[k, 0] < 0.0:
                happened.append(self.slip(k) if loop[at.LOOP_MODE] == at.STICK else self.stop(k))
        return [event for event in happened if event]

    def touch_down(self, k):
        """Close an open contact: the velocity jumps, and may bounce."""
        sim, law = self.sim, self._law(k)
        before, away = float(sim.energy()), self._velocity(k)[1]
        self._set_mode(k, at.SLIDE)
        bounce = law[at.RESTITUTION] if abs(away) > BOUNCE_SPEED else 0.0
        blow = impact(sim.robot, sim.q, sim.v, restitution=bounce)
        sim.v = blow.v_after
        name = sim.robot.loop_names[k]
        if bounce:
            self._set_mode(k, at.SLIDE, active=0)
        else:
            sim._close()
            self.note_direction(k)
        lost = before - float(sim.energy())
        sim.lost += lost
        return sim.event('bounce' if bounce else 'touch_down', name, lost, blow)

    def lift_off(self, k):
        """Open a contact that would have to pull."""
        self._set_mode(k, at.SLIDE, active=0)
        return self.sim.event('lift_off', self.sim.robot.loop_names[k])

    def note_direction(self, k, direction=None):
        """Note in which direction a contact slides; it keeps to it until an event."""
        if direction is None:
            direction = self._velocity(k)[0]
        size = np.linalg.norm(direction)
        local = self._to_frame_1(k, direction / size) if size > 0.0 else np.zeros(3)
        self._law(k)[at.DIRECTION:at.DIRECTION + 3] = local
        return size

    def stop(self, k):
        """Let a contact that came to a stand stick, or slide on where friction cannot hold it."""
        sim, law, name = self.sim, self._law(k), self.sim.robot.loop_names[k]
        was_sliding = bool(np.any(law[at.DIRECTION:at.DIRECTION + 3]))
        if law[at.MU_STATIC] > 0.0:
            self._stick_here(k)
            if self._evaluate()[k, 0] >= 0.0:
                return sim.event('stick', name) if was_sliding else None
        return self.slip(k) if law[at.MU] > 0.0 or law[at.MU_STATIC] > 0.0 else None

    def _stick_here(self, k):
        """Hold the contact point where it is, and take what is left of its speed."""
        sim = self.sim
        self._velocity(k)
        frame = sim.robot.table(at.LOOP_W)[k]
        self._law(k)[at.ANCHOR:at.ANCHOR + 3] = self._to_frame_1(
            k, frame[at.LOOP_P_2:at.LOOP_P_2 + 3] - frame[at.LOOP_P_1:at.LOOP_P_1 + 3])
        self._set_mode(k, at.STICK)
        sim._close()

    def slip(self, k):
        """Let a sticking contact slide against the force that held it, which was not enough."""
        sim, name = self.sim, self.sim.robot.loop_names[k]
        frame = self._frame(k)
        held = frame[at.FRICTION_FORCE:at.FRICTION_FORCE + 3].copy()
        was_sticking = self._row(k)[at.LOOP_MODE] == at.STICK
        self._set_mode(k, at.SLIDE)
        self._velocity(k)
        if was_sticking and np.linalg.norm(held) > 0.0:
            self.note_direction(k, -held)
        return sim.event('slip', name)

    def locked(self):
        """Say that friction has locked a mechanism (the frictional paradox)."""
        names = ', '.join(repr(self.sim.robot.loop_names[k]) for k in self.loops
                          if self._row(k)[at.LOOP_MODE] == at.SLIDE)
        raise StructureError(
            f'friction locks the contact {names} at t = {self.sim.time:.6g} s: the coefficient A '
            'of the normal force is zero (frictional paradox), no finite force fits the motion',
            where=self.sim.robot.name, repair='Less friction, or another pose, lets it move on.')
