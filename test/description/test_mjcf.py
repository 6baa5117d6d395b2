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

"""MJCF files against MuJoCo itself, which reads the same text."""

import sys

from helpers.mjcf_comparison import Twin, disagreement, random_state
from helpers.mjcf_features import FEATURES, TWO, arm, world
from helpers.rod_biped import MOBILITY, rod_biped
import mujoco
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import description
from closed_chain_dynamics.description import LoopType

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


@pytest.fixture(params=['everything', 'rod_biped'])
def pair(request):
    source = EVERYTHING if request.param == 'everything' else rod_biped()
    return ccd.load(source), source


def test_placements_inertia_bias_and_dampers_are_those_of_mujoco(pair):
    for kind, error in disagreement(*pair, states=10).items():
        assert error < TOLERANCE, kind


def test_the_armature_of_a_free_joint_is_that_of_mujoco():
    # MuJoCo counts linear velocities in world axes, where the armature is that of a mass
    text = world(
        '<body pos="0 0 1"><joint name="fly" type="free" armature="0.3" damping="0.2"/>'
        '<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/><body pos="0.3 0 0">'
        '<joint axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body></body>'
    )
    robot = ccd.load(text)
    found = disagreement(robot, text)
    assert found.pop('mass') > TOLERANCE, 'what stands for the armature has a mass'
    assert max(found.values()) < TOLERANCE, found
    assert any('weightless body of its own (1: fly)' in each for each in robot.description.notes)


@pytest.mark.parametrize('feature', FEATURES)
def test_what_the_compiler_fills_in_is_that_of_mujoco(feature):
    text = FEATURES[feature]
    for kind, error in disagreement(ccd.load(text), text).items():
        assert error < TOLERANCE, kind


def test_springs_are_those_of_mujoco(pair):
    robot, source = pair
    model = Twin(robot, source).model
    assert len(robot.description.springs) == np.count_nonzero(model.jnt_stiffness)
    for spring in robot.description.springs:
        joint = model.joint(spring.joint)
        assert spring.stiffness == joint.stiffness[0]
        assert spring.rest == pytest.approx(model.qpos_spring[joint.qposadr[0]], abs=TOLERANCE)


WELDS = {
    'connect': '<connect name="w" body1="fore" body2="post" anchor="0.4 0 0"/>',
    'connect of sites': '<connect name="w" site1="tip" site2="top"/>',
    'weld': '<weld name="w" body1="fore" body2="post"/>',
    'weld with anchor': '<weld name="w" body1="fore" body2="post" anchor="0.1 0.2 0.3"/>',
    'weld with relpose': '<weld name="w" body1="fore" body2="post" '
    'relpose="0.4 0.1 0 0.8 0.6 0 0"/>',
    'weld with relpose and anchor': '<weld name="w" body1="fore" body2="post" '
    'anchor="0.1 0.2 0.3" relpose="0.4 0.1 0 0.8 0 0.6 0"/>',
    'weld of sites': '<weld name="w" site1="tip" site2="top"/>',
    'weld without torque': '<weld name="w" body1="fore" body2="post" torquescale="0"/>',
    'weld to the world': '<weld name="w" body1="fore"/>',
}
POST = (
    '<body name="post" pos="1 0.2 0.7" euler="0 20 10"><joint name="sway" axis="1 0 0"/>'
    '<geom type="box" size="0.1 0.2 0.3"/><site name="top" pos="0 0 0.3" euler="30 0 0"/></body>'
)


@pytest.mark.parametrize('kind', WELDS)
def test_loops_have_the_gaps_of_mujoco(kind):
    text = world(TWO, POST, after=f'<equality>{WELDS[kind]}</equality>')
    robot = ccd.load(text)
    twin = Twin(robot, text)
    q, v = random_state(robot, np.random.default_rng(3))
    twin.set(q, v)
    error = twin.data.efc_pos[: twin.data.ne]
    metres, radians = robot.loop_gaps(q)['w']
    assert metres == pytest.approx(np.linalg.norm(error[:3]), abs=TOLERANCE)
    rotates = kind.startswith('weld') and kind != 'weld without torque'
    (loop,) = robot.description.loops
    assert loop.type is (LoopType.FIXED if rotates else LoopType.SPHERICAL)
    if rotates:  # MuJoCo's error is the vector of the quaternion, the sine of half the angle
        assert np.sin(0.5 * radians) == pytest.approx(np.linalg.norm(error[3:]), abs=TOLERANCE)


COUPLINGS = {
    'joint': '<equality><joint name="c" joint1="swing" joint2="bend" '
    'polycoef="0.1 0.5 0.25 0.3 -0.2"/></equality>',
    'joint alone': '<equality><joint name="c" joint1="bend" polycoef="0.1"/></equality>',
    'tendon': '<tendon><fixed name="t"><joint joint="swing" coef="2"/>'
    '<joint joint="bend" coef="-3"/></fixed></tendon>'
    '<equality><tendon name="c" tendon1="t" polycoef="0.3"/></equality>',
    'two tendons': '<tendon><fixed name="t"><joint joint="swing" coef="2"/></fixed>'
    '<fixed name="u"><joint joint="bend" coef="-3"/></fixed></tendon>'
    '<equality><tendon name="c" tendon1="t" tendon2="u" polycoef="0.1 0.5 0.25"/></equality>',
}


