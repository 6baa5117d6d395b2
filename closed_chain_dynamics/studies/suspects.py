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

"""Which joint of a record contradicts the loops: each is left out once."""

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.tree import difference
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.motion.torques import BEYOND
from closed_chain_dynamics.studies.record_poses import coordinates_of, least_open

__all__ = ['CLEARLY', 'LEFT_BY_CULPRIT', 'Suspect', 'culprit_of', 'find_suspects']

MOST_FITTED = 200  # samples that the search for a culprit looks at
LEFT_BY_CULPRIT = 0.5  # share of the gap that a culprit may leave
CLEARLY = 2.0  # by this factor a culprit is better than the next one


@dataclass(frozen=True)
class Suspect:
    """A joint, and what happens when its record is left out and the loops decide it instead."""

    joint: str
    remaining: float  # share of the gap that is still there
    offset: float  # where the loops want it, minus the record: mean over time [rad or m]
    spread: float  # and standard deviation; small beside the mean: a constant offset


def culprit_of(suspects: Sequence[Suspect]) -> str | None:
    """Return the joint that explains the gaps, or None where none or several do."""
    if not suspects or suspects[0].remaining > LEFT_BY_CULPRIT:
        return None
    alike = [each for each in suspects if each.remaining <= CLEARLY * suspects[0].remaining + 1e-6]
    alike.sort(key=lambda each: each.spread)  # a constant offset is likelier than one that moves
    if len(alike) > 1 and alike[1].spread < CLEARLY * alike[0].spread + 1e-9:
        return None
    return alike[0].joint


def find_suspects(
    robot: Mechanism, measured: Sequence[str], filled: Sequence[str], poses: Array
) -> list[Suspect]:
    """Return Suspects, best explanation first: every joint is left out once."""
    poses = poses[:: max(1, math.ceil(len(poses) / MOST_FITTED))]
    J_C = np.array([constraint_jacobian(robot, q)[0] for q in poses])
    before = _open(robot, poses)
    found = []
    for joint in measured:
        mine = robot.joint_slices(joint)[1]
        if not np.abs(J_C[:, :, mine]).max(initial=0.0) > BEYOND:  # no loop goes through it
            continue
        free = coordinates_of(robot, [joint, *filled])
        closed = np.array([least_open(robot, q, free) for q in poses])
        moved = np.array([difference(robot, a, b)[mine] for a, b in zip(poses, closed)])
        worst = int(np.argmax(np.abs(moved.mean(axis=0))))
        found.append(
            Suspect(
                joint,
                _open(robot, closed) / before,
                float(moved[:, worst].mean()),
                float(moved[:, worst].std()),
            )
        )
    return sorted(found, key=lambda each: each.remaining)


def _open(robot: Mechanism, poses: Array) -> float:
    """Return the root mean square of the errors of all loops."""
    return math.sqrt(np.mean([np.sum(constraint_jacobian(robot, q)[1] ** 2) for q in poses]))
