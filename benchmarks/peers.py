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

"""
The mechanisms of `models` in Pinocchio and MuJoCo, built from the same numbers.

Neither engine is needed by the package: each is imported when it is built, and the benchmark goes
on without one that is not installed.
"""

from importlib import import_module
from xml.sax.saxutils import quoteattr

import numpy as np

from closed_chain_dynamics.description.elements import JointType, LoopType

__all__ = ['MuJoCo', 'Pinocchio', 'depth_first']


def depth_first(description):
    """Return all joints from the root outwards, brothers in the order of their names."""
    children = {}
    for joint in sorted(description.joints, key=lambda each: each.name):
        children.setdefault(joint.parent, []).append(joint)
    order, stack = [], list(reversed(children[description.root]))
    while stack:
        order.append(stack.pop())
        stack += reversed(children.get(order[-1].child, ()))
    return order


class Pinocchio:
    """A description in Pinocchio: q, v and tau are laid out as ours."""

    def __init__(self, case):
        self.pin = pin = import_module('pinocchio')
        self.version = pin.__version__
        self.case, description = case, case.robot.description
        self.model = pin.Model()
        self.model.gravity.linear = case.robot.gravity
        self._add_joints(description)
        self.data = self.model.createData()
        self.constraints, self.on_world = pin.StdVec_RigidConstraintModel(), False
        for loop in description.loops:
            kind = {
                LoopType.SPHERICAL: pin.ContactType.CONTACT_3D,
                LoopType.FIXED: pin.ContactType.CONTACT_6D,
            }[loop.type]
            ends = self.numbers[loop.parent], self.numbers[loop.child]
            self.on_world |= 0 in ends
            self.constraints.append(
                pin.RigidConstraintModel(
                    kind,
                    self.model,
                    ends[0],
                    self._se3(loop.parent_origin),
                    ends[1],
                    self._se3(loop.child_origin),
                    pin.ReferenceFrame.LOCAL,
                )
            )
        self.constraint_data = pin.StdVec_RigidConstraintData()
        self.constraint_data.extend([each.createData() for each in self.constraints])
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.constraint_data)
        self.actuated = [
            case.robot.coordinate_names.index(name) for name in case.robot.actuator_names
        ]

    def _se3(self, pose):
        return self.pin.SE3(pose.rotation, pose.position)

    def _add_joints(self, description):
        pin = self.pin
        inertias = {link.name: link.inertia for link in description.links}
        # joints about an axis of their frame have faster classes of their own
        turning = {
            (1.0, 0.0, 0.0): pin.JointModelRX,
            (0.0, 1.0, 0.0): pin.JointModelRY,
            (0.0, 0.0, 1.0): pin.JointModelRZ,
        }
        others = {
            JointType.SPHERICAL: pin.JointModelSpherical,
            JointType.FLOATING: pin.JointModelFreeFlyer,
        }
        self.numbers = {description.root: 0}
        # depth first: with any other order `crba` is wrong and does not say so
        for joint in depth_first(description):
            kind = others.get(joint.type) or turning[joint.axis]
            number = self.model.addJoint(
                self.numbers[joint.parent], kind(), self._se3(joint.origin), joint.name
            )
            self.numbers[joint.child] = number
            inertia = inertias[joint.child]
            self.model.appendBodyToJoint(
                number,
                pin.Inertia(inertia.mass, inertia.origin.position, inertia.tensor),
                pin.SE3.Identity(),
            )

    def newton_euler(self):
        """Return the function and the arguments of tree inverse dynamics."""
        return self.pin.rnea, (self.model, self.data, self.case.q, self.case.v, self.case.a)

    def mass_matrix(self):
        """Return the function and the arguments of the mass matrix."""
        return self.pin.crba, (self.model, self.data, self.case.q)

    def constraint_dynamics(self, mu, iterations, accuracy=1e-14):
        """Return the function and the arguments of the dense closed-chain forward dynamics."""
        settings = self.pin.ProximalSettings(accuracy, mu, iterations)
        return self.pin.constraintDynamics, (
            self.model,
            self.data,
            self.case.q,
            self.case.v,
            self.case.tau,
            self.constraints,
            self.constraint_data,
            settings,
        )

    def recursive_dynamics(self, mu, iterations, accuracy=1e-14):
        """
        Return the function and the arguments of the recursive forward dynamics `lcaba`.

        Never call it with a loop on the world: it writes outside of its arrays.
        """
        if self.on_world:
            raise ValueError('lcaba cannot take a loop that ends on the world')
        data = self.model.createData()
        self.pin.computeJointMinimalOrdering(self.model, data, self.constraints)
        constraint_data = self.pin.StdVec_RigidConstraintData()
        constraint_data.extend([each.createData() for each in self.constraints])
        settings = self.pin.ProximalSettings(accuracy, mu, iterations)
        return self.pin.lcaba, (
            self.model,
            data,
            self.case.q,
            self.case.v,
            self.case.tau,
            self.constraints,
            constraint_data,
            settings,
        )

    def constraint_jacobian(self):
        """Return J_C, (rows, nv), at the pose of the case."""
        pin, model, data = self.pin, self.model, self.data
        pin.computeJointJacobians(model, data, self.case.q)
        for constraint, result in zip(self.constraints, self.constraint_data):
            constraint.calc(model, data, result)  # without it the Jacobian is that of a past pose
        return pin.getConstraintsJacobian(model, data, self.constraints, self.constraint_data)

    def inverse_by_null_space(self):
        """Return tau_A as one writes it with NumPy: W from the SVD of J_C, S^T tau_A = tau_G."""
        tau_O = self.pin.rnea(self.model, self.data, self.case.q, self.case.v, self.case.a)
        _, sigma, V_t = np.linalg.svd(self.constraint_jacobian())
        W = V_t[int(np.sum(sigma > 1e-9 * sigma[0])) :].T
        return np.linalg.lstsq(W[self.actuated].T, W.T @ tau_O, rcond=1e-9)[0]

    def inverse_by_least_squares(self):
        """Return tau_A the other way: actuators and loop forces together from the tree's tau."""
        tau_O = self.pin.rnea(self.model, self.data, self.case.q, self.case.v, self.case.a)
        J_C, n = self.constraint_jacobian(), len(self.actuated)
        levers = np.zeros((self.model.nv, n + len(J_C)))
        levers[self.actuated, range(n)] = 1.0
        levers[:, n:] = J_C.T
        return np.linalg.lstsq(levers, tau_O, rcond=1e-9)[0][:n]