@pytest.mark.parametrize('kind', COUPLINGS)
def test_couplings_have_the_errors_of_mujoco(kind):
    text = world(arm(joint='ref="20"', inside=FORE_WITH_REF), after=COUPLINGS[kind])
    robot = ccd.load(text)
    twin = Twin(robot, text)
    q, v = random_state(robot, np.random.default_rng(3))
    twin.set(q, v)
    (error,) = twin.data.efc_pos[: twin.data.ne]
    assert max(robot.loop_gaps(q)['c']) == pytest.approx(abs(error), abs=TOLERANCE)


FORE_WITH_REF = (
    '<body pos="0.5 0 0"><joint name="bend" axis="0 1 0" ref="-10"/><geom size="0.1"/></body>'
)


def test_a_biped_closes_and_has_the_mobility_of_its_planar_feet():
    robot = ccd.load(rod_biped())
    q = ccd.assemble(robot, {})
    assert max(max(gap) for gap in robot.loop_gaps(q).values()) < 1e-9
    assert ccd.coordinates(robot, q).mobility == MOBILITY


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
        (broken('body1="jib"', 'body1="jab"'), r"line 35, 'rope'.*unknown element 'jab'"),
        (broken('joint2="strike"', 'joint2="stroke"'), r"'cam'.*unknown element 'stroke'"),
        (broken('motor joint="swivel"', 'motor joint="swirl"'), r"target 'swirl'"),
        (broken('type="ball"', 'type="bell"'), r"line 17.*invalid keyword: 'bell'"),
        (broken('<keyframe>', '<include file="x.xml"/><keyframe>'), r'a text has no folder'),
        ('<mujoco model="bare"/>', r'it has no <body>'),
        (broken('qpos="0.4 ', 'qpos="9 9 '), r'invalid qpos size, expected 16, got 17'),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_mujoco(text, said):
    with pytest.raises(ccd.ClosedChainError, match=said):
        ccd.load(text)


def test_an_mjcf_file_decides_itself_what_is_free():
    with pytest.raises(ccd.DescriptionError, match='freejoint'):
        description.read(EVERYTHING, root_joint='floating')


def test_gravity_is_that_of_the_file_unless_another_is_asked_for():
    text = FEATURES['gravity of the file']
    assert np.array_equal(ccd.load(text).gravity, [1.0, 2.0, -3.0])
    assert np.array_equal(ccd.load(text, gravity=(0.0, 0.0, -1.0)).gravity, [0.0, 0.0, -1.0])


def test_gravity_survives_a_save(tmp_path):
    ccd.load(FEATURES['gravity of the file']).save(tmp_path / 'saved.urdf')
    assert np.array_equal(ccd.load(tmp_path / 'saved.urdf').gravity, [1.0, 2.0, -3.0])


def test_the_armature_of_joints_and_motors_is_taken_over():
    motor = '<actuator><motor joint="bend" gear="5" armature="0.01"/></actuator>'
    text = world(TWO.replace('name="bend"', 'name="bend" armature="0.2"'), after=motor)
    (bend,) = (each for each in ccd.load(text).description.joints if each.name == 'bend')
    model = mujoco.MjModel.from_xml_string(text)
    bare = mujoco.MjModel.from_xml_string(world(TWO))
    # MuJoCo keeps the diagonal of M at the start; rotors are all that differs
    assert bend.dynamics.armature == pytest.approx(model.dof_M0[1] - bare.dof_M0[1], abs=1e-12)


TENDON = '<tendon><fixed name="t"><joint joint="swing" coef="0.5"/>{}</fixed></tendon>'
MOTORS = {
    'force range': ('<motor joint="bend" gear="-20" forcerange="-1 3"/>', {'bend': 60.0}),
    'control range': ('<motor joint="bend" gear="20" ctrlrange="-2 2"/>', {'bend': 40.0}),
    'no range': ('<motor joint="bend"/>', {'bend': np.inf}),
    'two on one': ('<motor joint="bend" ctrlrange="-1 1"/>' * 2, {'bend': 2.0}),
    'in the parent': ('<motor jointinparent="bend" ctrlrange="-1 1"/>', {'bend': 1.0}),
    'site': ('<motor site="tip"/>', {}),
    'tendon': ('<motor tendon="t" gear="6" ctrlrange="-1 1"/>', {'swing': 3.0}),
}


@pytest.mark.parametrize('kind', MOTORS)
def test_motors_act_on_joints_with_what_they_can_give(kind):
    motors, efforts = MOTORS[kind]
    robot = ccd.load(world(TWO, after=f'{TENDON.format("")}<actuator>{motors}</actuator>'))
    assert robot.actuator_names == list(efforts)
    found = {each.name: each.limit.effort for each in robot.description.joints}
    assert {name: found[name] for name in efforts} == pytest.approx(efforts)


