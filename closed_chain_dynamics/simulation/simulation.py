"""
Simulation of chains whose structure changes while they move (paper 2, sections V to VII).

A step is one compiled call: forward dynamics, integration on the manifold, and projection of
position and velocity onto the loops, so that they stay closed to rounding. Connecting catches the
motion (`impact`), cutting sets it free; both are in the log.
"""

import numbers

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.assembly.closure import Closure
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.dynamics.forward import NO_FORCE
from closed_chain_dynamics.dynamics.impact import body_record, impact_on_bodies
from closed_chain_dynamics.dynamics.tree import NO_WRENCHES, body_wrenches, momentum
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StateError, StructureError
from closed_chain_dynamics.kernels import layout as at
from closed_chain_dynamics.model.friction_lock import locked_error
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.simulation.adaptive import adaptive_run
from closed_chain_dynamics.simulation.contacts import MOST_EVENTS, Contacts

__all__ = ['INTEGRATORS', 'Energy', 'Simulation']

INTEGRATORS = ('euler', 'rk4', 'adaptive')
CONNECT_GAP = 0.02  # largest gap that a connection closes [m]
CONNECT_ANGLE = 0.05  # largest misalignment that a connection closes [rad]
NEARLY_CLOSED = 1e-10  # from here on one step of Newton's method closes a loop to rounding


class Energy(float):
    """
    Mechanical energy, kinetic plus potential [J], with the books beside it.

    `balance` is what should stay constant: energy + dissipated + lost at impacts - work put in.
    """

    def __new__(cls, kinetic, potential, work, dissipated, lost):
        """Return the total; the parts become attributes."""
        energy = super().__new__(cls, kinetic + potential)
        energy.kinetic, energy.potential = kinetic, potential
        energy.work, energy.dissipated, energy.lost = work, dissipated, lost
        energy.balance = kinetic + potential + dissipated + lost - work
        return energy


