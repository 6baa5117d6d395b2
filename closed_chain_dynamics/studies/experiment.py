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
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
import hashlib
import json
from typing import Any

import numpy as np

from closed_chain_dynamics import __version__
from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.description import to_xml
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.parameters import (
    RUN_PARAMETERS,
    Variation,
    changed,
    check_value,
    gravity,
)
from closed_chain_dynamics.studies.responses import Response
from closed_chain_dynamics.studies.sampling import design

__all__ = ['Experiment', 'Row']

ByName = Mapping[str, float]

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
    start keeps to the limits of joints; `compiled`: whether runs are taken in
    generated code, many at once where nothing can happen in them. `kind`, `samples`, `seed`: see
    `sampling.design`.
    """

    robot: Mechanism
    variations: tuple[Variation, ...]
    responses: tuple[Response, ...]
    q: ByName = field(default_factory=dict)
    v: ByName = field(default_factory=dict)
    tau: ByName = field(default_factory=dict)
    kp: ByName = field(default_factory=dict)
    kd: ByName = field(default_factory=dict)
    target: ByName = field(default_factory=dict)
    connect: ByName = field(default_factory=dict)
    cut: ByName = field(default_factory=dict)
    duration: float = 2.0
    dt: float = 1e-3
    integrator: str = 'rk4'
    limits: bool = True
    compiled: bool = False
    kind: str = 'grid'
    samples: int = 0
    seed: int = 0

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

    # --- what a run has of it ----------------------------------------------------------------
    def model(self, variations: Sequence[Variation], values: Sequence[float]) -> Mechanism:
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

    def settled(self, values: Sequence[float]) -> dict[str, dict[str, float]]:
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
    def start(self) -> Array:
        """Return the start of the model as it is: other starts stay near it, on its branch."""
        return assemble(self.robot, dict(self.q), limits=self.limits)


def _told(variation: Variation) -> str:
    values = variation.distribution or ', '.join(f'{each:.17g}' for each in variation.values)
    return f'{"factors " * variation.scale}{values}'
