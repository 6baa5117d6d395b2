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
The arms of paper 3 on a surface, and a second way to their motion.

`PlanarArm` is written from Lagrange's equations and shares nothing with the package.
"""

from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

import closed_chain_dynamics as ccd

GRAVITY = (0.0, 0.0, -9.8)
FOLDED, TENT = (-np.pi / 6.0, -2.0 * np.pi / 3.0), (-np.pi / 6.0, -np.pi / 3.0, -np.pi / 3.0)


def arm(links, K=0.01):
    """Return the manipulator with a coefficient of friction."""
    model = ccd.load(f'{links}_link').description
    loops = tuple(replace(loop, contact=replace(loop.contact, mu=K)) for loop in model.loops)
    return ccd.Mechanism(replace(model, loops=loops), gravity=GRAVITY)


class PlanarArm:
    """Eqs. (10) to (21) of the paper with the arm's matrices written out by hand."""

    def __init__(self, n, K, tau, inertia=1.0 / 12.0, mass=1.0, length=0.5, damping=3.0, g=9.8):
        self.n, self.K, self.tau, self.inertia = n, K, tau, inertia
        self.mass, self.length, self.damping, self.g = mass, length, damping, g

    def point(self, q, v, link, share):
        """Return Jacobian (2, n) in y, z and J' v of a point along a link."""
        phi, omega = np.cumsum(q), np.cumsum(v)
        J, bias = np.zeros((2, self.n)), np.zeros(2)
        for k in range(link + 1):
            part = self.length * (1.0 if k < link else share)
            J[:, : k + 1] += part * np.array([[-np.cos(phi[k])], [-np.sin(phi[k])]])
            bias += part * omega[k] ** 2 * np.array([np.sin(phi[k]), -np.cos(phi[k])])
        return J, bias

    def solve(self, t, q, v, side):
        """Return q'', f_n, A of Eq. (20) and m_c of (14); the tip slides along `side` times y."""
        M, b = self.matrices(q, v)
        J, bias = self.point(q, v, self.n - 1, 1.0)
        j_c, j_t, tau = J[1], side * J[0], np.asarray(self.tau(t))
        d = np.linalg.solve(M, j_c)
        m_c, A = d @ j_c, d @ j_c - self.K * d @ j_t
        f_n = (d @ (b - tau) - bias[1]) / A
        return np.linalg.solve(M, tau - b + (j_c - self.K * j_t) * f_n), f_n, A, m_c

    def matrices(self, q, v):
        """Return M and b of Eq. (31)."""
        M, b = np.zeros((self.n, self.n)), self.damping * np.asarray(v)
        for k in range(self.n):
            J, bias = self.point(q, v, k, 0.5)
            turns = (np.arange(self.n) <= k).astype(float)
            M += self.mass * J.T @ J + self.inertia * np.outer(turns, turns)
            b = b + J.T @ (self.mass * (bias + [0.0, self.g]))
        return M, b

    def held(self, t, q, v):
        """Return q'' and the force (y, z) on a tip that is held where it is."""
        M, b = self.matrices(q, v)
        J, bias = self.point(q, v, self.n - 1, 1.0)
        free = np.linalg.solve(M, np.asarray(self.tau(t)) - b)
        MJ = np.linalg.solve(M, J.T)
        force = -np.linalg.solve(J @ MJ, J @ free + bias)
        return free + MJ @ force, force

    def hold(self, start, x, end):
        """Integrate until friction cannot hold the tip; return time, state, where it slides."""

        def slips(t, x):
            force = self.held(t, x[: self.n], x[self.n :])[1]
            return self.K * force[1] - abs(force[0])

        slips.terminal = True
        run = solve_ivp(
            lambda t, x: np.concatenate([x[self.n :], self.held(t, x[: self.n], x[self.n :])[0]]),
            (start, end),
            x,
            rtol=1e-9,
            atol=1e-11,
            events=slips,
        )
        t, x = run.t[-1], run.y[:, -1]
        return t, x, -np.sign(self.held(t, x[: self.n], x[self.n :])[1][0])

    def speed(self, x):
        """Return the tip's speed along y."""
        return self.point(x[: self.n], x[self.n :], self.n - 1, 1.0)[0][0] @ x[self.n :]

    def run(self, q, start, end, side, v=None):
        """Integrate until the tip stands still or the end; return time and state."""

        def stop(t, x):
            return side * self.speed(x) + (1.0 if t < start + 1e-3 else 0.0)

        stop.terminal = True
        x = np.concatenate([q, np.zeros(self.n) if v is None else v])
        run = solve_ivp(
            lambda t, x: np.concatenate(
                [x[self.n :], self.solve(t, x[: self.n], x[self.n :], side)[0]]
            ),
            (start, end),
            x,
            method='LSODA',
            rtol=1e-10,
            atol=1e-12,
            events=stop,
        )
        return run.t[-1], run.y[:, -1]
