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

"""
Makes the gait of the model walker anew, by IPOPT on the functions of `ccd.codegen.casadi`.

``python docs/make_gait.py gait.csv`` takes about a minute. A step is four phases of given length;
unknown are coordinates, rates, accelerations (linear between nodes), forces and moments at nodes.
The motion is periodic, feet land without impact, forces are continuous, within cones of friction.
Least are the squares of moments, of jumps, and of what differs from the angles and forces below,
which were written by hand from what textbooks on gait show.
"""

from pathlib import Path
import sys

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline

import closed_chain_dynamics as ccd

SPEED, WEIGHT, MU = 1.25, 70.0 * 9.80665, 0.6  # [m/s, N], share of friction that is used
PHASES = (  # duration [s], pieces, points that are closed
    (0.065, 8, ('left_heel', 'right_toe')),
    (0.055, 7, ('left_heel', 'left_toe', 'right_toe')),
    (0.225, 16, ('left_heel', 'left_toe')),
    (0.195, 14, ('left_toe',)),
)
STEP = sum(phase[0] for phase in PHASES)
STANCE = STEP + PHASES[0][0] + PHASES[1][0]
CLEARANCE, STRAIGHT = 0.012, 0.04  # of a foot that swings [m]; least bend of a knee [rad]
ANGLES = {  # by percent of the stride [degrees]
    'hip': ((0, 12, 25, 50, 60, 75, 85, 100), (28, 22, 6, -11, -3, 22, 30, 28)),
    'knee': ((0, 14, 40, 50, 60, 72, 85, 95, 100), (5, 18, 6, 12, 35, 60, 32, 5, 5)),
    'ankle': ((0, 6, 12, 30, 45, 52, 61, 70, 80, 100), (0, -6, -2, 6, 10, 6, -17, -6, 1, 0)),
}
UP = CubicSpline((0, 0.08, 0.2, 0.5, 0.77, 0.92, 1), (0, 0.62, 1.1, 0.77, 1.1, 0.5, 0))
ALONG = CubicSpline((0, 0.05, 0.18, 0.5, 0.82, 0.95, 1), (0, -0.06, -0.17, 0, 0.19, 0.08, 0))
ANGLE, TRUNK, MOMENT, JUMP, RATE = 20.0, 30.0, 60.0, 100.0, 0.5  # weights and scales of the costs
FORCE = (0.0, 30.0)  # weight of the forces: first without, then with

robot = ccd.load('walker')
names, n = robot.joint_names, robot.nv
place = {name: k for k, name in enumerate(names)}
points = {loop.name: loop for loop in robot.description.loops}
curves = {
    joint: CubicSpline(np.array(x) / 100.0, np.radians(y), bc_type='periodic')
    for joint, (x, y) in ANGLES.items()
}


def node_function():
    """Return moments, and place, velocity and acceleration of the points, of one node."""
    f = ccd.codegen.casadi(robot, np.zeros(n))
    q, v, a, force = (ca.SX.sym(name, size) for name, size in zip('qvaf', (n, n, n, 8)))
    rows, places = f['placements'](q)[0], []
    for loop in points.values():
        row = rows[list(robot.link_names).index(loop.child), :]
        world = row[9:].T + ca.reshape(row[:9], 3, 3).T @ ca.DM(loop.child_origin.xyz)
        places += [world[0], world[2]]
    p = ca.vertcat(*places)
    J = ca.jacobian(p, q)
    rate = J @ v
    moments = f['inverse_dynamics'](q=q, v=v, a=a)['tau_O'] - J.T @ force
    outputs = [moments, p, rate, J @ a + ca.jtimes(rate, q, v)]
    return ca.Function('node', [q, v, a, force], outputs, {'cse': True})


def wanted_angles(share):
    """Return the angles of textbooks at a share of the stride of the left leg."""
    q = np.zeros(n)
    for side, ahead in (('left', 0.0), ('right', 0.5)):
        for joint, curve in curves.items():
            q[place[f'{side}_{joint}']] = curve((share + ahead) % 1.0)
        q[place[f'{side}_shoulder']] = np.radians(4 - 18 * np.cos(2 * np.pi * (share + ahead)))
    return q


def shape(curve, time):
    """Return the force of textbooks on a foot at times since its strike."""
    return np.where(time <= STANCE, curve(np.clip(time / STANCE, 0.0, 1.0)), 0.0)


