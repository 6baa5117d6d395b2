"""Forces of the contacts: what forward dynamics, or the last step of a simulation, has found."""

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.description import LoopJoint
from closed_chain_dynamics.dynamics.tree import link_placement
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['REST_SPEED', 'contact_forces', 'contact_wrenches']

REST_SPEED = 1e-7  # below this a contact stands still [m/s]


def _closed_contacts(robot: Mechanism) -> list[tuple[LoopJoint, np.void]]:
    """Return description and results of every closed contact, soft ones included."""
    tables = zip(robot.description.loops, robot.structure.loops, robot.workspace.frames)
    return [
        (loop, frame)
        for loop, kind, frame in tables
        if kind['mode'] != at.NO_MODE and kind['active']
    ]


def contact_forces(robot: Mechanism) -> dict[str, tuple[float, Vector]]:
    """
    Return the forces of all contacts as forward dynamics last left them, {name: (normal, drag)}.

    `normal` [N], positive when it pushes; `drag` (3,) the friction force on the child, world axes.
    """
    return {
        loop.name: (float(frame['normal_force']), frame['friction'].copy())
        for loop, frame in _closed_contacts(robot)
    }


def contact_wrenches(robot: Mechanism, q: ArrayLike) -> dict[str, Vector]:
    """
    Return what the contacts put on their links, as forward dynamics at q last left it.

    {link: (6,)} in world axes at the link origin, as `newton_euler` and `joint_wrenches` take it:
    with it the latter gives the force and moment in every joint, Eqs. (6) to (8) of paper 3. (What
    `reactions` returns has the contacts in it.)
    """
    wrenches: dict[str, Vector] = {}
    for loop, frame in _closed_contacts(robot):
        force = frame['friction'] + frame['normal_force'] * frame['normal']
        X_child = link_placement(robot, q, loop.child)
        point = X_child[:3, 3] + X_child[:3, :3] @ loop.child_origin.position
        for link, sign in ((loop.child, 1.0), (loop.parent, -1.0)):
            arm = point - link_placement(robot, q, link)[:3, 3]
            wrench = sign * np.concatenate([force, np.cross(arm, force)])
            wrenches[link] = wrenches.get(link, 0.0) + wrench
    return wrenches
