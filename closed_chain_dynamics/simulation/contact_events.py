"""
Contacts of a simulation: touch-down, lift-off, stick and slip (paper 3 and its outlook).

A contact is a point of one link on a surface of another. It slides, with the drag K f_n against
its motion, or it sticks, and then three rows hold it where it is. A unilateral one is open until
it touches and opens again when it would have to pull. Each change is an event at an instant that
the step has been halved down to; what follows here is what the contact does next.

Friction acts through forces, not through impulses: at a touch-down a sliding contact takes the
speed along the normal only. Where several supports are redundant, their forces are those of least
norm.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.contacts import REST_SPEED
from closed_chain_dynamics.dynamics.impacts import Impact, impact
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Vector
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.motion import Motion

__all__ = ['ContactEvents']

BOUNCE_SPEED = 1e-3  # a contact that touches down slower than this does not bounce [m/s]
TOUCHING = 1e-9  # open contacts nearer than this touch down together [m]
HELD = 1e-6  # acceleration of a point that friction holds: rounding [m/s^2]
PULLING = 1e-9  # share of the largest impulse below which one does not pull
AIMED = 1e-10  # a direction of sliding is found to this
MOST_TURNS = 500  # and in no more iterations than these

Signs = NDArray[np.float64]


class ContactEvents:
    """What the contacts of a mechanism in motion do at their events."""

    def __init__(self, motion: Motion) -> None:
        self.motion, self.robot = motion, motion.robot
        modes = self.robot.structure.loops['mode']
        self.loops = [int(k) for k in np.flatnonzero((modes == at.SLIDE) | (modes == at.STICK))]
        for k in self.loops:  # a direction noted in an earlier run says nothing
            self._loop(k)['direction'] = 0.0

    def begin(self) -> None:
        """Decide for every closed contact whether it sticks or slides, at the start of a run."""
        self._settle()

    # --- looking -------------------------------------------------------------------------------
    def _loop(self, k: int) -> np.void:
        record: np.void = self.robot.structure.loops[k]
        return record

    def _frame(self, k: int) -> np.void:
        record: np.void = self.robot.workspace.frames[k]
        return record

    def _ends(self, k: int) -> tuple[np.void, np.void]:
        """Return how the two bodies of a contact move."""
        loop, moving = self._loop(k), self.robot.workspace.moving
        return moving[loop['body_1']], moving[loop['body_2']]

    def _velocity(self, k: int) -> tuple[Vector, float]:
        """Return sliding velocity (3,) and speed away from the surface of a contact."""
        motion = self.motion
        kernels.compute_loop_placement(self.robot.handle, motion.q, motion.v, k)
        sliding, away = kernels.sliding_velocity(self._frame(k), *self._ends(k))
        return np.array(sliding), float(away)

    def _mode(self, k: int) -> int | None:
        """Return SLIDE or STICK, or None of an open contact."""
        loop = self._loop(k)
        return int(loop['mode']) if loop['active'] else None

    def _set_mode(self, k: int, mode: int, active: int = 1) -> None:
        loop = self._loop(k)
        loop['mode'], loop['active'] = mode, active
        loop['n_rows'] = 3 if mode == at.STICK else 1
        self.robot.build()

    def _name(self, k: int) -> str:
        return self.robot.loop_names[k]

    def _is_closed_unilateral(self, k: int) -> bool:
        return self._mode(k) is not None and self._loop(k)['contact'] == at.UNILATERAL

    # --- events --------------------------------------------------------------------------------
    def handle(self, signs: Signs) -> list[Event]:
        """Let the contacts whose signs are below zero do what they do next; return the events."""
        if any(signs[k, 0] < 0.0 and self._mode(k) is None for k in self.loops):
            return self._touch_down()
        happened = []
        for k in self.loops:
            if self._mode(k) is not None and signs[k, 1] < 0.0:
                happened.append(self._lift_off(k))
        return happened + self._settle()

    def _touch_down(self) -> list[Event]:
        """Close the open contacts that touch: the velocities jump, and may bounce."""
        motion, before = self.motion, float(self.motion.energy())
        touching, bounce = [], 1.0
        for k in self.loops:
            if self._mode(k) is None and self._loop(k)['contact'] == at.UNILATERAL:
                away = self._velocity(k)[1]
                if away < 0.0 and self._distance(k) < TOUCHING:
                    touching.append(k)
                    bounce = min(bounce, self._loop(k)['restitution'] * (-away > BOUNCE_SPEED))
        for k in touching:
            self._set_mode(k, at.SLIDE)
            self._loop(k)['direction'] = 0.0
        hit, released = self._impact(bounce)
        motion.v = hit.v_after.copy()
        for k in touching if bounce else ():
            self._set_mode(k, at.SLIDE, active=0)
        if not bounce:
            motion.close()
        lost = before - float(motion.energy())
        motion.lost += lost
        kind = 'bounce' if bounce else 'touch_down'
        events = [
            motion.event(kind, self._name(k), lost if k == touching[0] else 0.0, hit)
            for k in touching
        ]
        gone = [self._lift_off(k) for k in released if k not in touching]
        return events + gone + self._settle()

    def _distance(self, k: int) -> float:
        return float(kernels.surface_distance(self._loop(k), self._frame(k)))

    def _impact(self, bounce: float) -> tuple[Impact, list[int]]:
        """Return the Impact of the closed contacts, and those that let go as they cannot pull."""
        motion = self.motion
        released: list[int] = []
        while True:
            hit = impact(self.robot, motion.q, motion.v, restitution=bounce)
            pushes = {
                k: self._push(k, hit.impulse_of(self._name(k)))
                for k in self.loops
                if self._is_closed_unilateral(k)
            }
            worst = min(pushes, key=lambda k: pushes[k])
            if pushes[worst] >= -PULLING * max(map(abs, pushes.values())):
                return hit, released
            released.append(worst)
            self._set_mode(worst, at.SLIDE, active=0)

    def _push(self, k: int, impulse: Vector) -> float:
        """Return the impulse along the normal of a contact."""
        if len(impulse) == 1:
            return float(impulse[0])
        self._velocity(k)
        frame = self._frame(k)
        return float(frame['normal'] @ frame['R_1'] @ impulse)

    def _lift_off(self, k: int) -> Event:
        """Open a contact that would have to pull."""
        self._set_mode(k, at.SLIDE, active=0)
        self._loop(k)['direction'] = 0.0
        return self.motion.event('lift_off', self._name(k))

    # --- stick and slip ------------------------------------------------------------------------
    def _settle(self) -> list[Event]:
        """
        Let the contacts that stand still stick as far as friction can hold them.

        All are tried at once, and the one furthest beyond its limit slips, until the others hold:
        one alone could not hold what several share. Returns the events.
        """
        was = {k: self._mode(k) for k in self.loops}
        slid = {k: bool(np.any(self._loop(k)['direction'])) for k in self.loops}
        for k in self.loops:
            if was[k] == at.SLIDE:
                velocity = self._velocity(k)[0]
                if np.linalg.norm(velocity) > REST_SPEED:
                    self._note(k, velocity)
                    was[k] = None  # it slides on
        tried = [k for k in self.loops if was[k] == at.SLIDE and self._loop(k)['mu_static'] > 0.0]
        if tried:
            self._stick(tried)
        sticking = [k for k in self.loops if self._mode(k) == at.STICK]
        events, slips = [], self._let_slip(sticking)
        for k in sticking:
            if k in slips and (slid[k] or was[k] == at.STICK):
                events.append(self.motion.event('slip', self._name(k)))
            elif k not in slips and was[k] == at.SLIDE and slid[k]:
                events.append(self.motion.event('stick', self._name(k)))
        return events

    def _let_slip(self, sticking: Sequence[int]) -> list[int]:
        """Let sticking contacts slip, the weakest first, until the others hold; return those."""
        slips: list[int] = []
        gain = self._gain(sticking) if sticking else 0.0
        while len(slips) < len(sticking):
            signs = self.motion.signs()
            escapes = self._escapes(sticking)
            weak = [
                k
                for k in sticking
                if k not in slips and (signs[k, 0] < 0.0 or np.linalg.norm(escapes[k]) > HELD)
            ]
            if not weak:
                break
            worst = min(weak, key=lambda k: signs[k, 0])
            held = self._frame(worst)['friction'].copy()
            away = escapes[worst] if np.linalg.norm(escapes[worst]) > HELD else -held
            self._set_mode(worst, at.SLIDE)
            self._note(worst, away)
            slips.append(worst)
            self._aim(slips, gain)
        return slips

    def _gain(self, sticking: Sequence[int]) -> float:
        """Return the force per acceleration, of all points together, at which `_aim` is stable."""
        robot, q = self.robot, self.motion.q
        rows = [self._loop(k)['row'] + axis for k in sticking for axis in range(3)]
        J = constraint_jacobian(robot, q)[0][rows]
        return 1.0 / float(np.linalg.norm(J @ np.linalg.solve(mass_matrix(robot, q), J.T), 2))

    def _aim(self, slips: Sequence[int], gain: float) -> None:
        """
        Turn the drags of contacts that begin to slip against the motion that begins.

        It depends on the drags in turn: several supports of one body find it by iteration, each
        turned by a share of the force that its acceleration needs.
        """
        last = np.inf
        for _ in range(MOST_TURNS):
            self.motion.signs()
            astray = 0.0
            for k in slips:
                loop, frame = self._loop(k), self._frame(k)
                noted = frame['R_1'] @ loop['direction']
                normal = float(frame['normal_force'])
                motion = self._acceleration(k)
                size = np.linalg.norm(motion)
                if size > HELD:  # else the others hold it
                    astray = max(astray, float(np.abs(motion / size - noted).max()))
                    self._note(k, loop['mu'] * abs(normal) * noted + gain * motion)
            if astray < AIMED:
                return
            gain, last = gain * (1.2 if astray < last else 0.5), astray

    def _acceleration(self, k: int) -> Vector:
        """Return how a contact that stands still accelerates along its surface, (3,)."""
        frame, (one, two) = self._frame(k), self._ends(k)
        point, omega = frame['p_2'], two['V'][3:]
        dA, turning = two['A'] - one['A'], omega - one['V'][3:]
        velocity = two['V'][:3] + np.cross(omega, point)
        linear = dA[:3] + np.cross(dA[3:], point) + np.cross(turning, velocity)
        normal = frame['normal']
        along: Vector = linear - (linear @ normal) * normal
        return along

    def _escapes(self, sticking: Sequence[int]) -> dict[int, Vector]:
        """Return the accelerations along the surface that no force can keep at zero, {k: (3,)}."""
        motion = self.motion
        J_C, _, bias = constraint_jacobian(self.robot, motion.q, motion.v)
        rest = J_C @ motion.acceleration + bias
        escapes = {}
        for k in sticking:
            first = int(self._loop(k)['row'])
            stays = self._mode(k) == at.STICK
            escapes[k] = self._frame(k)['R_1'] @ rest[first : first + 3] if stays else np.zeros(3)
        return escapes

    def _note(self, k: int, direction: Vector) -> None:
        """Note in which direction a contact slides; it keeps to it until an event."""
        size = np.linalg.norm(direction)
        if size > 0.0:
            self._loop(k)['direction'] = self._frame(k)['R_1'].T @ direction / size
            self.robot.structure.changed()

    def _stick(self, loops: Sequence[int]) -> None:
        """Hold contact points where they are, and take what is left of their speed."""
        for k in loops:
            self._velocity(k)
            frame = self._frame(k)
            self._loop(k)['anchor'] = frame['R_1'].T @ (frame['p_2'] - frame['p_1'])
            self._set_mode(k, at.STICK)
        self.motion.close()
