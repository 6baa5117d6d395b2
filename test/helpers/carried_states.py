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

"""A figure on the swing that lets go, and what must be the same afterwards."""

from dataclasses import replace

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import LoopJoint, Pose


def seated():
    """Return a simulation of the moving figure on the swing."""
    robot = ccd.load('swing')
    q = ccd.assemble(robot, {})
    W = ccd.coordinates(robot, q).W
    sim = ccd.Simulation(
        robot, q, W @ np.random.default_rng(0).normal(0.0, 0.5, W.shape[1]), dt=1e-3
    )
    sim.run(0.05)
    return sim


def with_grip(description, q, name, kind, parent, child):
    """Return the description with one more loop joint that is closed, though open, at q."""
    robot = ccd.Mechanism(description)
    X = ccd.link_placements(robot, q)
    point = X[child][:3, 3]
    ends = [
        Pose(tuple(map(float, (np.linalg.inv(X[link]) @ np.r_[point, 1.0])[:3])))
        for link in (parent, child)
    ]
    return replace(
        description,
        loops=(
            *description.loops,
            LoopJoint(
                name,
                kind,
                parent,
                child,
                parent_origin=ends[0],
                child_origin=ends[1],
                active=False,
            ),
        ),
    )
