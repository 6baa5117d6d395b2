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
Force and moment in every joint, cut joints included (Li et al., section II, for closed chains).

The loops hold with J_C^T lambda = tau_O - tau: what the motion of the tree needs, and neither
actuators nor passive forces give. lambda is a wrench in each loop joint; with these wrenches on
both of its links, Newton and Euler give the wrench in every joint of the tree, link by link from
the leaves inwards. Fixed joints are joints like the others; a contact's wrench is its normal force
and its friction, whether it slides or sticks.

Where rows of J_C are redundant, lambda is not unique: any null vector of J_C^T can be added, and
changes joints, fixed and moving, without moving anything. Those it changes are marked.

Symbol        Meaning                                                            Shape
lambda        forces in the rows of J_C, on the child against the parent         (rows,)
N             basis of the null space of J_C^T                                   (rows, k)
O             the point at which wrenches (force, moment) of all links are added (3,)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.actuation import Torques, actuator_torques, actuator_vector
from closed_chain_dynamics.dynamics.constraint_forces import drag, solve_multipliers, tree_force
from closed_chain_dynamics.dynamics.constraints import actuator_rows, constraint_jacobian
from closed_chain_dynamics.dynamics.contacts import Wrenches
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates, coordinates
from closed_chain_dynamics.dynamics.link_loads import (
    LAST,
    NEXT,
    LinkLoads,
    LoopEfforts,
    cross,
    find_link_loads,
    loop_efforts,
    moved_wrench,
)
from closed_chain_dynamics.dynamics.reaction_values import Reaction, Reactions
from closed_chain_dynamics.dynamics.values import constant
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['reactions']

JointPlaces = tuple[Matrix, Matrix]  # of all joints: axes asked for in the world, points from O
UNIQUE = 1e-9  # a null vector that changes a joint by less than this share of it is rounding
SPLITS = ('joints', 'loops')


def reactions(
    robot: Mechanism,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: Torques = None,
    *,
    wrenches: Wrenches = None,
    extra: ArrayLike | None = None,
    frame: str = 'world',
    split: str = 'joints',
) -> Reactions:
    """
    Return the Reactions of a motion: force and moment in every joint by name.

    Each acts on the child, from the parent, at the origin of the child's frame (of a loop joint:
    of its frame on the child), in world axes, or with `frame='joint'` in the axes of that frame,
    or in those of a link. The part along a free axis is the force of motors and passive elements.

    `tau`: torques by actuator name or as an array; None: the smallest that give this motion.
    `wrenches`: {link: (6,)} in world axes at the link origin; `extra`: forces on coordinates of
    the tree, (nv,). `split` says how redundant constraints share what they can: 'joints' takes the
    least norm over all moving joints, wherever the loops were cut; 'loops' the multipliers of
    least norm, as `constraint_forces` of forward dynamics has them.
    """
    if split not in SPLITS:
        raise StateError(
            f'unknown split {split!r}',
            where=robot.name,
            repair=f'Choose one of {", ".join(SPLITS)}.',
        )
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    a = robot.vector(a, robot.nv, 'a')
    if frame not in ('world', 'joint'):
        robot.link_frame(frame)  # an unknown name is refused before any work
    c, friction = coordinates(robot, q), dict[str, Vector]()
    needed = tree_force(robot, q, v, a, wrenches=wrenches)
    if extra is not None:
        needed -= robot.vector(extra, robot.nv, 'extra')
    rows_A = actuator_rows(robot, q)
    if robot.structure.shape['n_contacts']:

        def normal_forces(force: Vector) -> Vector:
            return solve_multipliers(c, _balance(robot, c, rows_A, tau, needed - force)[1])[0]

        dragged, friction = drag(robot, q, v, normal_forces)
        needed = needed - dragged
    tau_A, force = _balance(robot, c, rows_A, tau, needed)
    solution, null = solve_multipliers(c, force)
    loads = find_link_loads(robot, q, v, a, wrenches)
    # column 0 is the answer, the others what each null vector would change
    rows = np.column_stack([solution, *null])
    efforts = loop_efforts(robot, q, v, a, tau_A)
    on_loops = _loop_wrenches(robot, q, efforts, rows, friction)
    places = _places(loads, frame)
    found = _in_frames(np.concatenate([_joint_wrenches(loads, on_loops), on_loops]), places)
    first = 1
    for block in null if split == 'joints' else ():
        columns = slice(first, first + block.shape[1])
        x = _least_shares(robot, found, places[1], columns)
        solution = solution + block @ x
        found[:, :, 0] += found[:, :, columns] @ x
        first = columns.stop
    unique = _unique_components(robot, found)
    unique.flags.writeable = False
    wrenches_0, points = constant(found[:, :, 0].copy()), constant(places[1] + loads.origin)
    named = {
        joint.name: Reaction(
            wrench[:3], wrench[3:], bool(components.all()), point, frame, components, axes
        )
        for joint, wrench, point, components, axes in zip(
            robot.description.all_joints, wrenches_0, points, unique, constant(places[0])
        )
    }
    missing = force - c.J_C.T @ solution
    return Reactions(named, (c, loads), (solution, tau_A, missing))


