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

"""What is attached to joints and links: couplings, springs and actuators, as records."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from closed_chain_dynamics.description import Description
from closed_chain_dynamics.description.bodies import Placement
from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.joint_types import VELOCITY_SUFFIXES
from closed_chain_dynamics.model.model import Records

__all__ = ['PackedPlaces', 'actuators', 'couplings', 'springs']

TINY_COEFFICIENT = 1e-2  # a coupling whose coefficients are all smaller is multiplied


@dataclass(frozen=True)
class PackedPlaces:
    """Where names of a description are in the tables."""

    description: Description
    links: Mapping[str, Placement]
    joints: Mapping[str, int]
    bodies: Records
    loop_coordinate_names: tuple[str, ...]

    def single(self, what: str, joint: str) -> tuple[int, int]:
        """Return places in v and q of a joint with one coordinate, or say why it has not."""
        body = self.bodies[self.joints[joint]] if joint in self.joints else None
        if body is None or body['n_dof'] != 1:
            kind = 'a joint of the tree' if body is None else 'a joint with one coordinate'
            raise DescriptionError(
                f'joint {joint!r} is not {kind}',
                where=what,
                file=self.description.file,
                repair='Name a revolute, continuous or prismatic <joint>.',
            )
        return int(body['iv']), int(body['iq'])


def couplings(places: PackedPlaces) -> tuple[Records, Records]:
    """Return a record per coupling, and one per term of one."""
    given = places.description.couplings
    out = np.zeros(len(given), at.COUPLING)
    terms = np.zeros(sum(len(coupling.terms) for coupling in given), at.TERM)
    first = 0
    for row, coupling in zip(out, given):
        row['first'], row['n_terms'], row['active'] = first, len(coupling.terms), coupling.active
        row['constant'], row['cluster'] = coupling.constant, -1
        for term, each in zip(terms[first:], coupling.terms):
            term['dof'], term['iq'] = places.single(f'coupling {coupling.name!r}', each.joint)
            term['coefficients'][: len(each.coefficients)] = each.coefficients
        _count_alike(row, terms[first : first + len(coupling.terms)])
        first += len(coupling.terms)
    return out, terms


def _count_alike(row: np.void, terms: Records) -> None:
    """Multiply a coupling of tiny coefficients: its error is an angle or a length like others."""
    largest = np.abs(terms['coefficients']).max(initial=0.0)
    if 0.0 < largest < TINY_COEFFICIENT:
        row['constant'] /= largest
        terms['coefficients'] /= largest


def springs(places: PackedPlaces, terms: Records) -> tuple[Records, Records]:
    """Return a record per spring, and the terms with those of tendons behind them."""
    description, loop_names = places.description, places.loop_coordinate_names
    out = np.zeros(len(description.springs), at.SPRING)
    for row, spring in zip(out, description.springs):
        row['stiffness'], row['damping'] = spring.stiffness, spring.damping
        row['rest'] = spring.rest
        if spring.type == 'linear':
            row['type'] = at.BETWEEN_POINTS
            row['body_1'], R, p = places.links[spring.from_link]
            row['p_1'] = p + R @ spring.from_xyz
            row['body_2'], R, p = places.links[spring.to_link]
            row['p_2'] = p + R @ spring.to_xyz
        elif spring.type == 'tendon':
            own = np.zeros(len(spring.terms), at.TERM)
            for term, each in zip(own, spring.terms):
                term['dof'], term['iq'] = places.single(f'spring {spring.name!r}', each.joint)
                term['coefficients'][0] = each.coefficients[0]
            row['type'], row['body_1'], row['body_2'] = at.ON_TENDON, len(terms), len(own)
            terms = np.concatenate([terms, own])
        elif spring.joint in loop_names:
            row['type'] = at.ON_LOOP
            loop = [loop.name for loop in description.loops].index(spring.joint)
            row['body_1'] = row['body_2'] = loop
            row['dof'] = loop_names.index(spring.joint)
        else:
            row['type'] = at.ON_JOINT
            row['dof'], row['iq'] = places.single(f'spring {spring.name!r}', spring.joint)
    return out, terms


def actuators(places: PackedPlaces) -> tuple[Records, tuple[str, ...]]:
    """
    Return a record and a name per coordinate of an actuated joint.

    A motor may sit on a loop joint.
    """
    description = places.description
    limits = {joint.name: joint.limit for joint in description.all_joints}
    names: list[str] = []
    rows: list[tuple[bool, int, float]] = []
    for actuator in description.actuators:
        joint = actuator.joint
        on_loop = joint not in places.joints
        if on_loop:
            found = {
                name: place
                for place, name in enumerate(places.loop_coordinate_names)
                if name == joint or name.startswith(joint + ':')
            }
        else:
            body = places.bodies[places.joints[joint]]
            suffixes = VELOCITY_SUFFIXES[body['joint']]
            found = {joint + suffix: body['iv'] + k for k, suffix in enumerate(suffixes)}
        names += found
        rows += [(on_loop, place, limits[joint].effort) for place in found.values()]
    return np.array(rows, at.ACTUATOR), tuple(names)
