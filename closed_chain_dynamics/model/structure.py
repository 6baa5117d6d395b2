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
What of a mechanism changes at events: what is closed and cut, clusters, theta_G, rank.

Nakamura and Yamane, section IV, describe links by pointers: `parent`, `child`, `brother`, and
`real` for the virtual link that stands in for a link at a cut joint. Here the pointers are
indices: a body's record holds its parent, a loop's holds the body that carries the virtual link
and the real one.
Connecting and cutting switches records on and off; nothing is allocated or compiled again, for
there is room for six velocities a body from the start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.memory import Tables
from closed_chain_dynamics.model.model import Model, Records
from closed_chain_dynamics.model.surfaces import Surface

__all__ = ['OF_DIGITS', 'Connections', 'Structure']

LAWS = ('damping', 'friction', 'stop_stiffness', 'stop_damping')
SWITCHES = ['active', 'mode', 'n_rows']  # what events change of a loop
# what is learnt of the digits that a file gives its loops with
OF_DIGITS = 'rounded', 'closing_tolerance', 'rank_tolerance'


@dataclass(frozen=True)
class Connections:
    """Which joints are connected and cut: a value, to go back to with `restructure`."""

    loops: tuple[tuple[int, int, int], ...]  # of each loop: active, mode, rows
    cut: tuple[int, ...]  # bodies whose joint of the tree is cut
    # of joints that turn, at the moment they were cut: they come back with as many whole turns
    angles: tuple[tuple[str, float], ...] = field(default=(), compare=False)
    # where the coordinates of loop joints were seen: their whole turns are counted from there
    seen: tuple[float, ...] = field(default=(), compare=False)

    def free(self, n: int) -> NDArray[np.bool_]:
        """Return which of n bodies fly freely, (n,)."""
        free = np.zeros(n, dtype=bool)
        free[list(self.cut)] = True
        return free


