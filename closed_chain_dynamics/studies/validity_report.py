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

"""What internal validity says, as plain values and as text."""

import math

import numpy as np

from closed_chain_dynamics.dynamics.wording import listed
from closed_chain_dynamics.recording.terminal import (
    Cell,
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.motion.stops import reached_stops
from closed_chain_dynamics.studies.validity import Validity

__all__ = ['render', 'validity_report']

SCHEMA = 'closed-chain-study-validity/1'  # a key that is added keeps it, one that changes ends it


def validity_report(found: Validity) -> Report:
    """Return what a Validity says, as plain values."""
    motion, robot = found.torques.motion, found.torques.robot
    joints = []
    for name, errors in found.errors.items():
        k = int(np.nanargmax(errors))
        joints.append(
            {
                'name': name,
                'error': float(errors[k]),
                'time': float(motion.time[k]),
                'rms': float(np.sqrt(np.nanmean(errors**2))),
            }
        )
    reached = np.isfinite(found.worst)
    return {
        'schema': SCHEMA,
        'name': robot.name,
        'file': robot.description.file,
        'samples': len(motion.time),
        'duration': float(motion.time[-1] - motion.time[0]),
        'dt': found.dt,
        'tolerance': found.tolerance,
        'valid': found.valid,
        'reproduced_for': found.until,
        'error': float(found.worst[reached].max()),
        'growth_rate': found.rate,
        'doubling_time': None if found.rate is None else math.log(2.0) / found.rate,
        'joints': joints,
        'wrong_mass': vars(found.wrong_mass) if found.wrong_mass else None,
        'series': {'time': motion.time[reached].tolist(), 'error': found.worst[reached].tolist()},
        'files': {},
        'warnings': motion.notes + _warnings(found),
    }


def _warnings(found: Validity) -> list[str]:
    said, torques = [], found.torques
    for name, k in torques.unmet.items():
        said.append(
            f'{name}: up to {number(abs(torques.residual[name][k]))} of the generalized '
            'force is given by no actuator: without it the motion cannot be reproduced.'
        )
    if found.wrong_mass:
        said.append(
            f'The segment {found.wrong_mass.link} explains it: in the model that was moved its '
            f'mass is {number(found.wrong_mass.factor)} times that of the other.'
        )
    if found.stopped:
        said.append(f'The simulation stopped: {found.stopped}.')
    if torques.singular.any():
        said.append(f'{torques.singular.sum()} poses of the motion are singular.')
    stops = {} if found.valid else reached_stops(torques.robot, torques.motion)
    for joint, time in stops.items():
        said.append(
            f'{joint} reaches the end of its range at {number(time)} s: motor torques alone do '
            'not describe what its stop does.'
        )
    if not found.valid and not stops and found.rate is not None:
        said.append(
            'The error grows exponentially: the motion is unstable without feedback, and '
            'whatever the model, no torques given in advance hold it for long.'
        )
    return said


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    if report['valid']:
        verdict = ('valid', 'green')
    else:
        verdict = ('not valid', 'red')
    growing = (
        'not exponential'
        if report['growth_rate'] is None
        else f'{number(report["growth_rate"])} 1/s, '
        f'it doubles in {number(report["doubling_time"])} s'
    )
    worst = [each['name'] for each in report['joints'] if each['error'] == report['error']]
    rows: list[list[Cell]] = [
        ['verdict', verdict],
        [
            'largest error',
            f'{number(report["error"], 3)} rad or m, of {listed(worst)}; '
            f'{number(report["tolerance"])} is tolerated',
        ],
        [
            'reproduced for',
            f'{number(report["reproduced_for"])} of {number(report["duration"])} s',
        ],
        ['growth of error', growing],
    ]
    joints = [
        [
            each['name'],
            number(each['error'], 3),
            f'{number(each["time"])} s',
            number(each['rms'], 3),
        ]
        for each in report['joints']
    ]
    about = (
        f'{report["samples"]} samples in {number(report["duration"])} s, steps of '
        f'{number(report["dt"])} s'
    )
    return sections(
        [
            ('', [f'{style.paint(report["name"], "bold")}  {style.paint(about, "dim")}']),
            ('Internal validity', table(['', ''], rows, style)[1:]),
            ('Errors [rad or m]', table(['joint', 'largest', 'at', 'rms'], joints, style)),
            *closing_sections(report, style),
        ],
        style,
    )
