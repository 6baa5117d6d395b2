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
The tree over symbols: placements, velocities, accelerations and inertias of its bodies.

As in the kernels everything stands in the same axes at one point: nothing changes its frame on
the way along the tree. Axes and point are those of the first free-flying body, in which its motion
subspace is constant and most operations with it vanish; those of the world where nothing flies.
Spatial vectors are (linear, angular) columns of six.
"""

from dataclasses import dataclass

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.source import Source, SourceBody
from closed_chain_dynamics.description.elements import JointType

__all__ = [
    'TracedFrames',
    'TracedMotion',
    'cross_motion',
    'motion',
    'place',
    'point_acceleration',
    'point_velocity',
    'quaternion_rotation',
    'rigid_inertia',
    'symmetric',
]


@dataclass
class TracedFrames:
    """
    Where bodies stand: R (3, 3), p and the centre of mass c (3,); S of every velocity (6,).

    `axes`, `origin`: the common frame in the world; `gravity`: in the common axes.
    """

    axes: SX
    origin: SX
    gravity: SX
    R: list[SX]
    p: list[SX]
    c: list[SX]
    S: list[SX]


@dataclass
class TracedMotion:
    """Spatial velocity and acceleration of every body, (6,) each."""

    V: list[SX]
    A: list[SX]


def symmetric(matrix: SX) -> SX:
    """Return the matrix with its upper triangle mirrored: each entry is computed once."""
    return ca.densify(ca.triu2symm(ca.triu(matrix)))


def quaternion_rotation(x: SX) -> SX:
    """Return the rotation of a quaternion (x, y, z, w) of any length."""
    s = 2 / ca.sumsqr(x)
    a, b, c, w = s * x[0], s * x[1], s * x[2], x[3]
    xx, yy, zz = a * x[0], b * x[1], c * x[2]
    xy, xz, yz = a * x[1], a * x[2], b * x[2]
    wx, wy, wz = w * a, w * b, w * c
    return ca.blockcat(
        [
            [1 - yy - zz, xy - wz, xz + wy],
            [xy + wz, 1 - xx - zz, yz - wx],
            [xz - wy, yz + wx, 1 - xx - yy],
        ]
    )


def _turned_about_z(R: SX, c: SX, s: SX) -> SX:
    return ca.horzcat(c * R[:, 0] + s * R[:, 1], c * R[:, 1] - s * R[:, 0], R[:, 2])


def _turns(R: SX, p: SX, axes: range) -> list[SX]:
    """Return motion subspaces of turns about axes of a body that stands at p."""
    return [ca.vertcat(ca.cross(p, R[:, k]), R[:, k]) for k in axes]


def _slides(R: SX, axes: range) -> list[SX]:
    return [ca.vertcat(R[:, k], ca.SX.zeros(3)) for k in axes]


def place(source: Source, q: SX) -> TracedFrames:
    """Return where every body stands, and the motion subspace of every velocity."""
    axes, origin, first_free = ca.SX.eye(3), ca.SX.zeros(3), None
    for i, body in enumerate(source.bodies):
        if body.kind is JointType.FLOATING and body.parent == 0:
            k, first_free = body.iq, i
            axes = body.R_tree @ quaternion_rotation(q[k + 3 : k + 7])
            origin = ca.SX(body.p_tree) + ca.DM(body.R_tree) @ q[k : k + 3]
            break
    world, gravity = -axes.T @ origin, axes.T @ source.gravity
    frames = TracedFrames(axes, origin, gravity, [ca.densify(axes.T)], [world], [world], [])
    for i, body in enumerate(source.bodies[1:], start=1):
        up = body.parent
        R = frames.R[up] @ body.R_tree
        p = frames.p[up] + frames.R[up] @ body.p_tree
        k = body.iq
        if body.kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
            R = _turned_about_z(R, ca.cos(q[k]), ca.sin(q[k]))
            frames.S += _turns(R, p, range(2, 3))
        elif body.kind is JointType.PRISMATIC:
            p = p + R[:, 2] * q[k]
            frames.S += _slides(R, range(2, 3))
        elif body.kind is JointType.SPHERICAL:
            R = R @ quaternion_rotation(q[k : k + 4])
            frames.S += _turns(R, p, range(3))
        elif body.kind is JointType.FLOATING:
            if i == first_free:
                R, p = ca.densify(ca.SX.eye(3)), ca.SX.zeros(3)
            else:
                p, R = p + R @ q[k : k + 3], R @ quaternion_rotation(q[k + 3 : k + 7])
            frames.S += _slides(R, range(3)) + _turns(R, p, range(3))
        else:  # planar
            p = p + R[:, :2] @ q[k : k + 2]
            length = ca.sqrt(ca.sumsqr(q[k + 2 : k + 4]))
            R = _turned_about_z(R, q[k + 2] / length, q[k + 3] / length)
            frames.S += _slides(R, range(2)) + _turns(R, p, range(2, 3))
        frames.R.append(R)
        frames.p.append(p)
        frames.c.append(p + R @ body.com)
    return frames


def _joint_rate(body: SourceBody, frames: TracedFrames, i: int, x: SX) -> SX:
    """Return the sum of motion subspaces times rates x, with the axes of the body put together."""
    if body.nv == 1:
        return frames.S[body.iv] * x[body.iv]
    R, p, part = frames.R[i], frames.p[i], x[body.iv : body.iv + body.nv]
    if body.kind is JointType.PLANAR:
        linear, angular = R[:, :2] @ part[:2], R[:, 2] * part[2]
    elif body.kind is JointType.SPHERICAL:
        linear, angular = ca.SX.zeros(3), R @ part
    else:
        linear, angular = R @ part[:3], R @ part[3:]
    return ca.vertcat(linear + ca.cross(p, angular), angular)


def cross_motion(V: SX, x: SX) -> SX:
    """Return the spatial cross product V x of two motions."""
    return ca.vertcat(ca.cross(V[3:], x[:3]) + ca.cross(V[:3], x[3:]), ca.cross(V[3:], x[3:]))


def motion(
    source: Source, frames: TracedFrames, v: SX, a: SX | None, gravity: bool = True
) -> TracedMotion:
    """Return V and A of every body; with gravity the ground accelerates upwards."""
    ground = -frames.gravity if gravity else ca.SX.zeros(3)
    out = TracedMotion([ca.SX.zeros(6)], [ca.vertcat(ground, ca.SX.zeros(3))])
    for i, body in enumerate(source.bodies[1:], start=1):
        own = _joint_rate(body, frames, i, v)
        A = out.A[body.parent] + cross_motion(out.V[body.parent], own)
        if a is not None:
            A = A + _joint_rate(body, frames, i, a)
        out.V.append(out.V[body.parent] + own)
        out.A.append(A)
    return out


def point_velocity(V: SX, p: SX) -> SX:
    """Return the velocity of the point of a body that is at p."""
    return V[:3] + ca.cross(V[3:], p)


def point_acceleration(V: SX, A: SX, p: SX) -> SX:
    """Return the classical acceleration of the point of a body that is at p."""
    return A[:3] + ca.cross(A[3:], p) + ca.cross(V[3:], point_velocity(V, p))


def rigid_inertia(source: Source, frames: TracedFrames, i: int) -> SX:
    """Return the inertia of a body at the common point, (6, 6)."""
    body, R, c = source.bodies[i], frames.R[i], frames.c[i]
    m = body.mass
    h = m * c
    about = symmetric(R @ ca.SX(body.inertia) @ R.T)
    parallel = symmetric(ca.dot(h, c) * ca.SX.eye(3) - h @ c.T)
    cross = ca.skew(h)
    return ca.blockcat([[m * ca.SX.eye(3), cross.T], [cross, about + parallel]])