class Structure(Tables):
    """The tables that events change. `shape` and `world` are single records."""

    _world: Records
    _shape: Records
    _dofs: Records
    _clusters: Records
    _cluster_dofs: NDArray[np.int64]
    bodies: Records
    loop_dofs: Records
    holds: Records
    loops: Records
    couplings: Records
    terms: Records
    springs: Records
    actuators: Records
    cluster_bodies: NDArray[np.int64]
    cluster_loops: NDArray[np.int64]
    cluster_couplings: NDArray[np.int64]

    def __repr__(self) -> str:
        closed = int(self.loops['active'].sum())
        return f'<Structure: {closed} of {len(self.loops)} loops closed>'

    def __init__(self, model: Model) -> None:
        self.layout = model.structure_layout
        self.rank_known = False  # whether the rank away from singular poses has been learnt
        self.motions_known = False  # whether `levers` and `ways` away from them have been learnt
        # lengths of q and v, and a name per velocity, noted by the mechanism
        self.sizes: tuple[int, int, list[str]] | None = None
        self.angles: dict[str, float] = {}  # see Connections
        self.surfaces: dict[str, Surface] = {}  # given as functions, by loop
        self.memory = self.layout.memory()
        self._world[:], self._dofs[: model.nv] = model.world, model.dofs
        self.bodies[:], self.loops[:] = model.bodies, model.loops
        self.loop_dofs[:], self.holds[:] = model.loop_dofs, model.holds
        self.couplings[:], self.terms[:] = model.couplings, model.terms
        self.springs[:], self.actuators[:] = model.springs, model.actuators
        self.shape['nq'], self.shape['nv'] = model.nq, model.nv
        self.shape['passive_joints'] = _any_law(model.dofs)
        self.shape['passive_loops'] = _any_law(model.loop_dofs) or np.any(
            model.loops['mode'] == at.SOFT
        )
        self.shape['inner_rotors'] = sum(
            np.count_nonzero(table['armature']) for table in (model.loop_dofs, model.springs)
        )

    @property
    def world(self) -> np.void:
        """Return gravity, typical length and tolerances."""
        record: np.void = self._world[0]
        return record

    @property
    def shape(self) -> np.void:
        """Return the numbers of positions, velocities, clusters, rows and contacts, and ranks."""
        record: np.void = self._shape[0]
        return record

    @property
    def changes(self) -> NDArray[np.int64]:
        """Return the place where changes are counted, (1,)."""
        return self._shape['changes']

    def changed(self) -> None:
        """Count a change that no kernel has made."""
        self._shape['changes'] += 1

    @property
    def dofs(self) -> Records:
        """Return a record per velocity of the tree as it is now, (nv,)."""
        return self._dofs[: self.shape['nv']]

    @property
    def clusters(self) -> Records:
        """Return a record per cluster."""
        return self._clusters[: self.shape['n_clusters']]

    @property
    def cluster_dofs(self) -> NDArray[np.int64]:
        """Return the velocities, cluster by cluster, (nv,)."""
        return self._cluster_dofs[: self.shape['nv']]

    def dofs_of(self, cluster: int) -> NDArray[np.int64]:
        """Return the velocities of a cluster."""
        first, count = (int(self._clusters[cluster][name]) for name in ('first_dof', 'n_dofs'))
        return self._cluster_dofs[first : first + count]

    def know_rank(self, other: 'Structure') -> None:
        """Take over what another one in the same structure has learnt of rank and rounding."""
        for name in OF_DIGITS:
            self.world[name] = other.world[name]
        self.clusters['full_rank'] = other.clusters['full_rank']
        self.shape['full_rank'] = other.shape['full_rank']
        self.rank_known = other.rank_known
        self.changed()

    def know_motions(self, other: 'Structure') -> None:
        """Take over what another one in the same structure has learnt of motions nearby."""
        self.bodies['ways'] = other.bodies['ways']
        self.clusters['levers'] = other.clusters['levers']
        self.motions_known = other.motions_known

    def copy(self) -> 'Structure':
        """Return an independent structure: the same connections, theta_G and rank."""
        other = Structure.__new__(Structure)
        vars(other).update(self.__getstate__(), memory=self.memory.copy())
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {
            'layout': self.layout,
            'rank_known': self.rank_known,
            'motions_known': self.motions_known,
            'sizes': self.sizes,
            'angles': dict(self.angles),
            'surfaces': dict(self.surfaces),
            'memory': self.memory,
        }

    def connections(self, model: Model) -> Connections:
        """Return which joints are connected and cut."""
        return Connections(
            tuple(map(tuple, self.loops[SWITCHES].tolist())),
            tuple(np.flatnonzero(self.is_free(model)).tolist()),
            tuple(self.angles.items()),
            tuple(self.loop_dofs['seen'].tolist()),
        )

    def switch(self, connections: Connections) -> None:
        """Switch every loop as connections say; tree joints are the kernels' task."""
        for row, (active, mode, n_rows) in zip(self.loops, connections.loops):
            row['active'], row['mode'], row['n_rows'] = active, mode, n_rows
        self.angles = dict(connections.angles)
        if connections.seen:
            self.loop_dofs['seen'] = connections.seen
        self.holds['active'] = 0  # what holds is found anew

    def is_free(self, model: Model) -> NDArray[np.bool_]:
        """Return which bodies a cut has set free, (n,)."""
        home, now = model.bodies, self.bodies
        free: NDArray[np.bool_] = (now['parent'] != home['parent']) | (
            now['joint'] != home['joint']
        )
        return free

    @property
    def tree(self) -> bytes:
        """Return how bodies hang on each other, to compare: loops do not change it, cuts do."""
        return b''.join(self.bodies[name].tobytes() for name in ('parent', 'joint', 'iq', 'iv'))

    def address_surfaces(self, names: Sequence[str]) -> None:
        """Point loops at their compiled surfaces, which stand elsewhere in every process."""
        for name, surface in self.surfaces.items():
            loop = self.loops[names.index(name)]
            loop['shape'], loop['function'] = at.FUNCTION, surface.address


def _any_law(dofs: Records) -> bool:
    """Return whether any joint has damping, friction or a limit moment."""
    return any(bool(np.any(dofs[name])) for name in LAWS)
