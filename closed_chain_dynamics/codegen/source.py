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
What a trace needs to know of a mechanism in its present structure, as frozen dataclasses.

Nothing else here reads a mechanism: `gathering` fills these in, with the clusters of
joints that loops tie together and the choice of theta_G.
"""

from dataclasses import dataclass
from typing import Any

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.elements import JointType, LoopType

__all__ = [
    'Motor',
    'Source',
    'SourceBody',
    'SourceCluster',
    'SourceCoupling',
    'SourceLaw',
    'SourceLoop',
    'SourceSpring',
    'SourceWaypoint',
    'Watched',
    'counted_loops',
]


@dataclass(frozen=True)
class SourceLaw:
    """Passive forces along one coordinate of a joint; see kernels/passive.py."""

    damping: float
    friction: float
    lower: float
    upper: float
    stop: tuple[float, float, float] | None  # stiffness, damping, transition
    limited: bool  # limits act on joints of one coordinate
    armature: float = 0.0  # inertia of a rotor, reflected
    slide: Any = None  # which way friction acts within a step of a simulation; None: by the rate


@dataclass(frozen=True, eq=False)
class SourceBody:
    """Links fixed to each other, moved by one joint; body 0 is the world and has none."""

    name: str
    parent: int
    kind: JointType
    iq: int
    iv: int
    nv: int
    R_tree: Array
    p_tree: Array
    mass: float
    com: Array
    inertia: Array  # about the centre of mass, (3, 3)
    lift: float  # mass whose weight is carried from outside
    lift_com: Array
    laws: tuple[SourceLaw, ...]


@dataclass(frozen=True, eq=False)
class SourceLoop:
    """A closed loop joint: its two frames, and the laws of its own coordinates."""

    name: str
    kind: LoopType
    body_1: int
    R_1: Array
    p_1: Array
    body_2: int
    R_2: Array
    p_2: Array
    laws: tuple[SourceLaw, ...]
    first_row: int  # of J_C
    seen: Any  # a position, from which whole turns are counted: a number, or a symbol


@dataclass(frozen=True)
class SourceCoupling:
    """0 = constant + the sum of c_1 x + c_2 x^2 + ... over its terms (velocity, place in q, c)."""

    name: str
    constant: float
    terms: tuple[tuple[int, int, tuple[float, ...]], ...]
    row: int  # of J_C


@dataclass(frozen=True, eq=False)
class SourceWaypoint:
    """A point that a path leads through, or a shape that it may wrap around."""

    body: int
    p: Array
    R: Array
    shape: str  # '' for a point
    radius: float
    side: tuple[int, Array] | None  # a point on the side that it takes
    begins: bool  # another branch
    share: float  # of the length of what follows


@dataclass(frozen=True, eq=False)
class SourceSpring:
    """
    A spring between two points, on coordinates of the tree or of a loop, or on a tendon.

    A tendon runs over joints of the tree, or along a path.
    """

    stiffness: float
    damping: float
    rest: float
    ends: tuple[tuple[int, Array], tuple[int, Array]] | None = None
    joint: tuple[int, int] | None = None  # places in v and q
    loop: int | None = None
    name: str = ''
    terms: tuple[tuple[int, int, float], ...] = ()  # of a tendon: places in v and q, coefficient
    slack: float = 0.0  # beyond the rest length, where it does not pull
    ball: tuple[int, int] | None = None  # of a ball joint's turning: places in v and q
    rest_turn: tuple[float, ...] = ()  # of a ball joint, x y z w
    path: tuple[SourceWaypoint, ...] = ()
    armature: float = 0.0  # a mass that moves as fast as a tendon becomes longer

    def length(self, q: Any) -> Any:
        """Return the length of a tendon over joints."""
        return sum(c * q[iq] for _, iq, c in self.terms)


@dataclass(frozen=True)
class Motor:
    """A motor on a velocity of the tree, on a coordinate of a loop, or on nothing that moves."""

    name: str
    dof: int | None = None
    loop: tuple[int, int] | None = None  # loop, coordinate of its joint


@dataclass(frozen=True)
class Watched:
    """A coordinate that a stop or friction may hold; see model/holds.py."""

    number: int  # of its record
    loop: int  # -1: a joint of the tree
    coordinate: int  # velocity of the tree, or coordinate of the loop joint
    iq: int  # its place in q, of a joint of the tree
    rubs: bool  # whether it has friction


@dataclass(frozen=True)
class SourceCluster:
    """Joints that loops tie together; they hang on body `parent`, which is outside."""

    parent: int
    bodies: tuple[int, ...]
    dofs: tuple[int, ...]
    dependent: tuple[int, ...]  # theta_S
    independent: tuple[int, ...]  # theta_G
    loops: tuple[int, ...]
    couplings: tuple[int, ...]
    tendons: tuple[int, ...] = ()  # springs that move a mass


@dataclass(frozen=True, eq=False)
class Source:
    """A mechanism in one structure with one choice of theta_G, all that a trace reads."""

    name: str
    nq: int
    nv: int
    gravity: Array
    bodies: tuple[SourceBody, ...]
    links: dict[str, tuple[int, Array, Array]]
    loops: tuple[SourceLoop, ...]
    couplings: tuple[SourceCoupling, ...]
    springs: tuple[SourceSpring, ...]
    motors: tuple[Motor, ...]
    clusters: tuple[SourceCluster, ...]
    rows: int  # of J_C
    independent: tuple[int, ...]  # theta_G in the order of the velocities
    coordinate_names: tuple[str, ...]
    length: float  # typical distance of joints [m]
    q: Array  # the pose in which pivots are chosen
    W: Array  # at that pose
    motor_rows: Array  # d theta_A / d theta_O there
    single: bool = False  # for numbers of single precision: tolerances are wider
    watched: tuple[Watched, ...] = ()
    symbols: Any = None  # parameters that are symbols, and their values; see `parameters`

    @property
    def independent_names(self) -> list[str]:
        """Return the names of theta_G."""
        return [self.coordinate_names[j] for j in self.independent]


def counted_loops(source: Source) -> list[int]:
    """Return the loops whose whole turns are counted while they move."""
    own = {w.loop for w in source.watched if w.loop >= 0}
    return [k for k in sorted(own) if source.loops[k].kind is LoopType.REVOLUTE]