def _balance(
    robot: Mechanism, c: Coordinates, rows_A: Matrix, tau: Torques, needed: Vector
) -> tuple[Vector, Vector]:
    """Return the actuators' torques, and what the loops have to add on the tree, (nv,)."""
    tau_A = actuator_vector(robot, tau, 'tau').copy()
    if not np.all(np.isfinite(needed)):
        raise StateError('tau or extra is not finite', where=robot.name)
    if tau is None and len(tau_A):
        tau_A = actuator_torques(robot, rows_A @ c.W, c.W.T @ needed, W=c.W).tau_A
    return tau_A, needed - rows_A.T @ tau_A


def _unique_components(robot: Mechanism, found: Matrix) -> NDArray[np.bool_]:
    """Return which numbers of each joint's wrench no null vector changes, (joints, 6)."""
    changes = np.abs(
        found[:, :, 1:] * np.repeat([robot.structure.world['length'], 1.0], 3)[:, None]
    )
    on_loops = changes[len(robot.description.joints) :]
    size = 1e-300 + on_loops.max(axis=1, initial=0.0).sum(axis=0)
    return np.asarray((changes <= UNIQUE * size).all(axis=2))


def _least_shares(robot: Mechanism, found: Matrix, points: Matrix, columns: slice) -> Vector:
    """
    Return how much of each null vector of one cluster makes its joints' wrenches least, (k,).

    Forces weigh against moments by the extent of the joints that share: neither the cut nor the
    rest of the mechanism matters. Fixed joints do not count, they only divide a body.
    """
    moving = {*robot.joint_names, *robot.loop_names}
    counts = [joint.name in moving for joint in robot.description.all_joints]
    shares = counts & (np.abs(found[:, :, columns]).max(axis=(1, 2)) > UNIQUE)
    if not shares.any():  # couplings that say the same: no joint feels how they share
        return np.zeros(columns.stop - columns.start)
    points = points[shares]
    length = np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1)))
    if length < UNIQUE * robot.structure.world['length']:  # all in one place
        length = robot.structure.world['length']
    rows = (found[shares] * np.repeat([length, 1.0], 3)[:, None]).reshape(-1, found.shape[2])
    return np.asarray(np.linalg.lstsq(rows[:, columns], -rows[:, 0], rcond=UNIQUE)[0])


def _loop_wrenches(
    robot: Mechanism, q: Vector, efforts: LoopEfforts, rows: Matrix, friction: Mapping[str, Vector]
) -> Matrix:
    """
    Return (loops, 6, 1 + k): wrenches at O on the child; rows: lambda and N, (rows, 1 + k).

    `friction`: {loop: (3,)}, of contacts that slide.
    """
    constraint_jacobian(robot, q)  # finds the covector of every row of J_C, and every frame
    covectors, frames = robot.workspace.rows['f'], robot.workspace.frames
    wrenches = np.zeros((len(frames), 6, rows.shape[1]))
    for name, wrench, loop, frame in zip(
        robot.loop_names, wrenches, robot.structure.loops, frames
    ):
        if loop['active']:
            mine = slice(loop['row'], loop['row'] + loop['n_rows'])
            own = slice(loop['dof'], loop['dof'] + loop['n_dofs'])
            wrench += covectors[mine].T @ rows[mine]
            wrench[:, 0] += efforts.covectors[own].T @ efforts.efforts[own]
        if name in friction:
            moment = cross(frame['point'], friction[name])
            wrench[:, 0] += np.concatenate([friction[name], moment])
    return wrenches


def _joint_wrenches(loads: LinkLoads, on_loops: Matrix) -> Matrix:
    """Return those of the joints of the tree at O: Newton and Euler link by link, leaves first."""
    links = loads.links
    in_tree = len(links.children) - len(on_loops)
    total = np.zeros((len(loads.com), 6, on_loops.shape[2]))
    total[:, :3, 0] = loads.force
    total[:, 3:, 0] = loads.moment + cross(loads.com, loads.force)
    for link, point, wrench in loads.external:
        total[link, :, 0] -= moved_wrench(wrench, -point)
    np.subtract.at(total, links.children[in_tree:], on_loops)
    np.add.at(total, links.parents[in_tree:], on_loops)
    for k in range(len(total) - 1, 0, -1):  # a child comes after its parent
        total[links.parent[k]] += total[k]
    return total[links.children[:in_tree]]


def _places(loads: LinkLoads, frame: str) -> JointPlaces:
    """Return the axes asked for and the points of all joints."""
    links = loads.links
    R = loads.rotation[links.children]
    points = loads.point[links.children] + np.einsum('nij,nj->ni', R, links.frame_point)
    if frame == 'joint':
        return R @ links.frame_rotation, points
    axes = np.eye(3) if frame == 'world' else loads.rotation[links.index[frame]]
    return np.tile(axes, (len(points), 1, 1)), points


def _in_frames(wrenches: Matrix, places: JointPlaces) -> Matrix:
    """Return wrenches at O and in world axes, (joints, 6, 1 + k), at these places and axes."""
    axes, points = places
    force, moment = wrenches[:, :3], wrenches[:, 3:]
    arms = np.zeros((len(points), 3, 3))
    arms[:, LAST, NEXT], arms[:, NEXT, LAST] = points, -points
    to_axes = axes.transpose(0, 2, 1)
    return np.concatenate([to_axes @ force, to_axes @ (moment - arms @ force)], axis=1)
