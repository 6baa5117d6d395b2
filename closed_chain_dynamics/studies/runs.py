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
The runs of an experiment in one process: in vector lanes where these hold, else one by one.

A run that fails is a row with its reason; it never stops the others.
"""

from collections.abc import Sequence
from functools import cached_property
import math

import numpy as np

from closed_chain_dynamics.assembly.completion import complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.studies.batches import Batch, why_alone
from closed_chain_dynamics.studies.experiment import GAINS, TIMES, ByName, Experiment, Row

__all__ = ['Runs']

FAILURES = (ArithmeticError, ClosedChainError, ValueError, np.linalg.LinAlgError)


class Runs:
    """What a process needs to compute rows of an experiment; generated code is at hand."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @cached_property
    def batch(self) -> Batch | None:
        """Return what takes many runs at once, where the experiment asks for it and lets it."""
        asked = self.experiment.compiled and not why_alone(self.experiment)
        return Batch(self.experiment) if asked else None

    def rows(self, task: Sequence[tuple[int, Sequence[float]]]) -> list[Row]:
        """Return the rows of some runs and their values."""
        logs = (
            self.batch.logs([values for _, values in task]) if self.batch else [None] * len(task)
        )
        return [
            self.row(run, values) if log is None else self._row(run, values, log)
            for (run, values), log in zip(task, logs)
        ]

    def row(self, run: int, values: Sequence[float]) -> Row:
        """Return the row of a run that is taken by itself."""
        try:
            return self._row(run, values, self._run(values).log)
        except FAILURES as error:
            nothing = (math.nan,) * len(self.experiment.responses)
            return Row(run, tuple(map(float, values)), nothing, _reason(error))

    def _row(self, run: int, values: Sequence[float], log: Log) -> Row:
        """Return what comes of a run; a response that fails leaves the others as they are."""
        found, reasons = [], []
        for response in self.experiment.responses:
            try:
                found.append(response.of(log))
            except FAILURES as error:
                found.append(math.nan)
                reasons.append(f'{response.name}: {" ".join(str(_why(error)).split())}')
        return Row(run, tuple(map(float, values)), tuple(found), '; '.join(reasons))

    def simulation(self, q: ByName, v: ByName, robot: Mechanism | None = None) -> Simulation:
        """Return the simulation at its start; generated code is that of the model as it is."""
        experiment, varied = self.experiment, robot is not None
        pose, robot = experiment.start, robot or experiment.robot
        moved = any(each.parameter == 'length' for each in experiment.variations)
        if dict(q) != dict(experiment.q) or moved:
            pose = assemble(robot, dict(q), start=experiment.start, limits=experiment.limits)
        return Simulation(
            robot,
            pose,
            complete_velocity(robot, pose, dict(v)) if v else None,
            dt=experiment.dt,
            integrator=experiment.integrator,
            compiled=experiment.compiled and not varied,
        )

    def _run(self, values: Sequence[float]) -> Simulation:
        """Return the simulation at its end."""
        experiment = self.experiment
        settled = experiment.settled(values)
        robot = experiment.model(experiment.variations, values)
        sim = self.simulation(
            settled['q'], settled['v'], None if robot is experiment.robot else robot
        )
        held = sorted({name for gain in GAINS for name in settled[gain]})
        places = [sim.robot.joint_slices(name) for name in held]
        kp, kd, target = (
            np.array([settled[gain].get(name, 0.0) for name in held]) for gain in GAINS
        )
        for k, (name, place) in enumerate(zip(held, places)):
            if name not in settled['target']:
                target[k] = sim.q[place[0]][0]  # who gives gains only holds the start

        def feedback(sim: Simulation) -> dict[str, float]:
            q = np.array([sim.q[place[0]][0] for place in places])
            v = np.array([sim.v[place[1]][0] for place in places])
            forces = kp * (target - q) - kd * v
            given = dict(settled['tau'])
            for name, force in zip(held, forces):
                given[name] = given.get(name, 0.0) + float(force)
            return given

        tau = feedback if held else settled['tau']
        due = sorted((time, kind, name) for kind in TIMES for name, time in settled[kind].items())
        for time, kind, name in due:
            if time > experiment.duration:
                break
            if time > sim.time:
                sim.run(time - sim.time, tau)
            getattr(sim, kind)(name)
        if experiment.duration > sim.time:
            sim.run(experiment.duration - sim.time, tau)
        return sim


def _why(error: Exception) -> object:
    return getattr(error, 'why', error)


def _reason(error: Exception) -> str:
    known = isinstance(error, ClosedChainError)
    told = str(_why(error)) if known else f'{type(error).__name__}: {error}'
    return ' '.join(told.split())
