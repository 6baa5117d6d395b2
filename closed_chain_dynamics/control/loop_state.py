"""
The whole state of a mechanism from a part of it, instant by instant.

Some joints are measured (or asked for, in a reference); the loops give the others. Each update
starts from where the last velocity leads, so that the branch is kept where poses of several
branches meet, and moves along W until the named joints fit best; loops are then closed to
rounding. Where names do not fix a motion for a moment, at a dead point or a singular pose, it
goes on as it was; a motion that they never fix stays where it is. Names that contradict each
other meet in least squares, and `residual` says by how much they are off.

A pose that is not continuous with the last one means that the branch was lost or that a sensor
lied: the state says 'lost' and stays, until several updates in a row agree that the joints are
elsewhere; then the pose is assembled anew.
"""

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.assembly.closure import Closure
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.dynamics.coordinates import coordinates
from closed_chain_dynamics.errors import AssemblyError, StateError
from closed_chain_dynamics.kernels import following as how, layout as at
from closed_chain_dynamics.kernels.tangent import compute_tangent

__all__ = ['LoopState']

AT_REST = 1e-3  # speeds below this tell nothing about branches [rad/s, or lengths/s]
FLIP = 0.3  # share of the speed by which unnamed joints may jump when named ones do not
NEAR = 0.05  # distance to a singular pose within which branches can be mixed up
COASTS = 20  # updates that a state coasts past a singular pose before it counts as lost
ATTEMPTS = 6  # starts for assembling a pose anew: it must not take long
LONGEST_PATIENCE = 500  # updates between two attempts to find a pose that was not found
LONGEST_GAP = 0.1  # time over which a velocity still foretells a pose [s]
WIDTHS_IN_V = {1: 1, 4: 3, 7: 6}  # of joints, by their width in q


