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

"""Models written for other tools give there the numbers that they have here."""

from dataclasses import replace

from helpers.mjcf_comparison import Twin, random_state
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from urdf_parser_py.urdf import URDF

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.description import LoopType, convert, read, to_urdf_parser

# Numbers are written with all their digits; the tools add them up in another order.
TOLERANCE = 1e-9
MODELS = (
    'biped',
    'exo',
    'figure',
    'five_bar',
    'four_bar',
    'high_bar',
    'pendulum',
    'six_bar',
    'slider_crank',
    'stewart',
    'swing',
    'three_link',
    'two_link',
)


def same_state(robot, other, q, v):
    """Return the state in the order of another mechanism with the same joints."""
    q_other, v_other = other.neutral(), np.zeros(other.nv)
    for name in robot.joint_names:
        (own_q, own_v), (at_q, at_v) = robot.joint_slices(name), other.joint_slices(name)
        q_other[at_q], v_other[at_v] = q[own_q], v[own_v]
        if q[own_q].size == 7:  # MuJoCo's free joints count from the world
            child = next(each.child for each in robot.description.joints if each.name == name)
            origin = next(each.origin for each in other.description.joints if each.name == name)
            X = pin.SE3(origin.rotation, origin.position).actInv(
                pin.SE3(ccd.link_placement(robot, q, child))
            )
            q_other[at_q] = pin.SE3ToXYZQUAT(X)
    return q_other, v_other


@pytest.mark.parametrize('model', MODELS)
def test_mujoco_has_the_same_mass_matrix_bias_and_springs(model, tmp_path):
    robot = ccd.load(model)
    (file,), _ = convert(robot.description, tmp_path / 'm.xml', robot.gravity)
    again = ccd.load(file)  # only for the names of the joints in MuJoCo's order
    twin = Twin(again, file)
    assert np.array_equal(twin.model.opt.gravity, robot.gravity)
    q, v = random_state(robot, np.random.default_rng(1))
    twin.set(*same_state(robot, again, q, v))
    columns = [again.coordinate_names.index(name) for name in robot.coordinate_names]
    M = twin.mass_matrix()[np.ix_(columns, columns)]
    assert np.allclose(ccd.mass_matrix(robot, q), M, atol=TOLERANCE * np.abs(M).max())
    passive = twin.data.qfrc_damper + twin.data.qfrc_spring
    needed = twin.T.T @ (twin.data.qfrc_bias - passive + twin.M @ twin.shift)
    stops = replace(
        robot.description,
        joints=tuple(replace(each, limit_moment=None) for each in robot.description.joints),
        loops=(),
        couplings=(),
    )
    bare = ccd.Mechanism(stops, gravity=robot.gravity)
    own = ccd.inverse_dynamics(bare, q, v, np.zeros(robot.nv)).tau_O
    assert np.allclose(own, needed[columns], atol=TOLERANCE * max(1.0, np.abs(needed).max()))


@pytest.mark.parametrize('model', ['four_bar', 'five_bar', 'six_bar', 'slider_crank', 'stewart'])
def test_mujoco_finds_the_loops_closed_where_they_are_closed_here(model, tmp_path):
    robot = ccd.load(model)
    (file,), _ = convert(robot.description, tmp_path / 'm.xml', robot.gravity)
    again = ccd.load(file)
    twin = Twin(again, file)
    q = ccd.assemble(robot, {})
    q_other, v_other = same_state(robot, again, q, np.zeros(robot.nv))
    twin.set(q_other, v_other)
    assert twin.data.ne > 0
    assert np.abs(twin.data.efc_pos[: twin.data.ne]).max() < 1e-8
    mine, other = (ccd.coordinates(*pair).mobility for pair in ((robot, q), (again, q_other)))
    assert mine == other


