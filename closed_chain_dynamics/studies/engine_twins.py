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
Other tools' models of the same mechanism: MuJoCo's of an MJCF file, Pinocchio's of a URDF.

Both are imported only when asked. A twin is given a state of the mechanism and has its equations
of motion in its own coordinates: T with their velocities = T v, M, the forces that act on joints
without motors and Coulomb friction, and the Jacobian of what closes its loops.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.arrays import Array
from closed_chain_dynamics.description.document import open_document
from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.pinocchio_writer import pinocchio_constraints, to_pinocchio
from closed_chain_dynamics.errors import DescriptionError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['MuJoCo', 'Pinocchio', 'Twin', 'Unreadable']

MASSLESS = 1e12  # condition of A beyond which accelerations have no digits left
ENTERS = 3  # times a motion enters accelerations: itself, the forces along it, and the drift
DIFFERENCE_STEP = 1e-3  # of the fourth-order difference that gives dJ/dt


class Unreadable(Exception):
    """The tool itself cannot read the file."""


class Twin:
    """What both have in common."""

    robot: Mechanism
    T: Array  # their velocities = T v
    shift: Array  # dT/dt v
    M: Array  # in their coordinates
    force: Array  # of springs, dampers and weight less that of inertia, in their coordinates
    has_loops = True  # whether its Jacobian holds all that binds the mechanism

    def set(self, q: Array, v: Array) -> None:
        """Take a state of the mechanism."""
        raise NotImplementedError

    def moved(self, velocity: Array, time: float) -> Array:
        """Return the Jacobian of the loops after some time at a constant velocity of theirs."""
        raise NotImplementedError

    def bias(self) -> Array:
        """Return the forces at acceleration zero, dampers of joints included, springs not."""
        raise NotImplementedError

    def mass_matrix(self) -> Array:
        """Return M in the coordinates of the mechanism."""
        M: Array = self.T.T @ self.M @ self.T
        return M

    def acceleration(self, q: Array, v: Array, mobility: int) -> tuple[Array, Array, float] | None:
        """
        Return a velocity that the loops allow, near `v`, the accelerations there, and their doubt.

        All in the coordinates of the mechanism; `q` is closed and has `mobility` free directions.
        The doubt, relative: rows that rounded digits keep from being redundant are dropped, and
        which motion remains is known only so well. None where no mass resists a motion.
        """
        self.set(q, np.zeros_like(v))
        J = self.moved(self.T @ v, 0.0)
        _, sizes, rows = np.linalg.svd(J, full_matrices=True)
        rank = len(rows) - mobility
        tilt = float(sizes[rank] / sizes[rank - 1]) if 0 < rank < len(sizes) else 0.0
        held = rows[:rank].T
        W = rows[rank:].T  # the motions that the loops allow
        # once more with more digits: near a singular pose the first have lost some
        left = (J.astype(np.longdouble) @ W.astype(np.longdouble)).astype(float)
        W = W - held @ np.linalg.lstsq(J @ held, left, rcond=None)[0]
        own: Array = np.linalg.lstsq(self.T, W @ (W.T @ (self.T @ v)), rcond=None)[0]
        self.set(q, own)
        rate = self.T @ own
        h = DIFFERENCE_STEP / max(1.0, float(np.abs(rate).max(initial=0.0)))
        near = self.moved(rate, h) - self.moved(rate, -h)
        far = self.moved(rate, 2.0 * h) - self.moved(rate, -2.0 * h)
        drift = (8.0 * near - far) @ rate / (12.0 * h)  # dJ/dt times velocity
        bound = held @ np.linalg.lstsq(J @ held, -drift, rcond=None)[0]
        A = W.T @ self.M @ W
        if mobility and np.linalg.cond(A) > MASSLESS:
            return None
        theirs = bound + W @ np.linalg.solve(A, W.T @ (self.force - self.M @ bound))
        found: Array = np.linalg.lstsq(self.T, theirs - self.shift, rcond=None)[0]
        return own, found, ENTERS * tilt


