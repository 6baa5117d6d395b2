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

"""What joints add to reactions, and how a load is split that statics leaves open."""

from dataclasses import replace

from helpers.loaded_joints import actuated, hinge, inertia, parallelogram, random_closed
from helpers.random_mechanisms import relative_error
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics import Mechanism
from closed_chain_dynamics.description import (
    Coupling,
    CouplingTerm,
    Description,
    Dynamics,
    Joint,
    JointType,
    Limit,
    LimitMoment,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Spring,
)

G = 9.80665
BALANCE = 1e-11  # a sum over the joints of one link, after a solve with condition below 1e3
SOLVED = 1e-9  # constraint forces of two solvers, condition numbers below 1e4
EXACT = 1e-12  # statics of a few bars: rounding only


def test_the_torque_of_a_motor_on_a_cut_joint_appears_in_it():
    robot, q = parallelogram(0.7)
    robot = Mechanism(actuated(robot.description, 'pin_2'))
    f = ccd.forward_dynamics(robot, q, np.zeros(3), {'pin_2': 3.0})
    w = ccd.reactions(robot, q, np.zeros(3), f.acceleration)
    assert w.tau_A == pytest.approx([3.0], rel=SOLVED)
    assert w['pin_2'].moment[1] == pytest.approx(-3.0, rel=SOLVED)
    assert w.check()['missing'] < BALANCE


def test_passive_forces_of_a_cut_joint_appear_in_it():
    robot, q = parallelogram(0.7)
    (loop,) = robot.description.loops
    stop = LimitMoment('linear', 50.0, 0.5, 0.1)
    loop = replace(loop, dynamics=Dynamics(0.4, 0.3), limit=Limit(-0.5, 0.5), limit_moment=stop)
    model = replace(
        robot.description,
        loops=(loop,),
        springs=(Spring('s', 'torsional', 7.0, 0.2, 0.1, joint='pin_2'),),
    )
    robot = Mechanism(model)
    v = ccd.coordinates(robot, q).W[:, 0]
    v = 2.0 * v / v[0]
    f = ccd.forward_dynamics(robot, q, v)
    w = ccd.reactions(robot, q, v, f.acceleration)
    # the rocker turns by phi against a coupler that does not turn: 0.7 rad at 2 rad/s
    expected = -(0.4 * 2.0 + 0.3) - (7.0 * 0.6 + 0.2 * 2.0) - (50.0 * (0.3 - 0.05) + 0.5 * 2.0)
    assert w['pin_2'].moment[1] == pytest.approx(-expected, rel=SOLVED)
    assert w.check()['missing'] < BALANCE


def test_a_coupling_acts_along_the_joints_it_couples():
    gear = Coupling('gear', (CouplingTerm('b', (1.0,)), CouplingTerm('a', (-2.0,))))
    model = Description(
        'gears',
        (
            Link('base'),
            Link('wheel_1', inertia(1.0, (0.2, 0.0, 0.0))),
            Link('wheel_2', inertia(1.0)),
        ),
        (
            hinge('a', 'base', 'wheel_1', axis=(0.0, -1.0, 0.0)),
            hinge('b', 'base', 'wheel_2', (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)),
        ),
        couplings=(gear,),
    )
    robot = Mechanism(actuated(model, 'b'))
    w = ccd.reactions(robot, np.zeros(2), np.zeros(2), np.zeros(2))
    # holding wheel 1 by wheel 2 at the ratio 2: half the torque, and b itself turns nothing
    assert w.tau_A == pytest.approx([0.2 * G / 2.0], rel=EXACT)
    assert w['a'].moment[1] == pytest.approx(-0.2 * G, rel=EXACT)
    assert w['b'].moment == pytest.approx([0.0, 0.0, 0.0], abs=EXACT)
    assert w.check()['missing'] < EXACT
    # a second gear that says the same takes half of the first one's load, and no joint feels it
    robot = Mechanism(actuated(replace(model, couplings=(gear, replace(gear, name='twin'))), 'b'))
    twins = ccd.reactions(robot, np.zeros(2), np.zeros(2), np.zeros(2))
    assert twins.is_unique
    assert twins.multipliers == pytest.approx([w.multipliers[0] / 2.0] * 2, rel=EXACT)
    assert twins['a'].wrench == pytest.approx(w['a'].wrench, rel=EXACT, abs=EXACT)


