"""MJCF files against MuJoCo itself, which reads the same text."""

from pathlib import Path

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import description

mujoco = pytest.importorskip('mujoco', reason='MuJoCo is the peer here')

SHARED = Path(__file__).resolve().parents[3] / 'shared' / 'models' / 'mjcf'
CASSIE = SHARED / 'agility_cassie' / 'cassie.nomesh.xml'
# MuJoCo works in doubles and compiles frames once more; both round in the last digits.
TOLERANCE = 1e-10
EVERYTHING = """
<mujoco model="everything">
  <compiler angle="degree" eulerseq="zyx"/>
  <default>
    <geom density="500"/>
    <default class="heavy"> <geom density="7800"/> <joint damping="0.2"/> </default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="crane" pos="0.1 0.2 1" euler="20 10 -30" childclass="heavy">
      <joint name="lift" type="slide" axis="0 0 1" ref="0.2" range="-1 1" stiffness="50"/>
      <joint name="swivel" axis="0 0 1" pos="0.05 0 0" ref="30"/>
      <joint name="tilt" axis="0 1 0" pos="0.1 0.02 0"/>
      <geom type="box" size="0.1 0.05 0.2" pos="0.02 0 0.1" euler="0 0 45"/>
      <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.03"/>
      <frame pos="0.3 0.1 0" axisangle="1 0 0 30">
        <body name="jib" zaxis="0.1 0.2 1">
          <joint name="wrist" type="ball" pos="0 0 0.02"/>
          <geom type="cylinder" size="0.02 0.2" pos="0 0 0.2" class="main"/>
          <geom type="ellipsoid" size="0.03 0.05 0.07" mass="0.4" pos="0 0 0.4"/>
          <site name="hook" pos="0 0 0.45"/>
        </body>
      </frame>
    </body>
    <body name="load" pos="0.3 0.3 1.5" quat="0.9 0.1 0.2 0.3">
      <freejoint name="flight"/>
      <inertial pos="0.01 0 0.02" mass="2" diaginertia="0.02 0.03 0.04" euler="10 20 30"/>
      <geom type="sphere" size="0.1"/>
      <body name="bell" pos="0 0 -0.2"> <joint name="ring" axis="1 0 0" range="-90 45"/>
        <geom type="sphere" size="0.05"/> </body>
      <body name="clapper" pos="0 0.1 -0.2"> <joint name="strike" axis="1 0 0" ref="10"/>
        <geom type="sphere" size="0.03"/> </body>
    </body>
  </worldbody>
  <equality>
    <connect name="rope" body1="jib" body2="load" anchor="0 0 0.45"/>
    <weld name="clamp" body1="crane" body2="bell" anchor="0.1 0 0" active="false"/>
    <joint name="cam" joint1="ring" joint2="strike" polycoef="0.1 0.5 0.25"/>
  </equality>
  <actuator>
    <motor joint="swivel" gear="20" ctrlrange="-2 3"/>
    <position joint="tilt" kp="10" forcerange="-5 5"/>
  </actuator>
  <keyframe>
    <key name="up" qpos="0.4 0.3 -0.2 1 0 0 0 0.3 0.3 1.6 1 0 0 0 0.1 0.2"/>
  </keyframe>
</mujoco>
"""


def peer(text):
    """Return MuJoCo's model and data, without the inertia of rotors."""
    model = (
        mujoco.MjModel.from_xml_path(str(text))
        if isinstance(text, Path)
        else mujoco.MjModel.from_xml_string(text)
    )
    model.dof_armature[:] = 0.0
    return model, mujoco.MjData(model)


