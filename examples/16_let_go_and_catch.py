#!/usr/bin/env python3
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

"""A figure swings, lets go of the bar, flies, and catches another one in a handstand."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Geometry, LoopJoint, LoopType, Pose, Shape

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/16_let_go_and_catch.gif')
LET_GO, FLIGHT, REST = 0.20, 0.40, 0.7  # [s]
GRIP = (0.0, 0.0, -0.3411016)  # where a hand holds on, on its forearm
figure = ccd.load('high_bar')
posture = ccd.assemble(figure)
RATES = {**dict.fromkeys(figure.actuator_names, 0.0), 'root:wy': -6.0}  # [rad/s]
motors = [figure.coordinate_names.index(name) for name in figure.actuator_names]
effort = {joint.name: joint.limit.effort for joint in figure.description.joints}
EFFORT = np.array([effort[name.split(':')[0]] for name in figure.actuator_names])


def hold(sim):
    """Return torques that keep the posture, within what the muscles can do."""
    away = ccd.difference(sim.robot, sim.q, posture)[motors]
    return np.clip(400.0 * away - 30.0 * sim.v[motors], -EFFORT, EFFORT)


def swing(robot):
    """Return a simulation that has swung and let go, at the end of its flight."""
    sim = ccd.Simulation(robot, posture, ccd.complete_velocity(robot, posture, RATES), log_every=5)
    sim.run(LET_GO, hold)
    sim.cut('left_grip', 'right_grip')
    start, momentum = ccd.center_of_mass(robot, sim.q), ccd.momentum(sim.robot, sim.q, sim.v)
    sim.run(FLIGHT, hold)  # nothing but gravity acts: a parabola, and a spin that stays
    fall = momentum[:3] / 65.0 * FLIGHT - (0.0, 0.0, 9.80665 * FLIGHT**2 / 2.0)
    assert np.allclose(ccd.center_of_mass(robot, sim.q), start + fall, atol=1e-7)
    assert np.allclose(ccd.momentum(sim.robot, sim.q, sim.v)[3:], momentum[3:], atol=1e-6)
    return sim


# A first flight shows where the hands come to; there the second bar is put.
first, model = swing(figure), figure.description
hands = [
    (ccd.link_placement(first.robot, first.q, link) @ (*GRIP, 1.0))[:3]
    for link in ('left_forearm', 'right_forearm')
]
x, y, z = sum(hands) / 2
STEEL = (0.62, 0.64, 0.68, 1.0)
bar = (
    Shape(Geometry('cylinder', (0.02, 1.6)), Pose((x, y, z), (np.pi / 2, 0, 0)), rgba=STEEL),
    *(
        Shape(Geometry('cylinder', (0.03, z)), Pose((x, y + side, z / 2)), rgba=STEEL)
        for side in (-0.8, 0.8)
    ),
)
catches = tuple(
    LoopJoint(
        f'{side}_catch',
        LoopType.SPHERICAL,
        'world',
        f'{side}_forearm',
        Pose(tuple(hand)),
        Pose(GRIP),
        active=False,
    )
    for side, hand in zip(('left', 'right'), hands)
)
world = replace(model.links[0], visuals=(*model.links[0].visuals, *bar))
model = replace(model, loops=model.loops + catches, links=(world, *model.links[1:]))
sim = swing(ccd.Mechanism(model))
one, other = sim.connect('left_catch', 'right_catch')
print(
    f'{hands[0][0]:.2f} m ahead the hands take {one.impulse[2]:.1f} N s each; '
    f'{one.energy_lost:.1f} J lost, mobility {one.mobility_before} to {one.mobility_after}'
)
assert np.allclose(one.impulse + other.impulse, one.momentum_change[:3], atol=1e-6)
sim.run(REST, hold)
PATH.parent.mkdir(parents=True, exist_ok=True)
sim.log.record(PATH, fps=20, size=(480, 400), view=(14.0, 32.0))
print(f'wrote {PATH}')
