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

"""A pinocchio.Model in and out: the numbers are Pinocchio's own."""

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import read, to_pinocchio

pin = pytest.importorskip('pinocchio')
TOLERANCE = 1e-9  # relative to the largest number


def mass_matrix_of(model, q):
    upper = np.triu(pin.crba(model, model.createData(), q))
    return upper + np.triu(upper, 1).T


def own_state(robot, model, q, v):
    """Return a state of the mechanism, by the names of the joints."""
    own_q, own_v = robot.neutral(), np.zeros(robot.nv)
    order = np.zeros(model.nv, dtype=int)
    for number in range(1, model.njoints):
        joint = model.joints[number]
        at, dof = robot.joint_slices(model.names[number])
        value = q[joint.idx_q : joint.idx_q + joint.nq]
        if joint.nq == 2:  # an angle as cosine and sine
            value = [np.arctan2(value[1], value[0])]
        own_q[at], own_v[dof] = value, v[joint.idx_v : joint.idx_v + joint.nv]
        order[joint.idx_v : joint.idx_v + joint.nv] = np.arange(dof.start, dof.stop)
    return own_q, own_v, order


@pytest.mark.parametrize('build', ['buildSampleModelHumanoid', 'buildSampleModelManipulator'])
def test_a_model_is_read_as_it_is(build):
    model = getattr(pin, build)()
    model.armature = np.linspace(0.1, 0.2, model.nv)
    model.armature[:6] = 0.1  # one number a joint
    model.damping = 0.5 * model.armature
    robot = ccd.load(model, inertia='trust')
    pin.seed(1)
    q, v = pin.integrate(model, pin.neutral(model), pin.utils.rand(model.nv)), np.ones(model.nv)
    own_q, own_v, order = own_state(robot, model, q, v)
    M = mass_matrix_of(model, q)
    own_M = ccd.mass_matrix(robot, own_q)[np.ix_(order, order)]
    assert np.abs(own_M - M).max() < TOLERANCE * np.abs(M).max()
    data = model.createData()
    bias = pin.rnea(model, data, q, v, np.zeros(model.nv)) + model.damping * v
    own_bias = ccd.newton_euler(robot, own_q, own_v, np.zeros(robot.nv))[order]
    assert np.abs(own_bias - bias).max() < TOLERANCE * np.abs(bias).max()


@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'swing'])
def test_loops_come_back_from_constraint_models(name):
    robot = ccd.load(name)
    model, constraints, _ = to_pinocchio(robot.description, robot.gravity)
    assert model.nq == robot.nq and model.nv == robot.nv  # laid out alike
    motor = robot.description.actuators[0].joint
    again = ccd.load((model, constraints), actuated=[motor])
    assert set(again.joint_names) >= {model.names[k] for k in range(1, model.njoints)}
    q = ccd.assemble(robot, {})
    M = mass_matrix_of(model, q)
    for each in (robot, again):
        assert np.abs(ccd.mass_matrix(each, q) - M).max() < TOLERANCE * np.abs(M).max()
    assert max(max(gap) for gap in again.loop_gaps(q).values()) < 1e-9
    assert [each.joint for each in again.description.actuators] == [motor]
    # Pinocchio's own Jacobian of the loops has the same motions
    if constraints:
        data = model.createData()
        pin.computeJointJacobians(model, data, q)
        W = ccd.coordinates(again, q).W
        for one in constraints:
            own = one.createData()
            one.calc(model, data, own)
            J = pin.getConstraintJacobian(model, data, one, own)
            assert np.abs(J @ W).max() < 1e-8


def test_limits_and_laws_survive():
    text = """<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0.6 0.8"/>
      <limit lower="-1" upper="2" effort="3" velocity="4"/>
      <dynamics damping="0.5" friction="0.25"/></joint></robot>"""
    before = read(text).joints[0]
    after = read(to_pinocchio(read(text))[0]).joints[0]
    assert (after.limit, after.dynamics, after.type) == (
        before.limit,
        before.dynamics,
        before.type,
    )
    assert after.axis == pytest.approx(before.axis, abs=1e-15)


def test_what_is_left_out_is_told():
    _, _, lost = to_pinocchio(ccd.load('exo').description)
    assert any('couplings' in each for each in lost) and any('springs' in each for each in lost)


def test_what_is_not_read_is_refused():
    model = pin.Model()
    model.addJoint(0, pin.JointModelTranslation(), pin.SE3.Identity(), 'slide')
    with pytest.raises(ccd.DescriptionError, match="'slide' is a JointModelTranslation"):
        read(model)
    with pytest.raises(ccd.DescriptionError, match='itself defines how its root moves'):
        read(pin.buildSampleModelManipulator(), root_joint='floating')
    with pytest.raises(ccd.DescriptionError, match='str is not a constraint'):
        read((pin.buildSampleModelManipulator(), ['loop']), inertia='trust')
    model = pin.buildSampleModelHumanoid()
    model.damping[0] = 1.0
    with pytest.raises(ccd.DescriptionError, match='damping of the joint .* differs'):
        read(model)
