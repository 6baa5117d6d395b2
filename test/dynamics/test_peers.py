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

"""Models in the ways of many projects, compared with the peer that reads the same file."""

import math

from helpers.geared_legs import geared_legs
from helpers.own_robots import OWN_ROBOTS
from helpers.random_mechanisms import random_state, relative_error, rpy_of
from helpers.rod_biped import rod_biped
import numpy as np
import pinocchio as pin
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Description, Inertia, Joint, JointType, Link, Pose
from closed_chain_dynamics.model import library

# The files hold numbers of any size and precision, which both sides read as the same doubles.
# The worst below is 2e-15.
RELATIVE = 1e-10
# MuJoCo keeps frames as quaternions, and a body's inertia by its principal axes. The worst below
# is 2e-15.
MUJOCO = 1e-10

# Models whose joints Pinocchio knows.
SHIPPED = ('biped', 'exo', 'exo_leg', 'five_bar', 'six_bar', 'slider_crank', 'stewart')


class Peer:
    """One file in both parsers; the text is given, so that no YAML file next to it is read."""

    def __init__(self, text):
        self.robot = ccd.load(text)
        self.types = {joint.name: joint.type for joint in self.robot.description.joints}
        self.model = pin.buildModelFromXML(text)
        self.model.gravity.linear = self.robot.gravity
        self.data = self.model.createData()

    def state(self, seed):
        """Return a random state, and the configuration as Pinocchio lays it out."""
        q, v, a = random_state(np.random.default_rng(seed), self.robot.description)
        theirs = []
        for joint in self.robot.joint_names:
            part = q[self.robot.joint_slices(joint)[0]]
            if self.types[joint] is JointType.CONTINUOUS:  # cosine and sine there
                part = np.array([math.cos(part[0]), math.sin(part[0])])
            theirs.append(part)
        return q, v, a, np.concatenate(theirs)

    def damping(self):
        of = {joint.name: joint.dynamics.damping for joint in self.robot.description.joints}
        return np.array(
            [of[joint] for joint in self.robot.joint_names for _ in range(self.types[joint].nv)]
        )


@pytest.fixture(scope='module', params=[*SHIPPED, *OWN_ROBOTS])
def peer(request):
    name = request.param
    return Peer(library.find(name).read_text() if name in SHIPPED else OWN_ROBOTS[name].urdf)


def test_joints_and_sizes_are_those_of_pinocchio(peer):
    continuous = sum(kind is JointType.CONTINUOUS for kind in peer.types.values())
    assert peer.robot.joint_names == list(peer.model.names)[1:]
    assert peer.robot.nv == peer.model.nv
    assert peer.robot.nq == peer.model.nq - continuous
    for joint in peer.robot.joint_names:
        number = peer.model.getJointId(joint)
        assert peer.robot.joint_slices(joint)[1].start == peer.model.idx_vs[number]


def test_masses_are_those_of_pinocchio(peer):
    theirs = sum(inertia.mass for inertia in peer.model.inertias)  # what is fixed included
    assert peer.robot.total_mass == pytest.approx(theirs, rel=1e-14)


def test_position_limits_are_those_of_pinocchio(peer):
    for joint in peer.robot.description.joints:
        if joint.type in (JointType.REVOLUTE, JointType.PRISMATIC) and math.isfinite(
            joint.limit.upper
        ):  # none given is none here, and zero there
            k = peer.model.idx_qs[peer.model.getJointId(joint.name)]
            theirs = peer.model.lowerPositionLimit[k], peer.model.upperPositionLimit[k]
            assert (joint.limit.lower, joint.limit.upper) == theirs, joint.name


@pytest.mark.parametrize('seed', range(3))
def test_tree_dynamics_are_those_of_pinocchio(peer, seed):
    robot, model, data = peer.robot, peer.model, peer.data
    q, v, a, theirs = peer.state(seed)
    pin.framesForwardKinematics(model, data, theirs)
    for link, X in ccd.link_placements(robot, q).items():
        expected = data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous
        assert relative_error(X, expected) <= RELATIVE, link
    tau = pin.rnea(model, data, theirs, v, a) + peer.damping() * v
    assert relative_error(ccd.newton_euler(robot, q, v, a), tau) <= RELATIVE
    assert relative_error(ccd.mass_matrix(robot, q), pin.crba(model, data, theirs)) <= RELATIVE
    kinetic = pin.computeKineticEnergy(model, data, theirs, v)
    assert relative_error(ccd.energy(robot, q, v)[0], kinetic) <= RELATIVE
    assert (
        relative_error(ccd.center_of_mass(robot, q), pin.centerOfMass(model, data, theirs))
        <= RELATIVE
    )


