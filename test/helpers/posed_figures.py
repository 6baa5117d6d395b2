"""Figures taken apart where they stand, and put together without the free joint of the trunk."""

from helpers.planar_linkages import Body, Joined, linkage
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType

GRAVITY = (0.0, 0.0, -9.81)  # that of the reference accelerations


def posed(robot, q, *, cut):
    """
    Return the same mechanism without the free joint of the figure, and the names of its links.

    Bodies and joints are taken where they stand at q; `cut` names the joints that close loops.
    """
    X = ccd.link_placements(robot, q)
    bodies = {}
    for link in robot.description.links:
        if link.inertia:
            R, p = X[link.name][:3, :3], X[link.name][:3, 3]
            moments = (R @ link.inertia.tensor @ R.T)[np.triu_indices(3)]
            bodies[link.name] = Body(
                link.inertia.mass, tuple(R @ link.inertia.origin.position + p), tuple(moments)
            )
    joints = []
    for each in (*robot.description.joints, *robot.description.loops):
        if (
            each.name == 'root'
            or each in robot.description.loops
            and not robot.is_connected(each.name)
        ):
            continue
        one, two = ('ground' if end == 'world' else end for end in (each.parent, each.child))
        on_loop = each in robot.description.loops
        origin = each.parent_origin if on_loop else each.origin
        axis = each.parent_axis if on_loop else each.axis
        R, p = X[each.parent][:3, :3], X[each.parent][:3, 3]
        axis = R @ origin.rotation @ axis
        joints.append(
            Joined(
                each.name,
                one,
                two,
                tuple(R @ origin.position + p),
                tuple(axis / np.linalg.norm(axis)),
                JointType(each.type.value),
            )
        )
    return ccd.Mechanism(linkage('posed', bodies, joints, cut=cut), gravity=GRAVITY)
