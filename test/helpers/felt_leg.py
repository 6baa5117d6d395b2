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

"""The leg of an exoskeleton, with Pinocchio beside it."""

from helpers.random_mechanisms import pinocchio_model
import numpy as np
import pinocchio as pin

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.law import TorqueController

EXACT = 1e-9  # of torques, relative to the largest
IMPEDANCE = {'ankle_pitch': (80.0, 0.6), 'ankle_roll': (40.0, 0.2), 'knee_rear': (60.0, 4.0)}


class Leg:
    """The leg of an exoskeleton in a pose, and what Pinocchio says of it."""

    def __init__(self, pitch=0.2, roll=0.1):
        self.robot = ccd.load('exo_leg')
        self.start = np.zeros(self.robot.nq)
        pose = {'hip': 0.3, 'knee': 0.4, 'ankle_pitch': pitch, 'ankle_roll': roll}
        self.q = ccd.assemble(self.robot, pose, start=self.start)
        self.model = pinocchio_model(self.robot.description)
        self.data = self.model.createData()
        rates = {'hip': 0.5, 'knee': -0.8, 'ankle_pitch': 0.3, 'ankle_roll': -0.2}
        self.v = ccd.complete_velocity(self.robot, self.q, rates)
        self.damping = np.array(
            [
                next(j for j in self.robot.description.joints if j.name == name).dynamics.damping
                for name in self.robot.joint_names
            ]
        )

    def motions(self):
        """Return a basis of the motions that the loops allow, (nv, mobility), of Pinocchio."""
        model, data, rows = self.model, self.data, []
        pin.computeJointJacobians(model, data, self.q)
        for loop in self.robot.description.loops:
            ends = []
            for link, origin in (
                (loop.parent, loop.parent_origin),
                (loop.child, loop.child_origin),
            ):
                frame = model.frames[model.getFrameId(link)]
                X = frame.placement * pin.SE3(origin.rotation, origin.position)
                local = pin.getJointJacobian(model, data, frame.parentJoint, pin.LOCAL)
                R = data.oMi[frame.parentJoint].rotation @ X.rotation
                at_point = X.inverse().action @ local
                ends.append(np.vstack([R @ at_point[:3], R @ at_point[3:]]))
            rows.append((ends[1] - ends[0])[:3])  # all axes of the knee are parallel: points do
        _, sigma, Vt = np.linalg.svd(np.vstack(rows))
        rank = int((sigma > 1e-8).sum())
        assert Vt.shape[1] - rank == 4
        return Vt[rank:].T

    def needed(self, acceleration, friction_share):
        """Return what the tree needs by Pinocchio, with a share of the damping."""
        tau = pin.rnea(self.model, self.model.createData(), self.q, self.v, acceleration)
        return tau + friction_share * self.damping * self.v

    def controller(self, **feel):
        """Return a controller in the mode impedance."""
        return TorqueController(self.robot, mode='impedance', feel=Feel(IMPEDANCE, **feel))

    def prove(self, tau_A, force):
        """Check that actuators do what forces on the tree would, in every allowed motion."""
        motors = [self.robot.joint_slices(name)[1].start for name in self.robot.actuator_names]
        N = self.motions()
        expected = N.T @ force
        error = np.abs(N[motors].T @ tau_A - expected).max()
        assert error < EXACT * max(np.abs(expected).max(), 1.0)
