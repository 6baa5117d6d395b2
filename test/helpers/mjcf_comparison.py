"""What MuJoCo computes of an MJCF file, in the order and axes of a mechanism read from it."""

from pathlib import Path

import mujoco
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import JointType


def mujoco_model(source):
    """Return MuJoCo's model of a path or a text."""
    if isinstance(source, Path):
        model = mujoco.MjModel.from_xml_path(str(source))
    else:
        model = mujoco.MjModel.from_xml_string(source)
    return model


class Twin:
    """A mechanism and MuJoCo's model of the same file, both in one state."""

    def __init__(self, robot, source):
        self.robot, self.model = robot, mujoco_model(source)
        self.data = mujoco.MjData(self.model)
        # both list joints body by body, so that unnamed ones are found by their number
        self.joints = [
            joint.name for joint in robot.description.joints if joint.type is not JointType.FIXED
        ]

    def set(self, q, v):
        """Give MuJoCo the state; keep T with qvel = T v, and dT/dt v."""
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
                R = np.zeros(9)
                mujoco.mju_quat2Mat(R, value[3:])
                R = R.reshape(3, 3)
                self.T[dof : dof + 3, own_v.start : own_v.start + 3] = R
                self.shift[dof : dof + 3] = R @ np.cross(rate[3:], rate[:3])
            data.qpos[at : at + value.size] = value
        data.qvel[:] = self.T @ v
        data.eq_active[:] = model.eq_active0
        mujoco.mj_forward(model, data)

    def mass_matrix(self):
        """Return M in the coordinates of the mechanism."""
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        self.M = M
        return self.T.T @ M @ self.T

    def bias(self):
        """Return the forces of the joints at acceleration zero, dampers included."""
        self.mass_matrix()
        needed = self.data.qfrc_bias - self.data.qfrc_damper - self.data.qfrc_gravcomp
        return self.T.T @ (needed + self.M @ self.shift)

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
        'M': 0.0,
        'bias': 0.0,
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
        M = twin.mass_matrix()
        bias = twin.bias()
        own_bias = ccd.newton_euler(robot, q, v, np.zeros(robot.nv))
        for kind, own, expected in (('M', ccd.mass_matrix(robot, q), M), ('bias', own_bias, bias)):
            # forces that cancel leave the rounding of those that made them
            scale = max(np.abs(expected).max(initial=0.0), np.abs(M).max(initial=1e-9) * v @ v)
            found[kind] = max(found[kind], np.abs(own - expected).max(initial=0.0) / scale)
    return found