@pytest.mark.parametrize('model', MODELS)
@pytest.mark.parametrize('out, to', [('o.urdf', ''), ('p.urdf', 'urdf+')])
def test_urdf_comes_back_with_the_same_dynamics(model, out, to, tmp_path):
    robot = ccd.load(model)
    (file,), _ = convert(robot.description, tmp_path / out, robot.gravity, to=to)
    again = ccd.load(file)
    assert again.coordinate_names == robot.coordinate_names
    assert again.loop_names == robot.loop_names
    q = ccd.assemble(robot, {})
    v = ccd.complete_velocity(robot, q, {})
    mine, other = (ccd.forward_dynamics(each, q, v, {}).acceleration for each in (robot, again))
    assert np.allclose(mine, other, atol=TOLERANCE * max(1.0, np.abs(mine).max()))


def test_axes_that_differ_are_brought_together_in_urdf_plus(tmp_path):
    robot = ccd.load('four_bar')
    (loop,) = robot.description.loops
    turned = replace(loop, child_origin=replace(loop.child_origin, rpy=(0.5 * np.pi, 0.0, 0.0)))
    turned = replace(turned, child_axis=(0.0, 0.0, 1.0))  # the same direction in other axes
    other = ccd.Mechanism(replace(robot.description, loops=(turned,)))
    (file,), _ = convert(other.description, tmp_path / 'p.urdf', robot.gravity, to='urdf+')
    assert '<loop ' in file.read_text() and '<constraint' not in file.read_text()
    (again,) = read(file).loops
    assert again.parent_axis == again.child_axis
    for side in ('parent', 'child'):
        before, after = (
            getattr(each, f'{side}_origin').rotation @ np.array(getattr(each, f'{side}_axis'))
            for each in (turned, again)
        )
        assert np.allclose(before, after, atol=1e-12)


@pytest.mark.parametrize('model', ['four_bar', 'five_bar', 'exo', 'stewart', 'high_bar', 'biped'])
def test_pinocchio_reads_the_tree_of_extended_urdf_and_finds_its_frames_together(model, tmp_path):
    robot = ccd.load(model)
    files, _ = convert(robot.description, tmp_path / 'e.yaml', robot.gravity)
    assert [each.suffix for each in files] == ['.urdf', '.yaml']
    again = ccd.load(files[0])
    assert again.actuator_names == [
        name for name in robot.actuator_names if name in robot.coordinate_names
    ]
    q = ccd.assemble(robot, {})
    q_other, _ = same_state(robot, again, q, np.zeros(robot.nv))
    assert max(max(gap) for gap in again.loop_gaps(q_other).values()) < 1e-8
    mine, other = (ccd.coordinates(*pair).mobility for pair in ((robot, q), (again, q_other)))
    assert mine == other
    tree = pin.buildModelFromUrdf(str(files[0]))
    assert sum(each.mass for each in tree.inertias) == pytest.approx(robot.total_mass)
    for loop in again.description.loops:
        assert tree.existFrame(loop.parent) and tree.existFrame(loop.child)


SPRUNG_LOOP = """<robot name="arm" xmlns:cc="urn:closed_chain_dynamics"> <link name="base"/>
  <link name="upper"> <inertial> <mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/> </inertial> </link>
  <link name="fore"> <inertial> <mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/> </inertial> </link>
  <joint name="shoulder" type="continuous"> <parent link="base"/> <child link="upper"/>
    <axis xyz="0 0 1"/> </joint>
  <joint name="elbow" type="continuous"> <parent link="upper"/> <child link="fore"/>
    <origin xyz="0.5 0 0"/> <axis xyz="0 0 1"/> </joint>
  <constraint name="grip" type="revolute"> <parent link="fore"/>
    <parent_origin xyz="0.4 0 0"/> <parent_axis xyz="0 0 1"/> <child link="base"/>
    <child_origin xyz="0.6 0.2 0"/> <child_axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="5" velocity="5"/> </constraint>
  <cc:spring name="back" type="torsional" joint="grip"> <cc:law stiffness="3"/> </cc:spring>
  <cc:spring name="bent" type="torsional" joint="elbow"> <cc:law stiffness="3"/> </cc:spring>
  </robot>"""


