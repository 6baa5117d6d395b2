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
What ``closed-chain torque`` says about the torques of a motion.

``torque_report`` gathers it in one plain dict, which is what ``--json`` prints; ``render`` writes
the same dict for people.
"""

from collections.abc import Callable
import math
import textwrap
from typing import Any

import numpy as np

from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.wording import compact, listed
from closed_chain_dynamics.recording.segments import position_names
from closed_chain_dynamics.recording.terminal import (
    Cell,
    Report,
    Style,
    bullets,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.motion.torques import MotionTorques

__all__ = ['render', 'torque_report']

SCHEMA = 'closed-chain-torque/1'  # a key that is added keeps it, one that changes ends it
POSE_WIDTH = 88  # columns; a pose that needs more has a section of its own
GLUE = '\N{NO-BREAK SPACE}'  # keeps a number in the line of its name


def torque_report(found: MotionTorques, kind: str) -> Report:
    """Return what MotionTorques say, as plain values; `kind`: pose, sine or trajectory."""
    robot, motion, time = found.robot, found.motion, found.motion.time
    limits, actuators = found.limits(), []
    for k, name in enumerate(robot.actuator_names):
        tau, limit = found.tau_A[:, k], limits[name].effort
        worst, fastest = (int(np.argmax(np.abs(each))) for each in (tau, found.rates[:, k]))
        actuators.append(
            {
                'name': name,
                'torque': float(tau[worst]),
                'time': float(time[worst]),
                'rms': float(np.sqrt(np.mean(tau**2))),
                'speed': float(found.rates[fastest, k]),
                'limit': limit if math.isfinite(limit) else None,
                'utilisation': float(abs(tau[worst]) / limit) if 0.0 < limit < math.inf else None,
            }
        )
    peak = int(np.argmax(np.abs(found.power)))
    return {
        'schema': SCHEMA,
        'name': robot.name,
        'file': robot.description.file,
        'motion': kind,
        'samples': len(time),
        'duration': float(time[-1] - time[0]),
        'actuators': actuators,
        'coordinates': [_coordinate(found, name) for name in found.tau_G],
        'power': {
            'peak': float(found.power[peak]),
            'time': float(time[peak]),
            'work': float(np.diff(time) @ (found.power[1:] + found.power[:-1]) / 2.0),
        },
        'exceeded': found.exceeded(),
        'singular': time[found.singular].tolist(),
        'start': {
            what: dict(zip(names, values.tolist()))
            for what, names, values in (
                ('q', position_names(robot), motion.q[0]),
                ('v', robot.coordinate_names, motion.v[0]),
                ('a', robot.coordinate_names, motion.a[0]),
            )
        },
        'series': {
            'time': time.tolist(),
            'tau_A': dict(zip(robot.actuator_names, found.tau_A.T.tolist())),
            'power': found.power.tolist(),
        },
        'assumed': motion.assumed,
        'files': {},
        'warnings': motion.notes + _warnings(found),
    }


def _coordinate(found: MotionTorques, name: str) -> dict[str, Any]:
    """Return the largest generalized force of a coordinate, and what of it nobody gives."""
    tau_G = found.tau_G[name]
    k = found.unmet.get(name)
    return {
        'name': name,
        'tau_G': float(tau_G[np.nanargmax(np.abs(tau_G))]),
        'residual': 0.0 if k is None else float(found.residual[name][k]),
        'time': None if k is None else float(found.motion.time[k]),
    }


def _warnings(found: MotionTorques) -> list[str]:
    """Return sentences on what is exceeded, not met, or singular, each with the joint's name."""
    at: Callable[[float], str] = (
        (lambda time: f' at {number(time, 4)} s')
        if len(found.motion.time) > 1
        else (lambda time: '')
    )
    said = (
        []
        if found.robot.actuator_names
        else ['No joint is actuated: name those with motors, as in --actuated hip,knee.']
    )
    for each in found.exceeded():
        said.append(
            f'{each["joint"]}: {each["kind"].replace("range", "position")} {number(each["value"])}'
            f'{at(each["time"])} is beyond the limit {number(each["limit"])}.'
        )
    for name, k in found.unmet.items():
        said.append(
            f'{name}: {number(found.residual[name][k])} of the generalized force'
            f'{at(found.motion.time[k])} is given by no actuator; the motion is not '
            'possible without it.'
        )
    times = found.motion.time[found.singular]
    if len(times):
        robot = found.robot
        c = coordinates(robot, found.motion.q[np.flatnonzero(found.singular)[0]])
        share = np.abs(c.singular_direction)
        names = [
            name for name, each in zip(robot.coordinate_names, share) if each > 0.1 * share.max()
        ]
        said.append(
            f'The pose is singular{at(times[0])}'
            + (f' and at {len(times) - 1} more samples' if len(times) > 1 else '')
            + f': {listed(compact(robot, names))} can move beside the motion of the poses '
            'nearby. Torques there follow the policy --singularity.'
        )
    return said


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    moves = report['samples'] > 1
    heads = [
        'actuator',
        'largest' if moves else 'torque',
        'at',
        'rms',
        'limit',
        'used',
        'fastest' if moves else 'speed',
    ]
    # beside a force of 100 N m one of 1e-14 N m is rounding
    largest = [each['tau_G'] for each in report['coordinates']]
    largest += [each['torque'] for each in report['actuators']]
    beside = max(map(abs, largest), default=0.0)
    rows = [
        [
            (each['name'], 'green'),
            number(each['torque'], beside=beside),
            f'{number(each["time"])} s' if moves else '',
            number(each['rms'], beside=beside) if moves else '',
            '' if each['limit'] is None else number(each['limit']),
            _used(each),
            number(each['speed'], beside=1.0),
        ]
        for each in report['actuators']
    ]
    forces = [
        [
            each['name'],
            number(each['tau_G'], beside=beside),
            (number(each['residual']), 'yellow') if each['residual'] else '',
        ]
        for each in report['coordinates']
    ]
    power = f'{number(report["power"]["peak"])} W'
    if moves:
        most = abs(report['power']['peak']) * report['duration']
        work = number(report['power']['work'], beside=most)
        power += f' at most, at {number(report["power"]["time"])} s; {work} J in all'
    about = (
        f'{report["motion"]}, {report["samples"]} samples in {number(report["duration"])} s'
        if moves
        else ', '.join(
            f'{name}{GLUE}{number(x, beside=1.0)}' for name, x in report['start']['q'].items()
        )
    )
    lines = [line.replace(GLUE, ' ') for line in textwrap.wrap(about, POSE_WIDTH)]
    pose = lines if len(lines) > 1 else []
    return sections(
        [
            (
                '',
                [
                    style.paint(report['name'], 'bold')
                    + ('' if pose else f'  {style.paint(lines[0], "dim")}')
                ],
            ),
            ('Pose', pose),
            ('Actuators, tau_A [N m or N]', table(heads, rows, style)),
            (
                'Generalized forces, tau_G [N m or N]',
                table(['coordinate', 'largest' if moves else 'force', 'not met'], forces, style),
            ),
            ('Power', [power] if report['actuators'] else []),
            ('Assumed', bullets(report['assumed'], style)),
            *closing_sections(report, style),
        ],
        style,
    )


def _used(actuator: dict[str, Any]) -> Cell:
    if actuator['utilisation'] is None:
        return ''
    share = 100.0 * actuator['utilisation']
    return (f'{share:.1f} %', 'red' if share > 100.0 else '')
