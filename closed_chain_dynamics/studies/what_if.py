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
What if: the same run with other masses, springs, damping, friction or gravity.

Winter, section 8.0.2, names such questions as what forward solutions are for. Every run starts
from the same state under the same torques; only the numbers that are varied differ. Geometry is
not varied here: another pose would close the loops, and the curves would not begin alike; an
`Experiment` varies it, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
import math
from typing import Any

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.errors import ClosedChainError, NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log import Log
from closed_chain_dynamics.recording.log_files import event_record
from closed_chain_dynamics.recording.terminal import Progress
from closed_chain_dynamics.simulation.simulation import Simulation
from closed_chain_dynamics.studies.parameters import Variation, varied

__all__ = ['Run', 'Variation', 'varied', 'what_if']


MOST_GRID_RUNS = 200  # of a grid: each takes seconds, and nobody reads a longer table
MOST_WATCHED_REACTIONS = 1000  # samples of a run at which forces in joints are computed


@dataclass
class Run:
    """
    What came of one run.

    `values`: {label: value}, empty for the model as it is; `final`: {position name: value};
    `watched`: {joint: dict of its end, and of its largest speed, force and moment}; `series`:
    {joint: (samples,) or (samples, numbers)}; `stopped`: why it did not reach the end, or ''.
    """

    values: dict[str, float]
    final: dict[str, float]
    watched: dict[str, dict[str, Any]]
    energy: dict[str, float]
    events: list[dict[str, Any]]
    time: Array = field(repr=False)
    series: dict[str, Array] = field(repr=False)
    stopped: str = ''


def what_if(
    robot: Mechanism,
    variations: Sequence[Variation],
    *,
    q: Array,
    v: Array | None = None,
    tau: Mapping[str, float] | Array | None = None,
    duration: float = 5.0,
    dt: float = 1e-3,
    watch: Sequence[str] = (),
    integrator: str = 'rk4',
    progress: Progress | None = None,
) -> list[Run]:
    """
    Return the Runs of a grid of variations, the model as it is first.

    q, v: the start, loops closed; `tau`: constant torques by actuator; `watch`: joints, tree or
    loop, whose speed, force and moment are kept; `progress(share)` is told how far it is.
    """
    labels = [each.label for each in variations]
    for label in labels:
        if labels.count(label) > 1:
            raise StateError(
                f'{label} is varied twice',
                where=robot.name,
                repair='Give all its values at once, with commas between.',
            )
    size = 1 + math.prod(len(each.values) for each in variations)
    if size > MOST_GRID_RUNS:
        raise StateError(
            f'the grid has {size} runs, more than {MOST_GRID_RUNS}',
            where=robot.name,
            repair='Vary fewer numbers at a time, or give fewer values.',
        )
    known = [*robot.joint_names, *robot.loop_names]
    for name in watch:
        if name not in known:
            raise NameNotFound('joint', name, known, where=robot.name)
    grid = [(), *product(*(each.values for each in variations))] if variations else [()]
    others = [_combined(robot, variations, values) for values in grid]  # refused before any run
    runs: list[Run] = []
    for values, other in zip(grid, others):
        sim = Simulation(other, q=q, v=v, dt=dt, integrator=integrator)
        try:
            stopped = ''
            sim.run(
                duration,
                tau,
                progress=progress and (lambda share: progress((len(runs) + share) / len(grid))),
            )
        except ClosedChainError as error:
            if not values:  # the model as it is: the call itself is wrong, or nothing works
                raise
            stopped = error.why
        runs.append(_outcome(sim, dict(zip(labels, values)), watch, stopped))
    return runs


def _combined(
    robot: Mechanism, variations: Sequence[Variation], values: Sequence[float]
) -> Mechanism:
    """Return a mechanism with all these values, connected as the one given."""
    other = robot
    for variation, value in zip(variations, values):
        other = varied(other, variation, value)
    if other is not robot:
        other.restructure(robot.connections())
    return other


def _outcome(sim: Simulation, values: dict[str, float], watch: Sequence[str], stopped: str) -> Run:
    log = sim.log
    return Run(
        values,
        dict(zip(log.segments[-1].names('q'), sim.q.tolist())),
        {name: _peaks(log, name) for name in watch},
        {
            'dissipated': float(log.dissipated[-1]),
            'lost': float(log.lost[-1]),
            'work': float(log.work[-1]),
            'exchanged': float(np.ptp(log.kinetic)),
            'drift': float(abs(log.balance - log.balance[0]).max()),
        },
        [event_record(event) for event in log.events],
        log.time,
        {name: log.joint(name) for name in watch},
        stopped,
    )


def _peaks(log: Log, name: str) -> dict[str, Any]:
    """Return where a joint ended, and its largest speed, force and moment."""
    speeds = log.velocity(name).reshape(len(log), -1)
    wrenches = log.reactions(name, every=math.ceil(len(log) / MOST_WATCHED_REACTIONS))
    force, moment = (np.linalg.norm(part, axis=1) for part in (wrenches[:, :3], wrenches[:, 3:]))
    return {
        'end': log.joint(name)[-1].tolist(),
        'speed': float(np.nanmax(np.abs(speeds), initial=0.0)),
        'force': float(force.max()),
        'moment': float(moment.max()),
    }
