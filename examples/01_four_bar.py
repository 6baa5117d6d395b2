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

"""From a URDF file to motor torques: a four-bar linkage whose crank turns at constant speed."""

from pathlib import Path
import sys

from matplotlib.figure import Figure
from matplotlib.image import imread
import numpy as np
from scipy.integrate import trapezoid

import closed_chain_dynamics as ccd
from closed_chain_dynamics.recording.animation import snapshot

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/01_four_bar.png')
SPEED = 6.0  # of the crank [rad/s]

robot = ccd.load('four_bar')
print(ccd.coordinates(robot, ccd.assemble(robot, {'crank': 1.0})))

angles, torques, q = np.linspace(0.0, 2.0 * np.pi, 181), [], ccd.assemble(robot, {'crank': 0.0})
for angle in angles:
    q = ccd.assemble(robot, {'crank': angle}, start=q)  # passive joints follow
    v = ccd.complete_velocity(robot, q, {'crank': SPEED})
    a = ccd.complete_acceleration(robot, q, v, {'crank': 0.0})
    torques.append(ccd.inverse_dynamics(robot, q, v, a).tau_A[0])
    # the way back: this torque gives this acceleration
    forward = ccd.forward_dynamics(robot, q, v, {'crank': torques[-1]}).acceleration
    assert np.allclose(forward, a, atol=1e-8)

# Over a turn the motor puts in what damping takes out, and nothing else.
work = trapezoid(torques, angles)
sim = ccd.Simulation(robot, q, ccd.complete_velocity(robot, q, {'crank': SPEED}))
sim.run(2.0 * np.pi / SPEED, lambda sim: np.interp(sim.q[:1] % (2.0 * np.pi), angles, torques))
print(f'work of the motor over a turn: {work:.4f} J; dissipated: {sim.energy().dissipated:.4f} J')
assert abs(work - sim.energy().dissipated) < 0.02 * work + 1e-3
assert sim.loop_error() < 1e-10

PATH.parent.mkdir(parents=True, exist_ok=True)
snapshot(robot, ccd.assemble(robot, {'crank': 1.0}), PATH, size=(480, 420))
figure = Figure(figsize=(9.0, 3.8), layout='constrained')
picture, axes = figure.subplots(1, 2)
picture.imshow(imread(PATH))
picture.axis('off')
axes.plot(angles, torques, color='#1f5fa8')
axes.set(
    xlabel='crank [rad]',
    ylabel='torque of the motor [N m]',
    title='Four-bar linkage, crank at 6 rad/s',
)
figure.savefig(PATH, dpi=110)
print(f'wrote {PATH}')
