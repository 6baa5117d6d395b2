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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics import kernels
from closed_chain_dynamics.control.singularity_guard import SingularityGuard
from closed_chain_dynamics.dynamics.actuation import POLICIES, actuator_vector
from closed_chain_dynamics.dynamics.constraints import actuator_rows
from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates, coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.singularities import check_policy, refuse
from closed_chain_dynamics.dynamics.tree import mass_matrix
from closed_chain_dynamics.errors import ActuationError, NameNotFound, StateError
from closed_chain_dynamics.kernels import records as at, torque_law
from closed_chain_dynamics.kernels.tangent import compute_tangent
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['MODES', 'Command', 'Target', 'TorqueController']

MODES = ('computed_torque', 'feedforward', 'gravity_compensation')
HELD_BEFORE = 2.0  # distances that refuse a pose, at which a reference is held
SMALL_SHARE = 1e-9  # of tau_G; a residual below it is rounding

Gains: TypeAlias = float | Mapping[str, float]
Torques: TypeAlias = Mapping[str, float] | ArrayLike | None
Target: TypeAlias = tuple[Vector, Vector, Vector]  # q_d, v_d, a_d, complete


class _Redundancy(TypedDict):
    """How redundant actuators share the work, see `actuator_torques`."""

    policy: str
    weights: Torques
    preload: Torques


