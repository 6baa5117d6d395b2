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
What `closed-chain bench` measures: this package, Pinocchio and MuJoCo side by side.

Every model is built for each engine from the same numbers, and the answers are compared before
anything is timed. Times are of calls from Python. The calls take turns, a short batch of each, so
that all of them see the same noise; a ratio is the median over the turns of the ratio within one
turn. Read the ratios: the times belong to the machine and to what else it is doing.
"""

from dataclasses import dataclass
import os
import platform

import numpy as np

from benchmarks.agreement import agreement_with_mujoco, agreement_with_pinocchio, best_forward
from benchmarks.models import case
from benchmarks.peers import MuJoCo, Pinocchio
from benchmarks.text import render
from benchmarks.timing import interleave, ratio, summary
from closed_chain_dynamics import __version__
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import mass_matrix, newton_euler

__all__ = ['bench_report', 'render']

SCHEMA = 'closed-chain-bench/1'  # a key that is added keeps it, one that changes or goes ends it
MODELS = ('M1', 'M2', 'M3', 'M4_8', 'M4_64')

# model, operation, against whom, how many times faster it has to be. With the null space NumPy
# gives the same torques as here; the one least-squares problem does not where they are redundant.
NUMPY = 'pinocchio + numpy, null space'
TARGETS = (
    ('M3', 'newton_euler', 'pinocchio', 1.0),
    ('M3', 'mass_matrix', 'pinocchio', 1.0),
    *(
        (model, 'forward_dynamics', engine, 1.5)
        for model in ('M2', 'M3')
        for engine in ('pinocchio', 'mujoco')
    ),
    ('M4_64', 'forward_dynamics', 'pinocchio', 5.0),
    *((model, 'inverse_dynamics', NUMPY, 20.0) for model in MODELS),
)
LINEAR = 1.1  # cost ~ k^p over the long ladders, p at most this


@dataclass(frozen=True)
class Plan:
    """How long to measure."""

    seconds: float  # for each model
    ladder: tuple  # numbers of four-bars
    ladder_seconds: float


QUICK = Plan(3.0, (1, 2, 4, 8, 16, 32, 64), 2.0)
FULL = Plan(20.0, (1, 2, 4, 8, 12, 16, 24, 32, 48, 64), 15.0)


def bench_report(*, quick=False, tell=lambda text: None):
    """Return all measurements as plain values, fit for JSON; `tell` hears how far it is."""
    plan = QUICK if quick else FULL
    versions, missing = {'closed_chain_dynamics': __version__}, {}
    models = []
    for key in MODELS:
        tell(f'{key}: building, comparing, measuring')
        models.append(_measure(case(key), plan, versions, missing))
    tell('the ladder, from short to long')
    ladder = _ladder(plan)
    return {
        'schema': SCHEMA,
        'quick': quick,
        'machine': _machine(),
        'versions': versions,
        'missing': missing,
        'models': models,
        'ladder': ladder,
        'targets': _targets(models, ladder),
    }


def _machine():
    load = os.getloadavg()[0] if hasattr(os, 'getloadavg') else None  # how busy it is
    return {
        'processor': platform.processor() or platform.machine(),
        'cores': os.cpu_count(),
        'load': load,
        'python': platform.python_version(),
        'numpy': np.__version__,
    }


# --- one model -----------------------------------------------------------------------------------
def _measure(model, plan, versions, missing):
    """Return agreement, times and ratios of one model."""
    peers = {}
    for name, peer in (('pinocchio', Pinocchio), ('mujoco', MuJoCo)):
        try:
            peers[name] = peer(model)
            versions[name] = peers[name].version
        except ImportError as error:
            missing[name] = str(error)
    agreement = {}
    if 'pinocchio' in peers:
        agreement['pinocchio'] = agreement_with_pinocchio(model, peers['pinocchio'])
    if 'mujoco' in peers:
        agreement['mujoco'] = agreement_with_mujoco(model, peers['mujoco'])
    operations = _operations(model, peers)
    operations['forward_dynamics'].update(
        best_forward(model, peers['pinocchio']) if 'pinocchio' in peers else {}
    )
    result = {}
    for name, calls in operations.items():
        times = interleave(calls, plan.seconds / len(operations))
        result[name] = {
            'times': {call: summary(values) for call, values in times.items()},
            'ratios': {
                call: ratio(values, times['ours'])
                for call, values in times.items()
                if call != 'ours'
            },
        }
    _name_best(result)
    robot, c = model.robot, coordinates(model.robot, model.q)
    return {
        'name': model.key,
        'title': model.title,
        'nv': robot.nv,
        'rows': len(c.J_C),
        'rank': c.rank,
        'mobility': c.mobility,
        'actuators': len(robot.actuator_names),
        'agreement': agreement,
        'operations': result,
    }


def _operations(model, peers):
    """Return every call that is timed, {operation: {name: (function, arguments)}}."""
    robot, q, v, a = model.robot, model.q, model.v, model.a
    calls = {
        'newton_euler': {'ours': (newton_euler, (robot, q, v, a))},
        'mass_matrix': {'ours': (mass_matrix, (robot, q))},
        'forward_dynamics': {'ours': (forward_dynamics, (robot, q, v, model.tau_A))},
        'inverse_dynamics': {'ours': (inverse_dynamics, (robot, q, v, a))},
    }
    if 'pinocchio' in peers:
        peer = peers['pinocchio']
        calls['newton_euler']['pinocchio rnea'] = peer.newton_euler()
        calls['mass_matrix']['pinocchio crba'] = peer.mass_matrix()
        calls['inverse_dynamics'][NUMPY] = (peer.inverse_by_null_space, ())
        calls['inverse_dynamics']['pinocchio + numpy, least squares'] = (
            peer.inverse_by_least_squares,
            (),
        )
    if 'mujoco' in peers:
        calls['forward_dynamics']['mujoco mj_forward'] = peers['mujoco'].forward()
        calls['inverse_dynamics']['mujoco mj_inverse (of the tree)'] = peers['mujoco'].inverse()
    return calls


def _name_best(result):
    """Add under 'pinocchio' and 'mujoco' the ratio to the fastest call of each engine."""
    for operation in result.values():
        for engine in ('pinocchio', 'mujoco'):
            names = [name for name in operation['ratios'] if name.startswith(engine)]
            if names:
                best = min(names, key=lambda name: operation['times'][name]['median_us'])
                operation['ratios'][engine] = {**operation['ratios'][best], 'call': best}


# --- the ladder ----------------------------------------------------------------------------------
def _ladder(plan):
    """Return the cost of ladders of growing length, and the power of k that it follows."""
    cases = {k: case(f'M4_{k}') for k in plan.ladder}
    result = {'k': list(cases)}
    for name, calls in (
        (
            'forward_dynamics',
            {
                k: (forward_dynamics, (each.robot, each.q, each.v, each.tau_A))
                for k, each in cases.items()
            },
        ),
        (
            'inverse_dynamics',
            {
                k: (inverse_dynamics, (each.robot, each.q, each.v, each.a))
                for k, each in cases.items()
            },
        ),
    ):
        times = interleave(calls, plan.ladder_seconds / 2.0)
        medians = [float(np.median(times[k])) for k in cases]
        long = [i for i, k in enumerate(cases) if k >= 8]  # short ones are mostly the call itself
        power = np.polyfit(
            np.log([result['k'][i] for i in long]), np.log([medians[i] for i in long]), 1
        )[0]
        result[name] = {
            'median_us': medians,
            'power': float(power),
            'us_per_four_bar': [time / k for time, k in zip(medians, cases)],
        }
    return result


def _targets(models, ladder):
    """Return what is wanted and what was measured."""
    targets = []
    results = {model['name']: model['operations'] for model in models}
    for model, operation, engine, wanted in TARGETS:
        ratio = results[model][operation]['ratios'].get(engine)
        if ratio:
            targets.append(
                {
                    'model': model,
                    'operation': operation,
                    'against': ratio.get('call', engine),
                    'wanted': wanted,
                    'measured': ratio['median'],
                    'met': bool(ratio['median'] >= wanted),
                }
            )
    for operation in ('forward_dynamics', 'inverse_dynamics'):
        power = ladder[operation]['power']
        targets.append(
            {
                'model': 'M4_k',
                'operation': operation,
                'against': 'k to the power of',
                'wanted': LINEAR,
                'measured': power,
                'met': bool(power <= LINEAR),
            }
        )
    return targets
