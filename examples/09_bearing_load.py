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

"""The force in the pin that closes a four-bar, over one turn: the load on its bearing."""

from pathlib import Path
import sys

from matplotlib.figure import Figure
import numpy as np

import closed_chain_dynamics as ccd

PATH = Path(sys.argv[1] if len(sys.argv) > 1 else 'out/09_bearing_load.png')
A, B, C, D, G = 0.2, 0.5, 0.4, 0.5, np.array((0.0, 9.80665))  # crank, coupler, rocker, ground
SPEED, H, DAMPING = 20.0, 3e-4, 0.002  # of the crank [rad/s]; step; of the passive pins

robot = ccd.load('four_bar')
(M_B, I_B), (M_C, I_C) = (
    (link.inertia.mass, link.inertia.tensor[1, 1]) for link in robot.description.links[-2:]
)


def directions(angle):
    """Return the angles of coupler and rocker: where two circles meet."""
    x, z = A * np.cos(angle) - D, A * np.sin(angle)
    d = np.hypot(x, z)
    rocker = np.arctan2(z, x) % (2 * np.pi) - np.arccos((C**2 + d**2 - B**2) / (2 * C * d))
    return np.array((np.arctan2(C * np.sin(rocker) - z, C * np.cos(rocker) - x), rocker))


def pin_force(angle):
    """Return the force on the rocker, from the moments on coupler and rocker alone."""
    before, here, after = map(directions, (angle - H, angle, angle + H))
    rate_b, rate_c = (after - before) / (2 * H) * SPEED
    slope_b, slope_c = (after - 2 * here + before) / H**2 * SPEED**2
    (u, n), (_, k) = (np.array(((np.cos(x), np.sin(x)), (-np.sin(x), np.cos(x)))) for x in here)
    a_b = -A * SPEED**2 * np.array((np.cos(angle), np.sin(angle))) + B / 2 * (
        slope_b * n - rate_b**2 * u
    )  # of the middle of the coupler
    rub = DAMPING * (rate_b - rate_c)  # moment in the pin
    on_b = I_B * slope_b + M_B * B / 2 * n @ (a_b + G) + DAMPING * (rate_b - SPEED) + rub
    on_c = (I_C + M_C * C**2 / 4) * slope_c + M_C * C / 2 * k @ G + DAMPING * rate_c - rub
    return np.linalg.solve((-B * n, C * k), (on_b, on_c))


q, forces, by_hand = ccd.assemble(robot, {'crank': 0.0}), [], []
for angle in np.linspace(0.0, 2.0 * np.pi, 181):
    q = ccd.assemble(robot, {'crank': angle}, start=q)
    v = ccd.complete_velocity(robot, q, {'crank': SPEED})
    a = ccd.complete_acceleration(robot, q, v, {'crank': 0.0})
    forces.append(ccd.reactions(robot, q, v, a)['coupler_rocker'].force[[0, 2]])
    by_hand.append(pin_force(angle))
forces, off = np.array(forces), np.abs(np.array(forces) - by_hand).max()
print(f'the pin carries up to {np.linalg.norm(forces, axis=1).max():.1f} N; off by {off:.1e} N')
assert off < 1e-3

figure = Figure(figsize=(6.2, 5.0), layout='constrained')
axes = figure.subplots(subplot_kw={'projection': 'polar'})
ways, sizes = np.unwrap(np.arctan2(forces[:, 1], forces[:, 0])), np.linalg.norm(forces, axis=1)
axes.plot(ways, sizes)
for k in (0, 45, 90, 135):  # there is a sample every other degree
    axes.plot(ways[k], sizes[k], 'o', label=f'crank at {2 * k}°')
axes.legend(loc='lower left', bbox_to_anchor=(0.95, -0.05))
axes.set_title('Force on the rocker [N], crank at 20 rad/s')
PATH.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(PATH, dpi=100)
print(f'wrote {PATH}')
