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

"""A Stewart platform flies a helix: forces of its six legs, against the method of virtual work."""

from pathlib import Path
import sys

import numpy as np
from scipy.interpolate import CubicSpline

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/13_stewart.gif')
GRAVITY, R, OMEGA = np.array((0.0, 0.0, -9.80665)), 0.08, 2.0 * np.pi
LEG = ((1.5, 0.0201815, 0.22, 0), (0.8, 0.0129355, -0.22, 1))  # mass, moment, where: foot or head
robot = ccd.load('stewart')
FEET = [joint.origin.xyz for joint in robot.description.joints if joint.name.startswith('roll')]
HEADS = [loop.child_origin.xyz for loop in robot.description.loops]


def virtual_work(p, v, a):
    """Return the forces of the legs under a platform of 8 kg that moves and does not turn."""
    J, need = np.empty((6, 6)), np.append(8.0 * (a - GRAVITY), np.zeros(3))
    for i, (foot, head) in enumerate(zip(FEET, HEADS)):
        leg = p + head - foot
        length, u = np.linalg.norm(leg), leg / np.linalg.norm(leg)
        to_head = np.hstack([np.eye(3), np.cross(np.eye(3), head)])  # of the platform's motion
        to_u = (np.eye(3) - np.outer(u, u)) / length  # of the head's
        ddu = to_u @ a - 2.0 * (u @ v) / length * to_u @ v - (to_u @ v) @ (to_u @ v) * u
        J[i] = u @ to_head
        for mass, moment, s, on_head in LEG:
            force = mass * (s * ddu + on_head * a - GRAVITY)
            need += to_head.T @ ((s * to_u + on_head * np.eye(3)) @ force + to_u @ (moment * ddu))
    return np.linalg.solve(J.T, need)


in_q, in_v = ([robot.joint_slices(f'slide_{i}')[k].start for i in range(1, 7)] for k in (0, 1))
times, wanted, q, worst = np.arange(0.0, 2.001, 0.02), [], ccd.assemble(robot), 0.0
for t in times:
    s, c = np.sin(OMEGA * t), np.cos(OMEGA * t)
    p, v, a = np.array(
        [
            (R * s, R * (1 - c), 0.62 + t / 20),
            (R * OMEGA * c, R * OMEGA * s, 0.05),
            (-R * OMEGA**2 * s, R * OMEGA**2 * c, 0.0),
        ]
    )
    q = ccd.assemble(robot, {'pose': (*p, 0, 0, 0, 1)}, start=q)
    rates = ccd.complete_velocity(robot, q, {'pose': (*v, 0, 0, 0)})
    slopes = ccd.complete_acceleration(robot, q, rates, {'pose': (*a, 0, 0, 0)})
    wanted.append((q[in_q], rates[in_v], ccd.inverse_dynamics(robot, q, rates, slopes).tau_A))
    worst = max(worst, np.abs(wanted[-1][2] - virtual_work(p, v, a)).max())
    if t == 0.0:
        sim = ccd.Simulation(robot, q, rates, dt=2e-3, log_every=10)
print(
    f'legs push with up to {np.max(wanted, axis=0)[2].max():.1f} N; virtual work says so too, '
    f'within {worst:.1e} N'
)
assert worst < 5e-3  # what is left is the spin of the legs about themselves, left out above

track = CubicSpline(times, wanted)  # now these forces, and a little grip, move it
sim.run(
    2.0,
    lambda sim: (
        track(sim.time)[2]
        + 2e4 * (track(sim.time)[0] - sim.q[in_q])
        + 400.0 * (track(sim.time)[1] - sim.v[in_v])
    ),
)
assert np.abs(sim.q[in_q] - wanted[-1][0]).max() < 1e-4
PATH.parent.mkdir(parents=True, exist_ok=True)
sim.log.record(PATH, fps=16, size=(440, 380), view=(30.0, 16.0))
print(f'wrote {PATH}')
