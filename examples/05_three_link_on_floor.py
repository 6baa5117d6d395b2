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

"""Three links whose tip slides on the floor and reverses on its way: the table of Li et al."""

from pathlib import Path
import sys

import numpy as np

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/05_three_link_on_floor.png')
# t, angles: the motion of Tables III and IV, found with a tight integrator
TABLE = (
    (1.00, (-0.0855451, -1.4916258, -1.4226611)),
    (2.00, (-0.2064652, -1.4211986, -1.1161532)),
    (3.01, (-0.6070491, -1.171912, -0.4538031)),
    (3.95, (-1.4468425, -0.479225, 0.5814012)),
    (10.0, (-3.0925264, 1.5205924, 1.5604564)),
)

robot = ccd.load('three_link', gravity=(0.0, 0.0, -9.8))
q = ccd.assemble(
    robot, {'joint_1': -0.05, 'joint_2': 0.05 - np.pi / 2, 'joint_3': 0.05 - np.pi / 2}
)
sim = ccd.Simulation(robot, q, dt=1e-3, log_every=10)
for t, angles in TABLE:
    sim.run(t - sim.time)
    print(f't = {t:5.2f} s: q = {", ".join(f"{x:.7f}" for x in sim.q)}')
    # the start is close to an unstable balance, which magnifies the seventh decimal of the table
    assert np.allclose(sim.q, angles, atol=1e-5)
turns = [event.time for event in sim.events if event.kind in ('slip', 'stick')]
print('the tip stands still for an instant at', ', '.join(f'{t:.6f} s' for t in turns))
assert any(abs(t - 3.882045) < 1e-4 for t in turns)

log = sim.log
assert log.loop_error.max() < 1e-10
PATH.parent.mkdir(parents=True, exist_ok=True)
log.plot(PATH)
print(f'wrote {PATH}')