@dataclass(frozen=True)
class Command:
    """Torques, and what has to be known about them."""

    tau_A: Vector  # (actuators,) [N m or N], before any limit
    residual: dict[str, float] = field(default_factory=dict)  # of tau_G by coordinate
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
        robot: Mechanism,
        *,
        mode: str = 'computed_torque',
        kp: Gains = 400.0,
        kd: Gains = 40.0,
        policy: str = 'minimum_norm',
        weights: Torques = None,
        preload: Torques = None,
        singularity: str = 'damp',
        singular_distance: float = 1e-2,
        weak_lever: float = 1e-3,
    ) -> None:
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
        self._gains_given, self.singularity = (kp, kd), singularity
        self._redundancy: _Redundancy = {'policy': policy, 'weights': weights, 'preload': preload}
        self._singular_distance, self._weak_lever = singular_distance, weak_lever
        self._is_plain = (policy, singularity) == ('minimum_norm', 'damp') and (
            weights is None and preload is None
        )
        self.restructured()

    def singularity_guard(self) -> SingularityGuard | None:
        """Return what keeps references further away than the law refuses; None where it damps."""
        if self.singularity == 'damp':
            return None
        return SingularityGuard(self.robot, HELD_BEFORE * self._singular_distance)

    def for_copy(self, robot: Mechanism) -> 'TorqueController':
        """Return the same controller for a copy of its mechanism."""
        kp, kd = self._gains_given
        return TorqueController(
            robot,
            mode=self.mode,
            kp=kp,
            kd=kd,
            singularity=self.singularity,
            singular_distance=self._singular_distance,
            weak_lever=self._weak_lever,
            **self._redundancy,
        )

    def restructured(self) -> None:
        """Take note that joints were connected or cut."""
        nv = self.robot.nv
        self._gains = torque_law.Gains(*map(self._gain, self._gains_given))
        self._W, self._drift, self._error = np.empty((nv, nv)), np.empty(nv), np.empty(nv)
        self._zero, self._wanted = np.zeros(nv), np.empty(nv)
        self._out = np.empty(2 + 2 * nv + len(self.robot.actuator_names))
        on_loop = self.robot.structure.actuators['on_loop'].any()
        # rows of motors on the tree are the same in all poses
        self._rows = None if on_loop else actuator_rows(self.robot, self.robot.neutral())

    def _gain(self, given: Gains) -> Vector:
        """Return a gain for every velocity, (nv,)."""
        robot = self.robot
        named = given if isinstance(given, Mapping) else {'default': given}
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

    def torques(self, q: Vector, v: Vector, reference: Target | None = None) -> Command:
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
        if self.mode == 'feedforward':
            return self._command(*reference)
        command = self._whole_law(q, v, reference)
        if command is not None:
            return command
        a, residual, error = self._acceleration(q, v, reference)
        return replace(self._command(q, v, a), residual=residual, error=error)

    def _whole_law(self, q: Vector, v: Vector, reference: Target) -> Command | None:
        """Return the Command in one compiled call; None where it takes more than that."""
        robot = self.robot
        if not (self._is_plain and robot.rank_known):
            return None
        target = torque_law.Target(*reference)
        status = torque_law.compute_law(
            robot.handle, q, v, target, self._gains, self._wanted, self._out
        )
        if status in (at.UNSOLVED, at.SINGULAR):
            return None
        if status:
            robot.raise_for(status, q, v, self._wanted)
        first = 1 + robot.nv
        tau_A = self._out[first : first + len(robot.actuator_names)].copy()
        return Command(tau_A, error=float(self._out[-1]))

    def gravity(self, q: Vector) -> Command:
        """Return the Command that holds a pose: v = 0, a = 0."""
        return self._command(q, self._zero, self._zero)

    def _acceleration(
        self, q: Vector, v: Vector, reference: Target
    ) -> tuple[Vector, dict[str, float], float]:
        """Return W theta_G'' + W' theta_G' with feedback, (nv,), the residual, and the error."""
        robot, (q_d, v_d, a_d) = self.robot, reference
        status = compute_tangent(robot.handle, q, v, self._W, self._drift)
        if status:
            robot.raise_for(status, q, v)
        kernels.difference(robot.handle, q, q_d, self._error)
        dofs = robot.structure.dofs
        theta_G = dofs['dependent'] == 0
        e = self._error[theta_G]
        feedback = (self._gains.kd * (v_d - v) + self._gains.kp * self._error)[theta_G]
        W, drift, wanted = self._W[:, : e.size], self._drift, a_d[theta_G]
        if self.singularity == 'refuse':
            self._refuse_singular(coordinates(robot, q))
        if (dofs['actuator'][theta_G] >= 0).all():  # S has unit rows: all can be driven
            return W @ (wanted + feedback) + drift, {}, float(np.abs(e).max(initial=0.0))
        S = (self._rows if self._rows is not None else actuator_rows(robot, q)) @ W
        squares, V = np.linalg.eigh(S.T @ S)
        weak = squares <= self._weak_lever**2 * max(squares.max(initial=0.0), 1e-300)
        driven, N = V[:, ~weak], V[:, weak]
        a: Vector = W @ (wanted + driven @ (driven.T @ feedback)) + drift
        error = float(np.abs(S @ e).max(initial=0.0))
        if not N.size:
            return a, {}, error
        needed = inverse_dynamics(robot, q, v, a).tau_G
        force, N_O = N.T @ needed, W @ N
        y = np.linalg.solve(N_O.T @ mass_matrix(robot, q) @ N_O, force)
        names = [name for name, free in zip(robot.coordinate_names, theta_G) if free]
        return a - N_O @ y, _by_name(names, N @ force, needed), error

    def _refuse_singular(self, c: Coordinates) -> None:
        # A link that stands still for a moment does not keep actuators from driving the rest.
        near = min((min(d.loops, d.actuators) for d in c.distances.values()), default=np.inf)
        if c.lost_rank or near < self._singular_distance:
            refuse(self.robot, c)

    def _command(self, q: Vector, v: Vector, a: Vector) -> Command:
        r = inverse_dynamics(self.robot, q, v, a, singularity=self.singularity, **self._redundancy)
        if self.mode == 'computed_torque':  # has been looked at before
            return Command(r.tau_A, {}, r.singular)
        return Command(
            r.tau_A, _by_name(r.coordinates.independent, r.residual, r.tau_G), r.singular
        )


def _by_name(names: list[str], residual: Vector, tau_G: Vector) -> dict[str, float]:
    small = SMALL_SHARE * max(float(np.abs(tau_G).max(initial=0.0)), 1.0)
    return {name: float(value) for name, value in zip(names, residual) if abs(value) > small}
