"""Forces of the contacts at a given state, as forward dynamics left them (paper 3)."""

import numpy as np

from closed_chain_dynamics.dynamics.tree import link_placement
from closed_chain_dynamics.kernels import layout as at

__all__ = ['REST_SPEED', 'contact_forces', 'contact_wrenches']

REST_SPEED = 1e-7  # below this a contact stands still [m/s]


def _closed_contacts(robot):
    """Return name, description and results of every closed contact, soft ones included."""
    tables = zip(robot.description.loops, robot.table(at.LOOP_I), robot.table(at.LOOP_W))
    return [
        (loop, row)
        for loop, kind, row in tables
        if kind[at.LOOP_MODE] != at.NO_MODE and kind[at.LOOP_ACTIVE]
    ]


def contact_forces(robot):
    """
    Return the forces of all contacts as forward dynamics last left them, {name: (normal, drag)}.

    `normal` [N], positive when it pushes; `drag` (3,) the friction force on the child, world axes.
    """
    return {
        loop.name: (
            float(row[at.NORMAL_FORCE]),
            row[at.FRICTION_FORCE : at.FRICTION_FORCE + 3].copy(),
        )
        for loop, row in _closed_contacts(robot)
    }


def contact_wrenches(robot, q):
    """
    Return what the contacts put on their links, as forward dynamics at q last left it.

    {link: (6,)} in world axes at the link origin, as `newton_euler` and `joint_wrenches` take it:
    with it the latter gives the force and moment in every joint, Eqs. (6) to (8) of paper 3. (What
    `reactions` returns has the contacts in it.)
    """
    wrenches = {}
    for loop, row in _closed_contacts(robot):
        force = (
            row[at.FRICTION_FORCE : at.FRICTION_FORCE + 3]
            + row[at.NORMAL_FORCE] * row[at.CONTACT_NORMAL : at.CONTACT_NORMAL + 3]
        )
        X_child = link_placement(robot, q, loop.child)
        point = X_child[:3, 3] + X_child[:3, :3] @ loop.child_origin.position
        for link, sign in ((loop.child, 1.0), (loop.parent, -1.0)):
            arm = point - link_placement(robot, q, link)[:3, 3]
            wrench = sign * np.concatenate([force, np.cross(arm, force)])
            wrenches[link] = wrenches.get(link, 0.0) + wrench
    return wrenches
