"""
Force and moment in every joint, cut joints included (paper 3, section II, for closed chains).

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

from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics.dynamics.actuation import actuator_torques, actuator_vector
from closed_chain_dynamics.dynamics.constraint_forces import (
    added,
    drag,
    motion_residual,
    multipliers,
    solve_multipliers,
    tree_force,
)
from closed_chain_dynamics.dynamics.coordinates import (
    actuator_rows,
    constraint_jacobian,
    coordinates,
)
from closed_chain_dynamics.dynamics.link_loads import cross, link_loads, loop_efforts
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels import layout as at

__all__ = ['Reaction', 'Reactions', 'motion_residual', 'multipliers', 'reactions']

UNIQUE = 1e-9  # a null vector that changes a joint by less than this share of it is rounding
SPLITS = ('joints', 'loops')


@dataclass(frozen=True)
class Reaction:
    """Force and moment that a joint passes on from its parent to its child."""

    force: np.ndarray  # (3,) [N]
    moment: np.ndarray  # (3,) [N m], about `point`
    unique: bool  # False: redundant constraints leave a part of it open
    point: np.ndarray = field(repr=False)  # origin of the child's frame, world (3,)
    frame: str  # whose axes: 'world', 'joint', or a link
    unique_components: np.ndarray = field(repr=False)  # (6,) of bool: force, then moment
    axes: np.ndarray = field(repr=False)  # rotation from those axes to the world

    @property
    def wrench(self):
        """Return force and moment, (6,)."""
        return np.concatenate([self.force, self.moment])


class Reactions(dict):
    """
    Reactions by joint name: all tree joints, fixed ones too, then all loop joints.

    `multipliers` (rows,) are the forces in the rows of J_C that belong to them; `tau_A` the
    torques of the actuators; `missing` (nv,) what the motion needs along the coordinates of the
    tree and nobody gives: zero unless the actuators cannot do this motion.
    """

    def __init__(self, robot, loads, multipliers, tau_A, missing):
        super().__init__()
        self.robot, self._loads = robot, loads
        self.multipliers, self.tau_A, self.missing = multipliers, tau_A, missing

    @property
    def is_unique(self):
        """Return whether every reaction is unique."""
        return all(reaction.unique for reaction in self.values())

    def equilibrium(self):
        """Return the largest force [N] or moment [N m] that is out of balance on any link."""
        return float(np.abs(self._imbalance()[1:]).max(initial=0.0))

    def _imbalance(self):
        """Return what Newton and Euler miss about each link's centre of mass, (links, 6)."""
        loads, model = self._loads, self.robot.description
        rest = np.hstack([-loads.force, -loads.moment])
        for link, point, wrench in loads.external:
            rest[link] += _at(wrench, loads.com[link] - point)
        for joint in (*model.joints, *model.loops):
            reaction = self[joint.name]
            wrench = np.concatenate(
                [reaction.axes @ reaction.force, reaction.axes @ reaction.moment]
            )
            point = reaction.point - loads.origin
            for link, sign in ((joint.child, 1.0), (joint.parent, -1.0)):
                k = loads.index[link]
                rest[k] += sign * _at(wrench, loads.com[k] - point)
        return rest

    def check(self):
        """
        Return how well the answer holds, two numbers that should be near zero.

        `equilibrium`: largest relative imbalance of a link; `missing`: largest relative force
        along a coordinate that the motion needs and neither motors, passive forces nor loops give.
        """
        size = max([np.abs(each.wrench).max() for each in self.values()], default=0.0)
        size = max(size, self._loads.size, 1e-300)  # in free fall joints pass nothing on
        return {
            'equilibrium': float(self.equilibrium() / size),
            'missing': float(np.abs(self.missing).max(initial=0.0) / size),
        }


def _at(wrench, arm):
    """Return a wrench at a point that is `arm` away from its own."""
    force, moment = wrench[:3], wrench[3:]
    return np.concatenate([force, moment - cross(arm, force)])


def reactions(
    robot, q, v, a, tau=None, *, wrenches=None, extra=None, frame='world', split='joints'
):
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
    J_C, friction = constraint_jacobian(robot, q)[0], {}
    if robot.mi[at.N_CONTACTS]:
        extra = added(robot, extra)
        dragged, friction = drag(
            robot,
            q,
            v,
            lambda force: solve_multipliers(
                robot, J_C, _balance(robot, q, v, a, tau, wrenches, extra + force)[1]
            )[0],
        )
        extra = extra + dragged
    tau_A, force = _balance(robot, q, v, a, tau, wrenches, extra)
    solution, null = solve_multipliers(robot, J_C, force)
    loads = link_loads(robot, q, v, a, wrenches)
    # column 0 is the answer, the others what each null vector would change
    rows = np.column_stack([solution, *null])
    on_loops = _loop_wrenches(robot, q, v, tau_A, rows, friction)
    on_joints = _joint_wrenches(robot, loads, on_loops, rows.shape[1])
    places = _places(robot, loads, frame)
    found = {
        name: _in_frame(wrench, *places[name])
        for name, wrench in (*on_joints.items(), *on_loops.items())
    }
    first = 1
    for block in null if split == 'joints' else ():
        columns = slice(first, first + block.shape[1])
        x = _least_shares(robot, found, places, columns)
        solution = solution + block @ x
        for wrench in found.values():
            wrench[:, 0] += wrench[:, columns] @ x
        first = columns.stop
    result = Reactions(robot, loads, solution, tau_A, force - J_C.T @ solution)
    unique = _unique_components(robot, found)
    for name, wrench in found.items():
        R, point = places[name]
        result[name] = Reaction(
            wrench[:3, 0].copy(),
            wrench[3:, 0].copy(),
            bool(unique[name].all()),
            point + loads.origin,
            frame,
            unique[name],
            R,
        )
    return result


