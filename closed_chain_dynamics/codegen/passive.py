"""
Passive forces over symbols: damping, friction, limit moments and springs; see kernels/passive.py.

What acts on a tree joint is added to tau; what acts between two bodies goes to their forces.
"""

from typing import Any

import casadi as ca

from closed_chain_dynamics.codegen.loops import loop_coordinates
from closed_chain_dynamics.codegen.source import Law, Source
from closed_chain_dynamics.codegen.tree import Frames, Motion, point_velocity

__all__ = ['add_motors', 'add_passive']

SX = Any
FRICTION_SPEED = 1e-3  # Coulomb friction changes its sign over this speed [rad/s or m/s]
NO_LENGTH = 1e-12  # a shorter spring has no direction, and no force [m]


def _stop(depth: SX, rate: SX, stop: tuple[float, float, float]) -> SX:
    """Return the moment of a limit entered by `depth`; stiffness rises within the transition."""
    stiffness, damping, transition = stop
    beyond = stiffness * (depth - 0.5 * transition) + damping * rate
    if transition > 0.0:
        share = depth / transition
        within = 0.5 * stiffness * depth * share + damping * rate * share
        beyond = ca.if_else(depth < transition, within, beyond)
    return ca.if_else(depth > 0, beyond, 0)


def joint_force(law: Law, position: SX, rate: SX) -> SX:
    """Return the passive force along one coordinate of a joint."""
    force = -law.damping * rate
    if law.friction:
        force = force - law.friction * ca.tanh(rate / FRICTION_SPEED)
    if law.stop is not None and (law.stop[0] or law.stop[1]):
        force = force - _stop(position - law.upper + law.stop[2], rate, law.stop)
        force = force + _stop(law.lower + law.stop[2] - position, -rate, law.stop)
    return force


def _silent(law: Law) -> bool:
    return not (law.damping or law.friction or law.stop)


def _push(forces: list[SX], one: int, two: int, wrench: SX) -> None:
    """Put a wrench on body two and its opposite on body one."""
    forces[two] = forces[two] - wrench
    forces[one] = forces[one] + wrench


def add_passive(
    source: Source, frames: Frames, moving: Motion, q: SX, v: SX, tau: list[SX], forces: list[SX]
) -> None:
    """Add passive forces: those of tree joints to tau, the others to the bodies' forces."""
    for body in source.bodies[1:]:
        for j, law in enumerate(body.laws, start=body.iv):
            if not _silent(law):
                tau[j] = tau[j] + joint_force(law, q[body.iq], v[j])
    sprung = {spring.loop for spring in source.springs}
    for k, loop in enumerate(source.loops):
        if all(_silent(law) for law in loop.laws) and k not in sprung:
            continue
        covectors, position = loop_coordinates(loop, frames)
        relative = moving.V[loop.body_2] - moving.V[loop.body_1]
        for law, covector in zip(loop.laws, covectors):
            rate = ca.dot(covector, relative)
            force = joint_force(law, position, rate)
            for spring in source.springs:
                if spring.loop == k:
                    force = force - spring.stiffness * (position - spring.rest)
                    force = force - spring.damping * rate
            _push(forces, loop.body_1, loop.body_2, covector * force)
    for spring in source.springs:
        if spring.joint is not None:
            j, iq = spring.joint
            tau[j] = tau[j] - spring.stiffness * (q[iq] - spring.rest) - spring.damping * v[j]
        elif spring.ends is not None:
            (one, p_1), (two, p_2) = spring.ends
            a, b = frames.p[one] + frames.R[one] @ p_1, frames.p[two] + frames.R[two] @ p_2
            length = ca.sqrt(ca.sumsqr(b - a))
            unit = (b - a) / ca.fmax(length, NO_LENGTH)
            slip = point_velocity(moving.V[two], b) - point_velocity(moving.V[one], a)
            force = -spring.stiffness * (length - spring.rest)
            force = force - spring.damping * ca.dot(unit, slip)
            force = ca.if_else(length < NO_LENGTH, 0, force) * unit
            _push(forces, one, two, ca.vertcat(force, ca.cross(b, force)))


def add_motors(source: Source, frames: Frames, tau_A: SX, tau: list[SX], forces: list[SX]) -> None:
    """Add the torques of motors, on the tree or between the two bodies of a loop joint."""
    for k, motor in enumerate(source.motors):
        if motor.dof is not None:
            tau[motor.dof] = tau[motor.dof] + tau_A[k]
        elif motor.loop is not None:
            loop = source.loops[motor.loop[0]]
            covector = loop_coordinates(loop, frames)[0][motor.loop[1]]
            _push(forces, loop.body_1, loop.body_2, covector * tau_A[k])
