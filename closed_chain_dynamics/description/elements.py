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
What the user wrote, as frozen dataclasses: the one internal description of every dialect.

Values are plain tuples of floats in SI units, so that two descriptions can be compared with
``==`` and a file that was loaded, saved and loaded again gives an equal description.
Links stand in links.py and types in joint_types.py; readers and writers import all from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math

from closed_chain_dynamics.description.joint_types import JointType, LoopType
from closed_chain_dynamics.description.links import (
    WORLD_LINK,
    Geometry,
    Inertia,
    Link,
    Numbers,
    Pose,
    Shape,
)

__all__ = [
    'NO_TURN',
    'WORLD_LINK',
    'Actuator',
    'Assembly',
    'Contact',
    'Coupling',
    'CouplingTerm',
    'Description',
    'Dynamics',
    'Geometry',
    'Inertia',
    'Joint',
    'JointType',
    'Limit',
    'LimitMoment',
    'Link',
    'LoopJoint',
    'LoopType',
    'Numbers',
    'Pose',
    'Shape',
    'Spring',
    'Waypoint',
]

NO_TURN: Numbers = (0.0, 0.0, 0.0, 1.0)  # x y z w


@dataclass(frozen=True)
class Limit:
    """
    Range of a joint [rad or m], effort [N m or N] and speed; infinite where not given.

    `restitution`: the share of its speed with which the joint comes back from an end of its range.
    """

    lower: float = -math.inf
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    restitution: float = 0.0


@dataclass(frozen=True)
class Dynamics:
    """
    What resists the motion of a joint.

    Viscous damping [N m s/rad or N s/m], Coulomb friction [N m or N], and armature: the inertia of
    the rotor as the joint feels it, its own times the square of the gear ratio [kg m^2 or kg].
    """

    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0


