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

"""What ``closed-chain study consistency`` says about a record: a dict for ``--json``, and text."""

import math

import numpy as np

from closed_chain_dynamics.dynamics.explanation import listed
from closed_chain_dynamics.recording.terminal import (
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.studies.consistency import (
    CLEARLY,
    EXPLAINS,
    SHARE,
    Consistency,
    Suspect,
)

__all__ = ['consistency_report', 'render']

SCHEMA = 'closed-chain-study-consistency/1'  # an added key keeps it, one that changes ends it
QUESTIONS = {
    'loops': 'are the loops closed?',
    'range': 'are the joints within their ranges?',
    'speed': 'are they slow enough?',
    'effort': 'are the actuators strong enough?',
    'forces': 'do the actuators give all forces?',
}


def consistency_report(found: Consistency) -> Report:
    """Return what a Consistency says, as plain values."""
    robot, time = found.robot, found.tracks.time
    loops = []
    for name, gap in found.gaps.items():
        k = int(np.argmax(gap.max(axis=1)))
        loops.append(
            {
                'name': name,
                'metres': float(gap[:, 0].max()),
                'radians': float(gap[:, 1].max()),
                'time': float(time[k]),
                'rms': float(np.sqrt(np.mean(gap.max(axis=1) ** 2))),
            }
        )
    return {
        'schema': SCHEMA,
        'name': robot.name,
        'file': robot.description.file,
        'samples': len(time),
        'duration': float(time[-1] - time[0]),
        'tolerance': found.tolerance,
        'measured': [*found.tracks.joints],
        'filled': found.filled,
        'consistent': all(found.verdicts.values()),
        'verdicts': found.verdicts,
        'gap': float(found.widest.max()),
        'loops': loops,
        'culprit': found.culprit,
        'suspects': [vars(each) for each in found.suspects],
        'exceeded': found.exceeded,
        'moved': found.moved(),
        'residual': [
            {
                'name': name,
                'peak': peak,
                'rms': rms,
                'share': share if math.isfinite(share) else None,
            }
            for name, (peak, rms, share) in found.residual.items()
        ],
        'series': {'time': time.tolist(), 'gap': found.widest.tolist()},
        'files': {},
        'warnings': _warnings(found),
    }


def _warnings(found: Consistency) -> list[str]:
    said = (
        []
        if found.robot.actuator_names
        else ['No joint is actuated: name those with motors, as in --actuated hip,knee.']
    )
    if found.gaps and not found.verdicts['loops']:
        said.append(_accusation(found))
    if found.filled:
        said.append(f'Not measured: {listed(found.filled)}; the loops decide, or they keep still.')
    for each in found.exceeded:
        said.append(
            f'{each["joint"]}: {each["kind"]} {number(each["value"])} at '
            f'{number(each["time"])} s is beyond the limit {number(each["limit"])}.'
        )
    for name, (peak, rms, share) in found.residual.items():
        if share > SHARE:
            said.append(
                f'{name}: a force of {number(peak)} at most, {number(rms)} rms, is given '
                f'by no actuator; that is {number(100.0 * share, 3)} % of what gravity '
                'and inertia need. Something that the model lacks holds or pushes it.'
            )
    return said


def _accusation(found: Consistency) -> str:
    """Return who is to blame for open loops, as far as the record tells."""
    suspects = found.suspects
    if found.culprit:
        each = next(each for each in suspects if each.joint == found.culprit)
        constant = abs(each.offset) > CLEARLY * each.spread
        return (
            f'{each.joint} is the culprit: without its record {_left(each)} of the gap is '
            f'left. The loops want it moved by {number(each.offset)} rad or m'
            + (
                ', all the time: a constant offset.'
                if constant
                else f' on average, give or take {number(each.spread)}.'
            )
        )
    able = [each.joint for each in suspects if each.remaining <= EXPLAINS]
    if able:
        return (
            f'{listed(able)}: leaving out either would explain the gap, as far as this '
            'record tells. Measure one more joint of the loop, or a longer motion.'
        )
    return (
        'No single joint explains the gap: look at the lengths of the model, or at the '
        'record as a whole.'
    )


def _left(suspect: Suspect) -> str:
    return f'{number(100.0 * suspect.remaining, 2)} %'


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    verdicts = [
        [QUESTIONS[name], ('yes', 'green') if good else ('no', 'red')]
        for name, good in report['verdicts'].items()
    ]
    loops = [
        [
            each['name'],
            number(each['metres'], 3),
            number(each['radians'], 3),
            f'{number(each["time"])} s',
            number(each['rms'], 3),
        ]
        for each in report['loops']
    ]
    suspects = [
        [
            (each['joint'], 'red' if each['joint'] == report['culprit'] else ''),
            f'{number(100.0 * each["remaining"], 2)} %',
            number(each['offset']),
            number(each['spread'], 2),
        ]
        for each in report['suspects']
    ]
    forces = [
        [
            each['name'],
            number(each['peak']),
            number(each['rms']),
            '' if each['share'] is None else f'{number(100.0 * each["share"], 3)} %',
        ]
        for each in report['residual']
    ]
    about = (
        f'{report["samples"]} samples in {number(report["duration"])} s, '
        f'{len(report["measured"])} joints measured'
    )
    return sections(
        [
            ('', [f'{style.paint(report["name"], "bold")}  {style.paint(about, "dim")}']),
            ('Can this motion be one of the model?', table(['', ''], verdicts, style)[1:]),
            ('Gaps of the record', table(['loop', '[m]', '[rad]', 'at', 'rms'], loops, style)),
            (
                'If a joint were left out',
                table(['joint', 'gap left', 'loops want', 'give or take'], suspects, style),
            ),
            (
                'Forces that no actuator gives [N m or N]',
                table(['coordinate', 'peak', 'rms', 'of what is needed'], forces, style),
            ),
            *closing_sections(report, style),
        ],
        style,
    )
