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

"""Two links whose tip slides on the floor with friction: the table of Li et al."""

from pathlib import Path
import sys

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.contacts import contact_forces

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/04_two_link_on_floor.png')
# t, angles, normal force: the motion of Tables I and II, found with a tight integrator
TABLE = (
    (0.10, (-1.8443872, 0.5471817), 9.3241742),
    (4.85, (-2.3525907, 1.5635887), 9.5327407),
    (10.0, (-2.5384186, 1.9352446), 9.7130432),
)
TAU = (0.0, -1.225)  # [N m]

robot = ccd.load('two_link', gravity=(0.0, 0.0, -9.8))
q = ccd.assemble(robot, {'joint_1': -np.pi / 2 - np.pi / 12, 'joint_2': np.pi / 6})
sim = ccd.Simulation(robot, q, dt=1e-3, log_every=10)
for t, angles, normal in TABLE:
    sim.run(t - sim.time, TAU)
    f_n = contact_forces(sim.robot, sim.q, sim.v, TAU)['tip_on_floor'][0]
    print(f't = {t:5.2f} s: q = {sim.q[0]:.7f}, {sim.q[1]:.7f}; f_n = {f_n:.7f} N')
    assert np.allclose(sim.q, angles, atol=1e-6) and abs(f_n - normal) < 1e-5

log = sim.log
assert log.loop_error.max() < 1e-10  # the tip never leaves the floor
assert abs(log.balance - log.balance[0]).max() < 1e-6  # with what friction and damping dissipate
PATH.parent.mkdir(parents=True, exist_ok=True)
log.plot(PATH)
print(f'wrote {PATH}')