def to_peer(robot, model, q):
    """Return MuJoCo's qpos, and T with qvel = T v."""
    qpos, T = np.zeros(model.nq), np.zeros((model.nv, robot.nv))
    for name in robot.joint_names:
        # only Cassie's free joint has no name, and is the first
        joint = model.joint(0 if name == 'cassie-pelvis_joint' else name)
        own_q, own_v = robot.joint_slices(name)
        value, at, dof = q[own_q].copy(), joint.qposadr[0], joint.dofadr[0]
        count = own_v.stop - own_v.start
        T[dof : dof + count, own_v] = np.eye(count)
        if len(value) > 1:
            value[-4:] = value[[-1, -4, -3, -2]]  # x y z w to w x y z
        if len(value) == 7:  # MuJoCo has the linear velocity in world axes
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, value[3:])
            T[dof : dof + 3, own_v.start : own_v.start + 3] = R.reshape(3, 3)
        qpos[at : at + len(value)] = value
    return qpos, T


@pytest.fixture(params=['everything', 'cassie'])
def pair(request):
    if request.param == 'cassie':
        if not CASSIE.is_file():
            pytest.skip('the model of Cassie lies beside the repository, not in it')
        return ccd.load(CASSIE), *peer(CASSIE)
    return ccd.load(EVERYTHING), *peer(EVERYTHING)


def random_state(robot, rng):
    q = ccd.integrate(robot, robot.neutral(), rng.normal(size=robot.nv))
    return q, rng.normal(size=robot.nv)


def test_bodies_are_where_mujoco_puts_them(pair):
    robot, model, data = pair
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, _ = random_state(robot, rng)
        data.qpos, _ = to_peer(robot, model, q)
        mujoco.mj_kinematics(model, data)
        for number in range(1, model.nbody):
            placement = ccd.link_placement(robot, q, model.body(number).name)
            assert np.allclose(placement[:3, 3], data.xpos[number], atol=TOLERANCE)
            assert np.allclose(placement[:3, :3], data.xmat[number].reshape(3, 3), atol=TOLERANCE)


def test_inertia_bias_and_dampers_are_those_of_mujoco(pair):
    robot, model, data = pair
    model.opt.gravity = robot.gravity
    rng = np.random.default_rng(2)
    for _ in range(10):
        q, v = random_state(robot, rng)
        data.qpos, T = to_peer(robot, model, q)
        data.qvel = T @ v
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        M_own = ccd.mass_matrix(robot, q)
        assert np.allclose(M_own, T.T @ M @ T, atol=TOLERANCE * np.abs(M).max())
        # T turns with a free body: its velocity in world axes has an extra acceleration w x v
        bias = T.T @ (data.qfrc_bias - data.qfrc_damper + M @ turning(robot, T, v))
        own = ccd.newton_euler(robot, q, v, np.zeros(robot.nv))
        assert np.allclose(own, bias, atol=TOLERANCE * max(1.0, np.abs(bias).max()))


def test_springs_are_those_of_mujoco(pair):
    robot, model, _ = pair
    assert len(robot.description.springs) == np.count_nonzero(model.jnt_stiffness)
    for spring in robot.description.springs:
        joint = model.joint(spring.joint)
        assert spring.stiffness == joint.stiffness[0]
        assert spring.rest == pytest.approx(model.qpos_spring[joint.qposadr[0]], abs=TOLERANCE)


def turning(robot, T, v):
    """Return dT/dt v, MuJoCo's accelerations where those here are zero."""
    extra = np.zeros(len(T))
    for name in robot.joint_names:
        _, own = robot.joint_slices(name)
        if own.stop - own.start == 6:
            linear, angular = v[own][:3], v[own][3:]
            rows = np.abs(T[:, own.start : own.start + 3]).sum(axis=1) > 0
            extra[rows] = T[rows][:, own.start : own.start + 3] @ np.cross(angular, linear)
    return extra