def test_a_robot_that_floats_has_the_size_its_file_says():
    peer = Peer(geared_legs())
    assert (peer.robot.nq, peer.robot.nv) == (peer.model.nq, peer.model.nv) == (27, 26)
    assert JointType.FLOATING in peer.types.values()


# --- a biped with rods, as MuJoCo reads it -------------------------------------------------------
MUJOCO_TYPES = {
    0: JointType.FLOATING,
    1: JointType.SPHERICAL,
    2: JointType.PRISMATIC,
    3: JointType.REVOLUTE,
}


def _pose(position, quaternion):
    """Return a Pose from MuJoCo's position and quaternion w, x, y, z."""
    R = pin.Quaternion(*quaternion).matrix()
    return Pose(tuple(float(x) for x in position), rpy_of(R))


def _described(model):
    """Return the tree of a compiled MuJoCo model whose joints stand at the origins of bodies."""
    links, joints = [Link('world')], []
    for body in range(1, model.nbody):
        name = model.body(body).name
        ixx, iyy, izz = (float(x) for x in model.body_inertia[body])
        links.append(
            Link(
                name,
                Inertia(
                    float(model.body_mass[body]),
                    _pose(model.body_ipos[body], model.body_iquat[body]),
                    (ixx, 0.0, 0.0, iyy, 0.0, izz),
                ),
            )
        )
        kind, axis, label = JointType.FIXED, (0.0, 0.0, 1.0), f'{body:02d}'
        if model.body_jntnum[body]:
            number = model.body_jntadr[body]
            assert model.body_jntnum[body] == 1 and not model.jnt_pos[number].any()
            kind = MUJOCO_TYPES[model.jnt_type[number]]
            axis = tuple(float(x) for x in model.jnt_axis[number])
        origin = _pose(model.body_pos[body], model.body_quat[body])
        if kind is JointType.FLOATING:
            origin = Pose()  # its coordinates are those of the world
        joints.append(
            Joint(label, kind, model.body(model.body_parentid[body]).name, name, origin, axis)
        )
    return Description('biped', tuple(links), tuple(joints))


@pytest.fixture(scope='module')
def biped():
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(rod_biped())
    return mujoco, model, ccd.Mechanism(_described(model), gravity=model.opt.gravity)


def _mujoco_state(model, q, v, a):
    """
    Return q, v and a in MuJoCo's layout, and dv of MuJoCo over dv of the mechanism.

    A free joint's linear velocity is in world axes there, quaternions are w, x, y, z, and the
    angle of a hinge counts from its angle in the file.
    """
    q, T, bias = q.copy(), np.eye(model.nv), np.zeros(model.nv)
    for number in range(model.njnt):
        at, dof = model.jnt_qposadr[number], model.jnt_dofadr[number]
        kind = MUJOCO_TYPES[model.jnt_type[number]]
        if kind is JointType.FLOATING:
            R = pin.Quaternion(*np.roll(q[at + 3 : at + 7], 1)).matrix()
            T[dof : dof + 3, dof : dof + 3] = R
            bias[dof : dof + 3] = R @ np.cross(v[dof + 3 : dof + 6], v[dof : dof + 3])
            q[at + 3 : at + 7] = np.roll(q[at + 3 : at + 7], 1)
        elif kind is JointType.SPHERICAL:
            q[at : at + 4] = np.roll(q[at : at + 4], 1)
        else:
            q[at] += model.qpos0[at]
    return q, T @ v, T @ a + bias, T


def test_the_mass_of_the_biped_is_that_of_mujoco(biped):
    _, model, robot = biped
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    assert robot.total_mass == pytest.approx(model.body_mass.sum(), rel=1e-14)


@pytest.mark.parametrize('seed', range(5))
def test_the_tree_dynamics_of_the_biped_are_those_of_mujoco(biped, seed):
    mujoco, model, robot = biped
    q, v, a = random_state(np.random.default_rng(seed), robot.description)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], acceleration, T = _mujoco_state(model, q, v, a)
    mujoco.mj_forward(model, data)
    for body in range(1, model.nbody):
        X = ccd.link_placement(robot, q, model.body(body).name)
        assert relative_error(X[:3, 3], data.xpos[body]) <= MUJOCO
        assert relative_error(X[:3, :3].ravel(), data.xmat[body]) <= MUJOCO
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    M -= np.diag(model.dof_armature)  # rotors are not part of the tree
    assert relative_error(ccd.mass_matrix(robot, q), T.T @ M @ T) <= MUJOCO
    tau = M @ acceleration + data.qfrc_bias
    assert relative_error(ccd.newton_euler(robot, q, v, a), T.T @ tau) <= MUJOCO
    np.testing.assert_allclose(
        ccd.center_of_mass(robot, q), data.subtree_com[0], rtol=0.0, atol=MUJOCO
    )
