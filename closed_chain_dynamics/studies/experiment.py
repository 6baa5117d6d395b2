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
An experiment: one run, told completely, with numbers that vary and responses that are kept.

It is a value that pickles: every process and every machine that has it computes the same rows.
A run that fails is a row with its reason; it never stops the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
import hashlib
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import __version__
from closed_chain_dynamics.assembly.completion import complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.description import to_xml
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.studies.parameters import (
    PARAMETERS,
    RUN_PARAMETERS,
    Variation,
    changed,
    check_value,
    gravity,
)
from closed_chain_dynamics.studies.responses import Response
from closed_chain_dynamics.studies.sampling import design

__all__ = ['Experiment', 'Row']

Array = NDArray[np.float64]
Named = Mapping[str, float]

GAINS = ('kp', 'kd', 'target')
TIMES = ('connect', 'cut')


@dataclass(frozen=True)
class Row:
    """A run: its number, values of what is varied, responses (NaN: none), and why it failed."""

    run: int
    values: tuple[float, ...]
    responses: tuple[float, ...]
    failed: str = ''


@dataclass(frozen=True, eq=False)
class Experiment:
    """
    What to run, what to vary and what to keep.

    `q`, `v`: positions and rates of joints at the start, the loops decide the rest; `tau`:
    constant torques; `kp`, `kd`, `target`: gains and positions of actuated joints that a feedback
    holds; `connect`, `cut`: times at which joints are connected and cut [s]; `limits`: whether the
    start keeps to the limits of joints; `compiled`: whether plain steps are taken in generated
    code, for which the model has to stay the same. `kind`, `samples`, `seed`: see
    `sampling.design`.
    """

    robot: Mechanism
    variations: tuple[Variation, ...]
    responses: tuple[Response, ...]
    q: Named = field(default_factory=dict)
    v: Named = field(default_factory=dict)
    tau: Named = field(default_factory=dict)
    kp: Named = field(default_factory=dict)
    kd: Named = field(default_factory=dict)
    target: Named = field(default_factory=dict)
    connect: Named = field(default_factory=dict)
    cut: Named = field(default_factory=dict)
    duration: float = 2.0
    dt: float = 1e-3
    integrator: str = 'rk4'
    limits: bool = True
    compiled: bool = False
    kind: str = 'grid'
    samples: int = 0
    seed: int = 0

    # --- before the runs -----------------------------------------------------------------------
    def check(self) -> None:
        """Refuse, before any run, names and values that no run can have."""
        robot = self.robot
        labels = [each.label for each in self.variations]
        names = [each.name for each in self.responses]
        for each in (*labels, *names):
            if (labels + names).count(each) > 1:
                raise StateError(
                    f'{each} is there twice',
                    where=robot.name,
                    repair='Give all values of a parameter at once; name responses apart.',
                )
        for response in self.responses:
            response.check(robot)
        changes = [each.label for each in self.variations if each.parameter not in RUN_PARAMETERS]
        if self.compiled and changes:
            raise StateError(
                f'generated code is that of one model, and {changes[0]} changes it',
                where=robot.name,
                repair='Leave out --compiled, or vary starts, torques, gains and times only.',
            )
        for given in (*self.variations, *self._settings()):
            self._check_name(given)
        for variation, column in zip(self.variations, self.design.T):
            for value in (column.min(), column.max()):
                if variation.parameter in RUN_PARAMETERS:
                    check_value(variation, value, robot.name)
                else:
                    self._model([variation], [value])
        self._simulation(self.q, self.v)  # the start of the model as it is
        if not self.responses:
            raise StateError(
                'no response is given',
                where=robot.name,
                repair='Give one, as peak=max(abs(v.crank)).',
            )

    def _settings(self) -> Iterator[Variation]:
        """Yield numbers of the run that are given, as variations of one value."""
        for parameter in ('kp', 'kd', 'target', 'connect', 'cut', 'tau'):
            for name, value in getattr(self, parameter).items():
                yield Variation(parameter, name, (value,))

    def _check_name(self, given: Variation) -> None:
        robot = self.robot
        if given.parameter not in RUN_PARAMETERS:
            known = [*PARAMETERS, 'length', 'gravity', *RUN_PARAMETERS]
            if given.parameter not in known:
                raise NameNotFound('parameter to vary', given.parameter, known, where=robot.name)
            return
        joints = [each for each in robot.joint_names if _width(robot, each) == 1]
        known = {
            'connect': [*robot.loop_names, *robot.joint_names],
            'cut': [*robot.loop_names, *robot.joint_names],
            'tau': list(robot.actuator_names),
            **{name: [each for each in joints if each in robot.actuator_names] for name in GAINS},
        }.get(given.parameter, [*joints, *robot.loop_coordinate_names])
        if given.name not in known:
            raise NameNotFound(
                'joint' if given.parameter not in ('tau', *GAINS) else 'actuated joint',
                given.name,
                known,
                where=f'{robot.name}, {given.label}',
            )
        if given.scale and given.name not in getattr(self, given.parameter):
            raise StateError(
                f'{given.label} has no value to be multiplied',
                where=robot.name,
                repair=f'Give one, or values of {given.label} without x.',
            )

    @cached_property
    def design(self) -> Array:
        """Return the values of all runs, (runs, variations)."""
        return design(self.variations, self.kind, self.samples, self.seed, self.robot.name)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table of values out: a worker is told its own runs only."""
        return {name: value for name, value in self.__dict__.items() if name != 'design'}

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns of the table."""
        varied = [each.label for each in self.variations]
        return ['run', *varied, *(each.name for each in self.responses), 'failed']

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Return what decides the table, as plain values: model, numbers, seed, versions."""
        robot = self.robot
        model = to_xml(robot.description) + repr((robot.gravity.tolist(), robot.connections()))
        return {
            'model': robot.name,
            'model_hash': hashlib.sha256(model.encode()).hexdigest(),
            'varied': {each.label: _told(each) for each in self.variations},
            'responses': {each.name: each.expression for each in self.responses},
            **{name: dict(getattr(self, name)) for name in ('q', 'v', 'tau', *GAINS, *TIMES)},
            **{
                name: getattr(self, name)
                for name in (
                    'duration',
                    'dt',
                    'integrator',
                    'limits',
                    'compiled',
                    'kind',
                    'samples',
                    'seed',
                )
            },
            'versions': {'closed_chain_dynamics': __version__, 'numpy': np.__version__},
        }

    @property
    def fingerprint(self) -> str:
        """Return a hash of what decides the table."""
        told = json.dumps(self.identity, sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()

    # --- a run -----------------------------------------------------------------------------------
    def row(self, run: int, values: Sequence[float]) -> Row:
        """Return what comes of a run."""
        found = [math.nan] * len(self.responses)
        failed = ''
        try:
            log = self._run(values).log
        except ClosedChainError as error:
            failed = error.why
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            failed = f'{type(error).__name__}: {error}'
        else:
            reasons = []
            for k, response in enumerate(self.responses):
                try:
                    found[k] = response.of(log)
                except (ArithmeticError, ClosedChainError, ValueError) as error:
                    reasons.append(f'{response.name}: {getattr(error, "why", error)}')
            failed = '; '.join(reasons)
        return Row(run, tuple(map(float, values)), tuple(found), ' '.join(failed.split()))

    def _model(self, variations: Sequence[Variation], values: Sequence[float]) -> Mechanism:
        """Return the mechanism with these values, connected as the one given."""
        model, strength = self.robot.description, self.robot.gravity
        for variation, value in zip(variations, values):
            if variation.parameter == 'gravity':
                check_value(variation, value, model.name)
                strength = gravity(self.robot, value, variation.scale)
            elif variation.parameter not in RUN_PARAMETERS:
                model = changed(model, variation, value)
        if model is self.robot.description and np.array_equal(strength, self.robot.gravity):
            return self.robot
        other = Mechanism(model, gravity=strength)
        other.restructure(self.robot.connections())
        return other

    def _settled(self, values: Sequence[float]) -> dict[str, dict[str, float]]:
        """Return the numbers of a run, {parameter: {name: value}}, with those that vary."""
        settled = {name: dict(getattr(self, name)) for name in RUN_PARAMETERS}
        for variation, value in zip(self.variations, values):
            if variation.parameter in RUN_PARAMETERS:
                check_value(variation, value, self.robot.name)
                base = settled[variation.parameter].get(variation.name, 1.0)
                settled[variation.parameter][variation.name] = float(
                    value * base if variation.scale else value
                )
        return settled

    @cached_property
    def _start(self) -> Array:
        """Return the start of the model as it is: other starts stay near it, on its branch."""
        return assemble(self.robot, dict(self.q), limits=self.limits)

    def _simulation(self, q: Named, v: Named, robot: Mechanism | None = None) -> Simulation:
        """Return the simulation at its start."""
        pose, robot = self._start, robot or self.robot
        if dict(q) != dict(self.q) or any(e.parameter == 'length' for e in self.variations):
            pose = assemble(robot, dict(q), start=self._start, limits=self.limits)
        rates = complete_velocity(robot, pose, dict(v)) if v else None
        return Simulation(
            robot, pose, rates, dt=self.dt, integrator=self.integrator, compiled=self.compiled
        )

    def _run(self, values: Sequence[float]) -> Simulation:
        """Return the simulation at its end."""
        settled = self._settled(values)
        sim = self._simulation(settled['q'], settled['v'], self._model(self.variations, values))
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
            if time > self.duration:
                break
            if time > sim.time:
                sim.run(time - sim.time, tau)
            getattr(sim, kind)(name)
        if self.duration > sim.time:
            sim.run(self.duration - sim.time, tau)
        return sim


def _width(robot: Mechanism, joint: str) -> int:
    places = robot.joint_slices(joint)[1]
    return int(places.stop - places.start)


def _told(variation: Variation) -> str:
    values = variation.distribution or ', '.join(f'{each:.17g}' for each in variation.values)
    return f'{"factors " * variation.scale}{values}'
