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
Passive forces over symbols: damping, friction, limit moments and springs; see kernels/passive.py.

What acts on a tree joint is added to tau; what acts between two bodies goes to their forces.
"""

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.codegen.loop_joints import coordinate_acceleration, loop_coordinates
from closed_chain_dynamics.codegen.pair_forces import pull, push_apart, stretch
from closed_chain_dynamics.codegen.source import Source, SourceLaw, SourceSpring
from closed_chain_dynamics.codegen.tendons import carry_tendon, path_length, pull_path
from closed_chain_dynamics.codegen.tree import TracedFrames, TracedMotion, point_velocity
from closed_chain_dynamics.kernels.pair_forces import NO_LENGTH
from closed_chain_dynamics.kernels.passive import FRICTION_SPEED

__all__ = ['add_motors', 'add_passive', 'has_rotor', 'passive_energy']

SMALL_SINE = 1e-4  # of half an angle, below which the angle is a series


def _stop(depth: SX, rate: SX, stop: tuple[float, float, float]) -> tuple[SX, SX]:
    """
    Return elastic and damping moment of a limit entered by `depth`.

    The stiffness rises within the transition.
    """
    stiffness, damping, transition = stop
    elastic, lost = stiffness * (depth - 0.5 * transition), damping * rate
    if transition > 0.0:
        share = depth / transition
        within = depth < transition
        elastic = ca.if_else(within, 0.5 * stiffness * depth * share, elastic)
        lost = ca.if_else(within, damping * rate * share, lost)
    return ca.if_else(depth > 0, elastic, 0), ca.if_else(depth > 0, lost, 0)


def _stop_energy(depth: SX, stop: tuple[float, float, float]) -> SX:
    """Return the energy stored in a limit entered by `depth`."""
    stiffness, _, t = stop
    beyond = depth - t
    energy = stiffness * (t * t / 6 + 0.5 * beyond * (t + beyond))
    if t > 0.0:
        energy = ca.if_else(depth < t, stiffness * depth**3 / (6 * t), energy)
    return ca.if_else(depth > 0, energy, 0)


def joint_force(law: SourceLaw, position: SX, rate: SX) -> tuple[SX, SX]:
    """Return the passive force along one coordinate of a joint, and the power that it takes."""
    stored, lost = ca.SX(0), -law.damping * rate
    if _is_there(law.friction):
        way = ca.tanh(rate / FRICTION_SPEED) if law.slide is None else law.slide
        lost = lost - law.friction * way
    if law.stop is not None and (law.stop[0] or law.stop[1]):
        elastic, damping = _stop(position - law.upper + law.stop[2], rate, law.stop)
        stored, lost = stored - elastic, lost - damping
        elastic, damping = _stop(law.lower + law.stop[2] - position, -rate, law.stop)
        stored, lost = stored + elastic, lost + damping
    return stored + lost, -lost * rate


def _limit_energy(law: SourceLaw, position: SX) -> SX:
    if law.stop is None or not law.stop[0]:
        return ca.SX(0)
    above, below = position - law.upper + law.stop[2], law.lower + law.stop[2] - position
    return _stop_energy(above, law.stop) + _stop_energy(below, law.stop)


def _is_there(x: SX) -> bool:
    """Return whether a coefficient may be anything but zero: a number, or a parameter."""
    return not isinstance(x, float | int) or x != 0


def _silent(law: SourceLaw) -> bool:
    return not (_is_there(law.damping) or _is_there(law.friction) or law.stop)


def has_rotor(law: SourceLaw) -> bool:
    """Return whether a coordinate turns a rotor."""
    return _is_there(law.armature)


def _turn(spring: SourceSpring, q: SX) -> SX:
    """Return the rotation vector of a ball joint from where its spring rests, child's axes."""
    assert spring.ball is not None
    k, a = spring.ball[1], ca.DM(spring.rest_turn)
    b, w = q[k : k + 3], q[k + 3]
    n, c = a[3] * b - w * a[:3] - ca.cross(a[:3], b), a[3] * w + ca.dot(a[:3], b)
    n, c = ca.if_else(c < 0, -n, n), ca.fabs(c)
    sine = ca.sqrt(ca.fmax(ca.sumsqr(n), 1e-300))  # never quite zero: a division by it is safe
    t = ca.sumsqr(n) / ca.fmax(c, 0.5) ** 2
    small = (1 - t / 3 + t**2 / 5) / ca.fmax(c, 0.5)
    return 2 * ca.if_else(sine < SMALL_SINE, small, ca.atan2(sine, c) / sine) * n


def _ends(frames: TracedFrames, spring: SourceSpring) -> tuple[SX, SX]:
    assert spring.ends is not None
    (one, p_1), (two, p_2) = spring.ends
    return frames.p[one] + frames.R[one] @ p_1, frames.p[two] + frames.R[two] @ p_2


