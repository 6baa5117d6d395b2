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
A mechanism, as users hold it: a model, the structure it has now, and a workspace.

The model never changes and is shared; the structure changes at events and has one owner; the
workspace is written to by every computation and belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import FLOAT, Vector
from closed_chain_dynamics.description import Description, read, write
from closed_chain_dynamics.description.document import BEFORE_XML
from closed_chain_dynamics.errors import DescriptionError, StateError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model import changes, library, state_errors
from closed_chain_dynamics.model.diagram import draw_tree
from closed_chain_dynamics.model.model import Model, Records
from closed_chain_dynamics.model.names import ModelNames
from closed_chain_dynamics.model.packing import pack
from closed_chain_dynamics.model.structure import OF_DIGITS, Connections, Structure
from closed_chain_dynamics.model.surfaces import Surface
from closed_chain_dynamics.model.workspace import Workspace

__all__ = ['Mechanism', 'load']

STANDARD_GRAVITY = (0.0, 0.0, -9.80665)
PER_VELOCITY_SLOTS = np.array([at.SLOTS[name] + 1 for name in at.PER_VELOCITY])


def load(
    source: Any,
    *,
    root_joint: str = 'fixed',
    actuated: Sequence[str] | None = None,
    gravity: ArrayLike | None = None,
    xacro_args: Mapping[str, str] | None = None,
    inertia: str = 'check',
    cut: Sequence[str] = (),
) -> Mechanism:
    """
    Return the Mechanism that a file describes.

    `source` is a path (.urdf, .xacro, ...), the name of a shipped model, a string of XML, a parsed
    `urdf_parser_py` robot, or a `pinocchio.Model`, alone or in a pair with its constraint models.
    `root_joint='floating'` lets the root link move freely; `actuated` names the actuated joints
    (tree or loop) and overrides the file; `gravity` in world axes [m/s^2], None for that of the
    file, or the standard one where the file gives none. `xacro_args` are the arguments of a xacro
    file. `inertia` says what is done with inertias that no body can have, and with joints that
    move no mass: 'check' keeps what leaves the mass matrix positive definite and refuses the rest,
    'repair' corrects them, 'trust' keeps them as they are. `cut` names joints of an SDF, which is
    a graph, that close loops.
    """
    if isinstance(source, (str, PathLike)) and not str(source).lstrip(BEFORE_XML).startswith('<'):
        source = library.find(source)
    description = read(
        source,
        root_joint=root_joint,
        actuated=actuated,
        xacro_args=xacro_args,
        inertia=inertia,
        cut=cut,
    )
    return Mechanism(description, gravity=gravity)


def _checked_gravity(gravity: ArrayLike, where: str) -> Vector:
    try:
        checked = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        checked = np.full(3, np.nan)
    if checked.shape != (3,) or not np.all(np.isfinite(checked)):
        raise StateError(
            'gravity must be three finite numbers',
            where=where,
            repair='For example (0, 0, -9.80665), in world axes [m/s^2].',
        )
    return checked