@pytest.mark.parametrize('seed', range(8))
def test_what_is_unique_does_not_depend_on_the_split(seed):
    robot, q, v, c, rng = random_closed(seed, 7, 3, (LoopType.REVOLUTE, LoopType.FIXED))
    a = ccd.forward_dynamics(robot, q, v).acceleration
    tau = np.zeros(len(robot.actuator_names))
    by_joints = ccd.reactions(robot, q, v, a, tau, frame='joint')
    by_loops = ccd.reactions(robot, q, v, a, tau, frame='joint', split='loops')
    size = max(np.abs(each.wrench).max() for each in by_loops.values())
    changed = False
    for name, one in by_joints.items():
        same = np.abs(one.wrench - by_loops[name].wrench) < BALANCE * size
        assert np.all(same | ~one.unique_components), name
        changed |= not same.all()
    assert changed == bool(c.redundant_rows)


@pytest.mark.parametrize('phi', [0.5, 1.9])
def test_the_split_over_all_joints_does_not_depend_on_where_the_loop_is_cut(phi):
    """The same linkage, once cut between coupler and rocker, once between rocker and base."""
    y, a, b = (0.0, -1.0, 0.0), 0.3, 0.5
    bars = tuple(
        Link(name, inertia(1.0 + k, (0.1, 0.05 * (k + 1), 0.02)))
        for k, name in enumerate(('crank', 'coupler', 'rocker'))
    )
    first = [
        hinge('drive', 'base', 'crank', axis=y),
        hinge('pin_1', 'crank', 'coupler', (a, 0.0, 0.0), axis=y),
    ]
    one = Description(
        'one',
        (Link('base'), *bars),
        (*first, hinge('swing', 'base', 'rocker', (b, 0.0, 0.0), axis=y)),
        (
            LoopJoint(
                'pin_2',
                LoopType.REVOLUTE,
                'rocker',
                'coupler',
                Pose((a, 0.0, 0.0)),
                Pose((b, 0.0, 0.0)),
                y,
                y,
            ),
        ),
    )
    # the rocker now hangs on the coupler; its frame stays where it was, at the base
    two = Description(
        'two',
        (Link('base'), *bars[:2], Link('knee'), bars[2]),
        (
            *first,
            hinge('pin_2', 'coupler', 'knee', (b, 0.0, 0.0), axis=y),
            Joint('glue', JointType.FIXED, 'knee', 'rocker', Pose((-a, 0.0, 0.0))),
        ),
        (
            LoopJoint(
                'swing', LoopType.REVOLUTE, 'base', 'rocker', Pose((b, 0.0, 0.0)), Pose(), y, y
            ),
        ),
    )
    found = []
    for model in (one, two):
        robot = Mechanism(actuated(model, 'drive'))
        q = ccd.assemble(robot, {'drive': phi}, start=np.array([phi, -phi, phi]))
        v = ccd.complete_velocity(robot, q, {'drive': 1.5})
        acceleration = ccd.complete_acceleration(robot, q, v, {'drive': -2.0})
        found.append(ccd.reactions(robot, q, v, acceleration))
        assert found[-1].check()['equilibrium'] < BALANCE
    for name, sign in (('drive', 1.0), ('pin_1', 1.0), ('swing', 1.0), ('pin_2', -1.0)):
        assert relative_error(sign * found[1][name].wrench, found[0][name].wrench) < SOLVED, name
    assert np.abs(found[0]['pin_2'].moment[[0, 2]]).max() > 0.01  # a part that is shared


def test_an_open_loop_passes_nothing_on():
    robot, q = parallelogram(0.7)
    spring = Spring('s', 'torsional', 7.0, 0.2, 0.1, joint='pin_2')
    robot = Mechanism(replace(robot.description, springs=(spring,)))
    robot.cut('pin_2')
    w = ccd.reactions(robot, q, np.zeros(3), np.zeros(3))
    assert not w['pin_2'].wrench.any() and w['pin_2'].unique and w.is_unique
    assert w['swing'].force == pytest.approx([0.0, 0.0, 0.0], abs=EXACT)
    robot.connect('pin_2')
    assert ccd.reactions(robot, q, np.zeros(3), np.zeros(3))['pin_2'].wrench.any()


def test_a_loop_within_one_body_is_not_unique_and_carries_nothing():
    model = Description(
        'self',
        (Link('base'), Link('arm', inertia(1.0, (0.3, 0.0, 0.0))), Link('tip')),
        (
            hinge('turn', 'base', 'arm', axis=(0.0, 1.0, 0.0)),
            Joint('glue', JointType.FIXED, 'arm', 'tip', Pose((0.5, 0.0, 0.0))),
        ),
        (LoopJoint('bolt', LoopType.FIXED, 'arm', 'tip', Pose((0.5, 0.0, 0.0))),),
    )
    w = ccd.reactions(Mechanism(model), np.zeros(1), np.zeros(1), np.zeros(1))
    assert not w['bolt'].unique and not w['glue'].unique and w['turn'].unique
    assert np.abs(w['bolt'].wrench).max() < EXACT
