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

"""What ``closed-chain study excite`` and ``identify`` say: a dict for ``--json``, and text."""

import numpy as np

from closed_chain_dynamics.identification.base_parameters import BaseParameters
from closed_chain_dynamics.identification.estimation import Consistent, Estimate
from closed_chain_dynamics.identification.excitation import Excitation
from closed_chain_dynamics.identification.regressor import Regressor
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log_files import Path, write_columns
from closed_chain_dynamics.recording.terminal import (
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.motion.moving import Motion
from closed_chain_dynamics.studies.motion.stops import reached_stops

__all__ = [
    'excitation_report', 'identification_report', 'render_excitation', 'render_identification',
    'write_excitation',
]  # fmt: skip

EXCITE = 'closed-chain-study-excite/1'  # a key that is added keeps it, one that changes ends it
IDENTIFY = 'closed-chain-study-identify/1'
BADLY_KNOWN = 0.5  # an interval wider than this share of the parameter says little
MODEL_IS_WRONG = 2.0  # error on samples held back over that of the fit
GOOD_FIT = 1e-3  # share of the torques below which nothing is missing from the model


def excitation_report(robot: Mechanism, found: Excitation) -> Report:
    """Return what an Excitation is, as plain values."""
    return {
        'schema': EXCITE,
        'name': robot.name,
        'file': robot.description.file,
        'joints': list(found.joints),
        'period': found.period,
        'samples': len(found.motion.time),
        'condition': found.condition,
        'first_condition': found.first_condition,
        **_identifiable(found.base),
        'files': {},
        'warnings': [],
    }


def _identifiable(base: BaseParameters) -> Report:
    return {
        'base_parameters': list(base.names),
        'without_effect': list(base.without_effect),
        'only_combined': list(base.combined),
    }


def write_excitation(found: Excitation, path: Path) -> None:
    """Write a period as a trajectory: time and positions of the actuated joints."""
    columns = [(name, found.motion.q[:, place]) for name, place in zip(found.joints, found.places)]
    write_columns(path, [('time', found.motion.time), *columns])


def identification_report(
    robot: Mechanism,
    motion: Motion,
    measured: Regressor,
    found: Estimate,
    bodies: Consistent,
    prior: object,
) -> Report:
    """Return what an Estimate says, as plain values; `prior`: parameters of the model."""
    expected = found.base.values(np.asarray(prior))
    warnings = [
        f'{joint} reaches the end of its range at {number(time)} s, and its stop is not in the '
        'regressor: use a record that stays within the range.'
        for joint, time in reached_stops(robot, motion).items()
    ]
    margin = (found.upper - found.lower) / 2.0
    vague = [
        n for n, m, b in zip(found.base.names, margin, found.beta) if m > BADLY_KNOWN * abs(b)
    ]
    if vague:
        warnings.append(
            f'{len(vague)} of {len(found.beta)} base parameters are uncertain by half their '
            f'value or more, for example {vague[0]}: excite them more, or measure longer.'
        )
    if found.held_back > max(MODEL_IS_WRONG * found.fit, GOOD_FIT):
        warnings.append(
            'The samples held back fit worse than those used: the record excites too little, or '
            'the model lacks something.'
        )
    return {
        'schema': IDENTIFY,
        'name': robot.name,
        'file': robot.description.file,
        'samples': len(measured.known) // len(measured.actuators),
        'confidence': found.confidence,
        'estimates': [
            {'name': name, 'value': value, 'lower': low, 'upper': high, 'model': model}
            for name, value, low, high, model in zip(
                found.base.names, *map(_plain, (found.beta, found.lower, found.upper, expected))
            )
        ],
        'noise': found.noise,
        'fit': found.fit,
        'held_back': found.held_back,
        'consistent': {
            'held_back': bodies.held_back,
            'parameters': {str(k): v for k, v in zip(measured.parameters, _plain(bodies.pi))},
        },
        **_identifiable(found.base),
        'files': {},
        'warnings': warnings,
    }


def _plain(values: object) -> list[float]:
    return [float(each) for each in np.asarray(values)]


def render_excitation(report: Report, style: Style) -> str:
    """Return a report as text."""
    facts = [
        ['joints', ', '.join(report['joints'])],
        [
            'condition',
            f'{number(report["condition"])}, before the search '
            f'{number(report["first_condition"])}',
        ],
        ['base parameters', str(len(report['base_parameters']))],
    ]
    return sections(
        [
            ('', [style.paint(report['name'], 'bold')]),
            ('Excitation', table(['', ''], facts, style)[1:]),
            *_what_cannot(report, style),
            *closing_sections(report, style),
        ],
        style,
    )


def _what_cannot(report: Report, style: Style) -> list[tuple[str, list[str]]]:
    rows = [
        ['without effect on any torque', ', '.join(report['without_effect'])],
        ['only together with others', ', '.join(report['only_combined'])],
    ]
    return [('Cannot be identified alone', table(['', ''], rows, style)[1:])]


def render_identification(report: Report, style: Style) -> str:
    """Return a report as text."""
    rows = [
        [*(number(each[key]) for key in ('value', 'lower', 'upper', 'model')), each['name']]
        for each in report['estimates']
    ]
    share = f'{100 * report["confidence"]:g} %'
    facts = [
        ['error of the fit', f'{100 * report["fit"]:.3g} % of the torques'],
        ['error on samples held back', f'{100 * report["held_back"]:.3g} %'],
        ['with physically possible bodies', f'{100 * report["consistent"]["held_back"]:.3g} %'],
    ]
    heads = ['value', f'{share} from', 'to', 'model', 'base parameter']
    return sections(
        [
            ('', [f'{style.paint(report["name"], "bold")}  {report["samples"]} samples']),
            ('Fit', table(['', ''], facts, style)[1:]),
            ('Base parameters', table(heads, rows, style)),
            *_what_cannot(report, style),
            *closing_sections(report, style),
        ],
        style,
    )
