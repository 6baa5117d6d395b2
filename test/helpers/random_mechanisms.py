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
Random mechanisms for tests, and the same mechanisms in Pinocchio.

The trees have all joint types, branches, offset inertias of real bodies, and names whose order has
nothing to do with the tree. `pinocchio_model` is a second way from a description to numbers: it
shares no code with the package, only the meaning of the description's fields. `random_loops` adds
loop joints that are closed, to rounding, at a configuration that is given.

Configurations and velocities run depth first, brothers in the order of their joints' names.
Pinocchio's `crba` needs joints depth first: with another order it is wrong and does not say so.
"""

from dataclasses import replace
import math

import numpy as np
import pinocchio as pin

from closed_chain_dynamics.description import (
    Description,
    Dynamics,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)

__all__ = [
    'DEFAULT_SHARES',
    'closing_motion',
    'moving_joints',
    'pinocchio_model',
    'random_description',
    'random_inertia',
    'random_loops',
    'random_pose',
    'random_rotation',
    'random_state',
    'random_unit',
    'relative_error',
    'rigid_groups',
    'rpy_of',
]

# How often each type is drawn. Floating joints away from the root are legal and rare.
DEFAULT_SHARES = {
    JointType.REVOLUTE: 0.36,
    JointType.CONTINUOUS: 0.16,
    JointType.PRISMATIC: 0.16,
    JointType.FIXED: 0.12,
    JointType.SPHERICAL: 0.10,
    JointType.PLANAR: 0.08,
    JointType.FLOATING: 0.02,
}
TURNING = (JointType.REVOLUTE, JointType.CONTINUOUS)
SLIDING = (JointType.PRISMATIC,)


# --- numbers -------------------------------------------------------------------------------------
def relative_error(actual, expected, *, at_least=0.0):
    """
    Return the largest difference over the largest expected magnitude.

    `at_least` is the natural size of the quantity, for results that may vanish by cancellation.
    """
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    if actual.shape != expected.shape:
        return math.inf
    if expected.size == 0:
        return 0.0
    error, size = np.abs(actual - expected).max(), max(np.abs(expected).max(), at_least)
    return float(error / size if size else error) if np.isfinite(error) else math.inf


def random_unit(rng):
    """Return a unit vector: half of them along an axis of the frame, where models have them."""
    if rng.random() < 0.5:
        axis = np.zeros(3)
        axis[rng.integers(3)] = rng.choice((-1.0, 1.0))
    else:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
    return tuple(float(x) for x in axis)


def random_quaternion(rng):
    """Return a rotation as x, y, z, w, uniformly over all rotations."""
    quaternion = rng.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


def random_rotation(rng):
    """Return a rotation matrix, uniformly over all rotations, (3, 3)."""
    return pin.Quaternion(*np.roll(random_quaternion(rng), 1)).matrix()


def random_pose(rng, size=0.4):
    """Return a Pose with any orientation and a position of about `size` [m]."""
    return Pose(
        tuple(float(x) for x in rng.uniform(-size, size, 3)),
        tuple(float(x) for x in rng.uniform(-math.pi, math.pi, 3)),
    )


def rpy_of(R):
    """
    Return roll, pitch and yaw of a rotation matrix.

    The roll is measured after the yaw is taken off, which keeps all digits at a pitch of a quarter
    turn, where roll and yaw are one angle.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def _se3(pose):
    """Return a Pose as Pinocchio's SE3, by Pinocchio's own roll, pitch and yaw."""
    return pin.SE3(pin.rpy.rpyToMatrix(*pose.rpy), np.array(pose.xyz))


def _pose(X):
    """Return Pinocchio's SE3 as a Pose."""
    return Pose(tuple(float(x) for x in X.translation), rpy_of(X.rotation))


def _z_to(axis):
    """Return the smallest rotation that takes z to a unit vector (a half turn: about x), SE3."""
    axis = np.array(axis)
    cross = np.cross((0.0, 0.0, 1.0), axis)
    sine = np.linalg.norm(cross)
    angle = math.atan2(sine, axis[2])
    turn = cross / sine if sine > 0.0 else np.array([1.0, 0.0, 0.0])
    return pin.SE3(pin.exp3(angle * turn), np.zeros(3))


