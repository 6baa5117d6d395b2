"""
Contacts of a simulation: touch-down, lift-off, stick and slip (paper 3 and its outlook).

A contact is a point of one link on a surface of another. It slides, with the drag K f_n against
its motion, or it sticks, and then three rows hold it where it is. A unilateral one is open until
it touches and opens again when it would have to pull. Each change is an event at an instant that
the step has been halved down to; what follows here is what the contact does next.

Friction acts through forces, not through blows: at a touch-down a sliding contact takes the speed
along the normal only. Where several supports are redundant, their forces are those of least norm.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.contact_forces import REST_SPEED
from closed_chain_dynamics.dynamics.coordinates import constraint_jacobian
from closed_chain_dynamics.dynamics.forward import NO_FORCE
from closed_chain_dynamics.dynamics.impact import impact
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels import layout as at

__all__ = ['MOST_EVENTS', 'Contacts']

BOUNCE_SPEED = 1e-3  # a contact that touches down slower than this does not bounce [m/s]
TOUCHING = 1e-9  # open contacts nearer than this touch down together [m]
HELD = 1e-6  # acceleration of a point that friction holds: rounding [m/s^2]
PULLING = 1e-9  # share of the largest impulse below which one does not pull
AIMED = 1e-10  # a direction of sliding is found to this
MOST_TURNS = 500  # and in no more iterations than these
MOST_EVENTS = 1000  # in one step; more means that it never comes to rest


class Contacts:
    """What the contacts of a simulation do at their events."""

    def __init__(self, sim):
        self.sim = sim
        modes = sim.robot.table(at.LOOP_I)[:, at.LOOP_MODE]
        self.loops = [int(k) for k in np.flatnonzero((modes == at.SLIDE) | (modes == at.STICK))]
        for k in self.loops:  # a direction noted in an earlier run says nothing
            self._law(k)[at.DIRECTION : at.DIRECTION + 3] = 0.0

    def begin(self):
        """Decide for every closed contact whether it sticks or slides, at the start of a run."""
        self._settle()

    # --- looking ---------------------------------------------------------------------------------
    def _row(self, k):
        return self.sim.robot.table(at.LOOP_I)[k]

    def _law(self, k):
        return self.sim.robot.table(at.LOOP_F)[k]

    def _evaluate(self):
        """Compute the motion of the present state; return the signs of all contacts."""
        sim, robot = self.sim, self.sim.robot
        signs = np.ones((len(robot.loop_names), 2))
        status = kernels.compute_signs(
            robot.mi,
            robot.mf,
            robot.w,
            sim.q,
            sim.v,
            sim._torques,
            NO_FORCE,
            sim._forces,
            sim._work,
            signs,
        )
        if status:
            sim._raise(status)
        return signs

    def _velocity(self, k):
        """Return sliding velocity (3,) and speed away from the surface of a contact."""
        robot, sim = self.sim.robot, self.sim
        kernels.compute_loop_placement(robot.mi, robot.mf, robot.w, sim.q, sim.v, k)
        loop, body_w = self._row(k), robot.table(at.BODY_W)
        *sliding, away = kernels.sliding_velocity(
            robot.table(at.LOOP_W)[k], body_w[loop[at.LOOP_BODY_1]], body_w[loop[at.LOOP_BODY_2]]
        )
        return np.array(sliding), away

    def _mode(self, k):
        """Return SLIDE or STICK, or None of an open contact."""
        loop = self._row(k)
        return loop[at.LOOP_MODE] if loop[at.LOOP_ACTIVE] else None

    def _set_mode(self, k, mode, active=1):
        loop = self._row(k)
        loop[at.LOOP_MODE], loop[at.LOOP_ACTIVE] = mode, active
        loop[at.LOOP_N_ROWS] = 3 if mode == at.STICK else 1
        self.sim.robot._build()

    def _axes(self, k):
        """Return the axes of frame 1 in the world, (3, 3)."""
        return self.sim.robot.table(at.LOOP_W)[k, :9].reshape(3, 3)

    def _name(self, k):
        return self.sim.robot.loop_names[k]

    # --- events ----------------------------------------------------------------------------------
    def handle(self, signs):
        """Let the contacts whose signs are below zero do what they do next; return the events."""
        if any(signs[k, 0] < 0.0 and self._mode(k) is None for k in self.loops):
            return self.touch_down()
        happened = []
        for k in self.loops:
            if self._mode(k) is not None and signs[k, 1] < 0.0:
                happened.append(self.lift_off(k))
        return happened + self._settle()

    def touch_down(self):
        """Close the open contacts that touch: the velocities jump, and may bounce."""
        sim, before = self.sim, float(self.sim.energy())
        touching, bounce = [], 1.0
        for k in self.loops:
            if self._mode(k) is None and self._row(k)[at.LOOP_CONTACT] == at.UNILATERAL:
                away = self._velocity(k)[1]
                if away < 0.0 and self._distance(k) < TOUCHING:
                    touching.append(k)
                    bounce = min(bounce, self._law(k)[at.RESTITUTION] * (-away > BOUNCE_SPEED))
        for k in touching:
            self._set_mode(k, at.SLIDE)
            self._law(k)[at.DIRECTION : at.DIRECTION + 3] = 0.0
        blow, released = self._blow(bounce)
        sim.v = blow.v_after
        for k in touching if bounce else ():
            self._set_mode(k, at.SLIDE, active=0)
        if not bounce:
            sim._close()
        lost = before - float(sim.energy())
        sim.lost += lost
        kind = 'bounce' if bounce else 'touch_down'
        events = [
            sim.event(kind, self._name(k), lost if k == touching[0] else 0.0, blow)
            for k in touching
        ]
        return events + [self.lift_off(k) for k in released if k not in touching] + self._settle()

    def _distance(self, k):
        return kernels.surface_distance(
            self._row(k), self._law(k), self.sim.robot.table(at.LOOP_W)[k]
        )

    def _blow(self, bounce):
        """Return the Impact of the closed contacts, and those that let go as they cannot pull."""
        released = []
        while True:
            blow = impact(self.sim.robot, self.sim.q, self.sim.v, restitution=bounce)
            pushes = {
                k: self._push(k, blow.impulse_of(self._name(k)))
                for k in self.loops
                if self._mode(k) is not None and self._row(k)[at.LOOP_CONTACT] == at.UNILATERAL
            }
            worst = min(pushes, key=pushes.get)
            if pushes[worst] >= -PULLING * max(map(abs, pushes.values())):
                return blow, released
            released.append(worst)
            self._set_mode(worst, at.SLIDE, active=0)

    def _push(self, k, impulse):
        """Return the impulse along the normal of a contact."""
        if len(impulse) == 1:
            return impulse[0]
        self._velocity(k)
        normal = self.sim.robot.table(at.LOOP_W)[k, at.CONTACT_NORMAL : at.CONTACT_NORMAL + 3]
        return normal @ self._axes(k) @ impulse

    def lift_off(self, k):
        """Open a contact that would have to pull."""
        self._set_mode(k, at.SLIDE, active=0)
        self._law(k)[at.DIRECTION : at.DIRECTION + 3] = 0.0
        return self.sim.event('lift_off', self._name(k))

    # --- stick and slip --------------------------------------------------------------------------
    def _settle(self):
        """
        Let the contacts that stand still stick as far as friction can hold them.

        All are tried at once, and the one furthest beyond its limit slips, until the others hold:
        one alone could not hold what several share. Returns the events.
        """
        was = {k: self._mode(k) for k in self.loops}
        slid = {k: bool(np.any(self._law(k)[at.DIRECTION : at.DIRECTION + 3])) for k in self.loops}
        for k in self.loops:
            if was[k] == at.SLIDE:
                velocity = self._velocity(k)[0]
                if np.linalg.norm(velocity) > REST_SPEED:
                    self._note(k, velocity)
                    was[k] = None  # it slides on
        tried = [k for k in self.loops if was[k] == at.SLIDE and self._law(k)[at.MU_STATIC] > 0.0]
        if tried:
            self._stick(tried)
        sticking = [k for k in self.loops if self._mode(k) == at.STICK]
        events, slips = [], self._let_slip(sticking)
        for k in sticking:
            if k in slips and (slid[k] or was[k] == at.STICK):
                events.append(self.sim.event('slip', self._name(k)))
            elif k not in slips and was[k] == at.SLIDE and slid[k]:
                events.append(self.sim.event('stick', self._name(k)))
        return events

    def _let_slip(self, sticking):
        """Let sticking contacts slip, the weakest first, until the others hold; return those."""
        slips, gain = [], self._gain(sticking) if sticking else 0.0
        while len(slips) < len(sticking):
            signs, frames = self._evaluate(), self.sim.robot.table(at.LOOP_W)
            escapes = self._escapes(sticking)
            weak = [
                k
                for k in sticking
                if k not in slips and (signs[k, 0] < 0.0 or np.linalg.norm(escapes[k]) > HELD)
            ]
            if not weak:
                break
            worst = min(weak, key=lambda k: signs[k, 0])
            held = frames[worst, at.FRICTION_FORCE : at.FRICTION_FORCE + 3].copy()
            away = escapes[worst] if np.linalg.norm(escapes[worst]) > HELD else -held
            self._set_mode(worst, at.SLIDE)
            self._note(worst, away)
            slips.append(worst)
            self._aim(slips, gain)
        return slips

    def _gain(self, sticking):
        """Return the force per acceleration, of all points together, at which `_aim` is stable."""
        robot, q = self.sim.robot, self.sim.q
        rows = [self._row(k)[at.LOOP_ROW] + axis for k in sticking for axis in range(3)]
        J = constraint_jacobian(robot, q)[0][rows]
        return 1.0 / np.linalg.norm(J @ np.linalg.solve(mass_matrix(robot, q), J.T), 2)

    def _aim(self, slips, gain):
        """
        Turn the drags of contacts that begin to slip against the motion that begins.

        It depends on the drags in turn: several supports of one body find it by iteration, each
        turned by a share of the force that its acceleration needs.
        """
        last = np.inf
        for _ in range(MOST_TURNS):
            self._evaluate()
            astray = 0.0
            for k in slips:
                noted = self._axes(k) @ self._law(k)[at.DIRECTION : at.DIRECTION + 3]
                normal = self.sim.robot.table(at.LOOP_W)[k, at.NORMAL_FORCE]
                motion = self._acceleration(k)
                size = np.linalg.norm(motion)
                if size > HELD:  # else the others hold it
                    astray = max(astray, np.abs(motion / size - noted).max())
                    self._note(k, self._law(k)[at.MU] * abs(normal) * noted + gain * motion)
            if astray < AIMED:
                return
            gain, last = gain * (1.2 if astray < last else 0.5), astray

    def _acceleration(self, k):
        """Return how a contact that stands still accelerates along its surface, (3,)."""
        loop, body_w = self._row(k), self.sim.robot.table(at.BODY_W)
        frame = self.sim.robot.table(at.LOOP_W)[k]
        one, two = body_w[loop[at.LOOP_BODY_1]], body_w[loop[at.LOOP_BODY_2]]
        point = frame[at.LOOP_P_2 : at.LOOP_P_2 + 3]
        omega = two[at.V + 3 : at.V + 6]
        linear = (
            two[at.A : at.A + 3]
            - one[at.A : at.A + 3]
            + np.cross(two[at.A + 3 : at.A + 6] - one[at.A + 3 : at.A + 6], point)
            + np.cross(
                omega - one[at.V + 3 : at.V + 6], two[at.V : at.V + 3] + np.cross(omega, point)
            )
        )
        normal = frame[at.CONTACT_NORMAL : at.CONTACT_NORMAL + 3]
        return linear - (linear @ normal) * normal

    def _escapes(self, sticking):
        """Return the accelerations along the surface that no force can keep at zero, {k: (3,)}."""
        sim, robot = self.sim, self.sim.robot
        J_C, _, bias = constraint_jacobian(robot, sim.q, sim.v)
        rest = J_C @ sim._work[3, : robot.nv] + bias
        rows = {
            k: slice(self._row(k)[at.LOOP_ROW], self._row(k)[at.LOOP_ROW] + 3)
            for k in sticking
            if self._mode(k) == at.STICK
        }
        return {k: self._axes(k) @ rest[rows[k]] if k in rows else np.zeros(3) for k in sticking}

    def _note(self, k, direction):
        """Note in which direction a contact slides; it keeps to it until an event."""
        size = np.linalg.norm(direction)
        if size > 0.0:
            self._law(k)[at.DIRECTION : at.DIRECTION + 3] = self._axes(k).T @ direction / size

    def _stick(self, loops):
        """Hold contact points where they are, and take what is left of their speed."""
        for k in loops:
            self._velocity(k)
            frame = self.sim.robot.table(at.LOOP_W)[k]
            self._law(k)[at.ANCHOR : at.ANCHOR + 3] = self._axes(k).T @ (
                frame[at.LOOP_P_2 : at.LOOP_P_2 + 3] - frame[at.LOOP_P_1 : at.LOOP_P_1 + 3]
            )
            self._set_mode(k, at.STICK)
        self.sim._close()