class LoopState:
    """
    A state that is kept complete: `q`, `v`, `time`, and how sure it is.

    `names`: joints of the tree whose positions will be given; `start`: a pose to find the first
    one near, (nq,). `jump`: distance from the foreseen pose that counts as lost [rad, or typical
    lengths]; `confirm`: updates in a row that must agree before a jump is believed.
    """

    def __init__(self, robot, names, *, start=None, jump=0.3, confirm=3):
        self.robot, self.names = robot, list(names)
        self._widths = [self._width(name) for name in self.names]
        self._jump, self._confirm, self._start = float(jump), confirm, start
        self.q = self.v = self.time = None
        self.status, self.jumps = 'unknown', 0
        self.restructured()

    def _width(self, name):
        in_q = self.robot.joint_slices(name)[0]
        return in_q.stop - in_q.start

    def restructured(self, q=None, v=None):
        """Take note that joints were connected or cut; give the state where its size changed."""
        robot, first = self.robot, [0, 0]
        keep, places = ([], []), ([], [])  # each in q and in v
        for name, width in zip(self.names, self._widths):
            slices, widths = robot.joint_slices(name), (width, WIDTHS_IN_V[width])
            for k in (0, 1):
                if slices[0].stop - slices[0].start == width:  # else cut: it moves in other ways
                    keep[k].extend(range(first[k], first[k] + widths[k]))
                    places[k].extend(range(slices[k].start, slices[k].stop))
                first[k] += widths[k]
        self._sizes = first
        self._keep = [np.array(each, dtype=int) for each in keep]
        self._q_places, self._v_places = (np.array(each, dtype=int) for each in places)
        nv, named = robot.nv, len(self._v_places)
        self._scale = robot.table(at.DOF_F)[:, at.SCALE].copy()
        self._work = np.zeros((7, max(robot.nq, 2 * nv + 2)))
        self._W, self._drift = np.empty((nv, nv)), np.empty(nv)
        self._R, self._gain, self._sigma = np.empty((nv, nv)), np.empty((nv, named)), np.empty(nv)
        self._unknown, self._zero = np.full(named, np.nan), np.zeros(nv)
        self._facts, self._usually_free = np.zeros(how.N_FACTS), nv
        self._misses, self._coasts, self._patience = 0, 0, self._confirm
        if q is not None:
            self.q, self.v = q.copy(), v.copy()
        if self.q is not None and not self._close(self.q):  # a connection closes a small gap
            self.q, self.status = None, 'lost'
        if self.q is not None:
            self.v = self._allowed(self.q, self.v)

    def forget(self):
        """Look for the pose anew with the next update, near the present one."""
        self._start, self.q = self.q, None

    # --- one update ----------------------------------------------------------------------------
    def update(self, time, position, velocity=None):
        """
        Take positions of the named joints, in their order and as in q; return whether it holds.

        `velocity` is in the order of the same joints' velocities; without it, or where it is
        nan, velocities follow from the positions. False: the state is lost, q is the last good.
        """
        position = self._checked(position, 0, 'position')
        rates = self._unknown if velocity is None else self._checked(velocity, 1, 'velocity')
        if self.q is None:
            self._find(position)
            self.time, self.status = time, 'tracking'
            self.v = self._velocity(self.q, np.where(np.isnan(rates), 0.0, rates))
            return True
        robot, dt, facts = self.robot, float(time - self.time), self._facts
        dt = dt if 0.0 < dt <= LONGEST_GAP else 0.0
        ahead, q, v = np.empty(robot.nq), np.empty(robot.nq), np.empty(robot.nv)
        done = how.compute_follow(
            robot.mi,
            robot.mf,
            robot.w,
            self.q,
            self.v,
            dt,
            position,
            rates,
            self._q_places,
            self._v_places,
            self._scale,
            self._jump,
            self._usually_free,
            self._work,
            self._W,
            self._drift,
            self._R,
            self._gain,
            self._sigma,
            ahead,
            q,
            v,
            facts,
        )
        if done == how.BAD:
            self._target(ahead, position)  # says what is bad
        if done != how.FOLLOWED or max(facts[how.DISTANCE], facts[how.MISFIT]) > self._jump:
            coasted = done == how.HARD and self._coast(ahead, time)
            return coasted or self._missed(time, position, velocity)
        if self._flipped():
            return self._coast(ahead, time) or self._missed(time, position, velocity)
        self._usually_free = min(int(facts[how.FREE]), self._usually_free)
        self._misses = self._coasts = 0
        self.q, self.v, self.time, self.status = q, v, time, 'tracking'
        return True

    def _checked(self, values, k, what):
        """Return finite numbers of the joints that count; nan is allowed for velocities."""
        values = self.robot.vector(values, self._sizes[k], what)[self._keep[k]]
        if not np.isfinite(values).all() and (k == 0 or np.isinf(values).any()):
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            places = [
                name
                for name, width in zip(self.names, self._widths)
                for _ in range((width, WIDTHS_IN_V[width])[k])
            ]
            raise StateError(
                f'the {what} of {places[self._keep[k][bad]]!r} is {values[bad]}',
                where=self.robot.name,
                repair='Give finite numbers only.',
            )
        return values

    def _coast(self, ahead, time):
        """Go on as before, for a while: past a pose where branches meet."""
        self._coasts += 1
        near = coordinates(self.robot, self.q).distance < NEAR
        if not near or self._coasts > COASTS or not self._close(ahead):
            return False
        self.q, self.time, self.status = ahead, time, 'coasting'
        return True

    def _flipped(self):
        """Return whether unnamed joints changed their speed as only another branch would."""
        facts = self._facts
        return (
            facts[how.SPEED] > AT_REST
            and facts[how.UNNAMED_CHANGE]
            > FLIP * facts[how.SPEED] + 10.0 * facts[how.NAMED_CHANGE]
            and coordinates(self.robot, self.q).distance < NEAR
        )

    def _missed(self, time, position, velocity):
        """Say that the state is lost; believe the joints when they insist."""
        self._misses += 1
        self.status = 'lost'
        if self._misses < self._patience:
            return False
        self.jumps += 1
        self.forget()
        try:
            found = self.update(time, position, velocity)
            self._patience = self._confirm
            return found
        except AssemblyError:  # searching takes its time: not with every state
            self.q, self.time, self._misses = self._start, time, 0
            self._patience, self.status = min(2 * self._patience, LONGEST_PATIENCE), 'lost'
            self.v = np.zeros(self.robot.nv)
            return False

    def _target(self, q, position):
        """Return q with the named joints where they are said to be."""
        target = q.copy()
        target[self._q_places] = position
        status = kernels.check_state(self.robot.mi, target, self._zero, self._zero)
        if status:
            self.robot.raise_for(status, target)
        return target

    def _find(self, position):
        """Assemble the pose, holding as many of the named joints as agree with the loops."""
        robot, target = self.robot, self._target(self.robot.neutral(), position)
        held = {
            name: target[robot.joint_slices(name)[0]]
            for name, width in zip(self.names, self._widths)
            if self._width(name) == width
        }
        options = {'start': self._start, 'limits': False, 'attempts': ATTEMPTS}
        try:
            q = assemble(robot, held, **options)
        except AssemblyError:  # they contradict each other a little, as sensors do
            start = self._start if self._start is not None else assemble(robot, limits=False)
            options['start'] = self._target(start, position)
            q = assemble(robot, {}, **options)
            fitted, v = q.copy(), np.empty(robot.nv)
            if (
                how.compute_follow(
                    robot.mi,
                    robot.mf,
                    robot.w,
                    q,
                    self._zero,
                    0.0,
                    position,
                    self._unknown,
                    self._q_places,
                    self._v_places,
                    self._scale,
                    np.inf,
                    0,
                    self._work,
                    self._W,
                    self._drift,
                    self._R,
                    self._gain,
                    self._sigma,
                    np.empty(robot.nq),
                    fitted,
                    v,
                    self._facts,
                )
                == how.FOLLOWED
            ):
                q = fitted
        away = np.empty(robot.nv)
        kernels.difference(robot.mi, q, self._target(q, position), away)
        off = np.abs(away / self._scale)[self._v_places]
        self._facts[how.MISFIT] = off.max(initial=0.0)
        self._facts[how.WORST] = off.argmax() if off.size else 0
        if self.residual > self._jump:
            raise AssemblyError(
                f'the joints contradict the loops by {self.residual:.3g}, most of '
                f'all {self.worst_name!r}',
                where=robot.name,
                repair='Check names, signs and offsets of the sensors.',
            )
        self.q = q

    def _close(self, q):
        """Close the loops of q in place; near singular poses by the smallest motion."""
        robot = self.robot
        kept, away = q.copy(), np.empty(robot.nv)
        if (
            not kernels.close_loops(robot.mi, robot.mf, robot.w, q, self._zero.copy(), self._work)
            and how.distance(robot.mi, self._scale, kept, q, away) <= 0.1 * self._jump
        ):
            return True
        q[:] = kept
        for cluster in range(robot.mi[at.N_CLUSTERS]):
            closure = Closure(robot, cluster, np.zeros(robot.nv, dtype=bool), False)
            if closure.units.size:
                q[:] = closure.close(q, 1e-12)[0]
        gaps = robot.loop_gaps(q).values()
        return max(map(max, gaps), default=0.0) < robot.table(at.WORLD_F)[0, at.CLOSING_TOLERANCE]

    # --- rates -----------------------------------------------------------------------------------
    def _velocity(self, q, rates):
        """Return the velocity that the loops allow and that fits the named rates best."""
        robot = self.robot
        wanted, v = np.zeros(robot.nv), np.empty(robot.nv)
        wanted[self._v_places] = rates
        how.fit_velocity(
            robot.mi,
            robot.mf,
            robot.w,
            q,
            self._zero,
            wanted,
            self._v_places,
            self._scale,
            robot.nv,
            self._W,
            self._drift,
            self._R,
            self._gain,
            self._sigma,
            v,
            self._facts,
        )
        return v

    def _allowed(self, q, v):
        """Return the velocity nearest to v that the loops allow."""
        everything = np.arange(self.robot.nv)
        self._fit(q, everything, np.empty((len(v), len(v))), gain := np.empty((len(v), len(v))))
        mobility = self.robot.mi[at.MOBILITY]
        return self._W[:, :mobility] @ (gain[:mobility] @ v)

    def _fit(self, q, places, R, gain):
        """Write how theta_G' follows from velocities at some places, in a pose."""
        robot = self.robot
        compute_tangent(robot.mi, robot.mf, robot.w, q, self._zero, self._W, self._drift)
        how.compute_fit(robot.mi, self._W, self._scale, places, R, gain, self._sigma)

    def acceleration(self, named):
        """Return the acceleration that the loops allow and that fits the named ones, (nv,)."""
        robot, places = self.robot, self._v_places
        named = self._checked(named, 1, 'acceleration')
        if not how.is_theta_G(robot.mi, places):
            self._fit(self.q, places, self._R, self._gain)
        compute_tangent(robot.mi, robot.mf, robot.w, self.q, self.v, self._W, self._drift)
        mobility, a = robot.mi[at.MOBILITY], np.zeros(robot.nv)
        if how.is_theta_G(robot.mi, places):
            wanted = np.zeros(robot.nv)
            wanted[places] = named
            how.velocity_of_theta_G(robot.mi, self._W, wanted, a)
            return a + self._drift
        theta_G = self._gain[:mobility] @ (named - self._drift[places])
        return self._W[:, :mobility] @ theta_G + self._drift

    # --- how sure it is ------------------------------------------------------------------------
    @property
    def residual(self):
        """Return by how much the named joints contradict the loops [rad, or typical lengths]."""
        return float(self._facts[how.MISFIT])

    @property
    def rate_residual(self):
        """Return by how much the named rates contradict the loops [rad/s or m/s]."""
        return float(self._facts[how.RATE_MISFIT])

    def describe(self):
        """Return what a person has to know about the state, by name."""
        return {
            'state': self.status,
            'jumps': self.jumps,
            'contradiction [rad or lengths]': self.residual,
            'fits least': self.worst_name,
            'contradiction of rates': self.rate_residual,
            'motions not measured': self.unobserved,
        }

    @property
    def worst_name(self):
        """Return the coordinate whose value fits least into the loops."""
        if not self._v_places.size:
            return ''
        return self.robot.coordinate_names[self._v_places[int(self._facts[how.WORST])]]

    @property
    def unobserved(self):
        """Return how many motions the named joints do not tell anything about."""
        self._fit(self.q, self._v_places, self._R, self._gain)
        return int((self._sigma[: self.robot.mi[at.MOBILITY]] <= 1e-6).sum())