class MuJoCo(Twin):
    """MuJoCo's model of an MJCF file or text, without motors, contacts and friction."""

    def __init__(self, source: Path | str) -> None:
        self.mujoco: Any = import_module('mujoco')
        self.mujoco.set_mju_user_warning(lambda _: None)  # told when the mechanism was read
        try:
            if isinstance(source, Path):
                self.model = self.mujoco.MjModel.from_xml_path(str(source))
            else:
                self.model = self.mujoco.MjModel.from_xml_string(source)
        except (ValueError, self.mujoco.FatalError) as error:
            raise Unreadable(str(error)) from error
        finally:
            self.mujoco.set_mju_user_warning(None)
        if self.model.nbody < len(('world', 'one more')):
            raise Unreadable('it has no body: it is a part of other files')
        off = self.mujoco.mjtDisableBit
        self.model.opt.disableflags |= int(
            off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_ACTUATION
        )
        self.data = self.mujoco.MjData(self.model)

    def attach(self, robot: Mechanism) -> None:
        """Find the joints; both list them body by body, so that unnamed ones have numbers."""
        self.robot = robot
        self.joints = [
            joint.name for joint in robot.description.joints if joint.type is not JointType.FIXED
        ]
        if len(self.joints) != self.model.njnt:
            raise Unreadable(f'it has {self.model.njnt} joints, not {len(self.joints)}')

    def set(self, q: Array, v: Array) -> None:
        """Take a state of the mechanism."""
        model, data, robot = self.model, self.data, self.robot
        self.T, self.shift = np.zeros((model.nv, robot.nv)), np.zeros(model.nv)
        for number, name in enumerate(self.joints):
            own_q, own_v = robot.joint_slices(name)
            value, rate = q[own_q].copy(), v[own_v]
            at, dof = model.jnt_qposadr[number], model.jnt_dofadr[number]
            self.T[dof : dof + rate.size, own_v] = np.eye(rate.size)
            if value.size > 1:
                value[-4:] = np.roll(value[-4:], 1)  # x y z w to w x y z
            if value.size == 7:  # MuJoCo has the linear velocity in world axes
                flat = np.zeros(9)
                self.mujoco.mju_quat2Mat(flat, value[3:])
                R = flat.reshape(3, 3)
                self.T[dof : dof + 3, own_v.start : own_v.start + 3] = R
                self.shift[dof : dof + 3] = R @ np.cross(rate[3:], rate[:3])
            data.qpos[at : at + value.size] = value
        data.qvel[:] = self.T @ v
        data.eq_active[:] = model.eq_active0
        self.mujoco.mj_fwdPosition(model, data)
        damping = model.tendon_damping.copy()
        model.tendon_damping[:] = 0.0
        self.mujoco.mj_fwdVelocity(model, data)
        of_joints = data.qfrc_damper.copy()
        model.tendon_damping[:] = damping
        self.mujoco.mj_fwdVelocity(model, data)
        self.along_tendons = data.qfrc_damper - of_joints
        self.M = np.zeros((model.nv, model.nv))
        self.mujoco.mj_fullM(model, data, self.M)
        # neither a fluid nor the springs of flexes: what was left out has been told
        self.force = data.qfrc_spring + data.qfrc_damper + data.qfrc_gravcomp - data.qfrc_bias

    def bias(self) -> Array:
        """Return the forces at acceleration zero, dampers of joints included, springs not."""
        needed = self.data.qfrc_spring + self.along_tendons - self.force
        bias: Array = self.T.T @ (needed + self.M @ self.shift)
        return bias

    def moved(self, velocity: Array, time: float) -> Array:
        """Return the Jacobian of the equality constraints after some time."""
        model, data, mujoco = self.model, self.data, self.mujoco
        kept = data.qpos.copy()
        mujoco.mj_integratePos(model, data.qpos, np.ascontiguousarray(velocity), time)
        mujoco.mj_fwdPosition(model, data)
        J = np.zeros((data.nefc, model.nv))
        if mujoco.mj_isSparse(model):
            mujoco.mju_sparse2dense(
                J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
            )
        else:
            # a weld between bodies without joints leaves more room than there are rows
            J[:] = data.efc_J.ravel()[: J.size].reshape(J.shape)
        data.qpos[:] = kept
        equality = mujoco.mjtConstraint.mjCNSTR_EQUALITY
        chosen: Array = J[data.efc_type == equality] if data.nefc else J
        return chosen


