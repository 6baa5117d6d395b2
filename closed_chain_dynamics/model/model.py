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
from closed_chain_dynamics.model.bodies import Placement

__all__ = ['Model', 'Records']

Records = NDArray[np.void]  # of one of the records in kernels.records
ROOM = 6  # velocities of a body whose joint was cut: it flies freely


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
    couplings: Records
    terms: Records
    springs: Records
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
        return ROOM * (len(self.bodies) - 1)

    def tables(self) -> dict[str, Records]:
        """Return the tables that structures start from, by their names in a handle."""
        return {
            'home_bodies': self.bodies,
            'home_dofs': self.dofs,
            'home_couplings': self.couplings,
            'home_terms': self.terms,
            'home_springs': self.springs,
            'home_actuators': self.actuators,
            'loop_dofs': self.loop_dofs,
        }

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
        return len(self.couplings) + sum(
            3 if loop.type is LoopType.SURFACE else loop.type.rows
            for loop in self.description.loops
        )
