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
What a mechanism is, whatever happens to it: names and constants, frozen.

A `Model` may be shared by any number of mechanisms, threads and processes. Its tables are arrays
of the records that `kernels.records` describes, and refuse to be written to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description import Description, Joint, LoopType
from closed_chain_dynamics.description.bodies import Placement
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.lanes import ROOM
from closed_chain_dynamics.model.link_table import LinkTable
from closed_chain_dynamics.model.memory import Layout

__all__ = ['Model', 'Records']

Records = NDArray[np.void]  # of one of the records in kernels.records
FREE_FLIGHT_ROOM = 6  # velocities of a body whose joint was cut: it flies freely


@dataclass(frozen=True, eq=False)
class Model:
    """Names, tree, inertias, loops, laws and limits of a mechanism, as it was described."""

    name: str
    description: Description
    body_joints: tuple[Joint | None, ...]  # the joint that moves each body; None: the world
    links: Mapping[str, Placement]  # link: its body, and R, p in the body
    joints: Mapping[str, int]  # moving joint: the body that it moves
    loop_coordinate_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    bodies: Records
    dofs: Records
    loops: Records
    loop_dofs: Records
    holds: Records
    couplings: Records
    terms: Records
    springs: Records
    waypoints: Records
    actuators: Records
    world: Records  # gravity, typical length, tolerances: one record
    nq: int

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        for _, R, p in self.links.values():
            R.flags.writeable = p.flags.writeable = False
        object.__setattr__(self, 'links', MappingProxyType(dict(self.links)))
        object.__setattr__(self, 'joints', MappingProxyType(dict(self.joints)))

    def __repr__(self) -> str:
        return f'<Model {self.name!r}: bodies {len(self.bodies) - 1}, loops {len(self.loops)}>'

    def __reduce__(self) -> tuple[Any, ...]:
        values = (vars(self)[name] for name in self.__dataclass_fields__)
        return Model, tuple(
            dict(value) if isinstance(value, MappingProxyType) else value for value in values
        )

    @property
    def nv(self) -> int:
        """Return the number of velocities of the tree as described."""
        return len(self.dofs)

    @property
    def room(self) -> int:
        """Return the number of velocities once every joint is cut."""
        return FREE_FLIGHT_ROOM * (len(self.bodies) - 1)

    @cached_property
    def handle(self) -> NDArray[np.int64]:
        """Return the handle that mechanisms of this model begin with: addresses, lengths."""
        handle = np.zeros(2 * len(at.TABLES), np.int64)
        tables = {
            'home_bodies': self.bodies,
            'home_dofs': self.dofs,
            'home_couplings': self.couplings,
            'home_terms': self.terms,
            'home_springs': self.springs,
            'home_actuators': self.actuators,
            'waypoints': self.waypoints,
        }
        for name, table in tables.items():
            handle[at.SLOTS[name]] = table.ctypes.data
            handle[at.SLOTS[name] + 1] = len(table)
        for layout in (self.structure_layout, self.workspace_layout):
            for name, count, _ in layout.tables:
                handle[at.SLOTS[name] + 1] = count
        return handle

    @cached_property
    def link_table(self) -> LinkTable:
        """Return links and joints as arrays."""
        return LinkTable.of(self.description, self.links)

    @cached_property
    def structure_layout(self) -> Layout:
        """Return the layout of a structure's tables, with room for cutting every joint."""
        n = len(self.bodies)
        return Layout.of(
            {
                'world': 1,
                'shape': 1,
                'bodies': n,
                'dofs': self.room,
                'loop_dofs': len(self.loop_dofs),
                'holds': len(self.holds),
                'loops': len(self.loops),
                'couplings': len(self.couplings),
                'terms': len(self.terms),
                'springs': len(self.springs),
                'actuators': len(self.actuators),
                'clusters': n,
                'cluster_dofs': self.room,
                'cluster_bodies': n,
                'cluster_loops': len(self.loops),
                'cluster_couplings': len(self.couplings),
            }
        )

    @cached_property
    def workspace_layout(self) -> Layout:
        """Return the layout of a workspace's tables, with room for cutting every joint."""
        n, room, rows = len(self.bodies), self.room, self.max_rows
        return Layout.of(
            {
                'totals': 1,
                'moving': n,
                'inertias': n,
                'columns': room,
                'frames': len(self.loops),
                'rows': rows,
                'loop_columns': len(self.loop_dofs),
                'pieces': len(self.terms) + len(self.waypoints),
                'zeros': room,
                'tau': room,
                'drift': room,
                'torques': len(self.actuators),
                'extra': room,
                # per cluster the augmented constraint matrix and a few square matrices; the worst
                # case is that all joints form one cluster, but for what is spare in each
                'scratch': rows * (room + 3 + rows + ROOM)
                + 2 * room * room
                + (8 + 4 * (1 + ROOM)) * room
                + (1 + 2 * ROOM + 2 * (1 + ROOM) ** 2) * n,
            }
        )

    @cached_property
    def loop_names(self) -> tuple[str, ...]:
        """Return the names of the loop joints."""
        return tuple(loop.name for loop in self.description.loops)

    @cached_property
    def coupling_names(self) -> tuple[str, ...]:
        """Return the names of the couplings."""
        return tuple(coupling.name for coupling in self.description.couplings)

    @cached_property
    def max_rows(self) -> int:
        """Return how many rows J_C can have: a point that sticks to its surface has three."""
        return (
            len(self.couplings)
            + len(self.holds)
            + sum(
                3 if loop.type is LoopType.SURFACE else loop.type.rows
                for loop in self.description.loops
            )
        )