def add_passive(
    source: Source,
    frames: TracedFrames,
    moving: TracedMotion,
    q: SX,
    v: SX,
    tau: list[SX],
    forces: list[SX],
) -> SX:
    """
    Add passive forces: those of tree joints to tau, the others to the bodies' forces.

    Rotors of loop joints and masses on tendons take what they need for the motion. Returns the
    power that damping and friction take.
    """
    dissipation = ca.SX(0)
    for body in source.bodies[1:]:
        for j, law in enumerate(body.laws, start=body.iv):
            if not _silent(law):
                force, lost = joint_force(law, q[body.iq], v[j])
                tau[j], dissipation = tau[j] + force, dissipation + lost
    sprung = {spring.loop for spring in source.springs}
    for k, loop in enumerate(source.loops):
        silent = all(_silent(law) and not has_rotor(law) for law in loop.laws)
        if silent and k not in sprung:
            continue
        covectors, position = loop_coordinates(loop, frames)
        relative = moving.V[loop.body_2] - moving.V[loop.body_1]
        for law, covector in zip(loop.laws, covectors):
            rate = ca.dot(covector, relative)
            force, lost = joint_force(law, position, rate)
            dissipation = dissipation + lost
            for spring in source.springs:
                if spring.loop == k:
                    force = force - spring.stiffness * (position - spring.rest)
                    force = force - spring.damping * rate
                    dissipation = dissipation + spring.damping * rate**2
            if has_rotor(law):
                change = coordinate_acceleration(loop, frames, moving, covector)
                force = force - law.armature * change
            push_apart(forces, loop.body_1, loop.body_2, covector * force)
    for spring in source.springs:
        if spring.joint is not None:
            j, iq = spring.joint
            tau[j] = tau[j] - spring.stiffness * (q[iq] - spring.rest) - spring.damping * v[j]
            dissipation = dissipation + spring.damping * v[j] ** 2
        elif spring.terms:
            rate = sum(c * v[j] for j, _, c in spring.terms)
            force = pull(spring, spring.length(q), rate)
            for j, _, c in spring.terms:
                tau[j] = tau[j] + c * force
            dissipation = dissipation + spring.damping * rate**2
        elif spring.ball is not None:
            turn, first = _turn(spring, q), spring.ball[0]
            for n, j in enumerate(range(first, first + 3)):
                tau[j] = tau[j] - spring.stiffness * turn[n] - spring.damping * v[j]
                dissipation = dissipation + spring.damping * v[j] ** 2
        elif spring.ends is not None:
            one, two = spring.ends[0][0], spring.ends[1][0]
            a, b = _ends(frames, spring)
            length = ca.sqrt(ca.sumsqr(b - a))
            unit = (b - a) / ca.fmax(length, NO_LENGTH)
            slip = point_velocity(moving.V[two], b) - point_velocity(moving.V[one], a)
            rate = ca.dot(unit, slip)
            force = -spring.stiffness * (length - spring.rest) - spring.damping * rate
            force = ca.if_else(length < NO_LENGTH, 0, force) * unit
            push_apart(forces, one, two, ca.vertcat(force, ca.cross(b, force)))
            lost = spring.damping * rate**2
            dissipation = dissipation + ca.if_else(length < NO_LENGTH, 0, lost)
        elif spring.path:
            dissipation = dissipation + pull_path(spring, frames, moving, forces)
        if spring.armature:
            carry_tendon(source, spring, frames, moving, forces)
    return dissipation


def passive_energy(source: Source, frames: TracedFrames, q: SX) -> SX:
    """Return the energy stored in springs and limits."""
    energy = ca.SX(0)
    for body in source.bodies[1:]:
        for law in body.laws:
            energy = energy + _limit_energy(law, q[body.iq])
    for loop in source.loops:
        if len(loop.laws) == 1:
            energy = energy + _limit_energy(loop.laws[0], loop_coordinates(loop, frames)[1])
    for spring in source.springs:
        if spring.ball is not None:
            energy = energy + 0.5 * spring.stiffness * ca.sumsqr(_turn(spring, q))
            continue
        if spring.joint is not None:
            length = q[spring.joint[1]]
        elif spring.terms:
            length = spring.length(q)
        elif spring.loop is not None:
            length = loop_coordinates(source.loops[spring.loop], frames)[1]
        elif spring.path:
            length = path_length(spring, frames)
        else:
            a, b = _ends(frames, spring)
            length = ca.sqrt(ca.sumsqr(b - a))
        energy = energy + 0.5 * spring.stiffness * stretch(spring, length) ** 2
    return energy


def add_motors(
    source: Source,
    frames: TracedFrames,
    moving: TracedMotion,
    v: SX,
    tau_A: SX,
    tau: list[SX],
    forces: list[SX],
) -> SX:
    """
    Add the torques of motors, on the tree or between the two bodies of a loop joint.

    Returns their power.
    """
    power = ca.SX(0)
    for k, motor in enumerate(source.motors):
        if motor.dof is not None:
            tau[motor.dof] = tau[motor.dof] + tau_A[k]
            power = power + tau_A[k] * v[motor.dof]
        elif motor.loop is not None:
            loop = source.loops[motor.loop[0]]
            covector = loop_coordinates(loop, frames)[0][motor.loop[1]]
            push_apart(forces, loop.body_1, loop.body_2, covector * tau_A[k])
            relative = moving.V[loop.body_2] - moving.V[loop.body_1]
            power = power + tau_A[k] * ca.dot(covector, relative)
    return power
