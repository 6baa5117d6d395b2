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
Where the world begins changes nothing: mechanisms that stand far from its origin.

Rounding at a distance d is 1.1e-16 d in every coordinate of a placement: 1.1e-13 m at 1 km,
1.1e-11 m at 100 km. Angles of links of some 0.1 m follow it, and the second derivatives of the
loops multiply it by ten more.
"""

from dataclasses import replace

import numpy as np
import pytest

import closed_chain_dynamics as ccd

PLACES = {
    'a kilometre': np.array([1e3, 2e3, -1e3]),
    'a hundred kilometres': np.array([1e5, -1e5, 5e4]),
}
ROUNDING = np.finfo(float).eps
# shares of the distance, by what is compared: position, velocity, acceleration, torque
GROWTH = 1e3
MODELS = {
    'four_bar': {'crank': 0.7},
    'five_bar': {},
    'slider_crank': {'crank': 0.7},
    'six_bar': {},
    'stewart': {},
}


def moved(description, offset):
    """Return a description whose root link carries everything somewhere else."""

    def shift(origin):
        return replace(origin, xyz=tuple(np.add(origin.xyz, offset)))

    joints = [
        replace(joint, origin=shift(joint.origin)) if joint.parent == description.root else joint
        for joint in description.joints
    ]
    loops = []
    for loop in description.loops:
        for end in ('parent', 'child'):
            if vars(loop)[end] == description.root:
                origin = f'{end}_origin'
                loop = replace(loop, **{origin: shift(vars(loop)[origin])})
        loops.append(loop)
    return replace(description, joints=tuple(joints), loops=tuple(loops))


@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('name', MODELS)
def test_coordinates_rank_and_torques_are_those_at_the_origin(name, place):
    here, offset = ccd.load(name), PLACES[place]
    there = ccd.Mechanism(moved(here.description, offset))
    near = GROWTH * ROUNDING * np.linalg.norm(offset)
    assert there.structure.world['length'] == pytest.approx(
        here.structure.world['length'], abs=near
    )
    q = ccd.assemble(here, MODELS[name])
    q_there = ccd.assemble(there, start=q)
    assert np.abs(q_there - q).max() < near
    c, c_there = ccd.coordinates(here, q), ccd.coordinates(there, q_there)
    assert (c_there.independent, c_there.rank) == (c.independent, c.rank)
    assert c_there.condition == pytest.approx(c.condition, rel=near)
    assert np.abs(c_there.W - c.W).max() < near
    v = c.W @ np.ones(c.mobility)
    f, f_there = (
        ccd.forward_dynamics(robot, pose, v).acceleration
        for robot, pose in ((here, q), (there, q_there))
    )
    size = max(1.0, np.abs(f).max())
    assert np.abs(f_there - f).max() < near * size
    tau, tau_there = (
        ccd.inverse_dynamics(robot, pose, v, 0.5 * f).tau_A
        for robot, pose in ((here, q), (there, q_there))
    )
    assert np.abs(tau_there - tau).max() < near * max(1.0, np.abs(tau).max())


def test_a_four_bar_runs_a_hundred_kilometres_away():
    here = ccd.load('four_bar')
    offset = PLACES['a hundred kilometres']
    there = ccd.Mechanism(moved(here.description, offset))
    q = ccd.assemble(here, MODELS['four_bar'])
    v = ccd.coordinates(here, q).W @ np.ones(1)
    one, other = (ccd.Simulation(robot, q, v, dt=1e-3) for robot in (here, there))
    books = float(other.energy().balance)
    one.run(0.5)
    other.run(0.5)
    assert np.abs(one.q - other.q).max() < GROWTH * ROUNDING * np.linalg.norm(offset)
    # the potential energy is counted from the origin, and has the digits of 50 km
    assert float(other.energy().balance) == pytest.approx(books, rel=GROWTH * ROUNDING)
