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

"""An exoskeleton leg swings with the least torque: CasADi's Opti and IPOPT on the closed chain."""

from pathlib import Path
import sys

import casadi as ca
from matplotlib import pyplot as plt
import numpy as np

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/18_least_torque.png')
TIME, N = 1.0, 12  # [s], pieces of constant acceleration of theta_G
H, DT, MOST = TIME / N, TIME / N / 80, 8.0  # [s, s, rad/s^2]
robot = ccd.load('exo_leg')
START, END = (
    ccd.assemble(robot, {'hip': hip, 'knee': knee, 'left_crank': 0.0, 'right_crank': 0.0})
    for hip, knee in ((-0.3, 0.2), (0.5, 0.8))
)
f = ccd.codegen.casadi(robot, START)
names = ccd.coordinates(robot, START).independent  # hip, knee and both cranks: all have motors
G = [robot.coordinate_names.index(name) for name in names]
S = [j for j in range(robot.nv) if j not in G]
limits = [(j.limit.lower, j.limit.upper) for j in robot.description.joints if j.name in names]
lower, upper = np.array(limits).T


def piecewise(s):
    """Return theta_G and theta_G' at the ends of the pieces, from rest at the start."""
    x, r = [ca.DM(START[G])], [ca.DM.zeros(len(G))]
    for k in range(N):
        x.append(x[k] + H * r[k] + H**2 / 2 * s[:, k])
        r.append(r[k] + H * s[:, k])
    return x, r


# Unknown: theta_G'' of every piece, and in its middle the closed pose and the torques.
opti = ca.Opti()
s, Q, tau = (opti.variable(n, N) for n in (len(G), robot.nq, len(robot.actuator_names)))
x, r = piecewise(s)
for k in range(N):
    opti.subject_to(Q[G, k] == x[k] + H / 2 * r[k] + H**2 / 8 * s[:, k])
    opti.subject_to(f['newton_step'](q=Q[:, k])['q_next'][S] == Q[S, k])  # the loops are closed
    v = f['complete_velocity'](q=Q[:, k], rates=r[k] + H / 2 * s[:, k])['v']
    a = f['complete_acceleration'](q=Q[:, k], v=v, rates=s[:, k])['a']
    opti.subject_to(f['inverse_dynamics'](q=Q[:, k], v=v, a=a)['tau_A'] == tau[:, k])
    opti.subject_to(opti.bounded(lower, x[k + 1], upper))
opti.subject_to([ca.vertcat(x[N] - END[G], r[N]) == 0.0, opti.bounded(-MOST, ca.vec(s), MOST)])
opti.minimize(H * ca.sumsqr(tau))

guess = np.outer((END - START)[G], 4.0 / TIME**2 * np.where(np.arange(N) < N / 2, 1.0, -1.0))
opti.set_initial(s, guess)
for k, x_k in enumerate(piecewise(ca.DM(guess))[0][:N]):
    opti.set_initial(Q[:, k], ccd.assemble(robot, dict(zip(names, x_k.full()[:, 0])), start=START))
opti.solver('ipopt', {'print_time': False, 'expand': True}, {'print_level': 0, 'sb': 'yes'})
found = opti.solve()


def run(accelerations):
    """Return a simulation under inverse dynamics of pieces of constant theta_G''; no feedback."""
    sim = ccd.Simulation(robot, q=START, dt=DT)

    def law(sim):
        piece = accelerations[:, min(int(sim.time / H + 1e-9), N - 1)]
        a = ccd.complete_acceleration(sim.robot, sim.q, sim.v, dict(zip(names, piece)))
        return ccd.inverse_dynamics(sim.robot, sim.q, sim.v, a).tau_A

    sim.run(TIME, law)
    print(f'it arrives to {np.abs(sim.q - END).max():.1g} rad, {np.abs(sim.v).max():.1g} rad/s')
    assert np.abs(sim.q - END).max() < 0.03 and np.abs(sim.v).max() < 0.15
    return sim.log, np.nansum(np.array(sim.log.tau) ** 2) * DT


(straight, much), (swung, less) = run(guess), run(found.value(s))
print(f'integral of tau^2: {much:.1f} N^2 m^2 s straight, {less:.1f} as IPOPT has found')
assert less < 0.95 * much and abs(found.value(opti.f) - less) < 0.1 * less  # what IPOPT paid
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout='constrained')
for log, style, what in ((straight, ':', 'straight'), (swung, '-', 'least torque')):
    for k, joint in enumerate(('hip', 'knee')):
        axes[0].plot(log.time, np.array(log.tau)[:, k], style, color=f'C{k}', label=joint)
    axes[1].plot(log.q[:, G[0]], log.q[:, G[1]], style, color='C2', label=what)
axes[0].legend(*(each[2:] for each in axes[0].get_legend_handles_labels()))
axes[1].legend()
axes[0].set(xlabel='time [s]', ylabel='torque [N m]')
axes[1].set(xlabel='hip [rad]', ylabel='knee [rad]')
PATH.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(PATH, dpi=100)
print(f'wrote {PATH}')
