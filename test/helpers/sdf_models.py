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

"""Small SDF models, and the same in Drake, which reads trees of them."""

import numpy as np


def inertial(mass, pose='0 0 0 0 0 0', moments=(0.1, 0.2, 0.25), products=(0.0, 0.0, 0.0)):
    tags = zip(('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'), (*moments, *products))
    inside = ''.join(f'<{tag}>{value}</{tag}>' for tag, value in tags)
    return (
        f'<inertial><pose>{pose}</pose><mass>{mass}</mass><inertia>{inside}</inertia></inertial>'
    )


def link(name, pose='0 0 0 0 0 0', inside=None, relative_to=''):
    frame = f' relative_to="{relative_to}"' if relative_to else ''
    inside = inertial(2.0, '0.1 0.05 0 0.2 0 0') if inside is None else inside
    return f'<link name="{name}"><pose{frame}>{pose}</pose>{inside}</link>'


def joint(name, kind, parent, child, *axes, pose='', inside=''):
    written = ''.join(
        f'<axis{"" if count == 0 else count + 1}><xyz>{axis}</xyz></axis{"" if count == 0 else 2}>'
        if not axis.startswith('<')
        else axis
        for count, axis in enumerate(axes)
    )
    place = f'<pose>{pose}</pose>' if pose else ''
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f'{place}{written}{inside}</joint>'
    )


def sdf(*parts, model_pose='0 0 0 0 0 0'):
    return (
        f'<sdf version="1.9"><model name="m"><pose>{model_pose}</pose>{"".join(parts)}'
        '</model></sdf>'
    )


class Drake:
    """A tree in Drake, with coordinates in the order of the mechanism."""

    def __init__(self, text, names):
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        self.plant = MultibodyPlant(0.0)
        Parser(self.plant).AddModelsFromString(text, 'sdf')
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        # a joint of two coordinates has two names here
        self.order = []
        for name in names:
            stem, _, number = name.rpartition('_')
            whole = name if self.plant.HasJointNamed(name) else stem
            start = self.plant.GetJointByName(whole).velocity_start()
            self.order.append(start if whole == name else start + int(number) - 1)

    def set(self, q, v):
        """Set the state, one number a coordinate."""
        positions, rates = np.zeros(len(q)), np.zeros(len(v))
        positions[self.order], rates[self.order] = q, v
        self.plant.SetPositions(self.context, positions)
        self.plant.SetVelocities(self.context, rates)

    def mass_matrix(self):
        return self.plant.CalcMassMatrix(self.context)[np.ix_(self.order, self.order)]

    def bias(self):
        """Return the forces at acceleration zero, gravity included."""
        gravity = self.plant.CalcGravityGeneralizedForces(self.context)
        return (self.plant.CalcBiasTerm(self.context) - gravity)[self.order]

    def placement(self, name):
        body = self.plant.GetBodyByName(name)
        return self.plant.EvalBodyPoseInWorld(self.context, body).GetAsMatrix4()