class MuJoCo:
    """
    A description in MuJoCo, as stiff as its constraints can be made.

    A free joint's linear velocity is in world axes there, and quaternions are w, x, y, z. The
    bias J_C' v of a constraint is not part of MuJoCo's equations, so accelerations are compared
    at rest. Constraints yield as if the inertia they feel were larger by (1 - d) / d, d at most
    0.9999, and in a ladder of loops that adds up: `softened` says what it makes of our equations.
    """

    SOFTNESS = 1e-4  # (1 - d) / d

    def __init__(self, case):
        self.mujoco = mujoco = import_module('mujoco')
        self.version = mujoco.__version__
        self.case = case
        self.model = mujoco.MjModel.from_xml_string(mjcf(case.robot))
        self.data = mujoco.MjData(self.model)
        self._free = [
            joint for joint in case.robot.description.joints if joint.type is JointType.FLOATING
        ]
        self.set_state(case.v)

    def set_state(self, v):
        """Put the case's pose and torques, and velocities in our layout, into MuJoCo's state."""
        robot, q = self.case.robot, self.case.q.copy()
        for joint in robot.description.joints:
            if joint.type in (JointType.FLOATING, JointType.SPHERICAL):
                last = robot.joint_slices(joint.name)[0].stop
                q[last - 4 : last] = np.roll(q[last - 4 : last], 1)
        self.data.qpos[:], self.data.qvel[:] = q, self.to_world(v)
        self.data.qfrc_applied[:] = self.to_world(self.case.tau)

    def _turned(self, values, transpose):
        values = values.copy()
        for joint in self._free:
            places, rates = self.case.robot.joint_slices(joint.name)
            R = np.empty(9)
            self.mujoco.mju_quat2Mat(R, np.roll(self.case.q[places][3:], 1))
            R = R.reshape(3, 3)
            values[rates][:3] = (R.T if transpose else R) @ values[rates][:3]
        return values

    def to_world(self, values):
        """Return velocities, or accelerations at rest, or forces, in MuJoCo's axes."""
        return self._turned(values, False)

    def from_world(self, values):
        """Return the same in ours."""
        return self._turned(values, True)

    def mass_matrix_ours(self):
        """Return the mass matrix in our coordinates, (nv, nv)."""
        M = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, self.data, M)
        half = np.array([self.from_world(row) for row in M])
        return np.array([self.from_world(column) for column in half.T])

    def constraint_rows(self):
        """Return the rows of the constraints in our coordinates after `forward`, and their R."""
        rows, data = np.zeros((self.data.nefc, self.model.nv)), self.data
        if self.mujoco.mj_isSparse(self.model):
            for row, first, count in zip(rows, data.efc_J_rowadr, data.efc_J_rownnz):
                row[data.efc_J_colind[first : first + count]] = data.efc_J[first : first + count]
        else:
            rows[:] = data.efc_J.reshape(rows.shape)
        return np.array([self.from_world(row) for row in rows]), data.efc_R.copy()

    def acceleration_at_rest(self):
        """Return the accelerations at zero velocity in our coordinates, (nv,)."""
        self.set_state(np.zeros(self.model.nv))
        self.mujoco.mj_forward(self.model, self.data)
        return self.from_world(self.data.qacc)

    def softened(self, M, force):
        """Return M^-1 (force + constraint forces) with constraints that yield as these do."""
        rows, R = self.constraint_rows()
        free, lever = np.linalg.solve(M, force), np.linalg.solve(M, rows.T)
        return free - lever @ np.linalg.solve(rows @ lever + np.diag(R), rows @ free)

    def forward(self):
        """Return the function and the arguments of forward dynamics."""
        return self.mujoco.mj_forward, (self.model, self.data)

    def inverse(self):
        """Return the function and the arguments of inverse dynamics, which is the tree's."""
        return self.mujoco.mj_inverse, (self.model, self.data)