class Simulation:
    """
    A mechanism in motion.

    `q`, `v`: the start (default: assembled, at rest). `dt`: the step [s]. `integrator`: 'euler'
    (semi-implicit), 'rk4' or 'adaptive' (SciPy's). `tolerance`: relative error of a step of the
    adaptive method; share of the energy that a step of RK4 may gain or lose before it is taken in
    2 to 64 parts, infinite for never. `log_every`: steps between samples of the log, 0 for none.
    The mechanism given is copied: events here do not change it.
    """

    def __init__(
        self, robot, q=None, v=None, *, dt=1e-3, integrator='rk4', log_every=1, tolerance=1e-10
    ):
        from closed_chain_dynamics.assembly.search import assemble

        if not (isinstance(dt, numbers.Real) and np.isfinite(dt) and dt > 0.0):
            raise StateError(
                f'the step dt must be a positive time, not {dt!r}',
                where=robot.name,
                repair='Give it in seconds, for example dt=1e-3.',
            )
        if integrator not in INTEGRATORS:
            raise StateError(
                f'unknown integrator {integrator!r}',
                where=robot.name,
                repair=f'Choose one of {", ".join(INTEGRATORS)}.',
            )
        if not (isinstance(log_every, numbers.Integral) and log_every >= 0):
            raise StateError(
                f'log_every must be a number of steps, not {log_every!r}',
                where=robot.name,
                repair='Give 1 for every step, 0 for no log.',
            )
        if not (isinstance(tolerance, numbers.Real) and tolerance > 0.0) or (
            integrator == 'adaptive' and np.isinf(tolerance)
        ):
            raise StateError(
                f'the tolerance must be positive, not {tolerance!r}',
                where=robot.name,
                repair='For example tolerance=1e-9.',
            )
        self.robot = robot = robot.copy()
        self.dt, self.integrator, self.tolerance = float(dt), integrator, float(tolerance)
        self.log_every = int(log_every)
        q = assemble(robot, {}) if q is None else robot.vector(q, robot.nq, 'q')
        v = np.zeros(robot.nv) if v is None else robot.vector(v, robot.nv, 'v')
        self._start = (q.copy(), v.copy(), robot.structure())
        self._wrenches = {}
        self.reset()

    def reset(self):
        """Go back to the start: state, structure, time, books and log."""
        q, v, structure = self._start
        self.robot.restructure(structure)
        self.time, self.q, self.v = 0.0, q.copy(), v.copy()
        self._grid = 0.0, 0, self.dt  # where steps are counted from, how many, and their size
        self.events, self.lost, self._angles = [], 0.0, {}
        self._books = np.zeros(2)
        self._torques, self._forces = np.zeros(len(self.robot.actuator_names)), NO_WRENCHES
        self._allocate()
        self._close()
        self.contacts, self._begun = Contacts(self), False
        self.log = Log(self.robot)
        self._log_now()

    def _allocate(self):
        robot = self.robot
        self._work = np.zeros((7, max(robot.nq, 2 * robot.nv + 2)))

    # --- what it is like now --------------------------------------------------------------------
    def energy(self):
        """Return the Energy: kinetic plus potential as a float, the books as attributes."""
        row = self._row()
        return Energy(row[1], row[2], row[3], row[4], self.lost)

    def loop_error(self):
        """Return the largest error of all closed loops [m or rad]."""
        return float(self._row()[5])

    def _row(self):
        row = np.empty(6)
        robot = self.robot
        kernels.record(robot.mi, robot.mf, robot.w, self.q, self.v, self.time, self._books, row)
        return row

    def _log_now(self, torques=None):
        if self.log_every:
            self.log.append(
                self._row()[None], self.q[None], self.v[None], self.lost, torques, self._wrenches
            )

    # --- moving ---------------------------------------------------------------------------
    def apply_wrench(self, link, wrench):
        """Keep an external wrench on a link, (6,) world axes at its origin; None takes it off."""
        self.robot.link_frame(link)
        if wrench is None:
            self._wrenches.pop(link, None)
        else:
            self._wrenches[link] = self.robot.vector(wrench, 6, f'wrench on link {link!r}').copy()

    def step(self, tau=None):
        """Advance by one step under actuator torques, by name or as an array; None is zero."""
        self._advance(actuator_vector(self.robot, tau, 'tau'), 1)

    def run(self, duration, tau=None, *, callback=None, progress=None):
        """
        Advance by a duration [s].

        `tau` is constant torques, or a controller `tau(simulation)` that is asked every step.
        `callback(simulation)` is called after every step; returning True stops the run. Without
        either, all steps are taken in compiled code. `progress(share)` is told how far it is.
        """
        if not (isinstance(duration, numbers.Real) and np.isfinite(duration) and duration >= 0.0):
            raise StateError(
                f'the duration must be a time of zero or more, not {duration!r}',
                where=self.robot.name,
            )
        steps = round(duration / self.dt)
        if callable(tau) or callback is not None:
            self._run_stepwise(steps, tau, callback, progress)
            return
        torques = actuator_vector(self.robot, tau, 'tau')
        done = 0
        chunk = max(1, steps // 100) if progress else max(steps, 1)
        while done < steps:
            count = min(chunk, steps - done)
            self._advance(torques, count)
            done += count
            if progress:
                progress(done / steps)

    def _run_stepwise(self, steps, tau, callback, progress):
        for done in range(steps):
            torques = tau(self) if callable(tau) else tau
            self._advance(actuator_vector(self.robot, torques, 'tau'), 1)
            if progress and done % 100 == 0:
                progress((done + 1) / steps)
            if callback is not None and callback(self):
                return

    def _advance(self, torques, steps):
        """Take steps, in one compiled call unless a contact has something to decide."""
        robot = self.robot
        if steps > 1 and any(np.any(robot.link_frame(link)[2]) for link in self._wrenches):
            for _ in range(steps):  # the arm of the force turns with the body that the link is in
                self._advance(torques, 1)
            return
        self._torques = torques
        self._forces = (
            body_wrenches(robot, self.q, self._wrenches) if self._wrenches else NO_WRENCHES
        )
        if self.contacts.loops and not self._begun:
            self._begun = True
            self.contacts.begin()
        if self._grid[2] != self.dt or self.time != self._tick():  # somebody set dt or the time
            self._grid = self.time, 0, self.dt
        if self.integrator == 'adaptive':
            adaptive_run(self, steps)
            return
        last = self._grid[1] + steps
        while self._grid[1] < last:
            self._run_compiled(last - self._grid[1])
            if self._grid[1] < last and self.time > self._tick():  # an event within a step
                self._finish_step(self._tick(1))

    def _tick(self, ahead=0):
        """Return the time of a step of the grid, by default that of the last one taken."""
        start, count, dt = self._grid
        return start + (count + ahead) * dt

    def _count(self, steps):
        """Count steps; return whether the last one is due in the log."""
        self._grid = self._grid[0], self._grid[1] + steps, self._grid[2]
        return self.log_every and self._grid[1] % self.log_every == 0

    def _finish_step(self, end):
        """Go on from an event to the end of the step that it interrupted."""
        for _ in range(MOST_EVENTS):
            if end - self.time < 1e-12:
                self.time = end
                if self._count(1):
                    self._log_now(self._torques)
                return
            self._run_compiled(1, end - self.time)
        raise StateError(
            f'the contacts do not come to rest at t = {self.time:.6g} s: more than '
            f'{MOST_EVENTS} events in one step',
            where=self.robot.name,
            repair='Less restitution, or more friction, lets them settle.',
        )

    def _run_compiled(self, steps, part=None):
        """Take steps until an event: of the grid, or `part` [s] of one, which is not logged."""
        robot, log_every = self.robot, 0 if part else self.log_every
        start, first, dt = (self.time, 0, part) if part else self._grid
        samples = steps // log_every + 1 if log_every else 0
        log, log_q = np.empty((samples, 6)), np.empty((samples, robot.nq))
        log_v = np.empty((samples, robot.nv))
        signs = np.ones((max(len(robot.loop_names), 1), 2))
        status, taken, self.time, count = kernels.compute_run(
            robot.mi,
            robot.mf,
            robot.w,
            self.q,
            self.v,
            self._torques,
            NO_FORCE,
            self._forces,
            start,
            first,
            dt,
            steps,
            INTEGRATORS.index(self.integrator),
            self.tolerance,
            log_every,
            self._books,
            self._work,
            log,
            log_q,
            log_v,
            signs,
        )
        if not part:
            self._count(taken)
        if count:
            self.log.append(
                log[:count], log_q[:count], log_v[:count], self.lost, self._torques, self._wrenches
            )
        if status == at.EVENT:
            self._happened(self.contacts.handle(signs))
        elif status:
            self._raise(status)

    def _raise(self, status):
        """Say why a step failed; the state is the last good one."""
        robot, when = self.robot, f'at t = {self.time:.6g} s'
        if status == at.LOCKED:
            raise locked_error(robot, ' ' + when)
        if status == at.LOOP_OPEN:
            raise StateError(
                f'the loops cannot be closed again after a step {when}',
                where=robot.name,
                repair=f'The motion is too fast for dt = {self.dt:g} s, or the '
                'mechanism reached a pose that does not exist: take a '
                'smaller step, or look at the pose before it.',
            )
        if status == at.NOT_POSITIVE and not kernels.forward_dynamics(
            robot.mi,
            robot.mf,
            robot.w,
            self.q,
            self.v,
            self._torques,
            NO_FORCE,
            self._forces,
            np.empty(robot.nv),
        ):
            status = at.NOT_FINITE  # the masses are good; it is the step that left all bounds
        if status == at.NOT_FINITE:
            raise StateError(
                f'the motion grew beyond all bounds {when}',
                where=robot.name,
                repair=f'Take a step smaller than dt = {self.dt:g} s.',
            )
        robot.raise_for(status, self.q, self.v)

    # --- changing the structure ----------------------------------------------------------------
    def _close(self):
        """Close the loops of the present state to rounding, or say which cannot be closed."""
        robot = self.robot
        q, v = self.q.copy(), self.v.copy()
        status = kernels.close_loops(robot.mi, robot.mf, robot.w, q, v, self._work)
        if status:
            robot.raise_for(status, self.q, self.v)
        self.q, self.v = q, v

    def _bring_together(self, bodies):
        """
        Close the gaps of new connections; all masses stay as near as can be to where they were.

        Where that is too far for Newton's method, a more careful one goes ahead of it. Holding
        theta_G as a step does would send the others far, or nowhere, in a bad pose.
        """
        robot, self.q, self.v = self.robot, self.q.copy(), np.zeros(self.robot.nv)

        def settle():
            return kernels.compute_settling(
                robot.mi, robot.mf, robot.w, self.q, bodies, self._work
            )

        if settle():
            rows = robot.table(at.CLUSTER_I)[: robot.mi[at.N_CLUSTERS], at.CLUSTER_N_ROWS]
            for cluster in np.flatnonzero(rows):
                closure = Closure(robot, cluster, np.zeros(robot.nv, dtype=bool), False)
                self.q = closure.close(self.q, NEARLY_CLOSED)[0]
            self._close()
            settle()

    def mobility(self):
        """Return the mobility of the present structure in the present pose."""
        robot = self.robot
        W = np.empty((robot.nv, robot.nv))
        kernels.compute_coordinates(robot.mi, robot.mf, robot.w, self.q, W)
        return int(robot.mi[at.MOBILITY])

    def connect(self, *names, gap=CONNECT_GAP, angle=CONNECT_ANGLE):
        """
        Connect loop joints, or tree joints that were cut, all at the same instant.

        A gap of at most `gap` [m] and `angle` [rad] is closed; the velocities jump as paper 2,
        section V-C, says. Both leave centre of mass and momentum of what flies freely as they are.
        Whatever is refused leaves the simulation as it was. Returns the events.
        """
        before, energy = self.mobility(), float(self.energy())
        kept = self.q, self.v, self.robot.structure()
        moved = momentum(self.robot, self.q, self.v)
        bodies = body_record(self.robot, self.q, self.v)
        try:
            for name in names:
                if name not in self.robot.loop_names:
                    self._join(name, gap, angle)
            for name in names:
                if name in self.robot.loop_names:
                    self.robot.connect(name)
                    self._check_gap(name, gap, angle)
            self._allocate()
            self._bring_together(bodies)
            blow = impact_on_bodies(
                self.robot, self.q, bodies, joints=set(names).difference(self.robot.loop_names)
            )
            after = self.mobility()
            if after == 0:
                raise StructureError(
                    f'connecting {", ".join(map(repr, names))} would leave no motion at all',
                    where=self.robot.name,
                    repair='Cut another connection first.',
                )
        except ClosedChainError:
            self.robot.restructure(kept[2])
            self.q, self.v = kept[:2]
            self._allocate()
            raise
        self.v, self._begun = blow.v_after, False
        total = energy - float(self.energy())
        self.lost += total
        events = [
            Event(
                self.time,
                'connect',
                name,
                before,
                after,
                0.0,
                blow.impulse_of(name),
                blow.momentum_after - moved,
            )
            for name in names
        ]
        for event in events[:1]:  # one blow, whatever number of joints shares it
            event.energy_lost = max(float(blow.energy_lost), 0.0)
            event.energy_of_gap = total - event.energy_lost
        self._happened(events)
        return events

    def _join(self, name, gap, angle):
        """Undo the cut of a tree joint; of whole turns it has those nearest to before the cut."""
        if name not in self.robot.joint_names:
            raise NameNotFound(
                'joint',
                name,
                [*self.robot.loop_names, *self.robot.joint_names],
                where=self.robot.name,
            )
        self.q, self.v = self.robot.join_joint(name, self.q, self.v, gap=gap, angle=angle)
        place, rate = self.robot.joint_slices(name)
        if name in self._angles:
            turns = np.round((self._angles[name] - self.q[place]) / (2.0 * np.pi))
            angle = self.q[place] + 2.0 * np.pi * turns
            lower, upper = self.robot.table(at.DOF_F)[rate.start, [at.LOWER, at.UPPER]]
            if lower <= angle <= upper:
                self.q[place] = angle

    def _check_gap(self, name, gap, angle):
        """Refuse a connection whose two frames are too far apart."""
        metres, radians = self.robot.loop_gaps(self.q)[name]
        if metres > gap or radians > angle:
            raise StructureError(
                f'loop joint {name!r} is {metres:.4g} m and {radians:.4g} rad apart, more than '
                f'the {gap:g} m and {angle:g} rad that a connection closes',
                where=self.robot.name,
                repair='Bring the two frames together first, or allow more with gap= and angle=.',
            )

    def cut(self, *names):
        """
        Cut loop joints or tree joints, all at the same instant; return the events.

        What a cut tree joint carried flies on freely, on a free joint of the same name.
        """
        before, kept = self.mobility(), (self.q, self.v, self.robot.structure())
        energy = float(self.energy())
        try:
            for name in names:
                if name in self.robot.loop_names:
                    self.robot.cut(name)
                elif name in self.robot.joint_names:
                    self._note_angle(name)
                    self.q, self.v = self.robot.cut_joint(name, self.q, self.v)
                else:
                    raise NameNotFound(
                        'joint',
                        name,
                        [*self.robot.loop_names, *self.robot.joint_names],
                        where=self.robot.name,
                    )
        except ClosedChainError:
            self.robot.restructure(kept[2])
            self.q, self.v = kept[:2]
            raise
        self._allocate()
        after = self.mobility()
        lost = energy - float(self.energy())  # what springs and limits of the joints had stored
        self.lost += lost
        events = [
            Event(self.time, 'cut', name, before, after, lost if name == names[0] else 0.0)
            for name in names
        ]
        self._happened(events)
        return events

    def _note_angle(self, name):
        """Note the angle of a joint that turns: once cut, only its part of a turn can be seen."""
        body = self.robot._packing.joints[name]
        if self.robot.table(at.BODY_I)[body, at.TYPE] == at.REVOLUTE:
            self._angles[name] = self.q[self.robot.joint_slices(name)[0]].copy()

    def event(self, kind, name, lost=0.0, blow=None):
        """Return an Event of a contact at this instant."""
        mobility = self.mobility()
        event = Event(self.time, kind, name, mobility, mobility, lost)
        if blow is not None:
            event.impulse = blow.impulse_of(name)
            event.momentum_change = blow.momentum_after - blow.momentum_before
        return event

    def _happened(self, events):
        self.events += events
        self.log.events += events
        if events:
            self._log_now()
