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

"""Sit, swing, let go: the figure on the swing of Nakamura and Yamane, as an animation."""

from dataclasses import replace
from pathlib import Path
import sys

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Spring

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/02_swing.gif')

# Springs in elbows and knees hold the posture: a limp figure would fold up.
description = ccd.load('swing').description
holding = tuple(
    Spring(f'{side}_{joint}_spring', 'torsional', 60.0, 2.0, angle, joint=f'{side}_{joint}')
    for side in ('left', 'right')
    for joint, angle in (('elbow', -2.0), ('knee', 1.5))
)
robot = ccd.Mechanism(replace(description, springs=holding))
q = ccd.assemble(robot, {})
# All swing about the two joints in the ceiling, nobody moves on the plate.
v = ccd.complete_velocity(
    robot,
    q,
    {'left_ceiling': (0.0, -1.2, 0.0), 'left_elbow': 0.0, 'left_knee': 0.0, 'right_knee': 0.0},
)
sim = ccd.Simulation(robot, q, v, dt=1e-3, log_every=5)
assert sim.mobility() == 7  # 30 joint variables, rank 23: Nakamura and Yamane
sim.run(1.5)
sim.cut('left_thigh', 'right_thigh')  # off the seat, hanging by the hands
assert sim.mobility() == 17
sim.run(0.25)
sim.cut('left_hand', 'right_hand')  # and away
assert sim.mobility() == 23
before = ccd.momentum(sim.robot, sim.q, sim.v)
sim.run(0.35)

log = sim.log
print(
    f'loop error at most {log.loop_error.max():.1e}; energy balance within '
    f'{abs(log.balance - log.balance[0]).max():.1e} J of {log.kinetic.max():.0f} J'
)
assert log.loop_error.max() < 1e-10
assert abs(log.balance - log.balance[0]).max() < 1e-4
PATH.parent.mkdir(parents=True, exist_ok=True)
for note in log.record(PATH, fps=16, size=(480, 380), view='side'):
    print(note)
log.plot(PATH.with_suffix('.png'))
print(f'wrote {PATH} and {PATH.with_suffix(".png")}')
