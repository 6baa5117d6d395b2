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

"""The names of a mechanism, and where they are in its tables."""

from __future__ import annotations

import numpy as np

from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.description.bodies import Placement
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.joint_types import VELOCITY_SUFFIXES, WIDTHS_IN_Q
from closed_chain_dynamics.model.model import Model
from closed_chain_dynamics.model.structure import Structure

__all__ = ['ModelNames']


class ModelNames:
    """Names of a model in a structure; those of the coordinates change with the structure."""

    model: Model
    structure: Structure
    nq: int
    nv: int
    coordinate_names: list[str]  # one per velocity

    def _take_names(self) -> None:
        """Take all names of the model."""
        model = self.model
        self.name, self.description = model.name, model.description
        self.link_names, self.joint_names = list(model.links), list(model.joints)
        self.loop_names, self.coupling_names = list(model.loop_names), list(model.coupling_names)
        self.loop_coordinate_names = list(model.loop_coordinate_names)
        self.actuator_names = list(model.actuator_names)

    def _name_coordinates(self) -> None:
        """Count and name the coordinates of the structure as it is now."""
        structure = self.structure
        if structure.sizes is None:
            names = [
                name + suffix
                for name, body in self.model.joints.items()
                for suffix in VELOCITY_SUFFIXES[structure.bodies[body]['joint']]
            ]
            structure.sizes = int(structure.shape['nq']), int(structure.shape['nv']), names
        self.nq, self.nv, self.coordinate_names = structure.sizes

    def index(self, kind: str, name: str) -> int:
        """Return the place of a name in `<kind>_names`, or raise with the nearest names."""
        names = {
            'link': self.link_names,
            'joint': self.joint_names,
            'coordinate': self.coordinate_names,
            'loop': self.loop_names,
            'loop_coordinate': self.loop_coordinate_names,
            'coupling': self.coupling_names,
            'actuator': self.actuator_names,
        }[kind]
        try:
            return names.index(name)
        except ValueError:
            raise NameNotFound(kind.replace('_', ' '), name, names, where=self.name) from None

    def held_name(self, hold: int) -> str:
        """Return the coordinate that a record of what stops and friction hold is about."""
        record = self.structure.holds[hold]
        names = self.coordinate_names if record['loop'] < 0 else self.loop_coordinate_names
        return names[int(record['dof'])]

    def held_coordinates(self) -> dict[str, int]:
        """Return what a stop or friction holds now, {'knee (held)': its record}."""
        active = np.flatnonzero(self.structure.holds['active']).tolist()
        return {f'{self.held_name(h)} (held)': h for h in active}

    def link_frame(self, link: str) -> Placement:
        """Return body number, rotation and position of a link in its body."""
        try:
            return self.model.links[link]
        except KeyError:
            raise NameNotFound('link', link, self.link_names, where=self.name) from None

    def joint_slices(self, joint: str) -> tuple[slice, slice]:
        """Return the places of a joint in q and in v, two slices."""
        try:
            body = self.structure.bodies[self.model.joints[joint]]
        except KeyError:
            raise NameNotFound('joint', joint, self.joint_names, where=self.name) from None
        iq, iv = int(body['iq']), int(body['iv'])
        return slice(iq, iq + WIDTHS_IN_Q[body['joint']]), slice(iv, iv + int(body['n_dof']))

    def is_planar(self, joint: str) -> bool:
        """Return whether a joint was described as a planar one, also where it is cut now."""
        mover = self.model.body_joints[self.model.joints[joint]]
        return mover is not None and mover.type is JointType.PLANAR