def test_a_tendon_over_coupled_joints_is_a_motor_on_the_first_of_them():
    inside = TENDON.format('<joint joint="bend" coef="-0.25"/>')
    motor = '<actuator><motor tendon="t" gear="8" ctrlrange="-1 1"/></actuator>'
    equality = '<equality><joint joint1="bend" joint2="swing" polycoef="0.1 -3"/></equality>'
    robot = ccd.load(world(TWO, after=inside + equality + motor))
    # the same power: length' = 0.5 swing' - 0.25 bend' = (0.5 + 0.75) swing'
    assert robot.actuator_names == ['swing']
    (swing,) = (each for each in robot.description.joints if each.name == 'swing')
    assert swing.limit.effort == pytest.approx(8.0 * 1.25)


def test_joint_force_ranges_hold_with_and_without_motors():
    text = world(arm(joint='actuatorfrcrange="-7 7"'))
    robot = ccd.load(text, actuated=['swing'])
    assert robot.description.joints[0].limit.effort == 7.0


@pytest.mark.parametrize(
    'tendon',
    [
        '<fixed name="t" stiffness="30" damping="2" springlength="0.4">'
        '<joint joint="bend" coef="-3"/></fixed>',
        '<spatial name="t" stiffness="30" damping="2" springlength="0.4">'
        '<site site="eye"/><site site="tip"/></spatial>',
    ],
)
def test_springs_of_tendons_give_the_forces_of_mujoco(tendon):
    eye = '<site name="eye" pos="0.2 0.1 1.4"/>'
    text = world(eye, TWO, after=f'<tendon>{tendon}</tendon>')
    robot = ccd.load(text)
    twin = Twin(robot, text)
    q, v = random_state(robot, np.random.default_rng(5))
    twin.set(q, v)
    tau = -twin.T.T @ twin.data.qfrc_passive
    with_springs = ccd.inverse_dynamics(robot, q, v, np.zeros(robot.nv)).tau_O
    own = with_springs - ccd.newton_euler(robot, q, v, np.zeros(robot.nv))
    assert own == pytest.approx(tau, abs=TOLERANCE * np.abs(tau).max())


def test_a_tight_tendon_is_a_coupling():
    tendon = (
        '<tendon><fixed name="t" range="0.3 0.3000000001" limited="true">'
        '<joint joint="swing" coef="2"/>'
        '<joint joint="bend" coef="1"/></fixed></tendon>'
    )
    robot = ccd.load(world(TWO, after=tendon))
    q = ccd.assemble(robot, {'swing': 0.1})
    assert q == pytest.approx([0.1, 0.1], abs=1e-9)  # 2 * 0.1 + 0.1 = 0.3


LEFT_OUT = {
    'muscles': world(
        TWO, after='<actuator><muscle name="m" joint="bend" lengthrange="0 1"/></actuator>'
    ),
    'fluid': world(TWO, before='<option density="1.2" viscosity="1e-5"/>'),
    'contact between geoms': world(TWO),
    'springs of ball and free joints': world(
        '<body><joint type="ball" stiffness="3"/><geom size="0.1"/></body>' * 9
    ),
    'limits of tendon lengths': world(
        TWO, after='<tendon><fixed range="0 1"><joint joint="bend" coef="1"/></fixed></tendon>'
    ),
    'gravity is reduced': FEATURES['weight carried'],
}


@pytest.mark.parametrize('what', LEFT_OUT)
def test_what_is_left_out_is_noted_once(what):
    notes = [note for note in ccd.load(LEFT_OUT[what]).description.notes if what in note]
    assert len(notes) == 1


def test_names_never_collide():
    made = ccd.load(FEATURES['unnamed bodies']).description
    for group in (made.links, made.joints):
        assert len({each.name for each in group}) == len(group)


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(ccd.DescriptionError, match=r'closed_chain_dynamics\[mjcf\]'):
        description.read(EVERYTHING)


def test_includes_and_meshes_are_found_beside_the_file(tmp_path):
    (tmp_path / 'arm.xml').write_text(f'<mujocoinclude>{arm()}</mujocoinclude>')
    file = tmp_path / 'robot.xml'
    file.write_text(world('<include file="arm.xml"/>'))
    robot = ccd.load(file)
    assert robot.joint_names == ['swing']
    assert max(disagreement(robot, file).values()) < TOLERANCE


def test_warnings_of_mujoco_are_notes_and_leave_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = ccd.load(FEATURES['settotalmass']).description.notes
    assert any(note.startswith('MuJoCo warns: ') and 'settotalmass' in note for note in notes)
    with pytest.raises(ccd.DescriptionError, match='dof_damping of the compiled model'):
        ccd.load(world(arm(joint='damping="nan"')))
    assert list(tmp_path.iterdir()) == []
