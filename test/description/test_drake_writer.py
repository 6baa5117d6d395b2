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

"""URDF for Drake means there, and read back here, what the description says."""

from dataclasses import replace

from helpers.random_mechanisms import random_description
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.description import (
    Coupling,
    CouplingTerm,
    Dynamics,
    JointType,
    Limit,
    LoopType,
    Spring,
    convert,
)

MODELS = ('biped', 'exo_leg', 'five_bar', 'four_bar', 'six_bar', 'slider_crank', 'stewart')
DOWN = (0.0, 0.0, -9.81)


def known(robot):
    """Return the mechanism with what Drake has tags for alone, under Drake's gravity."""
    description = robot.description
    return ccd.Mechanism(
        replace(
            description,
            joints=tuple(
                replace(each, limit_moment=None, dynamics=replace(each.dynamics, friction=0.0))
                for each in description.joints
            ),
            loops=tuple(
                replace(each, dynamics=Dynamics(), limit=Limit(), limit_moment=None)
                for each in description.loops
                if each.active
            ),
        ),
        gravity=DOWN,
    )


def plant_of(file, step=1e-3):
    pytest.importorskip('pydrake', reason='Drake is the peer here')
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(step)
    Parser(plant).AddModels(str(file))
    plant.Finalize()
    return plant


def to_drake(description, path, gravity=DOWN):
    (file,), told = convert(description, path, gravity, to='drake')
    return file, told


@pytest.mark.parametrize('model', MODELS)
def test_the_same_motions_come_back(model, tmp_path):
    robot = known(ccd.load(model))
    file, told = to_drake(robot.description, tmp_path / 'm.urdf')
    again = ccd.load(file, gravity=DOWN)
    assert again.coordinate_names == robot.coordinate_names
    assert again.actuator_names == robot.actuator_names
    assert not [each for each in told if each.startswith('Left') and 'named poses' not in each]
    q = ccd.assemble(robot)
    c = ccd.coordinates(robot, q)
    assert ccd.coordinates(again, q).mobility == c.mobility
    rates = dict.fromkeys(c.independent, 0.3)
    v = ccd.complete_velocity(robot, q, rates)
    assert np.abs(v).max() > 0.1
    mine, other = (ccd.forward_dynamics(each, q, v, {}).acceleration for each in (robot, again))
    assert np.abs(mine - other).max() < 1e-9 * np.abs(mine).max()


@pytest.mark.parametrize('model', [*MODELS, 'exo', 'swing', 'figure'])
def test_drake_reads_it(model, tmp_path):
    robot = ccd.load(model)
    file, _ = to_drake(robot.description, tmp_path / 'm.urdf')
    plant = plant_of(file)
    assert plant.num_velocities() == robot.nv
    balls = file.read_text().count('<drake:ball_constraint>')
    assert plant.num_constraints() == balls + file.read_text().count('<mimic')
    assert (balls > 0) == bool(robot.description.loops)
    single = [
        each.name
        for each in robot.description.joints
        if each.name in robot.actuator_names and each.type.nv == 1
    ]
    assert plant.num_actuators() == len(single)


@pytest.mark.parametrize('seed', range(3))
def test_drake_has_the_same_mass_matrix(seed, tmp_path):
    rng = np.random.default_rng(seed)
    shares = dict.fromkeys((JointType.CONTINUOUS, JointType.PRISMATIC, JointType.FIXED), 1.0)
    robot = ccd.Mechanism(random_description(rng, 7, shares=shares, massless=0.0))
    file, _ = to_drake(robot.description, tmp_path / 'm.urdf')  # its root is no world
    plant = plant_of(file)
    context = plant.CreateDefaultContext()
    q = rng.normal(size=robot.nv)
    order = [plant.GetJointByName(name).velocity_start() for name in robot.coordinate_names]
    there = np.zeros(robot.nv)
    there[order] = q
    plant.SetPositions(context, there)
    M, M_drake = ccd.mass_matrix(robot, q), plant.CalcMassMatrix(context)[np.ix_(order, order)]
    assert np.abs(M - M_drake).max() < 1e-12 * np.abs(M).max()
    for name, at in zip(robot.coordinate_names, order):
        joint = next(each for each in robot.description.joints if each.name == name)
        assert plant.GetJointByName(name).velocity_start() == at
        assert plant.GetJointByName(name).default_damping_vector() == [joint.dynamics.damping]


