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

"""What acts on single links apart from joints: inertia, weight, springs and external wrenches."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.constraint_forces import tree_force
from closed_chain_dynamics.dynamics.tree import body_motion
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.kernels.passive import NO_LENGTH, joint_force
from closed_chain_dynamics.model.link_table import LinkTable
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['LAST', 'NEXT', 'LinkLoads', 'LoopEfforts', 'cross', 'find_link_loads', 'loop_efforts']

NEXT, LAST = [1, 2, 0], [2, 0, 1]  # axes in the order of a vector product
External = list[tuple[int, Vector, Vector]]  # link, point, wrench (6,)


@dataclass(frozen=True, eq=False)
class LinkLoads:
    """
    Arrays over the links of a mechanism, parents first; all in world axes.

    Points are measured from O, which rides along, so that far from the world's origin no digits
    are lost.
    """

    links: LinkTable
    rotation: Matrix  # (n, 3, 3)
    point: Matrix  # origin of the link, (n, 3)
    com: Matrix  # centre of mass, (n, 3)
    force: Matrix  # that the motion needs, less the weight, (n, 3)
    moment: Matrix  # the same about the centre of mass, (n, 3)
    external: External  # of every force from outside, spring and soft contact
    origin: Vector  # where O is in the world, (3,)
    size: float  # the largest weight or inertial force, which may cancel in `force`


def cross(a: ArrayLike, b: ArrayLike) -> Matrix:
    """Return the vector product along the last axis; numpy's own takes ten times as long."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return np.asarray(a[..., NEXT] * b[..., LAST] - a[..., LAST] * b[..., NEXT])


def find_link_loads(
    robot: Mechanism,
    q: Vector,
    v: Vector,
    a: Vector,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> LinkLoads:
    """
    Return the LinkLoads of a motion: Newton's and Euler's equations of every link on its own.

    q, v, a: of the tree; `wrenches`: {link: (6,)} in world axes at the link origin.
    """
    R, point, V, A, origin = _link_motion(robot, q, v, a)
    links = robot.model.link_table
    arm = np.einsum('nij,nj->ni', R, links.com)
    tensor = R @ links.tensor @ R.transpose(0, 2, 1)
    omega, alpha = V[:, 3:], A[:, 3:]
    linear = A[:, :3] + cross(alpha, arm) + cross(omega, cross(omega, arm))
    spin = np.einsum('nij,nj->ni', tensor, omega)
    size = links.mass * np.maximum(np.linalg.norm(linear, axis=1), np.linalg.norm(robot.gravity))
    external = [
        (
            links.index[link],
            point[links.index[link]],
            robot.vector(wrench, 6, f'wrench on link {link!r}'),
        )
        for link, wrench in (wrenches or {}).items()
    ]
    loads = LinkLoads(
        links,
        R,
        point,
        point + arm,
        links.mass[:, None] * linear - links.weight[:, None] * robot.gravity,
        np.einsum('nij,nj->ni', tensor, alpha) + cross(omega, spin),
        external,
        origin,
        float(size.max()),
    )
    _add_springs(robot, loads, V)
    if np.any((robot.structure.loops['active'] != 0) & (robot.structure.loops['mode'] == at.SOFT)):
        tree_force(robot, q, v, a)  # finds the forces of soft contacts
        _add_soft_contacts(robot, loads)
    return loads


def _link_motion(
    robot: Mechanism, q: Vector, v: Vector, a: Vector
) -> tuple[Matrix, Matrix, Matrix, Matrix, Vector]:
    """Return R, origin, velocity and classical acceleration of every link there, and O."""
    bodies, places, origin = body_motion(robot, q, v, a)
    links = robot.model.link_table
    body = links.body
    R_body: Matrix = places['R'][body]
    arm = np.einsum('nij,nj->ni', R_body, links.point)
    V, A = bodies[body, :6], bodies[body, 6:]
    V[:, :3] += cross(V[:, 3:], arm)
    # A is the rate of V at a point that rests; the link's own point moves on with V
    A[:, :3] += cross(A[:, 3:], arm) + cross(V[:, 3:], V[:, :3])
    return R_body @ links.rotation, places['p'][body] + arm, V, A, origin


def _add_springs(robot: Mechanism, loads: LinkLoads, V: Matrix) -> None:
    """Add the forces of springs between two points to both of their links."""
    for spring in robot.description.springs:
        if spring.type != 'linear':
            continue
        ends, rates = [], []
        for link, xyz in ((spring.from_link, spring.from_xyz), (spring.to_link, spring.to_xyz)):
            k = loads.links.index[link]
            arm = loads.rotation[k] @ np.array(xyz)
            ends.append((k, loads.point[k] + arm))
            rates.append(V[k, :3] + cross(V[k, 3:], arm))
        way = ends[1][1] - ends[0][1]
        length = np.linalg.norm(way)
        if length < NO_LENGTH:
            continue
        way = way / length
        pull = spring.stiffness * (length - spring.rest) + spring.damping * (
            way @ (rates[1] - rates[0])
        )
        for (k, point), sign in zip(ends, (1.0, -1.0)):
            loads.external.append((k, point, np.concatenate([sign * pull * way, np.zeros(3)])))


def _add_soft_contacts(robot: Mechanism, loads: LinkLoads) -> None:
    """Add the forces of soft contacts, which have just been found."""
    tables = zip(robot.description.loops, robot.structure.loops, robot.workspace.frames)
    for loop, kind, frame in tables:
        if kind['active'] and kind['mode'] == at.SOFT:
            force = frame['friction'] + frame['normal_force'] * frame['normal']
            point = frame['point'].copy()
            for link, sign in ((loop.child, 1.0), (loop.parent, -1.0)):
                loads.external.append(
                    (loads.links.index[link], point, np.concatenate([sign * force, np.zeros(3)]))
                )


@dataclass(frozen=True, eq=False)
class LoopEfforts:
    """What motors, rotors and passive elements do along each coordinate of the loop joints."""

    efforts: Vector  # (loop coordinates,) [N m or N], on the child; of open loops too
    covectors: Matrix  # along which they act, (loop coordinates, 6) at O


def loop_efforts(robot: Mechanism, q: Vector, v: Vector, a: Vector, tau_A: Vector) -> LoopEfforts:
    """Return the LoopEfforts of a motion under torques of the actuators."""
    n = len(robot.loop_coordinate_names)
    L, positions = np.empty((n, robot.nv)), np.empty(n)
    kernels.compute_loop_jacobian(robot.handle, q, v, L, positions)
    covectors = robot.workspace.loop_columns['f'].copy()
    rates, bias = L @ v, np.empty(n)
    kernels.compute_loop_bias(robot.handle, q, v, bias)
    efforts = -robot.structure.loop_dofs['armature'] * (L @ a + bias)
    for loop in robot.model.loops:
        for d in range(loop['dof'], loop['dof'] + loop['n_dofs']):
            law = robot.structure.loop_dofs[d]
            efforts[d] += joint_force(law, positions[d], rates[d], loop['n_dofs'] == 1)[0]
    for spring in robot.description.springs:
        if spring.joint in robot.loop_coordinate_names:
            d = robot.loop_coordinate_names.index(spring.joint)
            efforts[d] -= (
                spring.stiffness * (positions[d] - spring.rest) + spring.damping * rates[d]
            )
    for actuator, torque in zip(robot.structure.actuators, tau_A):
        if actuator['on_loop']:
            efforts[actuator['dof']] += torque
    return LoopEfforts(efforts, covectors)