# --- trees ---------------------------------------------------------------------------------------
def random_inertia(rng, size=0.3):
    """Return the inertia of a few point masses at random places: that of a body that can exist."""
    masses = rng.uniform(0.1, 1.5, 5)
    points = rng.uniform(-size, size, (5, 3))
    com = masses @ points / masses.sum()
    arms = points - com
    tensor = np.einsum('i,ij,ij', masses, arms, arms) * np.eye(3) - np.einsum(
        'i,ij,ik', masses, arms, arms
    )
    rpy = tuple(float(x) for x in rng.uniform(-math.pi, math.pi, 3))
    R = Pose(rpy=rpy).rotation
    moments = (R.T @ tensor @ R)[np.triu_indices(3)]
    return Inertia(
        float(masses.sum()),
        Pose(tuple(float(x) for x in com), rpy),
        tuple(float(x) for x in moments),
    )


def random_description(
    rng,
    n_joints,
    *,
    shares=None,
    max_dof=60,
    floating_root=None,
    branching=0.3,
    massless=0.3,
    damping=2.0,
    name='random',
):
    """
    Return a random tree of `n_joints` joints and one more link.

    `shares` gives the frequency of each joint type; joints that would exceed `max_dof` become
    fixed. `floating_root` is True, False, or None for a coin; `branching` is the probability that
    a joint grows from any earlier link instead of the last; `massless` the probability that a link
    which needs no mass has none; `damping` the largest viscous damping.
    """
    shares = DEFAULT_SHARES if shares is None else shares
    kinds, weights = list(shares), np.array(list(shares.values()), dtype=float)
    if floating_root is None:
        floating_root = JointType.FLOATING in shares and rng.random() < 0.4
    # names in an order of their own, so that sorting them means something
    link_names = [f'link_{k:02d}' for k in rng.permutation(n_joints + 1)]
    joint_names = [f'joint_{k:02d}' for k in rng.permutation(n_joints)]
    joints, dof = [], 0
    for k in range(n_joints):
        # what flies freely hangs on the world by nothing else
        first = 1 if k and floating_root else 0
        parent = k if k == 0 or rng.random() >= branching else int(rng.integers(first, k + 1))
        kind = kinds[rng.choice(len(kinds), p=weights / weights.sum())]
        if k == 0 and floating_root:
            kind = JointType.FLOATING
        if dof + kind.nv > max_dof:
            kind = JointType.FIXED
        dof += kind.nv
        joints.append(
            Joint(
                joint_names[k],
                kind,
                link_names[parent],
                link_names[k + 1],
                random_pose(rng),
                random_unit(rng),
                dynamics=Dynamics(damping=float(rng.uniform(0.0, damping))),
            )
        )
    light = _needless_masses(joints)
    links = [
        Link(link)
        if link in light and rng.random() < massless
        else Link(link, random_inertia(rng))
        for link in link_names
    ]
    return Description(
        name,
        tuple(links[k] for k in rng.permutation(len(links))),
        tuple(joints[k] for k in rng.permutation(len(joints))),
    )


def _needless_masses(joints):
    """
    Return links that may have no mass while the mass matrix stays regular.

    These are the root, links fixed to their parent, and links that turn on one side and carry a
    slider with a mass on the other, or the reverse: a turn and a slide are never the same motion.
    """
    light = {joint.child for joint in joints if joint.type is JointType.FIXED}
    light.add(joints[0].parent)  # the root, which nothing moves
    for above in joints:
        for below in joints:
            pair = (above.type, below.type)
            if (
                below.parent == above.child
                and below.child not in light
                and (
                    pair in [(t, s) for t in TURNING for s in SLIDING]
                    or pair in [(s, t) for t in TURNING for s in SLIDING]
                )
            ):
                light.add(above.child)
    return light


def _outward(description):
    """Return all joints depth first, brothers in the order of their names."""
    children = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint)

    def walk(link):
        for joint in sorted(children.get(link, ()), key=lambda each: each.name):
            yield joint
            yield from walk(joint.child)

    return list(walk(description.root))


