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
The mechanisms that `closed-chain bench` measures, with a closed pose and a motion for each.

M1     a planar four-bar: 3 tree degrees of freedom, one spherical loop
M2     the figure on the swing of Yamane and Nakamura: 34, five spherical loops (15 rows)
M3     a humanoid, feet on the ground, hands on a bar: 36, two welds and two spherical loops
M4_k   a ladder of k four-bars, each standing on the coupler of the last: 3 k, k loops

Loops are points and frames only, because other engines have no others; a planar four-bar closed
by a point has one redundant row, which every engine then has to cope with. Loops stand where the
pose puts their two ends, so that they are closed to rounding.
"""

from dataclasses import dataclass, replace
import math

import numpy as np

from closed_chain_dynamics.description.elements import (
    Actuator,
    Description,
    Inertia,
    Joint,
    JointType,
    Link,
    LoopJoint,
    LoopType,
    Pose,
)
from closed_chain_dynamics.dynamics.constraints import constraint_jacobian
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.tree import link_placements
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Case', 'case', 'four_bar_ladder', 'humanoid_on_a_bar', 'swing']

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
SEED = 20


@dataclass
class Case:
    """A mechanism, a state in which its loops are closed, and torques."""

    key: str
    title: str
    robot: Mechanism
    q: np.ndarray
    v: np.ndarray  # respects the loops
    a: np.ndarray  # what the torques give: the actuators can do it
    tau_A: np.ndarray  # any torques of the actuators
    tau: np.ndarray  # the same over all coordinates


def case(key):
    """Return the Case with a key: 'M1', 'M2', 'M3', or 'M4_8' and the like."""
    if key.startswith('M4_'):
        k = int(key[3:])
        title, (description, positions) = f'ladder of {k} four-bars', four_bar_ladder(k)
    else:
        title, (description, positions) = {
            'M1': lambda: ('four-bar', four_bar_ladder(1)),
            'M2': lambda: ('figure on the swing', swing()),
            'M3': lambda: ('humanoid on a bar', humanoid_on_a_bar()),
        }[key]()
    description, q = _close(description, positions)
    robot = Mechanism(description)
    rng = np.random.default_rng(SEED)
    tau_A, tau = rng.normal(size=len(robot.actuator_names)), np.zeros(robot.nv)
    tau[[robot.coordinate_names.index(name) for name in robot.actuator_names]] = tau_A
    v = rng.normal(size=robot.nv)
    J_C, _, _ = constraint_jacobian(robot, q)
    v -= np.linalg.lstsq(J_C, J_C @ v, rcond=1e-10)[0]
    return Case(
        key, title, robot, q, v, forward_dynamics(robot, q, v, tau_A).acceleration, tau_A, tau
    )


def _close(description, positions):
    """Return the description with the child's end of every loop where the pose puts it, and q."""
    robot = Mechanism(replace(description, loops=(), actuators=()))
    q = robot.neutral()
    for joint, value in positions.items():
        q[robot.joint_slices(joint)[0]] = value
    placements = link_placements(robot, q)
    loops = []
    for loop in description.loops:
        X_W1 = placements[loop.parent] @ _matrix(loop.parent_origin)
        X_21 = np.linalg.inv(placements[loop.child]) @ X_W1
        loops.append(replace(loop, child_origin=_pose(X_21)))
    return replace(description, loops=tuple(loops)), q


def _matrix(pose):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = pose.rotation, pose.position
    return X


def _pose(X):
    R = X[:3, :3]
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return Pose(tuple(float(x) for x in X[:3, 3]), (roll, pitch, yaw))


# --- M1 and M4 -----------------------------------------------------------------------------------
GROUND, CRANK, COUPLER, ROCKER = 0.30, 0.15, 0.27, 0.18  # lengths [m]
CRANK_ANGLE = 0.4  # from the upright, in the pose [rad]


