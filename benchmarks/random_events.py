#!/usr/bin/env python3
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
Connects and cuts joints of a moving figure at random, many times, and tells what came of it.

The figure sits on the swing; hands, thighs, rods and every joint of the body come apart and are
joined again, one to three at a time, with short runs in between. After each event the state is
looked at: finite, loops closed, arrays where they were, nothing compiled again.

    python benchmarks/random_events.py --events 100000
"""

import argparse
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
import resource
import sys
import time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import closed_chain_dynamics as ccd
from closed_chain_dynamics import kernels
from closed_chain_dynamics.description import LoopJoint, LoopType, Pose

GAP, ANGLE = 0.05, 0.3  # what a connection may close here [m], [rad]
MOST_OPEN = 6  # joints that may be apart at a time
FASTEST = 30.0  # speed beyond which the figure starts anew [rad/s or m/s]
LONGEST = 400  # events after which it starts anew in any case
RUNS = (0, 1, 2, 5)  # steps between two events, of DT [s]
DT = 1e-3
AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


@dataclass
class Tally:
    """What a number of random events came to."""

    events: int = 0
    kinds: Counter = field(default_factory=Counter)  # connect, cut, refused, ...
    worst_loop: float = 0.0  # largest error of a closed loop [m, rad]
    seconds: list = field(default_factory=list)  # of processor time, of every event
    moved: bool = False  # whether an array was allocated again
    compiled: int = 0  # kernels compiled on the way
    resident: list = field(default_factory=list)  # resident memory at each tenth [kB]

    def __str__(self):
        """Return a few lines for people."""
        micro = 1e6 * np.array(self.seconds)
        kinds = ', '.join(f'{count} {kind}' for kind, count in sorted(self.kinds.items()))
        grown = (self.resident[-1] - self.resident[1]) / 1024 if len(self.resident) > 2 else 0.0
        return (
            f'{self.events} events: {kinds}\n'
            f'largest loop error {self.worst_loop:.2e} m or rad\n'
            f'processor time per event: mean {micro.mean():.0f}, median '
            f'{np.median(micro):.0f}, 99 of 100 below {np.percentile(micro, 99):.0f} us\n'
            f'arrays allocated again: {"yes" if self.moved else "no"}; kernels compiled on '
            f'the way: {self.compiled}; resident memory {grown:+.1f} MB since the first tenth'
        )


def signatures():
    """Return how many signatures of kernels are compiled."""
    functions = {id(each): each for each in vars(kernels).values() if hasattr(each, 'signatures')}
    return sum(len(each.signatures) for each in functions.values())


def resident():
    """Return the largest resident memory so far [kB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def figure():
    """Return the figure on the swing, with more places to hold on to, and its posture."""
    robot = ccd.load('swing')
    q = ccd.assemble(robot, {})
    description = robot.description
    X = ccd.link_placements(robot, q)
    more = []
    for name, kind, parent, child, point in (
        ('chest_rest', LoopType.SURFACE, 'swing', 'torso', (0.1, 0.05, 0.3)),
        ('clasp', LoopType.SPHERICAL, 'left_forearm', 'right_forearm', (0.02, 0.1, -0.2)),
        ('ankles', LoopType.SPHERICAL, 'left_shank', 'right_shank', (0.0, -0.09, -0.4)),
        ('brace', LoopType.UNIVERSAL, 'torso', 'left_shank', (0.05, 0.02, -0.1)),
        ('left_foot', LoopType.SPHERICAL, 'world', 'left_shank', (0.1, 0.03, -0.3)),
    ):
        on_child = Pose(point)
        X_W = X[child] @ np.block([[np.eye(3), np.array(point)[:, None]], [0, 0, 0, 1]])
        X_P = np.linalg.inv(X[parent]) @ X_W
        R = X_P[:3, :3]
        pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
        rpy = (np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0]))
        more.append(
            LoopJoint(
                name,
                kind,
                parent,
                child,
                parent_origin=Pose(tuple(map(float, X_P[:3, 3])), tuple(map(float, rpy))),
                child_origin=on_child,
                parent_axis=AXES[0],
                child_axis=AXES[kind is LoopType.UNIVERSAL],
                active=False,
            )
        )
    description = replace(description, loops=(*description.loops, *more))
    return ccd.Mechanism(description), q


