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

"""A figure balances in a handstand on the high bar: an LQR from A and B of the closed chain."""

from pathlib import Path
import sys

import numpy as np
from scipy.linalg import solve_discrete_are

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/17_handstand.gif')
DT, PUSH = 2e-3, 0.02  # [s, rad/s]
BAR = np.array((0.0, 0.0, 2.5))  # a point on it; its axis is y [m]
robot = ccd.load('high_bar')


def turned(q, angle):
    """Return a pose turned about the bar as a whole: the grips stay closed."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.array(((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)))
    at, (x, y, z, w) = q[:3], q[3:7]
    b, a = np.sin(angle / 2), np.cos(angle / 2)  # the turn as a quaternion: (0, b, 0, a)
    turn = (a * x + b * z, a * y + b * w, a * z - b * x, a * w - b * y)
    return np.concatenate([BAR + R @ (at - BAR), turn, q[7:]])


# The hanging posture, upside down, its centre of mass above the bar: at rest, but not for long.
hanging = ccd.assemble(robot)
x, _, z = ccd.center_of_mass(robot, hanging) - BAR
q0 = turned(hanging, -np.arctan2(x, z))
assert np.abs(ccd.center_of_mass(robot, q0)[:2]).max() < 1e-12
rest = np.zeros(robot.nv)
needed = ccd.inverse_dynamics(robot, q0, rest, rest)
assert np.abs(needed.residual).max() < 1e-9  # no motor is at the bar, and none is missed
hold = needed.tau_A

# One step of the closed chain, linearised: 12 degrees of freedom, one of them without a motor.
d = ccd.codegen.step_derivatives(robot, q0, rest, hold, dt=DT)
assert np.abs(d.q_next - q0).max() < 1e-9
G = [robot.coordinate_names.index(name) for name in d.independent]
fastest = DT / np.log(np.abs(np.linalg.eigvals(d.A)).max())
print(
    f'{len(G)} degrees of freedom; uncontrolled, a deviation grows by a factor e in '
    f'{fastest:.2f} s'
)
Q, R = np.diag([100.0] * len(G) + [1.0] * len(G)), 1e-2 * np.eye(len(hold))
P = solve_discrete_are(d.A, d.B, Q, R)
K = np.linalg.solve(R + d.B.T @ P @ d.B, d.B.T @ P @ d.A)


def state(sim):
    """Return the small motion of theta_G since the handstand, and its rate."""
    return np.concatenate([ccd.difference(robot, q0, sim.q)[G], sim.v[G]])


def pushed(speed):
    """Return a simulation just after a push that turns the figure about the bar [rad/s]."""
    rates = dict.fromkeys(robot.actuator_names, 0.0) | {'root:wy': speed}
    v = ccd.complete_velocity(robot, q0, rates)
    return ccd.Simulation(robot, q=q0, v=v, dt=DT, log_every=10)


def lqr(sim):
    """Return the torques of the regulator, and note what this instant costs."""
    x = state(sim)
    paid.append(x @ Q @ x + (K @ x) @ R @ (K @ x))
    return hold - K @ x


# Without it a push of a degree in a second is the end; with it, the figure comes back.
paid, fallen, kept = [], pushed(PUSH), pushed(PUSH)
fallen.run(1.2, hold)
kept.run(4.0, lqr)
low, high = (np.abs(state(sim)).max() for sim in (fallen, kept))
print(f'after the push: {low:.2g} away without, {high:.2g} with the regulator [rad, m, 1/s]')
assert high < 0.05 < 1.0 < low

# What a regulator pays for a small push is known before: x^T P x, by the Riccati equation.
paid, small = [], pushed(1e-4 * PUSH)
known = state(small) @ P @ state(small)
small.run(4.0, lqr)
print(f'a small push costs {sum(paid):.5g}; the Riccati equation says {known:.5g}')
assert abs(sum(paid) - known) < 1e-3 * known
PATH.parent.mkdir(parents=True, exist_ok=True)
kept.log.record(PATH, fps=8, size=(300, 330), view='side')
print(f'wrote {PATH}')
