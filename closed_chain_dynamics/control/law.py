"""
Torques that move a closed chain along a reference (papers 1 and 2, used as a control law).

computed_torque        theta_G'' = theta_d'' + K_d e' + K_p e, then tau_A = S^-T W^T tau_O
feedforward            the torques of the reference alone: nothing measured goes in
gravity_compensation   the torques that hold the measured pose against gravity and springs

The error e is taken on the manifold, as a step of the velocities that leads from the pose to the
reference; e' is exact to first order in e for rotations.

With too few actuators no torque gives the wanted theta_G''. Then the accelerations along
N, S N = 0, which no actuator drives, are left to the dynamics, and those of the actuated joints
are as wanted: N^T (A (theta_G'' + N y) + b) = 0 gives y. The residual is what the motion as wanted
would have needed beyond the actuators. Levers below `weak_lever` count as none, so that torques
stay bounded near poses where an actuator loses its grip.
"""

from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.actuation import POLICIES, actuator_vector
from closed_chain_dynamics.dynamics.coordinates import actuator_rows, coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.singularities import check_policy, refuse
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.errors import ActuationError, NameNotFound, StateError
from closed_chain_dynamics.kernels import layout as at
from closed_chain_dynamics.kernels.tangent import compute_tangent

__all__ = ['MODES', 'Command', 'TorqueController']

MODES = ('computed_torque', 'feedforward', 'gravity_compensation')
SMALL_SHARE = 1e-9  # of tau_G; a residual below it is rounding


@dataclass
class Command:
    """Torques, and what has to be known about them."""

    tau_A: np.ndarray  # (actuators,) [N m or N], before any limit
    residual: dict = field(default_factory=dict)  # of tau_G by generalized coordinate
    singular: bool = False  # whether the pose is singular and the policy was at work
    error: float = 0.0  # largest e of the actuated coordinates [rad or m]