def four_bar_ladder(k):
    """
    Return a ladder of k four-bars in the plane x, z, and its pose.

    Crank and rocker stand upright on the base, the coupler lies across; the next four-bar stands
    on the coupler, turned so that its base is level in the pose. Cranks are actuated.
    """
    coupler_angle, rocker_angle = _four_bar_angles(CRANK_ANGLE)
    links, joints, loops, positions = [Link('base')], [], [], {}
    below, left, level = 'base', (0.0, 0.0, 0.0), 0.0
    for i in range(1, k + 1):
        crank, coupler, rocker = (f'{name}_{i:02d}' for name in ('crank', 'coupler', 'rocker'))
        right = (left[0] + GROUND * math.cos(level), 0.0, left[2] - GROUND * math.sin(level))
        links += [
            Link(crank, _rod(0.4, CRANK, Z)),
            Link(coupler, _rod(0.7, COUPLER, X)),
            Link(rocker, _rod(0.5, ROCKER, Z)),
        ]
        joints += [
            Joint(crank, JointType.REVOLUTE, below, crank, Pose(left, (0.0, level, 0.0)), Y),
            Joint(coupler, JointType.REVOLUTE, crank, coupler, Pose((0.0, 0.0, CRANK)), Y),
            Joint(rocker, JointType.REVOLUTE, below, rocker, Pose(right, (0.0, level, 0.0)), Y),
        ]
        loops.append(
            LoopJoint(
                f'loop_{i:02d}', LoopType.SPHERICAL, coupler, rocker, Pose((COUPLER, 0.0, 0.0))
            )
        )
        positions.update({crank: CRANK_ANGLE, coupler: coupler_angle, rocker: rocker_angle})
        below, level = coupler, -(CRANK_ANGLE + coupler_angle)
        left = ((COUPLER - GROUND) / 2.0, 0.0, 0.0)
    actuators = tuple(Actuator(f'crank_{i:02d}') for i in range(1, k + 1))
    return Description(
        f'ladder_{k}', tuple(links), tuple(joints), tuple(loops), actuators=actuators
    ), positions


def _four_bar_angles(crank):
    """Return the angles of coupler (against the crank) and rocker that close a four-bar."""
    x, z = CRANK * math.sin(crank) - GROUND, CRANK * math.cos(crank)
    # the rocker's tip is COUPLER away from the crank's: x sin + z cos = rest
    rest = (x * x + z * z + ROCKER * ROCKER - COUPLER * COUPLER) / (2.0 * ROCKER)
    rocker = math.atan2(x, z) + math.acos(rest / math.hypot(x, z))
    dx, dz = (
        GROUND + ROCKER * math.sin(rocker) - CRANK * math.sin(crank),
        ROCKER * math.cos(rocker) - z,
    )
    return math.atan2(-dz, dx) - crank, rocker


def _rod(mass, length, axis):
    """Return the inertia of a slender rod from the origin along an axis, with some thickness."""
    across, along = mass * length**2 / 12.0 + 1e-4, 1e-4
    ixx, iyy, izz = (along if x else across for x in axis)
    return Inertia(
        mass, Pose(tuple(length / 2.0 * x for x in axis)), (ixx, 0.0, 0.0, iyy, 0.0, izz)
    )


# --- M2 ------------------------------------------------------------------------------------------
# name, joint, parent, position in the parent, mass, centre of mass on z, Ixx = Iyy, Izz: a person
# of 1.70 m and 65 kg
SEGMENTS = (
    ('torso', JointType.FLOATING, '', (0.0, 0.0, 0.0), 37.57, 0.323136, 2.27855745, 0.35),
    (
        'upper_arm',
        JointType.SPHERICAL,
        'torso',
        (0.0, 0.22015, 0.4896),
        1.82,
        -0.1378632,
        0.01886717,
        0.00184275,
    ),
    (
        'forearm',
        JointType.REVOLUTE,
        'upper_arm',
        (0.0, 0.0, -0.3162),
        1.43,
        -0.1692724,
        0.01929440,
        0.00087588,
    ),
    (
        'thigh',
        JointType.SPHERICAL,
        'torso',
        (0.0, 0.09, 0.0),
        6.50,
        -0.1803445,
        0.11763821,
        0.01828125,
    ),
    (
        'shank',
        JointType.REVOLUTE,
        'thigh',
        (0.0, 0.0, -0.4165),
        3.965,
        -0.2534292,
        0.12000460,
        0.00495625,
    ),
)
GRIP = (0.0, 0.0, -0.3411016)  # of the hand in the forearm [m]
ROPE, SEAT_HEIGHT, HALF_WIDTH = 1.9, 0.5, 0.3  # [m]


