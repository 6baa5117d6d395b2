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

"""An exoskeleton follows a motion of the arm: how feedforward torque reduces its error."""

from pathlib import Path
import sys

import numpy as np
from scipy.interpolate import CubicSpline

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/14_exoskeleton.gif')
MIDDLE = {'rho1': -0.3, 'rho2': -0.6, 'rho4': 0.7, 'rho5': 0.7, 'rho7': 0.0}  # the five motors
SWING = np.array((0.4, 0.5, 0.5, 0.4, 0.8))  # [rad]
OMEGA, STIFFNESS, DAMPING = np.pi, 100.0, 5.0  # [rad/s, N m/rad, N m s/rad]

robot = ccd.load('exo')
in_q, in_v = ([robot.joint_slices(name)[k].start for name in MIDDLE] for k in (0, 1))
pose, still = ccd.assemble(robot, MIDDLE), np.zeros(robot.nv)


def potential(joints):
    """Return the potential energy of a pose, that of the spring included [J]."""
    return float(ccd.Simulation(robot, ccd.assemble(robot, joints, start=pose)).energy())


# At rest a torque is the slope of the potential energy along the loops.
held = ccd.inverse_dynamics(robot, pose, still, still).torques()
slope = {
    name: (potential({**MIDDLE, name: x + 1e-4}) - potential({**MIDDLE, name: x - 1e-4})) / 2e-4
    for name, x in MIDDLE.items()
}
print('holding takes', ', '.join(f'{name} {torque:.3f}' for name, torque in held.items()), 'N m')
assert all(abs(held[name] - slope[name]) < 1e-5 for name in MIDDLE)

times, q, wanted = np.arange(0.0, 2.001, 0.01), pose, []
for t in times:  # the motors swing, the other eight joints follow
    angles, rates, slopes = (
        dict(zip(MIDDLE, x))
        for x in (
            np.array([*MIDDLE.values()]) + SWING * np.sin(OMEGA * t),
            SWING * OMEGA * np.cos(OMEGA * t),
            -SWING * OMEGA**2 * np.sin(OMEGA * t),
        )
    )
    q = ccd.assemble(robot, angles, start=q)
    v = ccd.complete_velocity(robot, q, rates)
    a = ccd.complete_acceleration(robot, q, v, slopes)
    wanted.append((q[in_q], v[in_v], ccd.inverse_dynamics(robot, q, v, a).tau_A))
    if t == 0.0:
        start = q, v
track = CubicSpline(times, wanted)

error = []
for share in (0.0, 1.0):
    sim, off = ccd.Simulation(robot, *start, dt=1e-3, log_every=10), []
    sim.run(
        2.0,
        lambda sim: (
            share * track(sim.time)[2]
            + STIFFNESS * (track(sim.time)[0] - sim.q[in_q])
            + DAMPING * (track(sim.time)[1] - sim.v[in_v])
        ),
        callback=lambda sim: off.append(np.abs(track(sim.time)[0] - sim.q[in_q]).max()),
    )
    error.append(max(off))
print(f'error with feedback {error[0]:.1e} rad, with feedforward as well {error[1]:.1e} rad')
assert error[1] < 0.01 * error[0] and sim.log.loop_error.max() < 1e-10
PATH.parent.mkdir(parents=True, exist_ok=True)
sim.log.record(PATH, fps=16, size=(440, 400), view=(35.0, 15.0))
print(f'wrote {PATH}')