def moving_joints(description):
    """Return the joints that move, in the order of q and v."""
    return [joint for joint in _outward(description) if joint.type is not JointType.FIXED]


def rigid_groups(description):
    """Return {link: number of the body it belongs to}; links fixed to each other share one."""
    group = {description.root: 0}
    for number, joint in enumerate(_outward(description), start=1):
        group[joint.child] = group[joint.parent] if joint.type is JointType.FIXED else number
    return group


def random_state(rng, description, *, reach=1.0, speed=1.0):
    """Return q, v and a: any orientation, positions up to `reach` [m], rates of about `speed`."""
    q, nv = [], 0
    for joint in moving_joints(description):
        nv += joint.type.nv
        if joint.type in TURNING:
            q.append(rng.uniform(-math.pi, math.pi, 1))
        elif joint.type is JointType.PLANAR:
            angle = rng.uniform(-math.pi, math.pi)
            q.append(np.array([*rng.uniform(-reach, reach, 2), math.cos(angle), math.sin(angle)]))
        else:
            q.append(
                rng.uniform(
                    -reach,
                    reach,
                    {JointType.SPHERICAL: 0, JointType.FLOATING: 3}.get(joint.type, 1),
                )
            )
            if joint.type is not JointType.PRISMATIC:
                q.append(random_quaternion(rng))
    v, a = speed * rng.normal(size=nv), 3.0 * speed * rng.normal(size=nv)
    return np.concatenate([np.zeros(0), *q]), v, a


# --- the same in Pinocchio -----------------------------------------------------------------------
PINOCCHIO_JOINTS = {
    JointType.REVOLUTE: lambda axis: pin.JointModelRevoluteUnaligned(np.array(axis)),
    JointType.CONTINUOUS: lambda axis: pin.JointModelRevoluteUnaligned(np.array(axis)),
    JointType.PRISMATIC: lambda axis: pin.JointModelPrismaticUnaligned(np.array(axis)),
    JointType.PLANAR: lambda axis: pin.JointModelPlanar(),
    JointType.SPHERICAL: lambda axis: pin.JointModelSpherical(),
    JointType.FLOATING: lambda axis: pin.JointModelFreeFlyer(),
}


def pinocchio_model(description, gravity=(0.0, 0.0, -9.80665)):
    """
    Return a pin.Model whose q, v and joint names compare one to one, with a frame for each link.

    Loops, damping and friction are left out: Pinocchio's tree algorithms have none of them.
    """
    model = pin.Model()
    model.name = description.name
    model.gravity = pin.Motion(np.array(gravity, dtype=float), np.zeros(3))
    inertias = {link.name: link.inertia for link in description.links}
    place = {description.root: (0, pin.SE3.Identity())}  # link -> Pinocchio's joint, placement
    _add_link(model, description.root, inertias[description.root], *place[description.root])
    for joint in _outward(description):
        number, X = place[joint.parent]
        X = X * _se3(joint.origin)
        if joint.type is not JointType.FIXED:
            # Pinocchio's planar joint moves in x and y: turn its frame, and the link back
            X_axis = _z_to(joint.axis) if joint.type is JointType.PLANAR else pin.SE3.Identity()
            number = model.addJoint(
                number, PINOCCHIO_JOINTS[joint.type](joint.axis), X * X_axis, joint.name
            )
            X = X_axis.inverse()
        place[joint.child] = (number, X)
        _add_link(model, joint.child, inertias[joint.child], number, X)
    return model


def _add_link(model, name, inertia, joint, X):
    model.addFrame(pin.Frame(name, joint, X, pin.FrameType.BODY))
    if inertia is not None:
        ixx, ixy, ixz, iyy, iyz, izz = inertia.moments
        own = pin.Inertia(
            inertia.mass,
            np.zeros(3),
            np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]),
        )
        model.appendBodyToJoint(joint, own, X * _se3(inertia.origin))


