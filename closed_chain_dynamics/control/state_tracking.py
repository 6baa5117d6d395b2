"""
The state of a mechanism from messages that may be late, repeated, out of order or wrong.

What is refused is counted and told by name; the state goes on with the next good message. Stamps
that go back and then rise again are those of a clock that started anew: the pose is then looked
for from the start.
"""

from collections import Counter
import math

import numpy as np

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.control.loop_state import LoopState
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StructureError
from closed_chain_dynamics.simulation.simulation import CONNECT_ANGLE, CONNECT_GAP

__all__ = ['OTHER_CLOCK', 'StampCheck', 'StateTracker']

OTHER_CLOCK = 3600.0  # stamps further from now are of another clock, and tell no age [s]
RESTARTED = 5  # states in a row with old but rising stamps: their clock started anew


class StampCheck:
    """Tells states that are new from those that are repeated, out of order or old."""

    def __init__(self, timeout):
        self.timeout, self.last, self.restarted = timeout, -math.inf, False
        self._back, self._count = -math.inf, 0

    def refuse(self, stamp, age):
        """Return why a state is refused, (name, text), or None; `age`: by the clock [s]."""
        self.restarted = False
        if not math.isfinite(stamp):
            return 'stamp', f'its stamp is {stamp}'
        if self.timeout < age < OTHER_CLOCK:
            return 'stale', f'it is {age:.3g} s old, more than {self.timeout:g} s'
        if stamp > self.last:
            self.last, self._count = stamp, 0
            return None
        if stamp == self.last:
            return 'repeated', f'a state with the stamp {stamp:.9g} s has come before'
        self._count = self._count + 1 if stamp > self._back else 1
        self._back = stamp
        if self._count < RESTARTED:
            return 'out of order', f'its stamp is {self.last - stamp:.3g} s before the last one'
        self.last, self._count, self._back, self.restarted = stamp, 0, -math.inf, True
        return None


class StateTracker:
    """
    Keeps the complete state up to date, and the structure with it.

    `timeout`: age from which a state is refused [s]; `on_refusal(name, text)` is told of all that
    is refused; `options` go to LoopState. `state` is None until there is one.
    """

    def __init__(self, robot, *, timeout=0.05, on_refusal=None, **options):
        self.robot, self.state, self.restarted = robot, None, False
        self.stamps, self.refused = StampCheck(timeout), Counter()
        self._on_refusal, self._options = on_refusal, options

    def take(self, names, position, velocity, *, stamp, age=0.0):
        """
        Take positions and velocities of named joints; return whether the state is good.

        `position` as in q; `stamp`: its time [s]; `age`: the clock's time minus the stamp.
        """
        refusal = self.stamps.refuse(stamp, age)
        self.restarted = self.stamps.restarted
        if refusal:
            return self.refuse(*refusal)
        if self.restarted:
            self.refuse('time restarted', 'stamps go back: the pose is looked for anew')
            self.state = None
        try:
            if self.state is None or self.state.names != names:
                start = None if self.state is None else self.state.q
                self.state = LoopState(self.robot, names, start=start, **self._options)
            if not self.state.update(stamp, position, velocity):
                return self.refuse(
                    'lost', 'the joints jumped, or are where no pose closes the loops'
                )
        except ClosedChainError as error:
            if self.state is not None and self.state.q is None:
                self.state = None
            return self.refuse('state', str(error))
        return True

    def warm_up(self):
        """Take a few states on a copy, so that every kernel is loaded before it counts."""
        robot = self.robot.copy()
        trial = StateTracker(robot)
        try:
            q = assemble(robot, limits=False)
        except ClosedChainError:  # it may be closed later, by an event
            return
        for k in range(4):  # all joints, then all but one, which has to be found
            names = robot.joint_names[k // 2 :]
            slices = [robot.joint_slices(name) for name in names]
            trial.take(
                names,
                np.concatenate([np.zeros(0), *(q[each] for each, _ in slices)]),
                np.zeros(sum(each.stop - each.start for _, each in slices)),
                stamp=1e-3 * k,
            )

    def refuse(self, name, text):
        """Count a refusal and tell it; return False."""
        self.refused[name] += 1
        if self._on_refusal:
            self._on_refusal(name, text)
        return False

    # --- structure -------------------------------------------------------------------------------
    def connect(self, name, *, gap=CONNECT_GAP, angle=CONNECT_ANGLE):
        """Close a loop joint, or join a tree joint that was cut; raise where it is refused."""
        robot = self.robot
        if name not in robot.loop_names:
            self._known(name)
            state = self._known_state()
            state.restructured(*robot.join_joint(name, state.q, state.v, gap=gap, angle=angle))
            return
        robot.connect(name)
        # before the first state there is no gap to look at: states have to fit the loop then
        metres, radians = robot.loop_gaps(self.state.q)[name] if self.is_known else (0.0, 0.0)
        if metres > gap or radians > angle:
            robot.cut(name)
            raise StructureError(
                f'loop joint {name!r} is {metres:.4g} m and {radians:.4g} rad apart here, and a '
                f'connection closes {gap:g} m and {angle:g} rad',
                where=robot.name,
                repair='Bring the two frames together first.',
            )
        self._restructured()

    def cut(self, name):
        """Open a loop joint, or cut a joint of the tree; raise where it is refused."""
        robot = self.robot
        if name in robot.loop_names:
            robot.cut(name)
            self._restructured()
        else:
            self._known(name)
            state = self._known_state()
            state.restructured(*robot.cut_joint(name, state.q, state.v))

    def follow(self, closed):
        """
        Make the structure what its owner says, {name: closed?}; return whether it changed.

        No gap is too large, for it is so already, and no pose has to be known. Loop joints that
        are not named stay as they are; tree joints that are not named are whole.
        """
        robot, changed = self.robot, False
        q, v = (self.state.q, self.state.v) if self.is_known else (robot.neutral(), None)
        for name in robot.loop_names:
            now = robot.is_connected(name)
            if closed.get(name, now) != now:
                (robot.cut if now else robot.connect)(name)
                changed = True
        is_free = robot.structure()[1]
        for name, body in robot._packing.joints.items():
            if closed.get(name, True) != is_free[body]:
                continue
            try:
                v = np.zeros(robot.nv) if v is None else v
                q, v = (
                    robot.join_joint(name, q, v, gap=np.inf, angle=np.inf)
                    if is_free[body]
                    else robot.cut_joint(name, q, v)
                )
                changed = True
            except ClosedChainError as error:
                self.refuse('contact/state', str(error))
        for name in closed:
            if name not in robot.loop_names and name not in robot.joint_names:
                self.refuse('contact/state', f'{robot.name} has no joint {name!r}')
        if changed:
            self._restructured(q, v)
        return changed

    @property
    def is_known(self):
        """Return whether there is a pose."""
        return self.state is not None and self.state.q is not None

    def _restructured(self, q=None, v=None):
        if self.is_known:
            self.state.restructured(q, v)
        else:
            self.state = None  # a pose that fits is looked for with the next joint states

    def _known(self, name):
        if name not in self.robot.joint_names:
            raise NameNotFound(
                'joint',
                name,
                [*self.robot.loop_names, *self.robot.joint_names],
                where=self.robot.name,
            )

    def _known_state(self):
        if not self.is_known:
            raise StructureError(
                'the pose is not known yet',
                where=self.robot.name,
                repair='Send joint states first.',
            )
        return self.state
