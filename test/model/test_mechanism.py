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

"""A mechanism and its copies: one model, and nothing else in common."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import copy
import dataclasses
import multiprocessing
import pickle

import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.errors import NameNotFound
from closed_chain_dynamics.model.model import Model

COPIES = {
    'copy()': lambda robot: robot.copy(),
    'copy.copy': copy.copy,
    'copy.deepcopy': copy.deepcopy,
    'pickle': lambda robot: pickle.loads(pickle.dumps(robot)),
}
TABLES = ['bodies', 'dofs', 'loops', 'loop_dofs', 'couplings', 'terms', 'springs', 'actuators']
# A point on a bowl z = (x^2 + y^2) / 2, and one on the plane of its frame.
BOWL = """<robot name="bowl" xmlns:cc="urn:closed_chain_dynamics"><link name="ground"/>
  <link name="bead"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="fly" type="floating"><parent link="ground"/><child link="bead"/></joint>
  <constraint name="on" type="surface"><parent link="ground"/><child link="bead"/>
    <cc:contact normal="0 0 1" unilateral="false"/></constraint></robot>"""


@pytest.fixture(params=COPIES)
def copied(request):
    return COPIES[request.param]


def state(robot):
    """Return a pose of the four-bar with velocities and accelerations that fit."""
    q = ccd.assemble(robot, {'crank': 0.7})
    v = ccd.complete_velocity(robot, q, {'crank': 1.3})
    return q, v, ccd.complete_acceleration(robot, q, v, {'crank': 0.4})


def torque(robot, q, v, a):
    return ccd.inverse_dynamics(robot, q, v, a).tau_A


# --- copies --------------------------------------------------------------------------------------
def test_a_copy_is_connected_and_cut_on_its_own(copied):
    robot = ccd.load('four_bar')
    other = copied(robot)
    other.cut('coupler_rocker')
    other.gravity = (0.0, 0.0, 0.0)
    assert robot.is_connected('coupler_rocker') and not other.is_connected('coupler_rocker')
    assert robot.gravity[2] == -9.80665
    robot.gravity = (1.0, 2.0, 3.0)
    assert not other.gravity.any()


def test_a_copy_computes_on_its_own(copied):
    robot = ccd.load('four_bar')
    state_1 = state(robot)
    expected = torque(robot, *state_1)
    other = copied(robot)
    q = ccd.assemble(other, {'crank': 2.0})
    ccd.coordinates(other, q)  # writes into the workspace of the copy only
    tables = robot.structure.memory, robot.workspace.memory
    others = other.structure.memory, other.workspace.memory
    assert not any(np.shares_memory(one, two) for one, two in zip(tables, others))
    assert np.array_equal(torque(robot, *state_1), expected)
    assert np.array_equal(torque(other, *state_1), expected)


def test_a_copy_keeps_what_was_learnt_about_the_structure(copied):
    robot = ccd.load('four_bar')
    ccd.coordinates(robot, ccd.assemble(robot, {'crank': 0.7}))
    robot.cut('coupler_rocker')
    robot.connect('coupler_rocker')
    chosen = ccd.coordinates(robot, ccd.assemble(robot, {'crank': 0.7}))
    other = copied(robot)
    assert other.rank_known == robot.rank_known
    assert pickle.dumps(other.structure) == pickle.dumps(robot.structure)
    assert robot.structure.clusters['tolerance'].max() > 0.0
    assert ccd.coordinates(other, chosen.q).independent == chosen.independent


def test_a_copy_of_a_torn_mechanism_is_torn(copied):
    sim = ccd.Simulation(
        ccd.load('four_bar'), q=ccd.assemble(ccd.load('four_bar'), {'crank': 1.0})
    )
    sim.cut('coupler')
    other = copied(sim.robot)
    assert other.coordinate_names == sim.robot.coordinate_names
    a = ccd.forward_dynamics(sim.robot, sim.q, sim.v).acceleration
    assert np.array_equal(ccd.forward_dynamics(other, sim.q, sim.v).acceleration, a)


def test_a_surface_given_as_a_function_goes_with_every_copy(copied):
    """A bead at rest at height 1/2 of the bowl: its acceleration is that of a slope of 45 deg."""
    robot = ccd.load(BOWL)
    bend = 0.5  # a closure, which plain pickle cannot take
    robot.set_surface('on', lambda x, y, z: z - bend * (x * x + y * y))
    q = np.array([1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])
    g = 9.80665
    other = copied(robot)
    del robot  # the compiled function must not go with it
    a = ccd.forward_dynamics(other, q, np.zeros(6)).acceleration
    assert a[:3] == pytest.approx([-g / 2.0, 0.0, -g / 2.0], rel=1e-12)


def test_a_mechanism_says_what_it_is():
    assert repr(ccd.load('four_bar')) == (
        "<Mechanism 'four_bar': velocities 3, loops 1, actuators 1>"
    )


def test_names_are_found_by_kind_or_offered():
    robot = ccd.load('four_bar')
    assert robot.index('loop', 'coupler_rocker') == 0
    assert robot.index('coordinate', 'rocker') == 2
    with pytest.raises(NameNotFound, match="'crank'"):
        robot.index('joint', 'cranc')


# --- the model -----------------------------------------------------------------------------------
def test_copies_share_the_model():
    robot = ccd.load('swing')
    assert robot.copy().model is robot.model is copy.deepcopy(robot).model
    slots = slice(0, 2 * 6)  # of the tables of the model in a handle
    assert np.array_equal(robot.copy().handle[slots], robot.handle[slots])


@pytest.mark.parametrize('restored', [False, True])
def test_the_model_cannot_be_changed(restored):
    model = ccd.load('swing').model
    model = pickle.loads(pickle.dumps(model)) if restored else model
    for name in TABLES:
        table = vars(model)[name]
        assert not table.flags.writeable
        with pytest.raises(ValueError, match='read-only'):
            table[:] = table
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = 'other'
    with pytest.raises(TypeError):
        model.joints['other'] = 1
    with pytest.raises(ValueError, match='read-only'):
        model.links[next(iter(model.links))][1][:] = 0.0


def one_after_the_other(robot, angles):
    return [torque(robot, *state_at(robot, angle)) for angle in angles]


def state_at(robot, angle):
    q = ccd.assemble(robot, {'crank': angle})
    v = ccd.complete_velocity(robot, q, {'crank': 1.0})
    return q, v, ccd.complete_acceleration(robot, q, v, {'crank': -1.0})


def test_threads_with_a_copy_each_compute_what_one_does():
    robot = ccd.load('four_bar')
    angles = np.linspace(0.1, 6.0, 40)
    expected = one_after_the_other(robot.copy(), angles)
    shares = [angles[k::4] for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one_after_the_other, [robot.copy() for _ in shares], shares))
    for k, share in enumerate(found):
        assert np.array_equal(share, expected[k::4])


def in_another_process(model):
    assert isinstance(model, Model) and not model.bodies.flags.writeable
    return ccd.Mechanism(model.description).model.bodies.tobytes(), model.bodies.tobytes()


def test_a_model_pickles_into_another_process():
    robot = ccd.load('four_bar')
    fresh = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        built, sent = pool.submit(in_another_process, robot.model).result(timeout=300)
        there = pool.submit(torque, robot, *state(robot)).result(timeout=300)
    assert built == sent == robot.model.bodies.tobytes()
    assert np.array_equal(there, torque(robot, *state(robot)))