def _balance(robot, q, v, a, tau, wrenches, extra):
    """Return the actuators' torques, and what the loops have to add on the tree, (nv,)."""
    needed = tree_force(robot, q, v, a, wrenches) - added(robot, extra)
    tau_A = actuator_vector(robot, tau, 'tau')
    if not (np.all(np.isfinite(needed)) and np.all(np.isfinite(tau_A))):
        raise StateError('tau or extra is not finite', where=robot.name)
    if tau is None and len(tau_A):
        c = coordinates(robot, q)
        tau_A = actuator_torques(robot, c.S, c.W.T @ needed).tau_A
    return tau_A, needed - actuator_rows(robot, q).T @ tau_A


def _unique_components(robot, found):
    """Return {joint: (6,) of bool}: which numbers no null vector changes."""
    units = np.repeat([robot.table(at.WORLD_F)[0, at.LENGTH], 1.0], 3)[:, None]
    changes = {name: np.abs(wrench[:, 1:] * units) for name, wrench in found.items()}
    size = 1e-300 + sum(changes[name].max(axis=0) for name in robot.loop_names)
    return {name: (change <= UNIQUE * size).all(axis=1) for name, change in changes.items()}


def _least_shares(robot, found, places, columns):
    """
    Return how much of each null vector of one cluster makes its joints' wrenches least, (k,).

    Forces weigh against moments by the extent of the joints that share: neither the cut nor the
    rest of the mechanism matters. Fixed joints do not count, they only divide a body.
    """
    names = [
        name
        for name in (*robot.joint_names, *robot.loop_names)
        if np.abs(found[name][:, columns]).max() > UNIQUE
    ]
    if not names:  # couplings that say the same: no joint feels how they share
        return np.zeros(columns.stop - columns.start)
    points = np.array([places[name][1] for name in names])
    length = np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1)))
    if length < UNIQUE * robot.table(at.WORLD_F)[0, at.LENGTH]:  # all in one place
        length = robot.table(at.WORLD_F)[0, at.LENGTH]
    units = np.repeat([length, 1.0], 3)[:, None]
    shares = np.concatenate([found[name] * units for name in names])
    return np.linalg.lstsq(shares[:, columns], -shares[:, 0], rcond=UNIQUE)[0]


def _loop_wrenches(robot, q, v, tau_A, rows, friction):
    """
    Return {loop: (6, 1 + k)}: wrenches at O on the child; rows: lambda and N, (rows, 1 + k).

    `friction`: {loop: (3,)}, of contacts that slide.
    """
    efforts = loop_efforts(robot, q, v, tau_A)
    covectors = robot.table(at.LOOP_DOF_W)[:, at.LOOP_DOF_ROW : at.LOOP_DOF_ROW + 6].copy()
    constraint_jacobian(robot, q)  # leaves the covector of every row of J_C
    row_covectors = robot.table(at.ROW_W)[:, at.ROW_F : at.ROW_F + 6]
    wrenches, frames = {}, robot.table(at.LOOP_W)
    for name, loop in zip(robot.loop_names, robot.table(at.LOOP_I)):
        wrench = np.zeros((6, rows.shape[1]))
        if loop[at.LOOP_ACTIVE]:
            mine = slice(loop[at.LOOP_ROW], loop[at.LOOP_ROW] + loop[at.LOOP_N_ROWS])
            own = slice(loop[at.LOOP_DOF], loop[at.LOOP_DOF] + loop[at.LOOP_N_DOFS])
            wrench += row_covectors[mine].T @ rows[mine]
            wrench[:, 0] += covectors[own].T @ efforts[own]
        if name in friction:
            point = frames[robot.loop_names.index(name), at.LOOP_P_2 : at.LOOP_P_2 + 3]
            wrench[:, 0] += np.concatenate([friction[name], cross(point, friction[name])])
        wrenches[name] = wrench
    return wrenches


def _joint_wrenches(robot, loads, on_loops, columns):
    """Return {joint: (6, 1 + k)} at O: Newton and Euler link by link, leaves first."""
    total = np.zeros((len(loads.com), 6, columns))
    total[:, :3, 0] = loads.force
    total[:, 3:, 0] = loads.moment + cross(loads.com, loads.force)
    for link, point, wrench in loads.external:
        total[link, :, 0] -= _at(wrench, -point)
    for loop in robot.description.loops:
        total[loads.index[loop.child]] -= on_loops[loop.name]
        total[loads.index[loop.parent]] += on_loops[loop.name]
    for k in range(len(total) - 1, 0, -1):  # a child stands behind its parent
        total[loads.parent[k]] += total[k]
    return {joint.name: total[loads.index[joint.child]] for joint in robot.description.joints}


def _places(robot, loads, frame):
    """Return {joint: (rotation from the axes asked for to the world, point from O)}."""
    model, places = robot.description, {}
    for joint in (*model.joints, *model.loops):
        R, point = loads.rotation[loads.index[joint.child]], loads.point[loads.index[joint.child]]
        if hasattr(joint, 'child_origin'):
            R, point = (R @ joint.child_origin.rotation, point + R @ joint.child_origin.position)
        if frame != 'joint':
            R = np.eye(3) if frame == 'world' else loads.rotation[loads.index[frame]]
        places[joint.name] = R, point
    return places


def _in_frame(wrench, R, point):
    """Return wrenches at O, (6, 1 + k) in world axes, at a point and in other axes."""
    moment = wrench[3:] - cross(point[None], wrench[:3].T).T
    return np.vstack([R.T @ wrench[:3], R.T @ moment])
