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

"""Two motors for one degree of freedom: how to share the load, and how preload stops rattling."""

from pathlib import Path
import sys

from matplotlib.figure import Figure
import numpy as np

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/10_preload.png')
SPEED, PRELOAD = 8.0, {'rocker': 4.0}  # of the crank [rad/s]; of the motor at the rocker [N m]

robot = ccd.load('four_bar', actuated=['crank', 'rocker'])
angles, q = np.linspace(0.0, 2.0 * np.pi, 145), ccd.assemble(robot, {'crank': 0.0})
alone = ccd.load('four_bar')  # with the motor at the crank only
smallest, loaded, single = [], [], []
for angle in angles:
    q = ccd.assemble(robot, {'crank': angle}, start=q)
    v = ccd.complete_velocity(robot, q, {'crank': SPEED})
    a = ccd.complete_acceleration(robot, q, v, {'crank': 0.0})
    smallest.append(ccd.inverse_dynamics(robot, q, v, a).tau_A)
    loaded.append(ccd.inverse_dynamics(robot, q, v, a, preload=PRELOAD).tau_A)
    single.append(ccd.inverse_dynamics(alone, q, v, a).tau_A[0])
    # All of them do the same motion ...
    for tau in (smallest[-1], loaded[-1]):
        assert np.allclose(ccd.forward_dynamics(robot, q, v, tau).acceleration, a, atol=1e-8)
    # ... and power says why: P = tau_crank + h tau_rocker, with h = rate of rocker / crank, which
    # is the ratio of the lever arms of the coupler's line about both pivots.
    h = v[robot.coordinate_names.index('rocker')] / SPEED
    end = 0.2 * np.array((np.cos(angle), np.sin(angle)))
    pin = np.array((0.5, 0.0)) + 0.4 * np.array((np.cos(q[-1]), np.sin(q[-1])))
    line, arm = pin - end, pin - (0.5, 0.0)
    assert (
        abs(h - (end[0] * line[1] - end[1] * line[0]) / (arm[0] * line[1] - arm[1] * line[0]))
        < 1e-9
    )
    tau = single[-1] * np.array((1.0, h)) / (1.0 + h**2)  # the least squares of one equation
    assert np.allclose(smallest[-1], tau, atol=1e-9)
    assert abs(loaded[-1] @ (1.0, h) - single[-1]) < 1e-9
smallest, loaded = np.array(smallest), np.array(loaded)
turns = [int(np.sum(np.diff(np.sign(tau[:, 1])) != 0.0)) for tau in (smallest, loaded)]
print(
    f'over a turn the torque at the rocker changes its sign {turns[0]} times; with preload '
    f'{turns[1]} times'
)
assert turns[0] > 0 and turns[1] == 0

figure = Figure(figsize=(7.0, 4.4), layout='constrained')
axes = figure.subplots(2, 1, sharex=True)
for ax, place, name in zip(axes, (0, 1), robot.actuator_names):
    ax.plot(angles, smallest[:, place], color='#1f5fa8', label='smallest torques')
    ax.plot(angles, loaded[:, place], color='#e07b1a', label='with preload')
    ax.axhline(0.0, color='#8a919c', linewidth=0.8)
    ax.set(ylabel=f'{name} [N m]')
axes[0].legend(frameon=False)
axes[1].set(xlabel='crank [rad]')
PATH.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(PATH, dpi=100)
print(f'wrote {PATH}')
