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

"""Forces of the contacts of one state: normal force and friction, as values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.actuation import Torques, actuator_vector
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.outside_forces import acting
from closed_chain_dynamics.dynamics.tree import link_placement
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['contact_forces', 'contact_wrenches']

Wrenches = Mapping[str, ArrayLike] | None


def _closed_contacts(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, tau: Torques, wrenches: Wrenches
) -> dict[int, np.void]:
    """Return what forward dynamics finds for every closed contact, soft ones included."""
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    forward_dynamics(robot, q, v, tau, wrenches=wrenches)  # checks what was asked for
    torques = actuator_vector(robot, tau, 'tau')
    count = len(robot.loop_names) + len(robot.structure.holds)
    work, signs = np.empty((4, robot.nv)), np.ones((max(count, 1), 2))
    with acting(robot, wrenches):
        robot.workspace.torques[:] = torques
        status = kernels.compute_signs(robot.handle, q, v, work, signs)  # shares the forces, too
    if status:
        robot.raise_for(status, q, v)
    loops = robot.structure.loops
    closed = np.flatnonzero((loops['mode'] != at.NO_MODE) & (loops['active'] != 0))
    return {int(k): robot.workspace.frames[k].copy() for k in closed}


def contact_forces(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, tau: Torques = None, *, wrenches: Wrenches = None
) -> dict[str, tuple[float, Vector]]:
    """
    Return the forces of all closed contacts in a state, {name: (normal, drag)}.

    `normal` [N], positive when it pushes; `drag` (3,) the friction force on the child, world axes.
    `tau`, `wrenches`: as for `forward_dynamics`. Where contacts are redundant, these are the
    forces of least norm, or, if those leave a friction cone, forces within all cones if such
    forces exist.
    """
    return {
        robot.loop_names[k]: (float(frame['normal_force']), frame['friction'].copy())
        for k, frame in _closed_contacts(robot, q, v, tau, wrenches).items()
    }


def contact_wrenches(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, tau: Torques = None, *, wrenches: Wrenches = None
) -> dict[str, Vector]:
    """
    Return the wrenches of the contacts on their links, {link: (6,)}.

    In world axes at the link origin, as `newton_euler` and `joint_wrenches` take them; with them
    the latter returns the force and moment in every joint, (6) to (8) of Li et al. (`reactions`
    already includes the contacts.)
    """
    found: dict[str, Vector] = {}
    contacts = _closed_contacts(robot, q, v, tau, wrenches)
    origin = robot.workspace.totals['origin'].copy()
    for k, frame in contacts.items():
        loop = robot.description.loops[k]
        force = frame['friction'] + frame['normal_force'] * frame['normal']
        point = frame['point'] + origin
        for link, sign in ((loop.child, 1.0), (loop.parent, -1.0)):
            arm = point - link_placement(robot, q, link)[:3, 3]
            wrench = sign * np.concatenate([force, np.cross(arm, force)])
            found[link] = found.get(link, 0.0) + wrench
    return found
