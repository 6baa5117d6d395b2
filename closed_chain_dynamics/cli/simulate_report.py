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

"""What ``closed-chain simulate`` says about a run: a dict for ``--json``, and text for people."""

import sys

from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.recording.log_files import event_record
from closed_chain_dynamics.recording.terminal import (
    Report,
    Style,
    closing_sections,
    number,
    sections,
    table,
)
from closed_chain_dynamics.simulation.simulation import Simulation

__all__ = ['below_surfaces', 'beyond_limits', 'render', 'simulate_report']

SCHEMA = 'closed-chain-simulate/1'  # a key that is added keeps it, one that changes ends it
HITS = ('stop', 'bounce')
NO_EXCHANGE = 1e-9  # below this share of the energy, or in J per kg, nothing was exchanged


def simulate_report(sim: Simulation, before: int, wall: float) -> Report:
    """Return what a simulation did, as plain values; `before`: its mobility, `wall` [s]."""
    log = sim.log
    balance = log.balance
    drift = float(abs(balance - balance[0]).max())
    exchanged = max(
        float(each.max() - each.min())
        for each in (log.kinetic, log.potential, log.work, log.dissipated)
    )
    # at rest only rounding is exchanged
    least = NO_EXCHANGE * max(float(abs(log.energy).max()), sim.robot.total_mass)
    exchanged = max(exchanged, least, sys.float_info.min)
    state = {
        what: dict(zip(sim.log.segments[-1].names(what), getattr(sim, what).tolist()))
        for what in ('q', 'v')
    }
    steps = round(sim.time / sim.dt)
    return {
        'schema': SCHEMA,
        'name': sim.robot.name,
        'file': sim.robot.description.file,
        'time': sim.time,
        'dt': sim.dt,
        'integrator': sim.integrator,
        'steps': steps,
        'samples': len(log),
        'wall_time': wall,
        'speed': sim.time / wall if steps else None,
        'generated': sim.generated
        and {'steps': sim.generated.steps, 'generic': dict(sim.generated.generic)},
        'mobility': {'before': before, 'after': sim.mobility()},
        'energy': {
            'start': float(log.energy[0]),
            'end': float(log.energy[-1]),
            **{
                name: float(getattr(log, name)[-1])
                for name in ('kinetic', 'potential', 'work', 'dissipated', 'lost')
            },
            'drift': drift,
            'relative_drift': drift / exchanged,
        },
        'loop_error': float(log.loop_error.max()),
        'limits': sim.limits,
        'stops': _stops(log.events),
        'events': [event_record(event) for event in log.events],
        'final': state,
        'files': {},
        'warnings': [],
    }


def _stops(events: list[Event]) -> list[str]:
    """Return the joints that hit a stop, each once, in the order in which they did."""
    hits = [event.name for event in events if event.kind in HITS and event.impulse.size == 1]
    return list(dict.fromkeys(hits))


def beyond_limits(sim: Simulation) -> list[str]:
    """Return a warning where joints were beyond the ends of their range at the start."""
    names = [event.name for event in sim.events if event.kind == 'beyond_limit']
    if not names:
        return []
    return [
        f'Beyond the ends of their range: {", ".join(dict.fromkeys(names))}. There they stop '
        'where they were; start within the range, or take --no-limits.'
    ]


def below_surfaces(sim: Simulation) -> list[str]:
    """Return a warning where contacts were below their surface at the start."""
    events = [event for event in sim.events if event.kind == 'below_surface']
    if not events:
        return []
    names = ', '.join(dict.fromkeys(event.name for event in events))
    given = -sum(event.energy_of_gap for event in events)
    return [
        f'Below their surface at the start: {names}. The mechanism was moved until they touch it, '
        f'which changed its energy by {number(given, 3)} J; start above it, with --q.'
    ]


def _generated(counted: Report | None) -> list[list[str]]:
    """Return a line on what generated code did, where it was asked for."""
    if counted is None:
        return []
    others = [f'{count} generic: {why}' for why, count in counted['generic'].items()]
    return [['generated code', '; '.join([f'{counted["steps"]} steps', *others])]]


def render(report: Report, style: Style) -> str:
    """Return a report as text."""
    energy, mobility = report['energy'], report['mobility']
    speed = f', {number(report["speed"], 3)} times real time' if report['speed'] else ''
    rows = [
        [
            'simulated',
            f'{number(report["time"])} s in {report["steps"]} steps of '
            f'{number(report["dt"])} s, {report["integrator"]}',
        ],
        ['computed in', f'{number(report["wall_time"], 3)} s{speed}'],
        *_generated(report['generated']),
        ['mobility', f'{mobility["before"]} at the start, {mobility["after"]} at the end'],
        [
            'energy',
            f'{number(energy["start"])} J at the start, {number(energy["end"])} J at the '
            f'end: {_joule(report, energy["work"])} put in, '
            f'{_joule(report, energy["dissipated"])} dissipated, '
            f'{_joule(report, energy["lost"])} lost at events',
        ],
        [
            'energy drift',
            f'{number(energy["drift"], 2)} J, '
            f'{number(energy["relative_drift"], 2)} of what was exchanged',
        ],
        ['loop error', f'at most {number(report["loop_error"], 2)} m or rad'],
        ['stops', ', '.join(report['stops']) or ('none hit' if report['limits'] else 'off')],
    ]
    events = [
        [
            f'{number(each["time"], 6)} s',
            (each['kind'], _look(each['kind'])),
            each['name'],
            f'{each["mobility_before"]} to {each["mobility_after"]}',
            _joule(report, each['energy_lost'], 3),
            _joule(report, each['energy_of_gap'], 3),
            ' '.join(number(value, 3) for value in each['impulse']),
        ]
        for each in report['events']
    ]
    return sections(
        [
            ('', [style.paint(report['name'], 'bold')]),
            ('Run', table(['', ''], rows, style)[1:]),
            (
                'Events',
                table(
                    [
                        'time',
                        'event',
                        'joint',
                        'mobility',
                        'energy lost',
                        'taken by gap',
                        'impulse [N s, N m s]',
                    ],
                    events,
                    style,
                ),
            ),
            *closing_sections(report, style),
        ],
        style,
    )


def _joule(report: Report, value: float, digits: int = 4) -> str:
    """Return an energy with its unit, 0 where it is an error of the integration."""
    sizes = [abs(report['energy'][each]) for each in ('start', 'end', 'kinetic', 'potential')]
    return f'{number(value if abs(value) > NO_EXCHANGE * max(sizes) else 0.0, digits)} J'


def _look(kind: str) -> str:
    return {
        'connect': 'green',
        'touch_down': 'green',
        'cut': 'red',
        'lift_off': 'red',
        'leave_stop': 'red',
    }.get(kind, 'yellow')
