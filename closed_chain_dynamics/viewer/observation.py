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

"""What there is to see of a mechanism at an instant; every number comes from the core."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.contacts import contact_forces
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.joint_reactions import reactions
from closed_chain_dynamics.dynamics.tree import center_of_mass, energy
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.changes import cut_joints
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.tracks import Track, link_tracks, loop_tracks

__all__ = ['Loop', 'Observation', 'ShownForce', 'Snapshot', 'explain', 'observe']

SHOWN_MODES = {at.SLIDE: 'sliding', at.STICK: 'sticking'}  # of closed contacts


@dataclass(frozen=True)
class Snapshot:
    """
    The state of a mechanism, with a copy of it for whoever looks.

    `tau`: torques of the actuators, or None for a model at rest, which is shown with those that
    hold it there.
    """

    robot: Mechanism
    q: Vector
    v: Vector
    tau: Vector | None = None
    time: float = 0.0
    energy: tuple[float, float] | None = (
        None  # kinetic, and potential with springs, where it is known
    )
    wrenches: Mapping[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True)
class Loop:
    """A loop joint, or a joint of the tree that is cut."""

    name: str
    type: str
    state: str  # closed, open, sliding, sticking
    error: float  # of a closed one the gap [m or rad], else how far apart its ends are
    ends: Vector  # on the parent and on the child, world, (2, 3)


@dataclass(frozen=True)
class ShownForce:
    """A force on a link at a point of the world."""

    name: str
    kind: str  # loop, contact or joint
    point: Vector  # (3,) [m]
    vector: Vector  # (3,) [N]
    unique: bool = True


@dataclass(frozen=True)
class Observation:
    """Everything that is drawn, written into tables, and plotted."""

    snapshot: Snapshot
    rotations: Vector  # of all links in the order of `robot.link_names`, (links, 3, 3)
    positions: Vector  # (links, 3)
    loops: list[Loop]
    springs: list[Vector]  # ends of each linear spring, (2, 3)
    center_of_mass: Vector  # (3,)
    forces: list[ShownForce]
    torques: Vector  # (actuators,)
    kinetic: float
    potential: float

    @property
    def loop_error(self) -> float:
        """Return the largest error of all closed loops [m or rad]."""
        return max((loop.error for loop in self.loops if loop.state != 'open'), default=0.0)


def observe(snapshot: Snapshot) -> Observation:
    """Return the Observation of a snapshot."""
    robot, q = snapshot.robot, snapshot.q
    tracks = link_tracks(robot, [q])
    forces, torques = _forces(snapshot)
    kinetic, potential = snapshot.energy or energy(robot, q, snapshot.v)
    return Observation(
        snapshot,
        np.stack([tracks[link][0][0] for link in robot.link_names]),
        np.stack([tracks[link][1][0] for link in robot.link_names]),
        _loops(robot, q, tracks),
        _springs(robot, tracks),
        center_of_mass(robot, q),
        forces,
        torques,
        kinetic,
        potential,
    )


def explain(snapshot: Snapshot) -> str:
    """Return why these coordinates were chosen, in words."""
    try:
        return str(coordinates(snapshot.robot.copy(), snapshot.q))
    except ClosedChainError as error:
        return str(error)


def _loops(robot: Mechanism, q: Vector, tracks: Mapping[str, Track]) -> list[Loop]:
    gaps, loops = robot.loop_gaps(q), []
    modes = robot.structure.loops['mode']
    ends = [
        np.array([on_parent[0], on_child[0]])
        for _, on_parent, on_child in loop_tracks(robot, tracks)
    ]
    for loop, mode, points in zip(robot.description.loops, modes, ends):
        if loop.name in gaps:
            state, error = SHOWN_MODES.get(mode, 'closed'), max(gaps[loop.name])
        else:
            state, error = 'open', float(np.linalg.norm(points[1] - points[0]))
        loops.append(Loop(loop.name, loop.type.value, state, error, points))
    apart = cut_joints(robot)
    cut = [joint for joint in robot.description.joints if joint.name in apart]
    for joint, points in zip(cut, ends[len(loops) :]):
        loops.append(
            Loop(
                joint.name,
                joint.type.value,
                'open',
                float(np.linalg.norm(points[1] - points[0])),
                points,
            )
        )
    return loops


def _springs(robot: Mechanism, tracks: Mapping[str, Track]) -> list[Vector]:
    ends = []
    for spring in robot.description.springs:
        if spring.type == 'linear':
            ends.append(
                np.array(
                    [
                        tracks[link][1][0] + tracks[link][0][0] @ xyz
                        for link, xyz in (
                            (spring.from_link, spring.from_xyz),
                            (spring.to_link, spring.to_xyz),
                        )
                    ]
                )
            )
    return ends


def _forces(snapshot: Snapshot) -> tuple[list[ShownForce], Vector]:
    """Return the forces in all joints and contacts, and the torques of the actuators."""
    robot, q, v, tau = snapshot.robot, snapshot.q, snapshot.v, snapshot.tau
    wrenches, touching = snapshot.wrenches or None, {}
    acceleration = np.zeros(robot.nv)
    try:
        if tau is not None:
            acceleration = forward_dynamics(robot, q, v, tau, wrenches=wrenches).acceleration
            touching = _contacts(robot, q, v, tau, wrenches)
        found = reactions(robot, q, v, acceleration, tau, wrenches=wrenches)
    except ClosedChainError:  # a pose without an answer is shown without forces
        return [], np.zeros(len(robot.actuator_names)) if tau is None else tau
    forces = []
    for name, reaction in found.items():
        kind = 'contact' if name in touching else 'loop' if name in robot.loop_names else 'joint'
        forces.append(
            ShownForce(
                name, kind, reaction.point, touching.get(name, reaction.force), reaction.unique
            )
        )
    return forces, found.tau_A


def _contacts(
    robot: Mechanism, q: Vector, v: Vector, tau: Vector, wrenches: Mapping[str, Vector] | None
) -> dict[str, Vector]:
    """Return the whole force on the child of each closed contact, {name: (3,)}."""
    forces = contact_forces(robot, q, v, tau, wrenches=wrenches)
    normals = dict(zip(robot.loop_names, robot.workspace.frames['normal']))
    return {name: normal * normals[name] + drag for name, (normal, drag) in forces.items()}
