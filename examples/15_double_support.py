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

"""Two steps of a biped: with both feet down, six motors drive three degrees of freedom."""

from pathlib import Path
import sys

import numpy as np
from scipy.interpolate import CubicSpline

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/15_double_support.gif')
TIME, WEIGHT = 2.4, 39.0 * 9.80665  # [s, N]
LIFT = (('hip', -0.45), ('knee', 0.9), ('ankle', -0.35))  # how a swinging leg bends [rad]
# leg, footholds that it leaves and takes, where the hips are then [m]
STEPS = (('right', 'right_1', 'right_2', 0.29, 0.50), ('left', 'left_1', 'left_2', 0.64, 0.86))
grid = np.arange(0.0, TIME + 0.3, 0.01)
s = np.minimum(grid / TIME, 1.0)
GLIDE = {
    'hip_x': CubicSpline(grid, 0.175 + 0.7 * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)),
    'hip_z': CubicSpline(grid, 0.8 + 0.0 * s),
    'pitch': CubicSpline(grid, 0.0 * s),
}
robot = ccd.load('biped')
place = {name: robot.joint_slices(name)[0].start for name in robot.joint_names}  # in q as in v


def follow(sim, paths):
    """Return the torques that keep joints on their splines: feedback and inverse dynamics."""
    wanted = {
        name: path(sim.time, 2)
        + 2500.0 * (path(sim.time) - sim.q[place[name]])
        + 100.0 * (path(sim.time, 1) - sim.v[place[name]])
        for name, path in paths.items()
    }
    a = ccd.complete_acceleration(sim.robot, sim.q, sim.v, wanted)
    return ccd.inverse_dynamics(sim.robot, sim.q, sim.v, a).tau_A


sim = ccd.Simulation(robot, dt=2e-3)
for leg, old, new, x_off, x_on in STEPS:
    off, on = np.interp((x_off, x_on), GLIDE['hip_x'](grid), grid).round(3)
    sim.run(off - sim.time, lambda sim: follow(sim, GLIDE))  # both feet down
    plan, paths = sim.robot.copy(), dict(GLIDE)
    plan.cut(old)
    plan.connect(new)
    end = ccd.assemble(plan, {name: float(path(on)) for name, path in GLIDE.items()}, start=sim.q)
    for joint, lift in LIFT:
        k = place[f'{leg}_{joint}']
        paths[f'{leg}_{joint}'] = CubicSpline(
            (off, (off + on) / 2, on),
            (sim.q[k], (sim.q[k] + end[k]) / 2 + lift, end[k]),
            bc_type=((1, sim.v[k]), (1, 0.0)),
        )
    sim.cut(old)
    sim.run(on - sim.time, lambda sim: follow(sim, paths))  # as many motors as degrees of freedom
    (event,) = sim.connect(new)
    print(f'{new}: {event.energy_lost:.3f} J lost, mobility {event.mobility_before} to 3')
    assert (event.mobility_before, event.mobility_after) == (6, 3) and event.energy_lost > 0.0
sim.run(TIME + 0.2 - sim.time, lambda sim: follow(sim, GLIDE))

# Newton: over the whole walk the ground pushes up as much as the weight pulls down.
t, up = sim.log.time, sum(sim.log.reactions(loop)[:, 2] for loop in robot.loop_names)
push = np.diff(t) @ (up[1:] + up[:-1]) / 2 + sum(e.momentum_change[2] for e in sim.events)
print(f'the ground gives {push:.2f} N s, the weight takes {WEIGHT * sim.time:.2f} N s')
assert abs(push - WEIGHT * sim.time) < 1e-4 * push
PATH.parent.mkdir(parents=True, exist_ok=True)
sim.log.record(PATH, fps=16, size=(480, 380), view=(15.0, 8.0))
print(f'wrote {PATH}')