class TorqueController:
    """
    Computes actuator torques from a state and a reference.

    `kp` [1/s^2] and `kd` [1/s]: numbers, or {joint or coordinate: number} with 'default'.
    `policy`, `weights`, `preload`: for redundant actuators, see `actuator_torques`.
    `singularity`: 'damp', 'hold' or 'refuse', see singularities.py; 'refuse' also refuses poses
    nearer than `singular_distance` (see Coordinates.distance).
    """

    def __init__(
        self,
        robot,
        *,
        mode='computed_torque',
        kp=400.0,
        kd=40.0,
        policy='minimum_norm',
        weights=None,
        preload=None,
        singularity='damp',
        singular_distance=1e-4,
        weak_lever=1e-3,
    ):
        if mode not in MODES:
            raise StateError(
                f'unknown mode {mode!r}',
                where=robot.name,
                repair=f'Choose one of {", ".join(MODES)}.',
            )
        if policy not in POLICIES:
            raise ActuationError(
                f'unknown policy {policy!r}',
                where=robot.name,
                repair=f'Choose one of {", ".join(POLICIES)}.',
            )
        if not robot.actuator_names:
            raise ActuationError(
                'no joint is actuated',
                where=robot.name,
                repair='Mark joints cc:role="actuated", or load with actuated=[...].',
            )
        check_policy(robot, singularity)
        for values, what in ((weights, 'weights'), (preload, 'preload')):
            actuator_vector(robot, values, what)
        self.robot, self.mode = robot, mode
        self._gains_given, self._singularity = (kp, kd), singularity
        self._redundancy = {'policy': policy, 'weights': weights, 'preload': preload}
        self._singular_distance, self._weak_lever = singular_distance, weak_lever
        self.restructured()

    def restructured(self):
        """Take note that joints were connected or cut."""
        nv = self.robot.nv
        self._kp, self._kd = (self._gains(given) for given in self._gains_given)
        self._W, self._drift, self._error = np.empty((nv, nv)), np.empty(nv), np.empty(nv)
        self._zero = np.zeros(nv)
        on_loop = self.robot.table(at.ACTUATOR_I)[:, at.ACTUATOR_ON_LOOP].any()
        # rows of motors on the tree are the same in all poses
        self._rows = None if on_loop else actuator_rows(self.robot, self.robot.neutral())

    def _gains(self, given):
        """Return a gain for every velocity, (nv,)."""
        robot = self.robot
        named = given if isinstance(given, dict) else {'default': given}
        gains = np.full(robot.nv, float(named.get('default', 0.0)))
        for name, value in named.items():
            if name in robot.joint_names:
                gains[robot.joint_slices(name)[1]] = value
            elif name in robot.coordinate_names:
                gains[robot.coordinate_names.index(name)] = value
            elif name != 'default':
                raise NameNotFound(
                    'joint or coordinate',
                    name,
                    [*robot.joint_names, *robot.coordinate_names],
                    where='gains',
                )
        if not (np.isfinite(gains).all() and (gains >= 0.0).all()):
            raise StateError(
                'gains must be finite and not negative',
                where=robot.name,
                repair='kp in 1/s^2, kd in 1/s; kd = 2 sqrt(kp) does not overshoot.',
            )
        return gains

    def torques(self, q, v, reference=None):
        """
        Return the Command for a complete state, and a complete reference (q_d, v_d, a_d).

        The mode 'feedforward' looks at the reference only, 'gravity_compensation' at q only.
        """
        if self.mode == 'gravity_compensation':
            return self.gravity(q)
        if reference is None:
            raise StateError(
                'there is no reference',
                where=self.robot.name,
                repair='Give q_d, v_d, a_d, or choose mode gravity_compensation.',
            )
        q_d, v_d, a_d = reference
        if self.mode == 'feedforward':
            return self._command(q_d, v_d, a_d)
        a, residual, error = self._acceleration(q, v, q_d, v_d, a_d)
        command = self._command(q, v, a)
        command.residual, command.error = residual, error
        return command

    def gravity(self, q):
        """Return the Command that holds a pose: v = 0, a = 0."""
        return self._command(q, self._zero, self._zero)

    def _acceleration(self, q, v, q_d, v_d, a_d):
        """Return W theta_G'' + W' theta_G' with feedback, (nv,), the residual, and the error."""
        robot = self.robot
        status = compute_tangent(robot.mi, robot.mf, robot.w, q, v, self._W, self._drift)
        if status:
            robot.raise_for(status, q, v)
        kernels.difference(robot.mi, q, q_d, self._error)
        dofs = robot.table(at.DOF_I)
        theta_G = dofs[:, at.DOF_DEPENDENT] == 0
        e = self._error[theta_G]
        feedback = (self._kd * (v_d - v) + self._kp * self._error)[theta_G]
        W, drift, wanted = self._W[:, : e.size], self._drift, a_d[theta_G]
        if self._singularity == 'refuse':
            self._refuse_singular(coordinates(robot, q))
        if (dofs[theta_G, at.DOF_ACTUATOR] >= 0).all():  # S has unit rows: all can be driven
            return W @ (wanted + feedback) + drift, {}, float(np.abs(e).max(initial=0.0))
        S = (self._rows if self._rows is not None else actuator_rows(robot, q)) @ W
        squares, V = np.linalg.eigh(S.T @ S)
        weak = squares <= self._weak_lever**2 * max(squares.max(initial=0.0), 1e-300)
        driven, N = V[:, ~weak], V[:, weak]
        a = W @ (wanted + driven @ (driven.T @ feedback)) + drift
        error = float(np.abs(S @ e).max(initial=0.0))
        if not N.size:
            return a, {}, error
        needed = inverse_dynamics(robot, q, v, a)
        force, N_O = N.T @ needed.tau_G, W @ N
        y = np.linalg.solve(N_O.T @ mass_matrix(robot, q) @ N_O, force)
        names = [name for name, free in zip(robot.coordinate_names, theta_G) if free]
        return a - N_O @ y, _by_name(names, N @ force, needed.tau_G), error

    def _refuse_singular(self, c):
        if c.lost_rank or c.distance < self._singular_distance:
            refuse(self.robot, c)

    def _command(self, q, v, a):
        r = inverse_dynamics(
            self.robot, q, v, a, singularity=self._singularity, **self._redundancy
        )
        if self.mode == 'computed_torque':  # has been looked at before
            return Command(r.tau_A, {}, r.singular)
        return Command(
            r.tau_A, _by_name(r.coordinates.independent, r.residual, r.tau_G), r.singular
        )


def _by_name(names, residual, tau_G):
    small = SMALL_SHARE * max(np.abs(tau_G).max(initial=0.0), 1.0)
    return {name: float(value) for name, value in zip(names, residual) if abs(value) > small}
