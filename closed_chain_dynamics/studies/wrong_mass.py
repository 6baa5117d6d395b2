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

"""Which segment explains that two models need different forces for one motion."""

from dataclasses import dataclass, replace

import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description import Inertia
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.motion.moving import Motion

__all__ = ['WrongMass', 'find_wrong_mass']

MOST_POSES = 50  # of a motion that are looked at
LEFT_BY_SEGMENT = 0.1  # share of the difference that the segment may leave
ALIKE = 1e-9  # share of the forces up to which two models agree


@dataclass(frozen=True)
class WrongMass:
    """A segment, by what factor its mass differs, and what share of the difference is left."""

    link: str
    factor: float
    remaining: float


def find_wrong_mass(robot: Mechanism, other: Mechanism, motion: Motion) -> WrongMass | None:
    """
    Return the one segment whose mass and inertia explain the forces of another model, if any does.

    Forces tau_O are linear in both, so that a difference is fitted by two columns per segment.
    """
    here = _forces(robot, motion)
    away = _forces(other, motion) - here
    if np.linalg.norm(away) <= ALIKE * np.linalg.norm(here):
        return None
    found = []
    for link in robot.description.links:
        body = link.inertia
        if body is None or not body.mass > 0.0:
            continue
        twice = tuple(2.0 * each for each in body.moments)
        columns = np.column_stack(
            [
                _forces(_with(robot, link.name, changed), motion) - here
                for changed in (replace(body, mass=2.0 * body.mass), replace(body, moments=twice))
            ]
        )
        share = np.linalg.lstsq(columns, away, rcond=1e-9)[0]
        left = float(np.linalg.norm(away - columns @ share) / np.linalg.norm(away))
        found.append(WrongMass(link.name, 1.0 + float(share[0]), left))
    best = min(found, key=lambda each: each.remaining, default=None)
    return best if best and best.remaining <= LEFT_BY_SEGMENT else None


def _forces(robot: Mechanism, motion: Motion) -> Array:
    """Return tau_O at some samples of a motion, one after the other."""
    stride = -(-len(motion.time) // MOST_POSES)
    states = zip(motion.q[::stride], motion.v[::stride], motion.a[::stride])
    return np.concatenate([inverse_dynamics(robot, *state).tau_O for state in states])


def _with(robot: Mechanism, name: str, inertia: Inertia) -> Mechanism:
    model = robot.description
    links = tuple(replace(e, inertia=inertia) if e.name == name else e for e in model.links)
    return Mechanism(replace(model, links=links), gravity=robot.gravity)
