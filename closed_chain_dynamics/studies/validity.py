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
Internal validity: inverse dynamics of a motion, then forward dynamics under its torques.

Winter, section 8.0.2, asks this of a model before any other question is put to it: started from
the measured state and driven only by the torques that the inverse solution gave, it must return
the measured motion. Errors grow by themselves where the motion is unstable: how fast is told, too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
import math

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.tree import difference
from closed_chain_dynamics.errors import ClosedChainError, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.recording.log_files import Path, write_columns
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.studies.motion.moving import Motion
from closed_chain_dynamics.studies.motion.torques import MotionTorques, motion_torques
from closed_chain_dynamics.studies.wrong_mass import WrongMass, find_wrong_mass

__all__ = ['Validity', 'study_validity']


REPRODUCED = 1e-3  # error of a joint up to which a motion counts as reproduced [rad or m]
PAIRS = 2  # of steps of the simulation between two samples, at least
LONGEST_REPLAYED = 1e-3  # step [s]
LINEAR_ERROR = 1e-2  # errors up to here grow as the linearised motion says [rad or m]
ERROR_NOISE = 1e-13  # errors below this are noise [rad or m]
# A fit over the second half of a time tells exponentials from powers of time: t^2, that of a
# constant error in a torque, grows by 4 in it, and t^4 by 16.
GROWN = 20.0


@dataclass(repr=False)
class Validity:
    """
    How well a motion comes back; arrays have one row per sample.

    `errors`: {joint: (samples,)}, the largest of a joint's coordinates [rad or m], NaN after a run
    that stopped; `q`: the motion that came back; `rate`: growth of the error [1/s], None where it
    does not grow exponentially; `until`: how long it stays within the tolerance [s].
    """

    torques: MotionTorques
    q: Array
    errors: dict[str, Array]
    tolerance: float
    dt: float
    stopped: str = ''
    wrong_mass: WrongMass | None = None  # of the model that was moved, where it was another one
    worst: Array = field(init=False)  # of all joints, (samples,)
    rate: float | None = field(init=False)
    until: float = field(init=False)

    def __post_init__(self) -> None:
        time = self.torques.motion.time
        self.worst = np.max(list(self.errors.values()), axis=0)
        self.rate = growth(time, self.worst)
        beyond = np.flatnonzero(~(self.worst <= self.tolerance))
        last = beyond[0] - 1 if beyond.size else len(time) - 1
        self.until = float(time[last] - time[0])

    @property
    def valid(self) -> bool:
        """Return whether the whole motion was reproduced within the tolerance."""
        return bool(np.all(self.worst <= self.tolerance))

    def __repr__(self) -> str:
        return (
            f'Validity({self.torques.robot.name}, valid={self.valid}, '
            f'error={np.nanmax(self.worst):.3g}, until={self.until:g} s)'
        )

    def _repr_html_(self) -> str:
        growing = 'not exponential' if self.rate is None else f'{self.rate:.4g} 1/s'
        rows = [(name, f'{np.nanmax(each):.3g}') for name, each in self.errors.items()]
        return shown(
            f'internal validity of {self.torques.robot.name}',
            [
                ('verdict', 'valid' if self.valid else 'not valid'),
                ('reproduced for', f'{self.until:g} s'),
                ('tolerance', f'{self.tolerance:g} rad or m'),
                ('growth of error', growing),
            ],
            [('', ('joint', 'largest error [rad or m]'), rows)],
        )

    def to_csv(self, path: Path) -> None:
        """Write one line per sample: time, torques, and the error of every joint."""
        found = self.torques
        write_columns(
            path,
            [
                ('time', found.motion.time),
                *(
                    (f'tau:{name}', values)
                    for name, values in zip(found.robot.actuator_names, found.tau_A.T)
                ),
                *((f'error:{name}', values) for name, values in self.errors.items()),
            ],
        )


def growth(time: Array, errors: Array) -> float | None:
    """Return the rate of errors that grow exponentially while they are small, or None [1/s]."""
    small = np.flatnonzero(~(errors <= LINEAR_ERROR))
    end = small[0] if small.size else len(errors)
    if end < 3:
        return None
    middle = (time[0] + time[end - 1]) / 2.0
    fitted = np.flatnonzero((time[:end] >= middle) & (errors[:end] > ERROR_NOISE))
    if fitted.size < 3 or errors[fitted[-1]] < GROWN * errors[fitted[0]]:
        return None
    return float(np.polyfit(time[fitted], np.log(errors[fitted]), 1)[0])


def study_validity(
    robot: Mechanism,
    motion: Motion,
    *,
    forward: Mechanism | None = None,
    tolerance: float = REPRODUCED,
    dt: float | None = None,
    progress: Progress | None = None,
) -> Validity:
    """
    Return the Validity of a Motion: torques by inverse dynamics, and what they move.

    `forward` is the mechanism that is moved, where it is not the one that the torques are of;
    `dt` the step of the simulation [s], by default a part of the time between samples.
    """
    from scipy.interpolate import CubicSpline

    if len(motion.time) < 4:
        raise StateError(
            f'a motion of {len(motion.time)} samples is too short to be reproduced',
            where=robot.name,
            repair='Give four samples or more.',
        )
    found = motion_torques(robot, motion)
    torque = CubicSpline(motion.time, found.tau_A)
    between = np.diff(motion.time)
    pairs = np.maximum(
        1 if dt else PAIRS, np.ceil(between / (2.0 * (dt or LONGEST_REPLAYED)) - 1e-9)
    )
    steps = between / (2.0 * pairs)
    sim = Simulation(forward or robot, q=motion.q[0], v=motion.v[0], dt=steps[0], log_every=0)
    q, stopped = np.full(motion.q.shape, np.nan), ''
    q[0] = sim.q
    for k, sim.dt in enumerate(steps):  # a sample is the end of a step
        try:
            for pair in range(int(pairs[k])):
                for tau in _two_torques(torque, motion.time[k] + 2.0 * pair * sim.dt, sim.dt):
                    sim.step(tau)
        except ClosedChainError as error:
            stopped = error.why
            break
        q[k + 1] = sim.q
        if progress:
            progress((k + 2) / len(motion.time))
    wrong = find_wrong_mass(robot, forward, motion) if forward else None
    errors = _errors(robot, motion.q, q)
    return Validity(found, q, errors, tolerance, float(steps.max()), stopped, wrong)


def _two_torques(torque: Callable[[float], Array], time: float, dt: float) -> tuple[Array, Array]:
    """
    Return the constant torques of two steps that stand for a torque that changes with time.

    Torques enter the equations of motion linearly, so these weights of the two Gauss points are
    of fourth order (the commutator-free method of two exponentials); a mean would be of second.
    """
    early, late = (torque(time + dt * (1.0 + side / math.sqrt(3.0))) for side in (-1.0, 1.0))
    mean, slope = (early + late) / 2.0, (late - early) / math.sqrt(3.0)
    return mean - slope, mean + slope


def _errors(robot: Mechanism, wanted: Array, got: Array) -> dict[str, Array]:
    """Return {joint: largest error of its coordinates, (samples,)}."""
    steps = np.array(
        [
            difference(robot, a, b) if np.isfinite(b).all() else np.full(robot.nv, np.nan)
            for a, b in zip(wanted, got)
        ]
    )
    return {
        joint: np.abs(steps[:, robot.joint_slices(joint)[1]]).max(axis=1)
        for joint in robot.joint_names
    }