opti, node = ca.Opti(), node_function()
force_weight, cost, found, began = opti.parameter(), 0.0, [], 0.0
for number, (duration, N, closed) in enumerate(PHASES):
    h, s = duration / N, np.linspace(0.0, 1.0, N + 1)
    Q, V, A, F, T = (opti.variable(size, N + 1) for size in (n, n, n, 8, n - 3))
    moments, P, dP, ddP = node.map(N + 1)(Q, V, A, F)
    opti.subject_to(ca.vec(moments[:3, :]) / 100.0 == 0.0)
    opti.subject_to(ca.vec(moments[3:, :] - T) / 100.0 == 0.0)
    for k, name in enumerate(points):
        x, z = 2 * k, 2 * k + 1
        if name in closed:
            flat = name == 'left_toe' and 'left_heel' in closed  # x follows from the heel
            opti.subject_to(ca.vec(ddP[z if flat else x : z + 1, :]) == 0.0)
            opti.subject_to(F[z, :].T >= 0.0)
            for sign in (-1.0, 1.0):
                opti.subject_to((MU * F[z, :] + sign * F[x, :]).T >= 0.0)
        else:
            opti.subject_to(ca.vec(F[x : z + 1, :]) == 0.0)
            least = np.full(N + 1, -1e-4)
            if number >= 2 and name.startswith('right'):  # above the floor, but at its ends
                ramp = 3.0 * (s if number == 2 else 1.0 - s)
                least = CLEARANCE * np.minimum(1.0, ramp)
                if number == 3 and name == 'right_toe':
                    least = np.full(N + 1, CLEARANCE)
            height, floor = P[z, 1:-1].T, ca.DM(least[1:-1])
            opti.subject_to(height >= floor)
    if found:
        last = found[-1]
        opti.subject_to(Q[:, 0] == last['q'][:, -1])
        opti.subject_to(V[:, 0] == last['v'][:, -1])
        for k, name in enumerate(points):
            now, before = F[2 * k : 2 * k + 2, 0], last['force'][2 * k : 2 * k + 2, -1]
            if name in closed:
                opti.subject_to(now == (before if name in PHASES[number - 1][2] else 0.0))
            elif name in PHASES[number - 1][2]:
                opti.subject_to(before == 0.0)
    opti.subject_to(ca.vec(V[:, 1:] - V[:, :-1] - h / 2 * (A[:, 1:] + A[:, :-1])) == 0.0)
    moved = h * V[:, :-1] + h**2 / 6 * (2 * A[:, :-1] + A[:, 1:])
    opti.subject_to(ca.vec(Q[:, 1:] - Q[:, :-1] - moved) == 0.0)
    opti.subject_to(opti.bounded(-1.3, ca.vec(Q[2:, :]), 1.3))
    opti.subject_to(opti.bounded(0.8, ca.vec(Q[1, :]), 1.0))
    opti.subject_to(ca.vec(Q[[place['left_knee'], place['right_knee']], :]) >= STRAIGHT)
    time = began + duration * s
    ahead = np.array([wanted_angles(t / STEP / 2.0) for t in time]).T
    ahead[0], ahead[1] = SPEED * time - 0.28, 0.905
    share = np.where((s == 0.0) | (s == 1.0), 0.5, 1.0)[None, :] * h
    weights = np.r_[0.0, 0.0, TRUNK, np.ones(n - 3)][:, None]
    cost += ANGLE * ca.sum2(ca.sum1(weights * (Q - ahead) ** 2) * share)
    cost += ca.sum2(ca.sum1((T / MOMENT) ** 2) * share)
    cost += 0.02 * ca.sumsqr((A[:, 1:] - A[:, :-1]) / JUMP)
    cost += RATE * ca.sumsqr((F[:, 1:] - F[:, :-1]) / WEIGHT)
    for first, since in ((0, time), (4, time + STEP)):
        for curve, row in ((ALONG, first), (UP, first + 1)):
            off = (F[row, :] + F[row + 2, :]) / WEIGHT - shape(curve, since)[None, :]
            cost += force_weight * ca.sum2(off**2 * share)
    start = np.zeros((8, N + 1))
    for k, name in enumerate(points):
        start[2 * k + 1] = WEIGHT / len(closed) if name in closed else 0.0
    speeds = np.zeros((n, N + 1))
    speeds[0] = SPEED
    for variable, guess in ((Q, ahead), (V, speeds), (F, start)):
        opti.set_initial(variable, guess)
    found.append({'q': Q, 'v': V, 'a': A, 'tau': T, 'force': F, 'P': P, 'dP': dP})
    began += duration

# The left heel strikes at x = 0 and the toe follows, both without impact; then all repeats.
first, second, last = found[0], found[1], found[-1]
mirror = [names.index(_) for _ in names[:3] + names[7:] + names[3:7]]
opti.subject_to(first['P'][:2, 0] == 0.0)
opti.subject_to(first['dP'][:2, 0] == 0.0)
opti.subject_to(first['force'][:2, 0] == 0.0)
opti.subject_to(second['P'][3, 0] == 0.0)
opti.subject_to(second['dP'][3, 0] == 0.0)
opti.subject_to(last['q'][mirror, -1][1:] == first['q'][1:, 0])
opti.subject_to(last['q'][0, -1] == first['q'][0, 0] + SPEED * STEP)
opti.subject_to(last['v'][mirror, -1] == first['v'][:, 0])
opti.subject_to(last['force'][2:4, -1] == first['force'][6:, 0])
opti.minimize(cost)
options = {'max_iter': 200, 'tol': 1e-6, 'mu_strategy': 'adaptive', 'print_level': 3}
opti.solver('ipopt', {'expand': True, 'print_time': False}, options)
for weight in FORCE:
    opti.set_value(force_weight, weight)
    solution = opti.solve()
    opti.set_initial(solution.value_variables())

head = [f'{part}:{name}' for part in 'qva' for name in names]
head += [f'tau:{name}' for name in robot.actuator_names]
head += [f'force:{name}:{axis}' for name in points for axis in 'xz']
lines, began = [','.join(['time', 'closed', *head])], 0.0
for (duration, N, closed), phase in zip(PHASES, found):
    parts = [solution.value(phase[part]) for part in ('q', 'v', 'a', 'tau', 'force')]
    for k, column in enumerate(np.vstack(parts).T):
        moment = [f'{began + duration * k / N:.9g}', '+'.join(closed)]
        lines.append(','.join(moment + [f'{value:.7g}' for value in column]))
    began = round(began + duration, 9)
Path(sys.argv[1]).write_text('\n'.join(lines) + '\n', encoding='utf-8')