# --- closed mechanisms ---------------------------------------------------------------------------
def closing_motion(rng, kind, *, slide=0.2):
    """
    Return a random placement of the child's loop frame in the parent's that a loop type allows.

    Both frames have the loop's axis along z. A universal joint turns about the parent's z, then
    about the child's z, which stands at a right angle to it.
    """
    x, y, z = rng.uniform(-slide, slide, 3)
    turn, other = rng.uniform(-math.pi, math.pi, 2)
    about_z = pin.rpy.rpyToMatrix(0.0, 0.0, turn)
    still = np.zeros(3)
    quarter = pin.rpy.rpyToMatrix(math.pi / 2.0, 0.0, 0.0)
    R, p = {
        LoopType.FIXED: lambda: (np.eye(3), still),
        LoopType.REVOLUTE: lambda: (about_z, still),
        LoopType.PRISMATIC: lambda: (np.eye(3), (0.0, 0.0, z)),
        LoopType.CYLINDRICAL: lambda: (about_z, (0.0, 0.0, z)),
        LoopType.UNIVERSAL: lambda: (
            about_z @ quarter @ pin.rpy.rpyToMatrix(0.0, 0.0, other),
            still,
        ),
        LoopType.SPHERICAL: lambda: (random_rotation(rng), still),
        LoopType.PLANAR: lambda: (about_z, (x, y, 0.0)),
        LoopType.SURFACE: lambda: (random_rotation(rng), (x, y, 0.0)),
        LoopType.FREE: lambda: (random_rotation(rng), (x, y, z)),
    }[kind]()
    return pin.SE3(R, np.array(p))


def random_loops(
    rng, description, q, n_loops, kinds=tuple(LoopType), *, pairs=None, active=True, prefix='loop'
):
    """
    Return the description with `n_loops` more loop joints, all of them closed at q.

    The types are drawn from `kinds`; `pairs` names the links (parent, child) of each loop, which
    are drawn from all links that can move against each other otherwise. A loop stands near the
    middle between its two links. At any other q the loops are open, unless the mechanism can move
    there: how much mobility remains is not looked after.
    """
    model = pinocchio_model(description)
    data = model.createData()
    pin.framesForwardKinematics(model, data, np.asarray(q, dtype=float))
    group = rigid_groups(description)
    if pairs is None:
        pairs = [_random_pair(rng, group) for _ in range(n_loops)]
    if len(pairs) != n_loops:
        raise ValueError(f'{len(pairs)} pairs of links for {n_loops} loops')
    loops = []
    for number, (parent, child) in enumerate(pairs, start=len(description.loops) + 1):
        kind = kinds[rng.integers(len(kinds))]
        X_parent, X_child = (data.oMf[model.getFrameId(link)] for link in (parent, child))
        share = rng.uniform(0.2, 0.8)
        middle = share * X_parent.translation + (1.0 - share) * X_child.translation
        # the loop frames with the axis along z, in the world
        X_1 = pin.SE3(random_rotation(rng), middle + rng.uniform(-0.2, 0.2, 3))
        X_2 = X_1 * closing_motion(rng, kind)
        axes = random_unit(rng), random_unit(rng)
        turned = kind not in (LoopType.FIXED, LoopType.SPHERICAL, LoopType.FREE)
        back = [_z_to(axis).inverse() if turned else pin.SE3.Identity() for axis in axes]
        loops.append(
            LoopJoint(
                f'{prefix}_{number:02d}',
                kind,
                parent,
                child,
                parent_origin=_pose(X_parent.inverse() * X_1 * back[0]),
                child_origin=_pose(X_child.inverse() * X_2 * back[1]),
                parent_axis=axes[0],
                child_axis=axes[1],
                active=active,
            )
        )
    return replace(description, loops=(*description.loops, *loops))


def _random_pair(rng, group):
    """Return two links that are not fixed to each other."""
    links = sorted(group)
    if len(set(group.values())) < 2:
        raise ValueError('no two links of this mechanism can move against each other')
    while True:
        parent, child = (links[k] for k in rng.choice(len(links), 2, replace=False))
        if group[parent] != group[child]:
            return parent, child
