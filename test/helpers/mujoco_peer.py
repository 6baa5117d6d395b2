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

"""A second way from a description to numbers: the same mechanism in MuJoCo."""

import mujoco
import numpy as np
import pinocchio as pin

from closed_chain_dynamics.description import JointType, LoopType

IMPEDANCES = 0.998, 0.999, 0.9995, 0.9999  # of MuJoCo's constraints, which end at the last

MUJOCO_JOINTS = {
    JointType.REVOLUTE: 'hinge',
    JointType.CONTINUOUS: 'hinge',
    JointType.PRISMATIC: 'slide',
    JointType.SPHERICAL: 'ball',
    JointType.FLOATING: 'free',
}


def numbers(values):
    """Return numbers as MJCF writes them, with all their digits."""
    return ' '.join(repr(float(x)) for x in values)


def frame(pose):
    """Return pos and quat of a Pose, by Pinocchio's roll, pitch and yaw."""
    x, y, z, w = pin.Quaternion(pin.rpy.rpyToMatrix(*pose.rpy)).coeffs()
    return f'pos="{numbers(pose.xyz)}" quat="{numbers((w, x, y, z))}"'


def inertial(inertia):
    """Return the inertia of a link in the link's own axes."""
    R = pin.rpy.rpyToMatrix(*inertia.origin.rpy)
    xx, xy, xz, yy, yz, zz = inertia.moments
    tensor = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    full = [tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    return (
        f'<inertial pos="{numbers(inertia.origin.xyz)}" mass="{inertia.mass!r}" '
        f'fullinertia="{numbers(full)}"/>'
    )


def mjcf(description, gravity, impedance=IMPEDANCES[-1], stiffness=1.0):
    """
    Return a description as MJCF: loop joints as equality constraints between sites.

    A gap comes back with `stiffness` [1/s^2], critically damped: at 1 a constraint hardly looks at
    it, and its acceleration is all that counts.
    """
    inertias = {link.name: link.inertia for link in description.links}
    sites = {link.name: '' for link in description.links}
    solver = (
        f'solimp="{impedance} {impedance} 0.001 0.5 2" '
        f'solref="-{stiffness} -{2.0 * stiffness**0.5}"'
    )
    equalities, tendons = '', ''
    for loop in description.loops:
        for end, (link, pose) in enumerate(
            ((loop.parent, loop.parent_origin), (loop.child, loop.child_origin))
        ):
            sites[link] += f'<site name="{loop.name}_{end}" {frame(pose)}/>'
        kind = {
            LoopType.FIXED: 'weld',
            LoopType.SPHERICAL: 'connect',
            LoopType.REVOLUTE: 'connect',
        }[loop.type]  # in a plane a point is a hinge
        equalities += f'<{kind} site1="{loop.name}_0" site2="{loop.name}_1" {solver}/>'
    for coupling in description.couplings:
        terms = ''.join(
            f'<joint joint="{term.joint}" coef="{term.coefficients[0]!r}"/>'
            for term in coupling.terms
        )
        tendons += f'<fixed name="{coupling.name}">{terms}</fixed>'
        equalities += f'<tendon tendon1="{coupling.name}" {solver}/>'

    def body(link, joint=None):
        inner = sites[link]
        if joint is not None:
            inner += inertial(inertias[link]) if inertias[link] else ''
            if joint.type is not JointType.FIXED:
                kind = MUJOCO_JOINTS[joint.type]
                axis = f'axis="{numbers(joint.axis)}"' if joint.type.nv == 1 else ''
                inner += (
                    f'<joint name="{joint.name}" type="{kind}" {axis} '
                    f'damping="{joint.dynamics.damping!r}"/>'
                )
        children = sorted(
            (each for each in description.joints if each.parent == link),
            key=lambda each: each.name,
        )
        inner += ''.join(body(each.child, each) for each in children)
        return f'<body name="{link}" {frame(joint.origin)}>{inner}</body>' if joint else inner

    return (
        f'<mujoco><compiler angle="radian" autolimits="false" boundmass="0" boundinertia="0"/>'
        f'<option gravity="{numbers(gravity)}" tolerance="0" iterations="100"/>'
        f'<worldbody>{body(description.root)}</worldbody>'
        f'<tendon>{tendons}</tendon><equality>{equalities}</equality></mujoco>'
    )


class Peer:
    """A mechanism in MuJoCo, with positions and rates in the order and axes of the package."""

    def __init__(self, robot, impedance=IMPEDANCES[-1], stiffness=1.0):
        self.robot = robot
        self.model = mujoco.MjModel.from_xml_string(
            mjcf(robot.description, robot.gravity, impedance, stiffness)
        )
        self.data = mujoco.MjData(self.model)

    def set(self, q, v):
        """
        Set the state.

        Quaternions start with w. A free joint has the pose of its link in the world, wherever its
        own frame is, and its linear velocity is in world axes.
        """
        self.turn, self.shift = np.eye(self.robot.nv), np.zeros(self.robot.nv)
        self.dofs = np.zeros(self.robot.nv, dtype=int)
        for name in self.robot.joint_names:
            at_q, at_v = self.robot.joint_slices(name)
            joint = self.model.joint(name)
            position, rate = q[at_q].copy(), v[at_v]
            if position.size >= 4:
                position[-4:] = np.roll(position[-4:], 1)
            self.dofs[at_v] = np.arange(joint.dofadr[0], joint.dofadr[0] + rate.size)
            if position.size == 7:
                X = self._origin(name) * pin.SE3(pin.Quaternion(*position[3:]), position[:3])
                R = X.rotation
                position[:3] = X.translation
                position[3:] = np.roll(pin.Quaternion(R).coeffs(), 1)
                rows = slice(at_v.start, at_v.start + 3)
                self.turn[rows, rows] = R
                self.shift[rows] = R @ np.cross(rate[3:], rate[:3])
            self.data.qpos[joint.qposadr[0] : joint.qposadr[0] + position.size] = position
        self.data.qvel[self.dofs] = self.turn @ v

    def _origin(self, name):
        """Return the frame of a joint next to the world."""
        pose = next(joint.origin for joint in self.robot.description.joints if joint.name == name)
        return pin.SE3(pin.rpy.rpyToMatrix(*pose.rpy), np.array(pose.xyz))

    def tree(self):
        """Return mass matrix and bias forces of the tree."""
        mujoco.mj_forward(self.model, self.data)
        M = np.empty((self.robot.nv, self.robot.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        M = M[np.ix_(self.dofs, self.dofs)]
        bias = self.data.qfrc_bias[self.dofs] + M @ self.shift
        return self.turn.T @ M @ self.turn, self.turn.T @ bias

    def accelerations(self, force):
        """Return theta_O'' under forces on the coordinates."""
        self.data.qfrc_applied[self.dofs] = self.turn @ force
        mujoco.mj_forward(self.model, self.data)
        return self.turn.T @ (self.data.qacc[self.dofs] - self.shift)

    def run(self, q, v, duration, dt):
        """Move by RK4; return where the links are then, {name: (4, 3)}, and the largest gap."""
        self.model.opt.integrator, self.model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, dt
        self.model.opt.tolerance, self.model.opt.iterations = 1e-10, 10  # two are enough
        self.set(q, v)
        gap = 0.0
        for _ in range(round(duration / dt)):
            mujoco.mj_step(self.model, self.data)
            gap = max(gap, np.abs(self.data.efc_pos).max(initial=0.0))
        mujoco.mj_kinematics(self.model, self.data)
        return {
            self.model.body(number).name: np.vstack(
                [self.data.xpos[number], self.data.xmat[number].reshape(3, 3)]
            )
            for number in range(1, self.model.nbody)
        }, gap
