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

"""Random trees, each with Pinocchio's model of it and a state."""

from helpers.random_mechanisms import (
    moving_joints,
    pinocchio_model,
    random_description,
    random_state,
    relative_error,
)
import numpy as np
import pinocchio as pin

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import check

# Two engines that add the same numbers in another order differ by rounding times the length of
# the chain. The worst of all quantities below, of all trees, is 4e-14.
RELATIVE = 1e-10
CHUNKS, TREES_PER_CHUNK = 11, 20


class Case:
    """One random tree in both engines, with a random state and random gravity."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.seed, self.rng = seed, rng
        self.description = random_description(rng, int(rng.integers(1, 50)))
        check(self.description)
        gravity = 9.81 * rng.normal(size=3)
        self.robot = ccd.Mechanism(self.description, gravity=gravity)
        self.model = pinocchio_model(self.description, gravity)
        self.data = self.model.createData()
        self.q, self.v, self.a = random_state(rng, self.description)
        self.damping = np.array(
            [
                joint.dynamics.damping
                for joint in moving_joints(self.description)
                for _ in range(joint.type.nv)
            ]
        )

    @property
    def state(self):
        return self.robot, self.q, self.v, self.a

    def frame(self, link, point=(0.0, 0.0, 0.0)):
        """Return Pinocchio's joint and the placement of a point of a link on it."""
        frame = self.model.frames[self.model.getFrameId(link)]
        return frame.parentJoint, frame.placement * pin.SE3(np.eye(3), np.array(point))

    def check(self, actual, expected, what, tolerance=RELATIVE, at_least=0.0):
        """Fail with the seed when two results differ."""
        error = relative_error(actual, expected, at_least=at_least)
        assert error <= tolerance, f'{what} of tree {self.seed} is off by {error:.2e}'
