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
Configurations over symbols: moving along a tangent, and the rates that a step integrates.

Rotations advance by their exponential, Eq. (39) of Nakamura and Yamane; see kernels/manifold.py
and step.py.
"""

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import Source
from closed_chain_dynamics.codegen.tree import quaternion_rotation
from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.kernels.manifold import SMALL_ANGLE
from closed_chain_dynamics.kernels.step import FAIR_ANGLE

__all__ = ['advance', 'integrate', 'local_rate', 'tangent_map']


def _angle(o: SX) -> SX:
    """Return the length of a rotation vector, never quite zero: a division by it is safe."""
    return ca.sqrt(ca.fmax(ca.sumsqr(o), 1e-300))


def _product(p: SX, r: SX) -> SX:
    """Return the product of two quaternions (x, y, z, w), made unit."""
    vector = p[3] * r[:3] + r[3] * p[:3] + ca.cross(p[:3], r[:3])
    x = ca.vertcat(vector, p[3] * r[3] - ca.dot(p[:3], r[:3]))
    return x / ca.sqrt(ca.sumsqr(x))


def _rotated(q: SX, o: SX) -> SX:
    """Return a quaternion turned by the rotation vector o in its own axes."""
    angle = _angle(o)
    s = ca.if_else(angle < SMALL_ANGLE, 0.5 - angle**2 / 48, ca.sin(0.5 * angle) / angle)
    return _product(q, ca.vertcat(s * o, ca.cos(0.5 * angle)))


def _screw(o: SX) -> tuple[SX, SX]:
    """Return (1 - cos) / angle^2 and (angle - sin) / angle^3."""
    angle = _angle(o)
    half = ca.sin(0.5 * angle)
    c = (angle - ca.sin(angle)) / (angle * angle**2)
    return (
        ca.if_else(angle < SMALL_ANGLE, 0.5 - angle**2 / 24, 2 * half**2 / angle**2),
        ca.if_else(angle < SMALL_ANGLE, 1 / 6 - angle**2 / 120, c),
    )


def _turned_planar(x: SX, angle: SX) -> SX:
    c, s = ca.cos(angle), ca.sin(angle)
    turned = ca.vertcat(x[0] * c - x[1] * s, x[1] * c + x[0] * s)
    return turned / ca.sqrt(ca.sumsqr(turned))


def integrate(source: Source, q: SX, step: SX) -> SX:
    """Return q moved along a tangent step: velocities held for a unit of time."""
    out = []
    for body in source.bodies[1:]:
        k, u = body.iq, step[body.iv : body.iv + body.nv]
        if body.nv == 1:
            out.append(q[k] + u)
        elif body.kind is JointType.SPHERICAL:
            out.append(_rotated(q[k : k + 4], u))
        elif body.kind is JointType.FLOATING:
            o = u[3:]
            b, c = _screw(o)
            across = ca.cross(o, u[:3])
            moved = u[:3] + b * across + c * ca.cross(o, across)
            out.append(q[k : k + 3] + quaternion_rotation(q[k + 3 : k + 7]) @ moved)
            out.append(_rotated(q[k + 3 : k + 7], o))
        else:  # planar: x, y, cos, sin
            o = ca.vertcat(0, 0, u[2])
            b, c = _screw(o)
            across = u[2] * ca.vertcat(-u[1], u[0])
            moved = u[:2] + b * across - c * u[2] ** 2 * u[:2]
            cs, sn = q[k + 2], q[k + 3]
            out.append(q[k] + cs * moved[0] - sn * moved[1])
            out.append(q[k + 1] + sn * moved[0] + cs * moved[1])
            out.append(_turned_planar(q[k + 2 : k + 4], u[2]))
    return ca.vertcat(*out)


def advance(source: Source, q: SX, u: SX) -> SX:
    """Return q moved by local coordinates: positions added, rotations by their exponential."""
    out = []
    for body in source.bodies[1:]:
        k, x = body.iq, u[body.iv : body.iv + body.nv]
        if body.nv == 1:
            out.append(q[k] + x)
        elif body.kind is JointType.SPHERICAL:
            out.append(_rotated(q[k : k + 4], x))
        elif body.kind is JointType.FLOATING:
            out += [q[k : k + 3] + x[:3], _rotated(q[k + 3 : k + 7], x[3:])]
        else:
            out += [q[k : k + 2] + x[:2], _turned_planar(q[k + 2 : k + 4], x[2])]
    return ca.vertcat(*out)


def _rotation_rate(u: SX, omega: SX) -> SX:
    """Return J_r(u)^-1 omega, the rate of a rotation vector whose body turns with omega."""
    angle = _angle(u)
    half = 0.5 * angle
    e = ca.if_else(
        angle < FAIR_ANGLE,
        1 / 12 + angle**2 / 720,
        (1 - half * ca.cos(half) / ca.sin(half)) / angle**2,
    )
    across = ca.cross(u, omega)
    return omega + 0.5 * across + e * ca.cross(u, across)


def local_rate(source: Source, q: SX, v: SX, u: SX) -> SX:
    """Return the rate of the local coordinates u that `advance` moves a configuration by."""
    out = []
    for body in source.bodies[1:]:
        k, j = body.iq, body.iv
        x = v[j : j + body.nv]
        if body.nv == 1:
            out.append(x)
        elif body.kind is JointType.SPHERICAL:
            out.append(_rotation_rate(u[j : j + 3], x))
        elif body.kind is JointType.FLOATING:  # velocities are in the moving frame
            out.append(quaternion_rotation(q[k + 3 : k + 7]) @ x[:3])
            out.append(_rotation_rate(u[j + 3 : j + 6], x[3:]))
        else:
            cs, sn = q[k + 2], q[k + 3]
            out += [cs * x[0] - sn * x[1], sn * x[0] + cs * x[1], x[2]]
    return ca.vertcat(*out)


def tangent_map(source: Source, q: SX, x: SX) -> SX:
    """Return the rate of q at velocity x, (nq,): the derivative of `integrate` at no step."""
    out = []
    for body in source.bodies[1:]:
        k, u = body.iq, x[body.iv : body.iv + body.nv]
        if body.nv == 1:
            out.append(u)
        elif body.kind is JointType.PLANAR:
            c, s = q[k + 2], q[k + 3]
            out += [c * u[0] - s * u[1], s * u[0] + c * u[1], -s * u[2], c * u[2]]
        else:
            first = 3 if body.kind is JointType.FLOATING else 0
            r, o = q[k + first : k + first + 4], u[first:]
            if first:
                out.append(quaternion_rotation(r) @ u[:3])
            out.append(0.5 * (r[3] * o + ca.cross(r[:3], o)))
            out.append(-0.5 * ca.dot(r[:3], o))
    return ca.vertcat(*out)
