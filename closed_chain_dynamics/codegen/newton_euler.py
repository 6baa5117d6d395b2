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
Newton and Euler over symbols, in the axes of each body: tau_O of the tree.

Joints turn about z of their own frame, and most frames stand at right angles to those before: a
vector goes from body to body in six operations instead of fifteen. All that the motion of a body
does to its points is in K = [alpha]x + [omega]x [omega]x: a point r accelerates by a + K r, so
f = m a + K h with h = m c, and the moment is h x a with the skew part of K J, J the second moments
of mass about the origin.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import Source, SourceBody
from closed_chain_dynamics.codegen.tree import quaternion_rotation
from closed_chain_dynamics.description.elements import JointType

__all__ = ['newton_euler']


@dataclass
class _Moving:
    """A body in its own axes: omega, K, and the acceleration a of its origin, gravity included."""

    omega: SX
    K: SX
    alpha: SX
    a: SX
    g: SX  # gravity


class _JointAt:
    """A joint at q: where the body stands on its parent, and rates in the body's axes."""

    def __init__(self, body: SourceBody, q: SX) -> None:
        self.body = body
        R, k = ca.SX(body.R_tree), body.iq
        self.p = ca.SX(body.p_tree)
        self.Q: SX | None = None
        self.c, self.s = ca.SX(1), ca.SX(0)
        if body.kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            self.c, self.s = ca.cos(q[k]), ca.sin(q[k])
        elif body.kind is JointType.PRISMATIC:
            self.p = self.p + R[:, 2] * q[k]
        elif body.kind is JointType.SPHERICAL:
            self.Q = quaternion_rotation(q[k : k + 4])
        elif body.kind is JointType.FLOATING:
            self.p, self.Q = self.p + R @ q[k : k + 3], quaternion_rotation(q[k + 3 : k + 7])
        else:  # planar
            self.p = self.p + R[:, :2] @ q[k : k + 2]
            length = ca.sqrt(ca.sumsqr(q[k + 2 : k + 4]))
            self.c, self.s = q[k + 2] / length, q[k + 3] / length

    def down(self, x: SX) -> SX:
        """Return a vector of the parent in the body's axes."""
        x = self.body.R_tree.T @ x
        if self.Q is not None:
            return self.Q.T @ x
        return ca.vertcat(self.c * x[0] + self.s * x[1], self.c * x[1] - self.s * x[0], x[2])

    def up(self, x: SX) -> SX:
        """Return a vector of the body in its parent's axes."""
        if self.Q is not None:
            x = self.Q @ x
        else:
            x = ca.vertcat(self.c * x[0] - self.s * x[1], self.s * x[0] + self.c * x[1], x[2])
        return self.body.R_tree @ x

    def rates(self, x: SX) -> tuple[SX, SX]:
        """Return the linear and the angular part of the joint's share of x."""
        own, none = x[self.body.iv : self.body.iv + self.body.nv], ca.SX.zeros(3)
        kind = self.body.kind
        if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            return none, ca.vertcat(0, 0, own)
        if kind is JointType.PRISMATIC:
            return ca.vertcat(0, 0, own), none
        if kind is JointType.SPHERICAL:
            return none, own
        if kind is JointType.FLOATING:
            return own[:3], own[3:]
        return ca.vertcat(own[:2], 0), ca.vertcat(0, 0, own[2])

    def along(self, f: SX, n: SX) -> list[SX]:
        """Return the parts of a force and a moment that do work in the joint."""
        return {
            JointType.REVOLUTE: [n[2]],
            JointType.CONTINUOUS: [n[2]],
            JointType.PRISMATIC: [f[2]],
            JointType.SPHERICAL: [n[0], n[1], n[2]],
            JointType.FLOATING: [f[0], f[1], f[2], n[0], n[1], n[2]],
            JointType.PLANAR: [f[0], f[1], n[2]],
        }[self.body.kind]


def _turning(omega: SX, alpha: SX) -> SX:
    """Return K = [alpha]x + [omega]x [omega]x."""
    x, y, z = omega[0], omega[1], omega[2]
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return ca.blockcat(
        [
            [-(yy + zz), xy - alpha[2], xz + alpha[1]],
            [xy + alpha[2], -(xx + zz), yz - alpha[0]],
            [xz - alpha[1], yz + alpha[0], -(xx + yy)],
        ]
    )


def _moved(joint: _JointAt, up: _Moving, v: SX, a: SX) -> _Moving:
    """Return the motion of a body from that of its parent."""
    slide, turn = joint.rates(v)
    sliding, turning = joint.rates(a)
    carried = joint.down(up.omega)
    omega = carried + turn
    alpha = joint.down(up.alpha) + ca.cross(omega, turn) + turning
    origin = joint.down(up.a + up.K @ joint.p) + sliding + ca.cross(carried + omega, slide)
    return _Moving(omega, _turning(omega, alpha), alpha, origin, joint.down(up.g))


def _needed(body: SourceBody, moving: _Moving) -> tuple[SX, SX]:
    """Return force and moment about its origin that the motion of a body needs."""
    h, I_c = body.mass * ca.SX(body.com), ca.SX(body.inertia)
    J = 0.5 * ca.trace(I_c) * ca.SX.eye(3) - I_c + h @ ca.SX(body.com).T
    P = moving.K @ J
    f = body.mass * moving.a + moving.K @ h
    n = ca.cross(h, moving.a) + ca.vertcat(P[2, 1] - P[1, 2], P[0, 2] - P[2, 0], P[1, 0] - P[0, 1])
    if body.lift:
        weight = body.lift * moving.g
        f, n = f + weight, n + ca.cross(ca.SX(body.lift_com), weight)
    return f, n


def newton_euler(source: Source, q: SX, v: SX, a: SX) -> dict[int, SX]:
    """Return tau_O by velocity, without passive forces and rotors (Yamane and Nakamura, (6))."""
    zero = ca.SX.zeros(3)
    g = ca.SX(source.gravity)
    motions = [_Moving(zero, ca.SX.zeros(3, 3), zero, -g, g)]
    joints, forces = [], [(zero, zero)]
    for body in source.bodies[1:]:
        joints.append(_JointAt(body, q))
        motions.append(_moved(joints[-1], motions[body.parent], v, a))
        weightless = isinstance(body.mass, float) and body.mass == 0.0 and not np.any(body.inertia)
        forces.append((zero, zero) if weightless else _needed(body, motions[-1]))
    tau: dict[int, SX] = {}
    for i in range(len(source.bodies) - 1, 0, -1):
        body, joint, (f, n) = source.bodies[i], joints[i - 1], forces[i]
        tau.update(zip(range(body.iv, body.iv + body.nv), joint.along(f, n)))
        f, n = joint.up(f), joint.up(n)
        f_up, n_up = forces[body.parent]
        forces[body.parent] = f_up + f, n_up + n + ca.cross(joint.p, f)
    return tau