class RandomEvents:
    """A simulation that is cut and connected at random."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        robot, q = figure()
        self.sim = ccd.Simulation(robot, q, dt=DT, log_every=0)
        self.since = 0
        self.arrays = self._addresses()

    def _addresses(self):
        robot = self.sim.robot
        return tuple(robot.handle[::2])

    def _states(self):
        """Return names of joints that are together and of those that are apart."""
        robot = self.sim.robot
        together, apart = [], []
        for name in (*robot.loop_names, *robot.joint_names):
            if name != 'root':
                (together if robot.is_connected(name) else apart).append(name)
        return together, apart

    def renew(self):
        """Start anew, with another motion."""
        self.since = 0
        self.sim.reset()
        W = ccd.coordinates(self.sim.robot, self.sim.q).W
        self.sim.v = W @ self.rng.normal(size=W.shape[1])

    def one(self, tally):
        """Make one event happen, and a short run after it."""
        sim, rng = self.sim, self.rng
        together, apart = self._states()
        connect = apart and (len(apart) > 5 + MOST_OPEN or rng.random() < 0.55)
        pool = apart if connect else together
        count = min(rng.choice((1, 1, 1, 2, 3)), len(pool))
        names = [str(name) for name in rng.choice(pool, count, replace=False)]
        start = time.thread_time()
        try:
            if connect:
                sim.connect(*names, gap=GAP, angle=ANGLE)
            else:
                sim.cut(*names)
        except (ccd.StructureError, ccd.StateError) as refusal:
            assert connect, refusal
            tally.kinds['refused'] += 1
            return
        finally:
            tally.seconds.append(time.thread_time() - start)
        tally.kinds['connect' if connect else 'cut'] += 1
        try:
            sim.run(rng.choice(RUNS) * DT)
        except ccd.StateError:
            tally.kinds['dead point'] += 1
            self.renew()
        self._look(tally)

    def _look(self, tally):
        sim = self.sim
        if not (np.all(np.isfinite(sim.q)) and np.all(np.isfinite(sim.v))):
            raise AssertionError('the state is not finite')
        tally.worst_loop = max(tally.worst_loop, sim.loop_error())
        tally.moved |= self._addresses() != self.arrays
        sim.events.clear()
        sim.log.events.clear()
        self.since += 1
        if self.since > LONGEST or np.abs(sim.v).max() > FASTEST:
            tally.kinds['fresh start'] += 1
            self.renew()

    def run(self, events, progress=None):
        """Return the Tally of so many events, refused ones included."""
        tally = Tally()
        for _ in range(200):  # whatever is allocated or compiled once
            self.one(Tally())
        before, tenth = signatures(), max(1, events // 10)
        self.renew()
        for count in range(events):
            if count % tenth == 0:
                tally.resident.append(resident())
                if progress:
                    progress(count, tally)
            self.one(tally)
        tally.events, tally.compiled = events, signatures() - before
        tally.resident.append(resident())
        return tally


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--events', type=int, default=10000)
    parser.add_argument('--seed', type=int, default=0)
    arguments = parser.parse_args()

    def tell(count, tally):
        print(
            f'{count:8d} events, {dict(tally.kinds)}, loops {tally.worst_loop:.1e}',
            file=sys.stderr,
            flush=True,
        )

    tally = RandomEvents(arguments.seed).run(arguments.events, tell)
    print(tally)
    good = tally.worst_loop <= 1e-10 and not tally.moved and tally.compiled == 0
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
