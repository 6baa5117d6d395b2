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

"""What ``closed-chain study consistency`` says about a record, as plain values."""

import math
from typing import Any

import numpy as np

from closed_chain_dynamics.dynamics.explanation import listed
from closed_chain_dynamics.recording.terminal import Report, number
from closed_chain_dynamics.studies.consistency import MEASURED_SHARE, Consistency
from closed_chain_dynamics.studies.suspects import CLEARLY, LEFT_BY_CULPRIT, Suspect

__all__ = ['QUESTIONS', 'consistency_report']

SCHEMA = 'closed-chain-study-consistency/1'  # an added key keeps it, one that changes ends it
QUESTIONS = {
    'markers': 'are the markers where the model has them?',
    'loops': 'are the loops closed?',
    'range': 'are the joints within their ranges?',
    'speed': 'are they slow enough?',
    'effort': 'are the actuators strong enough?',
    'forces': 'do the actuators and the ground give all forces?',
    'ground': 'does the ground hold it?',
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
        'markers': _markers(found),
        'ground': _ground(found),
        'nearest': _nearest(found),
        'series': {'time': time.tolist(), 'gap': found.widest.tolist()},
        'files': {},
        'warnings': _warnings(found),
    }


def _markers(found: Consistency) -> dict[str, Any] | None:
    """Return how far markers are from where the model has them."""
    fit = found.markers
    if fit is None:
        return None
    return {
        'rms': fit.rms,
        'unused': fit.unused,
        'markers': [
            {
                'name': name,
                'link': fit.markers[name].link,
                'rms': float(np.sqrt(np.nanmean(errors**2))),
                'worst': float(np.nanmax(errors)),
                'time': float(fit.record.time[np.nanargmax(errors)]),
                'missing': int(np.isnan(errors).sum()),
            }
            for name, errors in fit.errors.items()
            if not np.all(np.isnan(errors))
        ],
    }


def _ground(found: Consistency) -> dict[str, Any] | None:
    """Return what the ground gives, and where it cannot."""
    forces = found.ground
    if forces is None:
        return None
    inside = forces.margin[np.isfinite(forces.margin)]
    needed = forces.friction[np.isfinite(forces.friction) & forces.touches.any(axis=1)]
    return {
        'contacts': [
            {'name': each.name, 'link': each.link, 'mu': each.mu, 'touches': float(share)}
            for each, share in zip(forces.ground.contacts, forces.touches.mean(axis=0))
        ],
        'weight': forces.weight,
        'largest': float(np.linalg.norm(forces.needed[:, :3], axis=1).max()),
        'margin': float(inside.min()) if inside.size else None,
        'friction': float(needed.max()) if needed.size else None,
        'unmet': float(forces.unmet.max()),
        'breaks': forces.breaks(),
    }


def _nearest(found: Consistency) -> dict[str, Any] | None:
    """Return how far the nearest possible motion is."""
    if found.nearest is None:
        return None
    moved = found.nearest.moved
    return {
        'moved': float(moved.max()),
        'rms': float(np.sqrt(np.mean(moved**2))),
        'time': float(found.tracks.time[np.argmax(moved)]),
        'iterations': found.nearest.iterations,
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
        said.append(
            f'Not measured: {listed(found.filled)}; the loops determine it, or it stays still.'
        )
    for each in found.exceeded:
        said.append(
            f'{each["joint"]}: {each["kind"].replace("range", "position")} '
            f'{number(each["value"])} at {number(each["time"])} s is beyond the limit '
            f'{number(each["limit"])}.'
        )
    for name, (peak, rms, share) in found.residual.items():
        if share > MEASURED_SHARE:
            said.append(
                f'{name}: a force of {number(peak)} at most, {number(rms)} rms, is given '
                f'by no actuator; that is {number(100.0 * share, 3)} % of what gravity '
                'and inertia need. Something that the model lacks holds or pushes it.'
            )
    for each in found.ground.breaks() if found.ground else []:
        when = f'At {number(each["begin"])} s'
        if each['frames'] > 1:
            when = f'From {number(each["begin"])} to {number(each["end"])} s'
        said.append(
            f'{when} {each["reason"]}; {number(100.0 * each["share"], 3)} % of the weight is '
            'missing.'
        )
    if found.markers and found.markers.unused:
        said.append(f'Markers without a place on the model: {listed(found.markers.unused)}.')
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
    able = [each.joint for each in suspects if each.remaining <= LEFT_BY_CULPRIT]
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
