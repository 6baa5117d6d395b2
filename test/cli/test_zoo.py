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

"""closed-chain zoo: every robot in a folder is judged, whatever the others do."""

import json
import os
from pathlib import Path
import shutil

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.model import library
from closed_chain_dynamics.studies import zoo
from closed_chain_dynamics.studies.engine_twins import MuJoCo
from closed_chain_dynamics.studies.other_engines import Unreadable, differences

# A four-bar as MuJoCo writes it: the loop is a connect.
LOOP = """<mujoco><worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0" damping="0.1" armature="0.02"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
    <body name="coupler" pos="0 0 0.3"><joint name="coupler" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="1"/></body></body>
  <body name="rocker" pos="0.5 0 0"><joint name="rocker" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="2"/></body>
</worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="0.5 0 0"/></equality></mujoco>"""


@pytest.fixture
def folder(tmp_path):
    for name in ('four_bar', 'pendulum'):
        shutil.copy(library.shipped()[name], tmp_path)
    (tmp_path / 'deep').mkdir()
    (tmp_path / 'deep' / 'loop.xml').write_text(LOOP)
    (tmp_path / 'broken.urdf').write_text('<robot name="broken"><link name="a"/><joint/></robot>')
    (tmp_path / 'package.xml').write_text('<package><name>none</name></package>')
    (tmp_path / '.git').mkdir()
    shutil.copy(library.shipped()['pendulum'], tmp_path / '.git')
    return tmp_path


def test_every_robot_is_judged_and_nothing_else(folder, capsys):
    pytest.importorskip('mujoco')
    pytest.importorskip('pinocchio')
    assert main(['zoo', str(folder), '--json']) == 0
    out = capsys.readouterr()
    report = json.loads(out.out)
    found = {Path(each['file']).name: each for each in report['files']}
    assert sorted(found) == ['broken.urdf', 'four_bar.urdf', 'loop.xml', 'pendulum.urdf']
    four_bar, loop = found['four_bar.urdf'], found['loop.xml']
    assert (four_bar['mobility'], four_bar['loops'], four_bar['engine']) == (1, 1, 'pinocchio')
    assert (loop['mobility'], loop['redundant'], loop['engine']) == (1, 1, 'mujoco')
    assert loop['differences'].keys() == {'M', 'bias', 'acceleration'}
    assert loop['agrees'] and max(loop['differences'].values()) < 1e-9
    assert all(found[name]['simulates'] for name in found if name != 'broken.urdf')
    # Pinocchio cannot read it either: it is told of, and not held against anybody
    assert not found['broken.urdf']['loads'] and 'joint' in found['broken.urdf']['why']
    assert report['summary']['compared'] == report['summary']['agree'] == 3


def test_the_table_and_the_exit_code(folder, capsys):
    (folder / 'broken.urdf').unlink()
    assert main(['zoo', str(folder)]) == 0
    out = capsys.readouterr().out
    assert 'deep/loop.xml' in out and 'square' in out
    assert '3 of 3 files that their own tool reads load, 3 close, 3 simulate' in out


def test_a_difference_is_found(tmp_path):
    pytest.importorskip('mujoco')
    path = tmp_path / 'loop.xml'
    path.write_text(LOOP)
    heavier = ccd.load(LOOP.replace('mass="2"', 'mass="2.001"'))
    q = ccd.assemble(heavier, {'crank': 0.5})
    found = differences(heavier, path, q)
    assert found['M'] > 1e-4 and found['acceleration'] > 1e-6
    light = ccd.load(path)
    assert max(differences(light, path, ccd.assemble(light, {'crank': 0.5})).values()) < 1e-9
    path.write_text('<mujoco><worldbody><nothing/></worldbody></mujoco>')
    with pytest.raises(Unreadable, match='nothing'):
        differences(light, path, None)