def mjcf(robot):
    """Return a description as MJCF, loops between sites as equality constraints."""
    description = robot.description
    links = {link.name: link for link in description.links}
    sites = {}
    for loop in description.loops:
        sites.setdefault(loop.parent, []).append((f'{loop.name}_1', loop.parent_origin))
        sites.setdefault(loop.child, []).append((f'{loop.name}_2', loop.child_origin))
    lines = [
        '<mujoco><compiler angle="radian"/>',
        f'<option gravity="{_numbers(robot.gravity)}"/><worldbody>',
    ]
    lines += _sites(sites.get(description.root, ()))
    open_links = [description.root]
    for joint in depth_first(description):
        while open_links[-1] != joint.parent:  # depth first: close what is finished
            open_links.pop()
            lines.append('</body>')
        lines.append(f'<body name={quoteattr(joint.child)} {_placement(joint.origin)}>')
        kind = {JointType.FLOATING: 'free', JointType.SPHERICAL: 'ball'}.get(joint.type, 'hinge')
        axis = f' axis="{_numbers(joint.axis)}"' if kind == 'hinge' else ''
        lines.append(f'<joint name={quoteattr(joint.name)} type="{kind}"{axis}/>')
        inertia = links[joint.child].inertia
        six = inertia.tensor[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
        lines.append(
            f'<inertial pos="{_numbers(inertia.origin.xyz)}" mass="{inertia.mass!r}" '
            f'fullinertia="{_numbers(six)}"/>'
        )
        lines += _sites(sites.get(joint.child, ()))
        open_links.append(joint.child)
    lines += ['</body>'] * (len(open_links) - 1) + ['</worldbody><equality>']
    for loop in description.loops:
        kind = {LoopType.SPHERICAL: 'connect', LoopType.FIXED: 'weld'}[loop.type]
        lines.append(
            f'<{kind} site1="{loop.name}_1" site2="{loop.name}_2" '
            'solref="-1e6 -2e3" solimp="0.9999 0.9999 0.001 0.5 2"/>'
        )
    return '\n'.join(lines + ['</equality></mujoco>'])


def _sites(sites):
    return [f'<site name="{name}" {_placement(pose)}/>' for name, pose in sites]


def _placement(pose):
    return f'pos="{_numbers(pose.xyz)}" quat="{_numbers(_quaternion(pose.rpy))}"'


def _quaternion(rpy):
    """Return roll, pitch and yaw as the quaternion w, x, y, z."""
    (a, b, c), (x, y, z) = np.cos(np.array(rpy) / 2.0), np.sin(np.array(rpy) / 2.0)
    return (
        a * b * c + x * y * z,
        x * b * c - a * y * z,
        a * y * c + x * b * z,
        a * b * z - x * y * c,
    )


def _numbers(values):
    return ' '.join(repr(float(x)) for x in values)
