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

"""What MuJoCo computes of an MJCF file, in the order and axes of a mechanism read from it."""

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.studies.engine_twins import MuJoCo
from closed_chain_dynamics.studies.other_engines import tree_differences


class Twin(MuJoCo):
    """A mechanism and MuJoCo's model of the same path or text, both in one state."""

    def __init__(self, robot, source):
        super().__init__(source)
        self.attach(robot)

    def placements(self):
        """Return {link: (4, 3)} of all bodies: position over rotation."""
        names = [link.name for link in self.robot.description.links]
        return {
            name: np.vstack([self.data.xpos[body], self.data.xmat[body].reshape(3, 3)])
            for body in range(1, self.model.nbody)
            if (name := self.model.body(body).name or f'body_{body}') in names
        }


def random_state(robot, rng):
    """Return q and v."""
    q = ccd.integrate(robot, robot.neutral(), rng.normal(size=robot.nv))
    return q, rng.normal(size=robot.nv)


def disagreement(robot, source, *, states=3, seed=1):
    """Return the largest differences to MuJoCo, relative to the largest number of each kind."""
    twin, rng = Twin(robot, source), np.random.default_rng(seed)
    found = {
        'mass': abs(robot.total_mass / max(twin.model.body_mass.sum(), 1e-300) - 1.0),
        'placement': 0.0,
    }
    for _ in range(states):
        q, v = random_state(robot, rng)
        twin.set(q, v)
        for link, expected in twin.placements().items():
            own = ccd.link_placement(robot, q, link)
            both = np.vstack([own[:3, 3], own[:3, :3]])
            found['placement'] = max(
                found['placement'],
                np.abs(both - expected).max() / max(1.0, np.abs(expected).max()),
            )
    return found | tree_differences(robot, twin, rng, states)
