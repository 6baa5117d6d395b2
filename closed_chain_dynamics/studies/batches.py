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
Many runs of one structure at once, in generated code over vector lanes.

Masses, inertias, springs, damping and rotors that vary are inputs of this code, as are starts and
torques. It takes plain steps of RK4 and knows no events, so that it takes runs only where nothing
can happen, and gives back those in which something might have: a joint near its stop, a pivot
that fails, steps that are too long. Whether they are too long is found by taking the runs in
steps of half the length as well.
"""

import ast
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.assembly.completion import complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.batch import Function
from closed_chain_dynamics.codegen.build import require_casadi
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.codegen.rollouts import Roller
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.log import COLUMNS, Log
from closed_chain_dynamics.simulation.step_grid import StepGrid
from closed_chain_dynamics.studies.experiment import GAINS, TIMES, Experiment
from closed_chain_dynamics.studies.parameters import RUN_PARAMETERS, check_value
from closed_chain_dynamics.studies.responses import Response

__all__ = ['AGREE', 'Batch', 'why_alone']


AGREE = 1e-8  # of states in steps of dt and of half of it [rad or m, and per s; share if above 1]
MEMORY = 32e6  # of the states of runs that are taken at once [bytes]
INPUTS = ('mass', 'inertia', 'stiffness', 'rest', 'damping', 'armature')
ENERGIES = {'kinetic', 'potential', 'energy'}
NOT_IN_BATCHES = {'work', 'dissipated', 'lost', 'balance', 'loop_error', 'force', 'moment'}


def why_alone(experiment: Experiment) -> str:
    """Return why runs are taken one by one; nothing where a Batch can take them."""
    varied = {each.parameter for each in experiment.variations}
    if varied.intersection((*GAINS, *TIMES)) or any(
        getattr(experiment, name) for name in (*GAINS, *TIMES)
    ):
        return 'a feedback acts, or joints are connected and cut, while they run'
    for each in experiment.variations:
        if each.parameter not in (*RUN_PARAMETERS, *INPUTS):
            return f'{each.label} is no input of generated code'
    links = [e.name for e in experiment.variations if e.parameter in ('mass', 'inertia')]
    if len(set(links)) < len(links):
        return 'mass and inertia of the same link vary'
    for response in experiment.responses:
        asked = sorted(_words(response) & NOT_IN_BATCHES)
        if asked:
            return f'response {response.name} asks for {asked[0]}, which only single runs keep'
    if experiment.integrator != 'rk4' or StepGrid(experiment.dt).divide(experiment.duration)[1]:
        return 'they are not a whole number of steps of rk4'
    if any(loop.contact for loop in experiment.robot.description.loops):
        return 'the model has contacts'
    try:
        require_casadi()
        source = _source(experiment)
    except ClosedChainError as error:
        return ' '.join(error.why.split())
    for watched in source.watched:
        if watched.rubs or watched.loop >= 0:
            what = 'friction' if watched.rubs else 'a stop'
            return f'{what} may hold a joint'
    return ''


def _words(response: Response) -> set[str]:
    """Return the names that an expression uses."""
    nodes = ast.walk(ast.parse(response.expression, mode='eval'))
    return {each.id for each in nodes if isinstance(each, ast.Name)}


def _source(experiment: Experiment) -> Source:
    """Return what is generated: the model as it is, with symbols for what varies of it."""
    plain = gather(experiment.robot.copy(), experiment.start)
    labels = [e.label for e in experiment.variations if e.parameter in INPUTS]
    if not labels:
        return plain
    from closed_chain_dynamics.codegen.parameters import with_parameters  # needs CasADi

    return with_parameters(experiment.robot, plain, labels)[0]


class Batch:
    """Takes runs of an experiment many at a time; see `why_alone`."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.source = experiment, _source(experiment)
        self._roller = Roller(self.source, threads=1)  # processes share the cores
        asked = set().union(*map(_words, experiment.responses))
        self._look = Function(self.source, 'look', 1) if asked & ENERGIES else None
        self._inputs = [
            k for k, each in enumerate(experiment.variations) if each.parameter in INPUTS
        ]
        self._steps = StepGrid(experiment.dt).divide(experiment.duration)[0]
        room = 8.0 * 4 * (self._steps + 1) * (self.source.nq + self.source.nv)
        self._at_once = max(2, int(MEMORY / room))

    def logs(self, runs: Sequence[Sequence[float]]) -> list[Log | None]:
        """Return a log of every run, by its values; None where it has to be taken by itself."""
        found: list[Log | None] = [None] * len(runs)
        starts = {k: self._start(values) for k, values in enumerate(runs)}
        ready = [(k, start) for k, start in starts.items() if start is not None]
        for first in range(0, len(ready), self._at_once):
            part = ready[first : first + self._at_once]
            for (k, _), log in zip(part, self._taken([start for _, start in part])):
                found[k] = log
        return found

    def _start(self, values: Sequence[float]) -> tuple[Array, Array, Array] | None:
        """Return q, v and the inputs of a run: torques, then parameters; None: it has none."""
        experiment, robot = self.experiment, self.experiment.robot
        try:
            settled = experiment.settled(values)
            pose, rates = experiment.start, np.zeros(robot.nv)
            if settled['q'] != dict(experiment.q):
                pose = assemble(
                    robot, settled['q'], start=experiment.start, limits=experiment.limits
                )
            if settled['v']:
                rates = complete_velocity(robot, pose, settled['v'])
            inputs = [actuator_vector(robot, settled['tau'], 'tau')]
            for k, present in zip(self._inputs, self._present()):
                variation, value = experiment.variations[k], float(values[k])
                check_value(variation, value, robot.name)
                inputs.append(np.array([value * present if variation.scale else value]))
        except ClosedChainError:
            return None
        return pose, rates, np.concatenate(inputs)

    def _present(self) -> Sequence[float]:
        """Return what the model says of the parameters that vary."""
        return self.source.symbols[1] if self.source.symbols else ()

    def _taken(self, starts: Sequence[tuple[Array, Array, Array]]) -> list[Log | None]:
        """Return the logs of some runs."""
        # two at least: one alone would run in code without lanes, whose last digits may differ
        q, v, inputs = (np.array([*each, each[-1]]) for each in zip(*starts))
        steps, dt = self._steps, self.experiment.dt
        full = self._roller.roll(q, v, inputs, steps, 1, dt, 'rk4')
        half = self._roller.roll(q, v, inputs, 2 * steps, 2, dt / 2.0, 'rk4')
        good = full.ok & half.ok
        for one, other in ((full.q, half.q), (full.v, half.v)):
            size = np.maximum(1.0, np.abs(other).max(axis=(1, 2), initial=0.0))
            off = np.abs(one - other).max(axis=(1, 2), initial=0.0)
            good &= off <= AGREE * size  # false where either is nan
        q, v = (np.concatenate([a[:, None], b], axis=1) for a, b in ((q, full.q), (v, full.v)))
        good &= self._is_free(q, v)
        energies = (
            self._energies(q, v, inputs) if self._look else np.full((*q.shape[:2], 2), np.nan)
        )
        return [
            self._log(q[k], v[k], inputs[k], energies[k]) if good[k] else None
            for k in range(len(starts))
        ]

    def _is_free(self, q: Array, v: Array) -> NDArray[np.bool_]:
        """Return which runs stay further from every stop than they move in a step."""
        free = np.ones(len(q), dtype=bool)
        for watched in self.source.watched:
            law = next(
                body.laws[watched.coordinate - body.iv]
                for body in self.source.bodies[1:]
                if 0 <= watched.coordinate - body.iv < body.nv
            )
            position = q[:, :, watched.iq]
            reach = self.experiment.dt * np.abs(v[:, :, watched.coordinate])
            inside = (position - reach > law.lower) & (position + reach < law.upper)
            free &= inside.all(axis=1)
        return free

    def _energies(self, q: Array, v: Array, inputs: Array) -> Array:
        """Return kinetic and potential energies of all states, (runs, samples, 2) [J]."""
        assert self._look is not None
        runs, samples = q.shape[:2]
        count = runs * samples
        given = [q.reshape(count, -1), v.reshape(count, -1), np.zeros((count, 0))]
        if self._inputs:
            given.append(np.repeat(inputs[:, -len(self._inputs) :], samples, axis=0))
        found, _ = self._look.many(tuple(map(np.ascontiguousarray, given)))
        kinetic, gravity, stored = found[:, :3].T
        return np.column_stack([kinetic, gravity + stored]).reshape(runs, samples, 2)

    def _log(self, q: Array, v: Array, inputs: Array, energies: Array) -> Log:
        """Return the log of a run; what was not computed is nan."""
        log = Log(self.experiment.robot)
        rows = np.full((len(q), len(COLUMNS)), np.nan)
        rows[:, 0] = self.experiment.dt * np.arange(len(q))
        rows[:, 1:3] = energies
        log.append(rows, q, v, 0.0, inputs[: len(self.experiment.robot.actuator_names)])
        return log