@dataclass(frozen=True)
class LimitMoment:
    """A passive moment near the ends of a joint's range, in place of a hard stop."""

    model: str = 'linear'
    stiffness: float = 0.0
    damping: float = 0.0
    transition: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A joint of the tree. `axis` is a unit vector in the joint frame (normal of a planar one)."""

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose = Pose()
    axis: Numbers = (1.0, 0.0, 0.0)
    limit: Limit = Limit()
    dynamics: Dynamics = Dynamics()
    limit_moment: LimitMoment | None = None
    role: str = ''  # '', 'actuated' or 'passive': what the file says with cc:role
    independent: bool | None = None  # a preference for theta_G, never a motor


@dataclass(frozen=True)
class Contact:
    """
    Makes a point on a surface a contact: unit `normal` in the parent's loop frame, friction `mu`.

    `mu_static`: friction that holds a standing point (not given: `mu`). `surface`: 'plane', or
    'sphere' or 'cylinder' of a `radius` [m] about the frame's origin or normal. The child touches
    with the origin of its frame, with a `ball` of that radius [m] about it, or with the rim of a
    `wheel` about the axis of its frame. `restitution`: of the impulse at touch-down. With a
    `stiffness` [N/m] the contact is soft, a spring with `damping` [N s/m per m of depth] that
    pushes and never pulls.
    """

    normal: Numbers = (0.0, 0.0, 1.0)
    unilateral: bool = True
    mu: float = 0.0
    mu_static: float | None = None
    surface: str = 'plane'
    radius: float = 0.0
    ball: float = 0.0
    wheel: float = 0.0
    restitution: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0


@dataclass(frozen=True)
class LoopJoint:
    """
    A joint that closes a loop: the child's frame moves in the parent's frame as `type` lets it.

    Each axis is a unit vector in its own loop frame (the frame that its origin places).
    """

    name: str
    type: LoopType
    parent: str
    child: str
    parent_origin: Pose = Pose()
    child_origin: Pose = Pose()
    parent_axis: Numbers = (0.0, 0.0, 1.0)
    child_axis: Numbers = (0.0, 0.0, 1.0)
    active: bool = True
    limit: Limit = Limit()
    dynamics: Dynamics = Dynamics()
    limit_moment: LimitMoment | None = None
    role: str = ''
    contact: Contact | None = None

    @property
    def only_closes(self) -> bool:
        """Return whether it has no law, limit, rotor or motor."""
        plain = self.dynamics == Dynamics() and self.limit == Limit() and not self.limit_moment
        return plain and self.role != 'actuated'


@dataclass(frozen=True)
class CouplingTerm:
    """One joint in a coupling: c_1 q + c_2 q^2 + c_3 q^3 + c_4 q^4."""

    joint: str
    coefficients: Numbers


@dataclass(frozen=True)
class Coupling:
    """
    An equation between joint positions: constant + the sum of the terms = 0.

    A gear pair written with links keeps their names (`predecessor`, `successor`, `carrier`); its
    terms are q_s - ratio q_p - offset, each q the sum of the joints between carrier and link.
    """

    name: str
    terms: tuple[CouplingTerm, ...]
    constant: float = 0.0
    predecessor: str = ''
    successor: str = ''
    carrier: str = ''
    ratio: float = 1.0
    offset: float = 0.0
    active: bool = True


@dataclass(frozen=True)
class Waypoint:
    """
    A point that a path leads through, or a shape that it may wrap around.

    A `sphere` is about its origin, a `cylinder` along z of it and without end. The path goes round
    as one through the point `side` would, the shorter way where there is none; if that point is
    within the shape, the path touches it from within.
    """

    link: str
    origin: Pose = Pose()
    shape: str = ''  # '' for a point
    radius: float = 0.0
    side: tuple[str, Numbers] | None = None  # a link, and a point in its axes
    begins: bool = False  # another branch of the path: nothing leads here from the one before
    divisor: float = 1.0  # of the branch, by which its length counts less: pulleys


@dataclass(frozen=True)
class Spring:
    """
    A spring-damper: `linear`, `torsional`, `spherical`, along a `tendon` or along a `path`.

    Between two points, on a joint of one coordinate, on the turning of a ball joint, over joints
    of the tree, through points and around shapes. Stiffness [N/m or N m/rad], damping [N s/m or
    N m s/rad], rest length [m] or angle [rad]. The length of a tendon is the sum of its terms,
    each a coefficient times a joint of the tree. Tendons and paths may have slack, a width [m]
    beyond the rest length in which they do not pull, and an armature [kg], a mass that moves as
    fast as they become longer.
    """

    name: str
    type: str
    stiffness: float
    damping: float = 0.0
    rest: float = 0.0
    from_link: str = ''
    from_xyz: Numbers = (0.0, 0.0, 0.0)
    to_link: str = ''
    to_xyz: Numbers = (0.0, 0.0, 0.0)
    joint: str = ''
    terms: tuple[CouplingTerm, ...] = ()
    path: tuple[Waypoint, ...] = ()
    slack: float = 0.0
    armature: float = 0.0
    rest_turn: Numbers = NO_TURN  # of a spherical spring, x y z w

    @property
    def links(self) -> tuple[str, ...]:
        """Return the links that it is fastened to."""
        sides = (point.side[0] for point in self.path if point.side)
        ends = (self.from_link, self.to_link) if self.from_link else ()
        return (*ends, *(point.link for point in self.path), *sides)


@dataclass(frozen=True)
class Actuator:
    """An actuated joint (tree or loop) and where that was said."""

    joint: str
    source: str = field(default='argument', compare=False)


@dataclass(frozen=True)
class Assembly:
    """A named hint for closing the loops: joint positions to start from."""

    name: str
    # pairs (joint name, value): a number, or a tuple where the joint has several: x y z w of a
    # spherical joint, x y z before them of a floating one, x y cos sin of a planar one
    positions: tuple[tuple[str, float | Numbers], ...] = ()


@dataclass(frozen=True)
class Description:
    """A whole mechanism as it was written, whatever the dialect."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    loops: tuple[LoopJoint, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    springs: tuple[Spring, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    assemblies: tuple[Assembly, ...] = ()
    gravity: Numbers | None = None  # in world axes [m/s^2]; None where the file gives none
    file: str = field(default='', compare=False)
    notes: tuple[str, ...] = field(
        default=(), compare=False
    )  # warnings, each one a plain sentence

    @property
    def all_joints(self) -> tuple[Joint | LoopJoint, ...]:
        """Return the joints of the tree, then those of the loops."""
        return (*self.joints, *self.loops)

    @property
    def root(self) -> str:
        """Return the name of the link that no joint moves."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)