# A servo whose range of commands leaves out zero pushes in MuJoCo before anybody commands it.
SERVO = LOOP.replace(
    '</mujoco>',
    '<actuator><position joint="crank" kp="50" ctrlrange="0.1 1"/></actuator></mujoco>',
)
# a spring whose stiffness grows with its length
STIFFENING = LOOP.replace(
    '</body></body>', '<site name="b" pos="0.2 0 0"/></body></body>'
).replace(
    '</worldbody>',
    """<site name="a" pos="0 0 1"/></worldbody><tendon>
    <spatial stiffness="40 9" springlength="0.1"><site site="a"/><site site="b"/></spatial>
    </tendon>""",
)
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="length" value="0.3"/></robot>"""
WHOLE = """<robot name="whole" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="part.xacro"/><link name="base"/>
  <link name="bob"><inertial><origin xyz="0 0 ${-length}"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="swing" type="continuous"><parent link="base"/><child link="bob"/>
    <axis xyz="0 1 0"/></joint></robot>"""
# about two axes, so that every moment counts; the first moment is too small for any rigid body
IMPOSSIBLE = """<robot name="impossible"><link name="base"/><link name="a"><inertial>
  <mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="1"/></inertial></link>
  <link name="b"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="1"/></inertial></link>
  <joint name="first" type="continuous"><parent link="base"/><child link="a"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="second" type="continuous"><parent link="a"/><child link="b"/>
    <origin xyz="0 0 0.2"/><axis xyz="1 0 0"/></joint></robot>"""

BARS = """<robot name="bars"><link name="base"/>
  <link name="crank"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="coupler"><inertial><origin xyz="0.25 0 0"/><mass value="1"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="rocker"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="crank" type="continuous"><parent link="base"/><child link="crank"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="middle" type="continuous"><parent link="crank"/><child link="coupler"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 1 0"/></joint>
  <joint name="rocker" type="continuous"><parent link="base"/><child link="rocker"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/></joint>
  <constraint name="close" type="revolute"><parent link="coupler"/><parent_origin xyz="0.5 0 0"/>
    <parent_axis xyz="0 1 0"/><child link="rocker"/><child_origin xyz="0.4 0 0"/>
    <child_axis xyz="0 1 0"/></constraint></robot>"""


ROTORS = LOOP.replace('axis="0 1 0"/>', 'axis="0 1 0" armature="0.5"/>')


def _judged(tmp_path, **texts):
    for name, text in texts.items():
        (tmp_path / name.replace('_', '.')).write_text(text)
    return {Path(each.file).name: each for each in map(zoo.judge, zoo.robots_in(tmp_path))}


def test_a_servo_without_a_command_is_no_difference(tmp_path):
    pytest.importorskip('mujoco')
    found = _judged(tmp_path, servo_xml=SERVO)['servo.xml']
    assert found.agrees and found.differences['acceleration'] < 1e-9
    assert any('servos' in each for each in found.left_out)


def test_rotors_of_dependent_joints_need_torque_for_their_drift(tmp_path):
    """Joints that the loop moves accelerate at constant speed of the crank, rotors included."""
    pytest.importorskip('mujoco')
    path = tmp_path / 'rotors.xml'
    path.write_text(ROTORS)
    robot = ccd.load(path)
    q = ccd.assemble(robot, {'crank': 0.7})
    assert differences(robot, path, q)['acceleration'] < 1e-9
    twin = MuJoCo(path)
    twin.attach(robot)
    v, expected, _ = twin.acceleration(q, np.array([3.0, -1.0, 2.0]), 1)
    assert np.abs(v).max() > 0.5
    compiled = robot.compile().forward_dynamics(q, v).acceleration
    assert np.allclose(compiled, expected, rtol=1e-9, atol=1e-9)
    back = ccd.inverse_dynamics(robot, q, v, ccd.forward_dynamics(robot, q, v).acceleration)
    assert np.abs(back.tau_G).max() < 1e-10


def test_a_part_of_an_mjcf_is_no_robot(tmp_path):
    pytest.importorskip('mujoco')
    part = '<mujoco><worldbody><geom size="1"/></worldbody></mujoco>'
    found = _judged(tmp_path, part_xml=part)['part.xml']
    assert not found.loads and found.engine_loads is False and found.good


def test_springs_that_are_left_out_are_named_where_they_make_a_difference(tmp_path):
    pytest.importorskip('mujoco')
    found = _judged(tmp_path, stiff_xml=STIFFENING)['stiff.xml']
    assert found.agrees is False and 'higher powers of damping and stiffness' in found.why


def test_macros_are_compared_and_parts_are_nobodys_fault(tmp_path):
    pytest.importorskip('pinocchio')
    found = _judged(tmp_path, part_xacro=PART, whole_xacro=WHOLE)
    part, whole = found['part.xacro'], found['whole.xacro']
    assert whole.agrees and whole.simulates and whole.engine == 'pinocchio'
    assert not part.loads and part.engine_loads is False and part.good


def test_impossible_inertias_are_compared_as_they_are_and_told(tmp_path):
    pytest.importorskip('pinocchio')
    found = _judged(tmp_path, impossible_urdf=IMPOSSIBLE)['impossible.urdf']
    assert found.loads and found.inertia == 'check' and found.agrees and found.simulates
    assert found.good and 'No rigid body has the inertias' in found.why
    # two links, one below the other, with moments that nothing makes up for
    text = IMPOSSIBLE.replace('iyy="0.2"', 'iyy="-0.2"')
    found = _judged(tmp_path, negative_urdf=text)['negative.urdf']
    assert found.loads and found.inertia == 'trust' and found.agrees and found.simulates
    assert found.good and 'a negative principal moment' in found.why


def test_joints_that_move_no_mass_are_left_out_of_the_comparison(tmp_path):
    pytest.importorskip('pinocchio')
    finger = '<link name="tip"/><joint name="idle" type="continuous"><parent link="b"/>'
    finger += '<child link="tip"/><axis xyz="1 0 0"/></joint></robot>'
    text = IMPOSSIBLE.replace('</robot>', finger)
    found = _judged(tmp_path, finger_urdf=text)['finger.urdf']
    assert found.agrees and found.mobility == 2 and found.simulates


def test_rotors_that_only_other_tools_read_count_on_both_sides(tmp_path):
    pytest.importorskip('pinocchio')
    limit = '<limit effort="1" velocity="1"/>'
    actuator = '<actuator name="{0}"><drake:rotor_inertia value="0.01"/>'
    actuator += '<drake:gear_ratio value="7"/></actuator>'
    motor = f'<transmission name="t"><joint name="first"/>{actuator}</transmission></robot>'
    text = IMPOSSIBLE.replace('</robot>', motor).replace('<axis xyz="0 1 0"/>', limit)
    text = text.replace('<robot ', '<robot xmlns:drake="http://drake.mit.edu" ')
    found = _judged(tmp_path, rotor_urdf=text)['rotor.urdf']
    rotor = next(each for each in ccd.load(text).description.joints if each.name == 'first')
    assert rotor.dynamics.armature == pytest.approx(0.49) and found.agrees


def test_a_weld_between_bodies_that_never_move_is_compared(tmp_path):
    pytest.importorskip('mujoco')
    names = ('free', 'other', 'still', 'rest')
    bodies = ''.join(
        f'<body name="{name}" pos="{place} 0 0">{"<freejoint/>" if place < 2 else ""}'
        '<geom size="0.2"/></body>'
        for place, name in enumerate(names)
    )
    welds = '<weld body1="free" body2="other"/><weld body1="still" body2="rest"/>'
    text = f'<mujoco><worldbody>{bodies}</worldbody><equality>{welds}</equality></mujoco>'
    found = _judged(tmp_path, welds_xml=text)['welds.xml']
    assert found.agrees and found.mobility == 6 and 'acceleration' in found.differences


def test_models_may_name_all_files_of_the_folder(tmp_path):
    pytest.importorskip('mujoco')
    for name in ('shapes', 'robots'):
        (tmp_path / name).mkdir()
    (tmp_path / 'shapes' / 'wedge.obj').write_text(
        'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n'
    )
    (tmp_path / 'robots' / 'a').mkdir()
    (tmp_path / 'robots' / 'a' / 'wedge.xml').write_text(
        '<mujoco><asset><mesh name="wedge" file="../../shapes/wedge.obj"/></asset><worldbody>'
        '<body><joint/><geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>'
    )
    (found,) = zoo.visit(zoo.robots_in(tmp_path), folder=tmp_path)
    assert found.agrees and found.simulates
    (found,) = zoo.visit(zoo.robots_in(tmp_path))
    assert not found.loads and 'outside the folder' in found.why


def test_what_no_mass_resists_has_no_accelerations_to_compare(tmp_path):
    pytest.importorskip('pinocchio')
    # the second link is a point on its own axis: nothing resists its turning
    point = IMPOSSIBLE.replace('xyz="0 0 0.1"', 'xyz="0 0 0"')
    head, tail = point.rsplit('<inertia ixx="0.1"', 1)
    tail = tail.replace('iyy="0.2"', 'iyy="1e-17"', 1).replace('izz="1"', 'izz="1e-17"', 1)
    found = _judged(tmp_path, point_urdf=f'{head}<inertia ixx="1e-17"{tail}')['point.urdf']
    assert found.differences.keys() == {'M', 'bias'} and found.agrees


def test_loops_are_compared_with_pinocchio_in_motion(tmp_path):
    pytest.importorskip('pinocchio')
    path = tmp_path / 'bars.urdf'
    path.write_text(BARS)
    (found,) = _judged(tmp_path).values()
    assert found.mobility == 1 and found.agrees and found.differences['acceleration'] < 1e-9
    heavier = ccd.load(BARS.replace('value="2"', 'value="2.001"'))
    q = ccd.assemble(heavier, {'crank': 1.0})
    assert differences(heavier, path, q)['acceleration'] > 1e-6


def _crash(path, tell):
    os._exit(7) if 'crash' in path.name else None
    return zoo.Specimen(str(path), loads=True)


def _serve_crashing(there, model_path):
    zoo.judge = _crash
    zoo._serve(there, model_path)


def test_one_that_crashes_spoils_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(zoo, '_serve', _serve_crashing)
    files = [tmp_path / f'{name}.urdf' for name in ('first', 'crash', 'last')]
    for path in files:
        path.touch()
    first, crash, last = zoo.visit(files)
    assert first.loads and last.loads
    assert not crash.loads and 'exit code 7' in crash.why


def _serve_pondering(there, model_path):
    zoo.judge = lambda path, tell: there.poll(None)  # until it is killed
    zoo._serve(there, model_path)


def test_patience_ends(folder, monkeypatch):
    monkeypatch.setattr(zoo, '_serve', _serve_pondering)
    (specimen,) = zoo.visit([folder / 'four_bar.urdf'], patience=1e-6)
    assert not specimen.loads and specimen.why == 'took more than 1e-06 s'


class _Crashing(zoo.Simulation):
    def run(self, duration):
        os._exit(7) if duration == zoo.SECONDS else None


def _serve_crashing_simulation(there, model_path):
    zoo.Simulation = _Crashing
    zoo._serve(there, model_path)


def test_what_was_found_before_the_end_is_told(folder, monkeypatch):
    """A robot whose simulation never comes back does load, close and agree."""
    pytest.importorskip('pinocchio')
    monkeypatch.setattr(zoo, '_serve', _serve_crashing_simulation)
    (found,) = zoo.visit([folder / 'four_bar.urdf'])
    assert found.loads and found.closes and found.agrees and found.mobility == 1
    assert found.simulates is False and 'exit code 7' in found.why and not found.good


def test_bad_input(tmp_path, capsys):
    assert main(['zoo', str(tmp_path)]) == 1
    assert 'there is no robot' in capsys.readouterr().err
    assert main(['zoo', str(tmp_path / 'nowhere')]) == 1
    assert 'is not a folder' in capsys.readouterr().err
