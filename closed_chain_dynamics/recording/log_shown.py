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

"""A log as a notebook shows it: a few facts, and the events."""

from closed_chain_dynamics.recording.html import shown
from closed_chain_dynamics.recording.log import Log

__all__ = ['shown_log']


def shown_log(log: Log) -> str:
    """Return a log as HTML."""
    facts = [('samples', log.extent())]
    if len(log):
        drift = abs(log.balance - log.balance[0]).max()
        facts += [
            ('energy', f'{log.energy[0]:.4g} J at the start, {log.energy[-1]:.4g} J at the end'),
            ('energy drift', f'{drift:.2g} J'),
            ('loop error', f'at most {log.loop_error.max():.2g} m or rad'),
        ]
    heads = ('time [s]', 'event', 'joint', 'mobility', 'energy lost [J]', 'taken by the gap [J]')
    events = [
        (
            f'{each.time:g}',
            each.kind,
            each.name,
            f'{each.mobility_before} to {each.mobility_after}',
            f'{each.energy_lost:.3g}',
            f'{each.energy_of_gap:.3g}',
        )
        for each in log.events
    ]
    return shown(f'log of {log.robot.name}', facts, [('events', heads, events)])