def test_loops_have_the_gaps_and_couplings_the_errors_of_mujoco():
    robot, (model, data) = ccd.load(EVERYTHING), peer(EVERYTHING)
    robot.connect('clamp')
    rng = np.random.default_rng(3)
    q, _ = random_state(robot, rng)
    data.qpos, _ = to_peer(robot, model, q)
    data.eq_active[:] = 1
    mujoco.mj_fwdPosition(model, data)
    error = data.efc_pos[: data.ne]  # connect 3, weld 6, joint 1, in the order of the file
    gaps = robot.loop_gaps(q)
    assert gaps['rope'][0] == pytest.approx(np.linalg.norm(error[:3]), abs=TOLERANCE)
    assert gaps['clamp'][0] == pytest.approx(np.linalg.norm(error[3:6]), abs=TOLERANCE)
    ring, strike = (q[robot.joint_slices(name)[0]][0] for name in ('ring', 'strike'))
    (cam,) = robot.description.couplings
    value = cam.constant + sum(
        c * (ring if term.joint == 'ring' else strike) ** (k + 1)
        for term in cam.terms
        for k, c in enumerate(term.coefficients)
    )
    assert value == pytest.approx(error[9], abs=TOLERANCE)


def test_cassie_closes_and_has_the_mobility_of_its_planar_feet():
    if not CASSIE.is_file():
        pytest.skip('the model of Cassie lies beside the repository, not in it')
    robot = ccd.load(CASSIE)
    q = ccd.assemble(robot, {})
    assert max(max(gap) for gap in robot.loop_gaps(q).values()) < 1e-9
    # 32 velocities; each foot's loop is planar (2 rows count), each rod's has 3
    assert ccd.coordinates(robot, q).mobility == 32 - 2 * (2 + 3)


def test_motors_limits_springs_and_poses_are_taken_over():
    robot = ccd.load(EVERYTHING)
    made = robot.description
    joints = {joint.name: joint for joint in made.joints}
    assert robot.actuator_names == ['swivel', 'tilt']
    assert joints['swivel'].limit.effort == 60.0 and joints['tilt'].limit.effort == 5.0
    assert joints['ring'].limit.upper == pytest.approx(np.pi / 4)
    assert joints['lift'].dynamics.damping == 0.2
    assert [spring.joint for spring in made.springs] == ['lift']
    poses = {pose.name: dict(pose.positions) for pose in made.assemblies}
    assert poses['qpos0']['swivel'] == pytest.approx(np.pi / 6)
    assert poses['up']['flight'] == (0.3, 0.3, 1.6, 0.0, 0.0, 0.0, 1.0)


def test_what_was_read_survives_a_save(tmp_path):
    robot = ccd.load(EVERYTHING)
    robot.save(tmp_path / 'saved.urdf')
    again = ccd.load(tmp_path / 'saved.urdf')
    q, _ = random_state(robot, np.random.default_rng(4))
    assert np.allclose(ccd.mass_matrix(robot, q), ccd.mass_matrix(again, q), atol=TOLERANCE)
    assert again.loop_names == robot.loop_names


def broken(old, new):
    assert old in EVERYTHING
    return EVERYTHING.replace(old, new)


@pytest.mark.parametrize(
    'text, said',
    [
        (broken('body1="jib"', 'body1="jab"'), r"no body named 'jab'.*'jib'"),
        (broken('joint2="strike"', 'joint2="stroke"'), r"no joint named 'stroke'.*'strike'"),
        (broken('motor joint="swivel"', 'motor joint="swirl"'), r"no joint named 'swirl'"),
        (broken('type="ball"', 'type="bell"'), r"'bell' is no type of joint.*hinge"),
        (broken('range="-90 45"', 'range="90 45"'), r'range goes from 90 down to 45'),
        (broken('<keyframe>', '<include file="x.xml"/><keyframe>'), r'<include> is not read'),
        ('<mujoco model="bare"/>', r'it has no <body>'),
        (broken('qpos="0.4 ', 'qpos="'), r'15 numbers, but the joints take 16'),
    ],
)
def test_what_is_wrong_is_named(text, said):
    with pytest.raises(ccd.ClosedChainError, match=said):
        ccd.load(text)


def test_an_mjcf_file_decides_itself_what_is_free():
    with pytest.raises(ccd.DescriptionError, match='freejoint'):
        description.read(EVERYTHING, root_joint='floating')


def test_what_is_left_out_is_noted():
    text = broken('ref="30"', 'ref="30" armature="0.1"')
    notes = ' '.join(ccd.load(text).description.notes)
    assert 'armature' in notes and 'swivel' in notes
