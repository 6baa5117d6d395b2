"""
Whether the tool that a file was written for computes the same numbers: MuJoCo, or Pinocchio.

Both are imported only here and only when asked. States are random and the same for both; mass
matrices and forces are compared in the coordinates of the other tool. Loops are compared by the
accelerations at rest in a closed pose: MuJoCo's own equations of motion and rows of its equality
constraints, solved as hard constraints, because its solver makes them soft.
"""

from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.description.elements import JointType
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.tree import integrate, mass_matrix, newton_euler
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Unreadable', 'differences', 'engine_of']

Array = NDArray[np.float64]
STATES = 3  # random states that are compared
ROUNDING = 1e-12  # of the other tool, relative: what is less counts as nothing


class Unreadable(Exception):
    """The tool itself cannot read the file."""


def engine_of(path: Path) -> str:
    """Return the name of the tool that a file is written for, or '' where none is installed."""
    name = {'.xml': 'mujoco', '.urdf': 'pinocchio'}.get(path.suffix.lower(), '')
    if path.suffix.lower() == '.xml' and b'<mujoco' not in path.read_bytes():
        name = 'pinocchio'
    try:
        return name if name and import_module(name) else ''
    except ImportError:
        return ''


def differences(robot: Mechanism | None, path: Path, q: Array | None) -> dict[str, float]:
    """
    Return the largest differences to the own tool of a file, relative to its largest numbers.

    Without a mechanism only whether the tool reads the file is found out: Unreadable, or nothing.
    `q` is a closed pose, or None where there is none.
    """
    engine = engine_of(path)
    if not engine:
        return {}
    twin = (_MuJoCo if engine == 'mujoco' else _Pinocchio)(path)
    if robot is None:
        return {}
    twin.attach(robot)
    rng, found = np.random.default_rng(1), {'M': 0.0, 'bias': 0.0}
    for _ in range(STATES):
        pose = integrate(robot, robot.neutral(), rng.normal(size=robot.nv))
        v = rng.normal(size=robot.nv)
        M, bias = twin.equations(pose, v)
        own_M = twin.own(mass_matrix(robot, pose))
        own_bias = twin.own(newton_euler(robot, pose, v, np.zeros(robot.nv)))
        # forces that cancel leave the rounding of those that made them
        size = max(np.abs(bias).max(initial=0.0), np.abs(M).max(initial=1e-9) * float(v @ v))
        found['M'] = max(found['M'], _relative(own_M, M, np.abs(M).max(initial=1e-9)))
        found['bias'] = max(found['bias'], _relative(own_bias, bias, size))
    if q is not None and (expected := twin.acceleration(q)) is not None:
        try:
            own = twin.own(forward_dynamics(robot, q, np.zeros(robot.nv)).acceleration)
            size = max(np.abs(expected).max(initial=0.0), 1.0)
            found['acceleration'] = _relative(own, expected, size)
        except ClosedChainError:  # a singular pose has no accelerations to compare
            pass
    return found


def _relative(own: Array, expected: Array, size: float) -> float:
    return float(np.abs(own - expected).max(initial=0.0) / max(size, ROUNDING))