class Mechanism(ModelNames):
    """
    Bodies, joints and loops of one or several robots, ready for computation.

    `joint_names`, `link_names`, `loop_names`, `coupling_names` and `actuator_names` are names, in
    order; `coordinate_names` has one for each velocity of the tree, `loop_coordinate_names` one
    for each of the loop joints. `nq` and `nv` are the lengths of q and v, and `description` is
    what the file said. Computations write into the mechanism's own workspace: use one `copy()`
    per thread.
    """

    def __init__(self, description: Description, *, gravity: ArrayLike | None = None) -> None:
        if gravity is None:
            gravity = description.gravity or STANDARD_GRAVITY
        model = pack(description, _checked_gravity(gravity, description.name))
        self._hold(model, Structure(model))
        self.build()
        state_errors.refuse_loops_in_one_body(self)

    def _hold(self, model: Model, structure: Structure) -> None:
        """Take a model and a structure; make a workspace, and the handle of all three."""
        self.model, self.structure, self.workspace = model, structure, Workspace(model)
        self._changes, self._kept, self._kept_at = structure.changes, structure, -1
        self.changes = 0  # of structure and gravity so far: whoever kept something looks at it
        self._take_names()
        if structure.surfaces:
            structure.address_surfaces(self.loop_names)
        self.handle = model.handle.copy()
        structure.layout.write_addresses(structure.memory, self.handle)
        self.workspace.layout.write_addresses(self.workspace.memory, self.handle)
        self._note_sizes()

    def __repr__(self) -> str:
        return (
            f'<Mechanism {self.name!r}: velocities {self.nv}, loops {len(self.loop_names)}, '
            f'actuators {len(self.actuator_names)}>'
        )

    def _repr_html_(self) -> str:
        closed = {name: self.is_connected(name) for name in self.loop_names}
        drawing = draw_tree(self.description, self.actuator_names, closed)
        return f'<div><div>{escape(repr(self))}</div>{drawing}</div>'

    # --- copies --------------------------------------------------------------------------------
    @classmethod
    def in_structure(cls, model: Model, structure: Structure) -> Mechanism:
        """Return a new mechanism in a copy of a structure."""
        other = cls.__new__(cls)
        other._hold(model, structure.copy())
        return other

    def copy(self) -> Mechanism:
        """Return an independent mechanism in the same structure, with its own workspace."""
        return self.in_structure(self.model, self.structure)

    def kept_structure(self) -> Structure:
        """
        Return a read-only copy of the present structure, which later changes do not affect.

        Callers share one copy until the structure changes, which makes it cheap to keep.
        """
        changes = self._changes.item()
        if changes != self._kept_at:
            self._kept, self._kept_at = self.structure.copy(), changes
        return self._kept

    def __copy__(self) -> Mechanism:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Mechanism:
        return self.copy()

    def __getstate__(self) -> tuple[Model, Structure]:
        return self.model, self.structure

    def __setstate__(self, state: tuple[Model, Structure]) -> None:
        self._hold(*state)

    def compile(self, q: ArrayLike | None = None) -> Any:
        """Return this mechanism in generated code for its present structure; see `codegen`."""
        from closed_chain_dynamics.codegen.compiled import compile_mechanism

        return compile_mechanism(self, q)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the description as URDF with the tags of this package."""
        write(self.description, Path(path))

    # --- what it stands in ---------------------------------------------------------------------
    @property
    def gravity(self) -> Vector:
        """Return the acceleration of gravity in world axes, (3,) [m/s^2]; may be assigned."""
        gravity: Vector = self.structure.world['gravity'].copy()
        return gravity

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self.structure.world['gravity'] = _checked_gravity(value, self.name)
        self.changes += 1
        self.structure.changed()

    @property
    def total_mass(self) -> float:
        """Return the mass of all links, those fixed to the world included [kg]."""
        return float(self.model.bodies['mass'].sum())

    def set_surface(self, name: str, function: Callable[[Any, Any, Any], Any]) -> None:
        """Let the point of a surface loop slide on C(x, y, z) = 0; see `surfaces.Surface`."""
        where = f'loop joint {name!r}'
        if self.structure.loops[self.index('loop', name)]['type'] != at.LOOP_SURFACE:
            raise DescriptionError(
                'it is not a point on a surface',
                where=where,
                file=self.description.file,
                repair='Write type="surface".',
            )
        if self.structure.loops[self.index('loop', name)]['ball'] > 0.0:
            raise DescriptionError(
                'a ball or a wheel does not roll on a surface that is given as a function',
                where=where,
                file=self.description.file,
                repair='Write surface="plane", "sphere" or "cylinder", or let a point touch.',
            )
        self.structure.surfaces[name] = Surface(function, where)
        self.structure.address_surfaces(self.loop_names)
        self.changes += 1
        self.structure.changed()

    def set_loads(self, loads: Records) -> None:
        """Let external wrenches act, an array of LOAD records, until others are set."""
        slot, kept = at.SLOTS['loads'], self.workspace.loads
        if len(loads) > len(kept):  # more than ever before
            kept = self.workspace.loads = np.zeros(len(loads), at.LOAD)
            self.handle[slot] = kept.ctypes.data
        kept[: len(loads)] = loads
        self.handle[slot + 1] = len(loads)

    def set_extra(self, forces: Vector | None) -> None:
        """Let forces act on the coordinates, (nv,), until others are set; None: no forces."""
        self.handle[at.SLOTS['extra'] + 1] = 0 if forces is None else self.nv
        if forces is not None:
            self.workspace.extra[: self.nv] = forces

    # --- states --------------------------------------------------------------------------------
    def neutral(self) -> Vector:
        """Return the configuration with every joint at zero, (nq,)."""
        q = np.empty(self.nq)
        kernels.neutral(self.handle, q)
        return q

    def vector(self, values: ArrayLike, length: int, what: str) -> Vector:
        """Return values as a contiguous array of floats, or say what does not fit."""
        if type(values) is np.ndarray and values.dtype is FLOAT and values.shape == (length,):
            # what kernels take is not copied; what is read only or a row of something else is
            return values if values.flags.carray else values.copy()
        return state_errors.vector(self, values, length, what)

    def raise_for(self, status: int, q: Vector, *rates: Vector) -> NoReturn:
        """Raise the error that a kernel's status stands for, naming the coordinate."""
        raise state_errors.error_for(self, status, q, *rates)

    def loop_gaps(self, q: ArrayLike) -> dict[str, tuple[float, float]]:
        """Return how far closed loops and couplings are open at q, {name: (metres, radians)}."""
        return state_errors.loop_gaps(self, self.vector(q, self.nq, 'q'))

    # --- structure: see `changes` --------------------------------------------------------------
    def is_connected(self, name: str) -> bool:
        """Return whether a joint, of a loop or of the tree, is closed."""
        return not changes.is_cut(self, name)

    def connect(self, name: str) -> None:
        """Close a loop joint: its virtual link joins the structure (Nakamura and Yamane, V-B)."""
        changes.switch(self, name, True)

    def cut(self, name: str) -> None:
        """Open a loop joint: its virtual link leaves the structure (Nakamura and Yamane, V-B)."""
        changes.switch(self, name, False)

    def connections(self) -> Connections:
        """Return which joints are connected and which are cut; `restructure` restores them."""
        return self.structure.connections(self.model)

    def restructure(self, connections: Connections) -> None:
        """Restore what `connections` returned."""
        self.structure.switch(connections)
        free = connections.free(len(self.model.bodies))
        if not np.array_equal(free, self.structure.is_free(self.model)):
            kernels.compute_layout(self.handle, free)
        self.build()

    def build(self) -> None:
        """Find the clusters; forget the rank of the loops away from singular poses."""
        kernels.build_clusters(self.handle)
        self.took_shape()

    def regroup(self) -> None:
        """Find the clusters where only contacts have changed, or what holds joints."""
        with self.same_digits():
            self.build()

    @contextmanager
    def same_digits(self) -> Iterator[None]:
        """Keep what was learnt of the digits that a file gives its loops with, in a new shape."""
        learnt = {name: self.structure.world[name] for name in OF_DIGITS}
        try:
            yield
        finally:
            for name, value in learnt.items():
                self.structure.world[name] = value

    def took_shape(self) -> None:
        """Note that the structure has changed."""
        self.changes += 1
        self.structure.sizes = None
        for name in OF_DIGITS:
            self.structure.world[name] = self.model.world[name][0]
        self.rank_known = self.structure.motions_known = self.structure.shape['n_rows'] == 0
        self._note_sizes()

    @property
    def rank_known(self) -> bool:
        """Return whether the rank away from singular poses has been learnt; may be assigned."""
        return self.structure.rank_known

    @rank_known.setter
    def rank_known(self, known: bool) -> None:
        self.structure.rank_known = bool(known)

    def _note_sizes(self) -> None:
        """Note names and sizes of the present structure."""
        self._name_coordinates()
        self.handle[PER_VELOCITY_SLOTS] = self.nv
        # what inverse dynamics writes: mobility, tau_O, tau_A and tau_G
        self.n_forces = 1 + 2 * self.nv + len(self.actuator_names)
        # what forward dynamics writes: q, v, tau_A and theta_O''
        self.n_answer = self.nq + 2 * self.nv + len(self.actuator_names)
        self.set_extra(None)
