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
Inertia matrix, weight and Newton-Euler of a tree over symbols, all in body frames.

Turning a vector joint by joint costs less than standing in world axes where joints have one axis
and frames are chosen well: half of the operations of the functions in `codegen`, which have to
serve any mechanism at run time.
"""

from typing import Any

import casadi as ca

from closed_chain_dynamics.codegen.expressions import SX
from closed_chain_dynamics.symbolic.tree import SymbolicPose, SymbolicTree

__all__ = ['gravity_forces', 'gravity_potential', 'mass_matrix', 'newton_euler']


def _each(function: Any, columns: SX) -> SX:
    """Return a function of every column, side by side."""
    return ca.horzcat(*(function(columns[:, k]) for k in range(columns.shape[1])))


def _carried(tree: SymbolicTree, pose: SymbolicPose, *, weight: bool) -> tuple[list[SX], list[SX]]:
    """Return mass and first moment of each body with all that it carries, in its own frame."""
    masses = [body.weight if weight else body.mass for body in tree.bodies]
    moments = [body.weight_moment if weight else body.moment for body in tree.bodies]
    for i in reversed(range(1, len(tree.bodies))):
        up = tree.bodies[i].parent
        masses[up] = masses[up] + masses[i]
        moments[up] = moments[up] + pose.E[i] @ moments[i] + masses[i] * pose.r[i]
    return masses, moments


def gravity_potential(tree: SymbolicTree, pose: SymbolicPose) -> SX:
    """Return U_g."""
    return -ca.dot(tree.gravity, _carried(tree, pose, weight=True)[1][0])


def gravity_forces(tree: SymbolicTree, pose: SymbolicPose) -> SX:
    """Return g of the tree: what the joints need to carry the weight of what they carry."""
    masses, moments = _carried(tree, pose, weight=True)
    gravity, forces = [tree.gravity], ca.SX.zeros(tree.source.nv)
    for i, body in enumerate(tree.bodies[1:], start=1):
        here = pose.E[i].T @ gravity[body.parent]
        gravity.append(here)
        forces[body.rates] = -(
            body.slide.T @ (masses[i] * here) + body.turn.T @ ca.cross(moments[i], here)
        )
    return forces


def newton_euler(tree: SymbolicTree, pose: SymbolicPose, v: SX, a: SX, *, gravity: bool) -> SX:
    """Return tau_O of the tree for a motion, with or without gravity."""
    lifted = gravity and any(body.given.lift for body in tree.bodies)
    zero = ca.SX.zeros(3)
    omegas, alphas = [zero], [zero]
    accelerations = [-tree.gravity if gravity and not lifted else zero]
    for i, body in enumerate(tree.bodies[1:], start=1):
        E, r, omega, alpha = pose.E[i], pose.r[i], omegas[body.parent], alphas[body.parent]
        own, sliding = body.turn @ v[body.rates], body.slide @ v[body.rates]
        carried = E.T @ omega
        omegas.append(carried + own)
        alphas.append(E.T @ alpha + ca.cross(omegas[i], own) + body.turn @ a[body.rates])
        lever = ca.cross(alpha, r) + ca.cross(omega, ca.cross(omega, r))
        accelerations.append(
            E.T @ (accelerations[body.parent] + lever)
            + ca.cross(carried + omegas[i], sliding)
            + body.slide @ a[body.rates]
        )
    forces, moments = [zero], [zero]
    for i, body in enumerate(tree.bodies[1:], start=1):
        omega, alpha, acceleration = omegas[i], alphas[i], accelerations[i]
        forces.append(
            body.mass * acceleration
            + ca.cross(alpha, body.moment)
            + ca.cross(omega, ca.cross(omega, body.moment))
        )
        moments.append(
            body.inertia @ alpha
            + ca.cross(body.moment, acceleration)
            + ca.cross(omega, body.inertia @ omega)
        )
    tau = ca.SX.zeros(tree.source.nv)
    for i in reversed(range(1, len(tree.bodies))):
        body = tree.bodies[i]
        tau[body.rates] = body.slide.T @ forces[i] + body.turn.T @ moments[i]
        force = pose.E[i] @ forces[i]
        forces[body.parent] = forces[body.parent] + force
        moments[body.parent] = (
            moments[body.parent] + pose.E[i] @ moments[i] + ca.cross(pose.r[i], force)
        )
    tau = tau + _armature(tree) * a
    return tau + gravity_forces(tree, pose) if lifted else tau


def _armature(tree: SymbolicTree) -> SX:
    rotors = [law.armature for body in tree.source.bodies for law in body.laws]
    return ca.SX(ca.DM(rotors))


def mass_matrix(tree: SymbolicTree, pose: SymbolicPose) -> SX:
    """Return M of the tree by composite bodies."""
    masses, moments = _carried(tree, pose, weight=False)
    inertias = [body.inertia for body in tree.bodies]
    M = ca.SX.zeros(tree.source.nv, tree.source.nv)
    for i in reversed(range(1, len(tree.bodies))):
        body, h = tree.bodies[i], moments[i]
        if body.parent:
            inertias[body.parent] = inertias[body.parent] + _in_parent(
                pose, i, inertias[i], masses[i], h
            )
        force = masses[i] * body.slide + _each(lambda turn: ca.cross(turn, h), body.turn)
        moment = inertias[i] @ body.turn + _each(lambda slide: ca.cross(h, slide), body.slide)
        j = i
        while j:
            above = tree.bodies[j]
            block = above.slide.T @ force + above.turn.T @ moment
            M[above.rates, body.rates] = block
            M[body.rates, above.rates] = block.T
            force = pose.E[j] @ force
            moment = pose.E[j] @ moment + _each(lambda f: ca.cross(pose.r[j], f), force)
            j = above.parent
    return M + ca.diag(_armature(tree))


def _in_parent(pose: SymbolicPose, i: int, inertia: SX, mass: SX, moment: SX) -> SX:
    """Return an inertia about the body's origin, turned and moved to the parent's origin."""
    E, r = pose.E[i], pose.r[i]
    h = E @ moment
    # m (r.r E - r r^T) + 2 h.r E - h r^T - r h^T
    diagonal = ca.dot(r, mass * r + 2 * h)
    moved = diagonal * ca.SX.eye(3) - r @ (mass * r + h).T - h @ r.T
    return ca.densify(ca.triu2symm(ca.triu(E @ inertia @ E.T + moved)))
