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
