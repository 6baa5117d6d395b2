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

"""A figure of nine segments walks ten steps: ground forces under heels and toes."""

from pathlib import Path
import sys

from matplotlib import pyplot as plt
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.gait import walking_gait
from closed_chain_dynamics.control.walking import Walking

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/19_walking.png')
STEPS, DT, SMOOTH = 10, 1e-3, 15  # SMOOTH: samples of a moving mean, as force plates have filters
robot, gait = ccd.load('walker'), walking_gait()
start = gait.sample(0.0)  # at the strike of the left heel
controller = Walking(robot, gait)
sim = ccd.Simulation(robot, q=start.q, v=start.v, dt=DT)
WEIGHT = 70.0 * 9.80665
STRIDE = 2.0 * gait.duration
moments = []  # of the motors, and of the gait [N m]
forces, strikes = [], [0.0]  # time, then forward and upward of the left and of the right foot [N]


def law(sim):
    """Return the torques for a state."""
    closed = [name for name in robot.loop_names if sim.robot.is_connected(name)]
    sim.tau = controller.torques(sim.q, sim.v, closed, sim.time)
    if len(strikes) <= controller.steps:
        strikes.append(controller.began)
    moments.append((sim.tau, controller.reference(sim.time).tau))
    return sim.tau


def measure(sim):
    """Note the forces of the ground at the end of a step."""
    row = np.zeros((2, 2))
    for name, (up, drag) in ccd.contact_forces(sim.robot, sim.q, sim.v, sim.tau).items():
        row[int(name.startswith('right'))] += drag[0], up
    forces.append((sim.time, *row.ravel()))


sim.run((STEPS + 0.5) * gait.duration, law, callback=measure)
q, t = np.array(sim.log.q), np.array(forces)[:, 0]
x, z, pitch = q[:, :3].T
print(
    f'{controller.steps} steps, {x[-1] - x[0]:.2f} m in {sim.time:.2f} s, {len(sim.events)} events'
)
torques, wanted = np.moveaxis(moments, 1, 0)
print(
    f'the motors give the moments of the gait, {np.sqrt(np.mean(wanted**2)):.0f} N m, and what '
    f'stabilises it: {np.median(np.abs(torques - wanted)):.1f} N m in the median'
)
assert controller.steps == STEPS and z.min() > 0.85 and np.abs(pitch).max() < 0.1

# Newton: the ground gives what the weight takes, and the change of momentum.
change = ccd.momentum(robot, sim.q, sim.v)[:3] - ccd.momentum(robot, start.q, start.v)[:3]
landed = sum(e.momentum_change for e in sim.events if e.kind == 'touch_down')
flat = np.array(forces)
push = DT * flat[:, [2, 4]].sum() + landed[2]
print(f'ground {push:.1f} N s, weight {WEIGHT * sim.time:.1f} N s, change {change[2]:.1f} N s')
assert abs(push - WEIGHT * sim.time - change[2]) < 0.01 * push

figure, axes = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout='constrained')
percent, curves = np.linspace(0.0, 100.0, 200), []
for number in range(2, STEPS - 1):  # full strides, after the first steps
    side = number % 2
    for axis, column in zip(axes, (2 + 2 * side, 1 + 2 * side)):
        mean = np.convolve(flat[:, column] / WEIGHT, np.ones(SMOOTH) / SMOOTH, 'same')
        curve = np.interp(strikes[number] + percent / 100.0 * STRIDE, t, mean)
        axis.plot(percent, curve, '-', color='C0' if side else 'C1', linewidth=0.8)
        curves.append(curve)
wanted = [gait.sample(time).force / WEIGHT for time in percent / 100.0 * gait.duration]
for axis, part in zip(axes, (1, 0)):
    for foot in (0, 1):  # the foot that strikes, and half a stride later the one behind
        curve = [each[2 * foot : 2 * foot + 2, part].sum() for each in wanted]
        axis.plot(percent / 2.0 + 50.0 * foot, curve, 'k--', linewidth=1.0)
    axis.grid(alpha=0.3)
axes[0].set(ylabel='upward force / weight', title='left (orange), right (blue), the gait (dashed)')
axes[1].set(ylabel='forward force / weight', xlabel='share of the stride [%]')
up = np.mean(curves[0::2], axis=0)
first, valley, second = up[15:60].max(), up[50:80].min(), up[80:105].max()
print(f'humps of {first:.2f} and {second:.2f}, {valley:.2f} of the weight between them')
assert first > 1.0 > 0.85 > valley and second > 1.0
PATH.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(PATH, dpi=100)
print(f'wrote {PATH}')