class Pinocchio(Twin):
    """Pinocchio's model of a URDF; the loops, which its reader does not know, are added."""

    def __init__(self, path: Path) -> None:
        self.pin: Any = import_module('pinocchio')
        try:
            text = etree.tostring(open_document(path).root, encoding='unicode')
            self.model = self.pin.buildModelFromXML(text)
        except (ValueError, RuntimeError, DescriptionError) as error:
            raise Unreadable(str(error)) from error

    def attach(self, robot: Mechanism) -> None:
        """Find the joints; where a file beside it changes their kinds, write the model anew."""
        self.robot, description = robot, robot.description
        if not self._finds_joints():
            self.model, _, _ = to_pinocchio(description, robot.gravity)
            if not self._finds_joints():
                raise Unreadable('its joints are not those of the mechanism')
        self.model.gravity.linear = robot.gravity
        rotors = {each.name: each.dynamics.armature for each in description.joints}
        for joint, _, name in self.places:  # its reader knows none of the tags for rotors
            self.model.armature[joint.idx_v : joint.idx_v + joint.nv] = rotors[name]
        self.data, left_out = self.model.createData(), LeftOut()
        self.loops = pinocchio_constraints(self.pin, self.model, description, left_out)
        self.loop_data = [loop.createData() for loop in self.loops]
        opened = any('open' not in kind and 'loop joints' not in kind for kind in left_out.kinds)
        active = [coupling for coupling in description.couplings if coupling.active]
        laws = [loop for loop in description.loops if loop.dynamics.damping]
        rests = len(self.T) > robot.nv
        self.has_loops = not (opened or active or laws or description.springs or rests)

    def _finds_joints(self) -> bool:
        self.places: list[Any] = []
        self.T = np.zeros((self.model.nv, self.robot.nv))
        fixed = {each.name for each in self.robot.description.joints if not each.type.nv}
        for number in range(1, self.model.njoints):
            name, joint = self.model.names[number], self.model.joints[number]
            if name in fixed:  # it moves no mass, and rests
                continue
            if name not in self.robot.joint_names:
                return False
            own_q, own_v = self.robot.joint_slices(name)
            if own_v.stop - own_v.start != joint.nv:
                return False
            self.places.append((joint, own_q, name))
            self.T[joint.idx_v : joint.idx_v + joint.nv, own_v] = np.eye(joint.nv)
        return bool(np.linalg.matrix_rank(self.T) == self.robot.nv)

    def set(self, q: Array, v: Array) -> None:
        """Take a state of the mechanism."""
        pin, model = self.pin, self.model
        self.q, rate = pin.neutral(model), self.T @ v
        for joint, own_q, _ in self.places:
            value = q[own_q]
            if joint.nq == 2 and value.size == 1:  # an angle as cosine and sine
                value = np.array([np.cos(value[0]), np.sin(value[0])])
            self.q[joint.idx_q : joint.idx_q + joint.nq] = value
        self.shift = np.zeros(model.nv)
        needed = np.array(pin.rnea(model, self.data, self.q, rate, np.zeros(model.nv)))
        self.force = -needed - model.damping * rate  # damping, which it reads, and leaves out
        upper = np.triu(pin.crba(model, self.data, self.q))
        self.M = upper + np.triu(upper, 1).T

    def bias(self) -> Array:
        """Return the forces at acceleration zero, dampers included."""
        bias: Array = -self.T.T @ self.force
        return bias

    def moved(self, velocity: Array, time: float) -> Array:
        """Return the Jacobian of the loops after some time."""
        pin, model, data = self.pin, self.model, self.data
        if not self.loops:
            return np.zeros((0, model.nv))
        q = pin.integrate(model, self.q, velocity * time)
        pin.computeJointJacobians(model, data, q)
        rows: list[Array] = []
        for loop, own in zip(self.loops, self.loop_data):
            loop.calc(model, data, own)
            rows.append(pin.getConstraintJacobian(model, data, loop, own))
        return np.vstack(rows)