def swing():
    """
    Return the figure on the swing, and its pose.

    The figure flies freely (6) and has 16 joint velocities, all actuated. Each of two rods hangs
    on the ceiling by a spherical joint (6); the plate flies freely (6). Spherical loops hold the
    plate on both rods, both hands on the rods, and the pelvis on the plate: 15 rows.
    """
    links, joints, positions = [Link('world')], [], {}
    for name, kind, parent, place, mass, com, across, along in SEGMENTS:
        inertia = Inertia(mass, Pose((0.0, 0.0, com)), (across, 0.0, 0.0, across, 0.0, along))
        for side in ('left', 'right') if parent else ('',):
            own = f'{name}_{side}' if side else name
            above = 'world' if not parent else parent if parent == 'torso' else f'{parent}_{side}'
            x, y, z = place
            links.append(Link(own, inertia))
            joints.append(
                Joint(own, kind, above, own, Pose((x, -y if side == 'right' else y, z)), Y)
            )
    actuators = tuple(Actuator(joint.name) for joint in joints[1:])
    loops = []
    for side, y in (('left', HALF_WIDTH), ('right', -HALF_WIDTH)):
        rod = f'rod_{side}'
        links.append(
            Link(
                rod,
                Inertia(1.5, Pose((0.0, 0.0, -ROPE / 2.0)), (0.45, 0.0, 0.0, 0.45, 0.0, 0.001)),
            )
        )
        joints.append(
            Joint(rod, JointType.SPHERICAL, 'world', rod, Pose((0.0, y, SEAT_HEIGHT + ROPE)))
        )
        loops += [
            LoopJoint(f'seat_{side}', LoopType.SPHERICAL, rod, 'plate', Pose((0.0, 0.0, -ROPE))),
            LoopJoint(f'hand_{side}', LoopType.SPHERICAL, f'forearm_{side}', rod, Pose(GRIP)),
        ]
    links.append(Link('plate', Inertia(3.0, Pose(), (0.1, 0.0, 0.0, 0.03, 0.0, 0.12))))
    joints.append(Joint('plate', JointType.FLOATING, 'world', 'plate'))
    loops.append(
        LoopJoint('pelvis', LoopType.SPHERICAL, 'torso', 'plate', Pose((0.0, 0.0, -0.075)))
    )
    upright, bent = (0.0, 0.0, 0.0, 1.0), (0.0, -math.sqrt(0.5), 0.0, math.sqrt(0.5))
    positions.update(
        {'torso': (-0.15, 0.0, 0.575, *upright), 'plate': (0.0, 0.0, SEAT_HEIGHT, *upright)}
    )
    arm = np.array([0.0102257953, -0.6895992507, 0.1303483940, 0.7122903922])
    for side, mirror in (('left', 1.0), ('right', -1.0)):
        quaternion = arm * (mirror, 1.0, mirror, 1.0)
        positions.update(
            {
                f'upper_arm_{side}': quaternion / np.linalg.norm(quaternion),
                f'forearm_{side}': -2.0845053938,
                f'thigh_{side}': bent,
                f'shank_{side}': math.pi / 2.0,
            }
        )
    return Description(
        'swing', tuple(links), tuple(joints), tuple(loops), actuators=actuators
    ), positions