@pytest.mark.parametrize('suffix', ['.yaml', '.xml'])
def test_what_a_loop_joint_has_besides_its_loop_is_told_where_it_is_lost(suffix, tmp_path):
    robot = ccd.load(SPRUNG_LOOP)
    files, said = convert(robot.description, tmp_path / f'arm{suffix}', robot.gravity)
    assert 'Left out: laws, limits, rotors and motors of loop joints (1: grip).' in said
    assert 'Left out: springs on loop joints (1: back).' in said
    again = ccd.load(files[0])  # it can be read, and has what is not said to be left out
    if suffix == '.yaml':
        assert [spring.name for spring in again.description.springs] == ['bent']
        assert 'Changed: hinges of loops are two points on their axis (1: grip).' in said


def test_a_file_of_mujoco_comes_back_to_mujoco(tmp_path):
    from test_mjcf import EVERYTHING

    robot = ccd.load(EVERYTHING)
    (file,), lost = convert(robot.description, tmp_path / 'again.xml', robot.gravity)
    before, after = (
        mujoco.MjModel.from_xml_string(EVERYTHING),
        mujoco.MjModel.from_xml_path(str(file)),
    )
    assert (before.nq, before.nv, before.nu, before.neq) == (
        after.nq,
        after.nv,
        after.nu,
        after.neq,
    )
    again = ccd.load(file)
    twin, other = Twin(robot, EVERYTHING), Twin(again, file)
    q, v = random_state(robot, np.random.default_rng(2))
    twin.set(q, v)
    other.set(*same_state(robot, again, q, v))
    M = twin.mass_matrix()
    columns = [again.coordinate_names.index(name) for name in robot.coordinate_names]
    assert np.allclose(other.mass_matrix()[np.ix_(columns, columns)], M, atol=TOLERANCE)
    gaps = [np.linalg.norm(each.data.efc_pos[:3]) for each in (twin, other)]  # of the rope
    assert gaps[0] == pytest.approx(gaps[1], abs=TOLERANCE)
    assert lost == []


# ---- urdf_parser_py ----


def test_a_parsed_robot_is_read_and_given_back():
    whole = ccd.load('four_bar')
    parsed = to_urdf_parser(whole.description)
    assert isinstance(parsed, URDF)
    assert set(parsed.link_map) == {link.name for link in whole.description.links}
    assert set(parsed.joint_map) == {joint.name for joint in whole.description.joints}
    again = ccd.load(parsed)
    q = np.random.default_rng(3).normal(size=whole.nq)
    assert np.allclose(ccd.mass_matrix(again, q), ccd.mass_matrix(whole, q), atol=TOLERANCE)
    assert again.loop_names == []  # its model has no place for them


# ---- the command ----


def test_the_command_writes_and_tells_what_is_lost(tmp_path, capsys):
    assert main(['convert', 'two_link', str(tmp_path / 'm.xml')]) == 0
    said = capsys.readouterr().out
    assert 'is written to' in said and 'surface loops' in said
    assert main(['convert', 'four_bar', str(tmp_path / 'p.urdf'), '--to', 'urdf+']) == 0
    assert 'Nothing is left out' in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(['convert', 'four_bar', str(tmp_path / 'm.step')])
    assert stopped.value.code == 2
    assert "the suffix '.step' does" in capsys.readouterr().err


def test_loops_of_all_types_are_written_or_told(tmp_path):
    robot = ccd.load('four_bar')
    for kind in LoopType:
        (loop,) = robot.description.loops
        changed = replace(
            loop,
            type=kind,
            dynamics=type(loop.dynamics)(),
            child_axis=(1.0, 0.0, 0.0) if kind is LoopType.UNIVERSAL else loop.child_axis,
        )
        made = replace(robot.description, loops=(changed,))
        _, lost = convert(made, tmp_path / f'{kind.value}.xml', robot.gravity)
        kept = kind in (LoopType.FIXED, LoopType.SPHERICAL, LoopType.REVOLUTE)
        assert kept == (not lost), kind
