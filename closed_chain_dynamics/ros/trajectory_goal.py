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

"""A goal of the action of torque_node: what was asked, its tolerances, and what is beyond them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclpy.task import Future

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['Goal', 'beyond', 'refused_goal', 'tolerances']


@dataclass
class Goal:
    """A goal that is followed: what was asked, and what is known of it so far."""

    handle: Any
    names: list[str]
    path: Vector  # tolerances of positions and velocities, (2, joints)
    end: Vector
    patience: float  # goal_time_tolerance [s]
    done: Future = field(default_factory=Future)
    number: int = 0  # of what the loop was asked for it
    told: float = -np.inf  # stamp of the last feedback [s]


def refused_goal(why: str, repair: str) -> ClosedChainError:
    """Return the error of a goal that makes no sense."""
    return ClosedChainError(why, where='goal', repair=repair)


def tolerances(names: list[str], given: Iterable[Any], default: tuple[float, float]) -> Vector:
    """Return tolerances of positions and velocities, (2, joints); inf: none."""
    out = np.repeat(np.array(default)[:, None], len(names), axis=1)
    for each in given:
        if each.name not in names:
            raise refused_goal(
                f'a tolerance names {each.name!r}, which the goal does not move',
                f'It moves {", ".join(names)}.',
            )
        for row, value in enumerate((each.position, each.velocity)):
            if not (value >= 0.0 or value == -1.0):
                raise refused_goal(
                    f'a tolerance of {each.name!r} is {value:g}', 'Give 0, -1, or more.'
                )
            if value:
                out[row, names.index(each.name)] = value if value > 0.0 else np.inf
    return out


def beyond(error: Vector, most: Vector, names: list[str]) -> str:
    """Return which error is beyond its tolerance, in words; nothing where none is."""
    for row, kind in enumerate(('position', 'velocity')):
        k = int(np.argmax(np.abs(error[row]) - most[row]))
        if not abs(error[row, k]) <= most[row, k]:
            return (
                f'the {kind} of {names[k]!r} is {abs(error[row, k]):.3g} off, beyond '
                f'{most[row, k]:.3g},'
            )
    return ''