# --- M3 ------------------------------------------------------------------------------------------
# name, axis, position in the last link, mass, size of a box that stands for the link, its centre,
# angle in the pose. Letters sort brothers: the order of q is that of the table.
LEG = (
    ('1_hip_yaw', Z, (0.0, 0.10, -0.06), 1.5, (0.10, 0.10, 0.10), (0.0, 0.0, -0.03), 0.05),
    ('2_hip_roll', X, (0.0, 0.0, -0.04), 1.8, (0.12, 0.10, 0.10), (0.0, 0.0, 0.0), 0.04),
    ('3_hip_pitch', Y, (0.0, 0.0, 0.0), 5.5, (0.14, 0.13, 0.38), (0.0, 0.01, -0.17), -0.45),
    ('4_knee', Y, (0.0, 0.0, -0.38), 3.2, (0.10, 0.10, 0.36), (0.01, 0.0, -0.16), 0.85),
    ('5_ankle_pitch', Y, (0.0, 0.0, -0.38), 0.6, (0.06, 0.06, 0.06), (0.0, 0.0, 0.0), -0.42),
    ('6_ankle_roll', X, (0.0, 0.0, 0.0), 1.1, (0.22, 0.09, 0.05), (0.03, 0.0, -0.05), -0.03),
)
WAIST = (
    ('a_waist_yaw', Z, (0.0, 0.0, 0.08), 1.2, (0.14, 0.14, 0.08), (0.0, 0.0, 0.02), 0.0),
    ('b_waist_roll', X, (0.0, 0.0, 0.05), 1.0, (0.12, 0.12, 0.08), (0.0, 0.0, 0.0), 0.0),
    ('c_waist_pitch', Y, (0.0, 0.0, 0.0), 16.0, (0.20, 0.32, 0.42), (0.0, 0.0, 0.22), 0.10),
)
ARM = (
    ('1_shoulder_pitch', Y, (0.0, 0.17, 0.38), 1.1, (0.09, 0.09, 0.09), (0.0, 0.03, 0.0), -1.9),
    ('2_shoulder_roll', X, (0.0, 0.06, 0.0), 0.9, (0.08, 0.08, 0.08), (0.0, 0.0, -0.02), 0.25),
    ('3_shoulder_yaw', Z, (0.0, 0.0, -0.06), 1.6, (0.08, 0.08, 0.26), (0.0, 0.0, -0.12), 0.15),
    ('4_elbow', Y, (0.0, 0.0, -0.25), 0.9, (0.07, 0.07, 0.14), (0.0, 0.0, -0.06), -0.7),
    ('5_wrist_yaw', Z, (0.0, 0.0, -0.12), 0.6, (0.06, 0.06, 0.12), (0.0, 0.0, -0.05), 0.1),
    ('6_wrist_roll', X, (0.0, 0.0, -0.11), 0.2, (0.04, 0.04, 0.04), (0.0, 0.0, 0.0), 0.1),
    ('7_wrist_pitch', Y, (0.0, 0.0, 0.0), 0.4, (0.05, 0.08, 0.10), (0.0, 0.0, -0.05), -0.2),
)
NECK = (('neck', Z, (0.0, 0.0, 0.45), 3.5, (0.18, 0.15, 0.24), (0.02, 0.0, 0.13), 0.0),)
SOLE, PALM = (0.03, 0.0, -0.075), (0.0, 0.0, -0.09)  # in foot and hand [m]


def humanoid_on_a_bar():
    """
    Return a humanoid whose feet are welded to the ground and whose hands grip a bar; its pose.

    A free joint, 6 joints a leg, 3 in the waist, 7 an arm, 1 in the neck; all but the free joint
    are actuated. Ground and bar belong to the world.
    """
    links = [Link('world'), Link('pelvis', _box(8.0, (0.18, 0.26, 0.16), (0.0, 0.0, 0.0)))]
    joints = [Joint('pelvis', JointType.FLOATING, 'world', 'pelvis')]
    positions = {'pelvis': (0.0, 0.0, 0.93, 0.0, 0.0, 0.0, 1.0)}
    top = _limb(links, joints, positions, 'pelvis', '', WAIST)
    _limb(links, joints, positions, top, '', NECK)
    loops = []
    for side in ('left', 'right'):
        foot = _limb(links, joints, positions, 'pelvis', f'leg_{side}_', LEG)
        hand = _limb(links, joints, positions, top, f'arm_{side}_', ARM)
        loops += [
            LoopJoint(f'foot_{side}', LoopType.FIXED, foot, 'world', Pose(SOLE)),
            LoopJoint(f'hand_{side}', LoopType.SPHERICAL, hand, 'world', Pose(PALM)),
        ]
    actuators = tuple(Actuator(joint.name) for joint in joints[1:])
    return Description(
        'humanoid', tuple(links), tuple(joints), tuple(loops), actuators=actuators
    ), positions


def _limb(links, joints, positions, parent, prefix, table):
    """Add a chain of links of one joint each, mirrored on the right; return the last link."""
    mirror = -1.0 if 'right' in prefix else 1.0
    for name, axis, (x, y, z), mass, size, (cx, cy, cz), angle in table:
        name = prefix + name
        links.append(Link(name, _box(mass, size, (cx, mirror * cy, cz))))
        joints.append(
            Joint(name, JointType.REVOLUTE, parent, name, Pose((x, mirror * y, z)), axis)
        )
        positions[name] = angle if axis is Y else mirror * angle  # a mirror turns x and z round
        parent = name
    return parent


def _box(mass, size, center):
    x, y, z = (side * side * mass / 12.0 for side in size)
    return Inertia(mass, Pose(center), (y + z, 0.0, 0.0, x + z, 0.0, x + y))