class _Pinocchio:
    """Pinocchio's reading of a URDF: its tree, for it knows no loops in files."""

    def __init__(self, path: Path) -> None:
        self.pin = import_module('pinocchio')
        try:
            self.model = self.pin.buildModelFromUrdf(str(path))
        except (ValueError, RuntimeError) as error:
            raise Unreadable(str(error)) from error
        self.data = self.model.createData()

    def attach(self, robot: Mechanism) -> None:
        """Find the joints of the mechanism in the model; those that differ are left out."""
        self.robot, self.places = robot, []
        for number in range(1, self.model.njoints):
            name, joint = self.model.names[number], self.model.joints[number]
            if name not in robot.joint_names:
                raise Unreadable(f'joint {name!r} is not one of the mechanism')
            own_q, own_v = robot.joint_slices(name)
            if own_v.stop - own_v.start != joint.nv:
                raise Unreadable(f'joint {name!r} is of another kind')
            self.places.append((joint, own_q, own_v))
        self.order = np.concatenate(
            [np.arange(own.start, own.stop) for _, _, own in self.places] or [np.zeros(0, int)]
        )

    def own(self, numbers: Array) -> Array:
        """Return numbers of the mechanism in the order of the model."""
        chosen: Array = numbers[np.ix_(*[self.order] * numbers.ndim)]
        return chosen

    def equations(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return M and the forces at acceleration zero."""
        pin, model = self.pin, self.model
        model.gravity.linear = self.robot.gravity
        their_q = pin.neutral(model)
        for joint, own_q, _ in self.places:
            value = q[own_q]
            if joint.nq == 2 and value.size == 1:  # an angle as cosine and sine
                value = np.array([np.cos(value[0]), np.sin(value[0])])
            their_q[joint.idx_q : joint.idx_q + joint.nq] = value
        their_v = v[self.order]
        bias = np.array(pin.rnea(model, self.data, their_q, their_v, np.zeros(model.nv)))
        bias += model.damping * their_v  # which it reads, and leaves out
        upper = np.triu(pin.crba(model, self.data, their_q))
        M = upper + np.triu(upper, 1).T
        return M, bias

    def acceleration(self, _: Array) -> Array | None:
        """Return nothing: the file's loops are unknown to it."""
        return None


class _MuJoCo:
    """MuJoCo's reading of an MJCF file."""

    def __init__(self, path: Path) -> None:
        self.mujoco = import_module('mujoco')
        try:
            self.model = self.mujoco.MjModel.from_xml_path(str(path))
        except (ValueError, self.mujoco.FatalError) as error:
            raise Unreadable(str(error)) from error
        self.data = self.mujoco.MjData(self.model)

    def attach(self, robot: Mechanism) -> None:
        """Find the joints; both list them body by body, so that unnamed ones have numbers."""
        self.robot = robot
        self.joints = [
            joint.name for joint in robot.description.joints if joint.type is not JointType.FIXED
        ]
        if len(self.joints) != self.model.njnt:
            raise Unreadable(f'it has {self.model.njnt} joints, not {len(self.joints)}')

    def _set(self, q: Array, v: Array) -> None:
        """Give it the state; keep T with qvel = T v, and dT/dt v."""
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
        self.mujoco.mj_forward(model, data)
        self.M = np.zeros((model.nv, model.nv))
        self.mujoco.mj_fullM(model, data, self.M)

    def own(self, numbers: Array) -> Array:
        """Return numbers of the mechanism as they are: it is MuJoCo's that are brought over."""
        return numbers

    def equations(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return M and the forces at acceleration zero, dampers included."""
        self._set(q, v)
        data = self.data
        needed = data.qfrc_bias - data.qfrc_damper - data.qfrc_gravcomp
        return self.T.T @ self.M @ self.T, self.T.T @ (needed + self.M @ self.shift)

    def acceleration(self, q: Array) -> Array | None:
        """Return the accelerations at rest with MuJoCo's equality constraints made hard."""
        self._set(q, np.zeros(self.robot.nv))
        model, data, mujoco = self.model, self.data, self.mujoco
        rows = np.zeros((data.nefc, model.nv))
        if mujoco.mj_isSparse(model):
            mujoco.mju_sparse2dense(
                rows, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
            )
        else:
            rows[:] = data.efc_J.reshape(data.nefc, model.nv)
        J = rows[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
        free = np.linalg.solve(self.M, data.qfrc_smooth)
        if len(J):
            inverse = np.linalg.solve(self.M, J.T)
            free = free - inverse @ np.linalg.lstsq(J @ inverse, J @ free, rcond=1e-9)[0]
        expected: Array = np.linalg.lstsq(self.T, free, rcond=None)[0]
        return expected