def test_balls_rotors_springs_and_mimics(tmp_path):
    robot = ccd.load('figure')
    shoulder, elbow = (
        next(each for each in robot.description.joints if each.name == name)
        for name in ('left_shoulder', 'left_elbow')
    )
    geared = replace(elbow, dynamics=Dynamics(0.2, 0.0, 0.05), limit_moment=None)
    made = replace(
        robot.description,
        joints=tuple(geared if each is elbow else each for each in robot.description.joints),
        springs=(
            Spring('rope', 'linear', 30.0, 2.0, 0.4, 'torso', (0.1, 0, 0), 'left_shank'),
            Spring('slack', 'linear', 30.0, 2.0, 0.0, 'torso', (0.1, 0, 0), 'left_shank'),
            Spring('coil', 'torsional', 3.0, 0.5, 0.1, joint='left_elbow'),
        ),
        couplings=(
            Coupling(
                'knees',
                (CouplingTerm('right_knee', (2.0,)), CouplingTerm('left_knee', (-3.0,))),
                constant=-0.4,
            ),
        ),
    )
    file, told = to_drake(made, tmp_path / 'm.urdf')
    again = ccd.load(file).description
    back = {each.name: each for each in again.joints}
    assert back[shoulder.name].type is JointType.SPHERICAL
    assert back['left_elbow'].dynamics == Dynamics(0.7, 0.0, 0.05)
    (rope,) = again.springs
    assert replace(rope, name='rope') == made.springs[0]
    assert again.couplings == (
        Coupling(
            'right_knee_mimic',
            (CouplingTerm('right_knee', (1.0,)), CouplingTerm('left_knee', (-1.5,))),
            constant=-0.2,
        ),
    )
    assert any('(1: slack)' in each for each in told) and any('(1: coil)' in each for each in told)
    plant = plant_of(file)
    assert plant.GetJointByName('left_shoulder').type_name() == 'ball_rpy'
    motor = plant.GetJointActuatorByName('left_elbow')
    assert motor.default_rotor_inertia() * motor.default_gear_ratio() ** 2 == 0.05
    assert plant.num_constraints() == 1
    assert plant.num_force_elements() == 2  # gravity and the rope


def test_loops_of_all_types_are_written_or_told(tmp_path):
    robot = known(ccd.load('four_bar'))
    (loop,) = robot.description.loops
    held = {LoopType.FIXED: 3, LoopType.REVOLUTE: 1, LoopType.SPHERICAL: 1, LoopType.UNIVERSAL: 1}
    for kind in LoopType:
        made = replace(robot.description, loops=(replace(loop, type=kind),))
        file, told = to_drake(made, tmp_path / 'm.urdf')
        assert file.read_text().count('<drake:ball_constraint>') == held.get(kind, 0)
        whole = kind in held and kind is not LoopType.UNIVERSAL
        assert whole == (not any('loops' in each and 'Left out' in each for each in told)), kind
    made = replace(robot.description, loops=(replace(loop, active=False),))
    _, told = to_drake(made, tmp_path / 'm.urdf')
    assert any('loops that are open (1: coupler_rocker)' in each for each in told)


def test_a_hinge_in_space_is_held_at_two_points_of_its_axis(tmp_path):
    """Both points stay where they are when the hinge turns, and the frame does not tilt."""
    robot = ccd.load('high_bar')
    kept = known(robot)
    file, told = to_drake(kept.description, tmp_path / 'm.urdf')
    assert any('two ball constraints on their axis (2: left_grip' in each for each in told)
    again = ccd.load(file, gravity=DOWN)
    assert len(again.loop_names) == 4
    q = ccd.assemble(kept)
    assert ccd.coordinates(again, q).mobility == ccd.coordinates(kept, q).mobility
    v = np.zeros(kept.nv)
    mine, other = (ccd.forward_dynamics(each, q, v, {}).acceleration for each in (kept, again))
    assert np.abs(mine - other).max() < 1e-9 * np.abs(mine).max()


def test_other_joints_of_drake_are_refused(tmp_path):
    file, _ = to_drake(ccd.load('figure').description, tmp_path / 'm.urdf')
    file.write_text(file.read_text().replace('type="ball"', 'type="screw"', 1))
    with pytest.raises(ccd.DescriptionError, match="'screw' is not a type of joint"):
        ccd.load(file)


def test_the_command_tells_what_drake_will_not_see(tmp_path, capsys):
    out = tmp_path / 'm.urdf'
    assert main(['convert', 'four_bar', str(out), '--to', 'drake']) == 0
    said = capsys.readouterr().out
    assert 'Left out: the gravity; Drake takes 9.81' in said
    assert 'Changed: hinges of loops are one ball constraint' in said
