"""
Inverse dynamics of the closed chain in the four steps of paper 1, section 2.1.

(1) W and S; (2) tau_O of the tree by Newton-Euler; (3) tau_G = W^T tau_O; (4) tau_A from
S^T tau_A = tau_G, which is tau_A = S^-T W^T tau_O when actuators and mobility match.
"""

from functools import cached_property

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.actuation import actuator_torques
from closed_chain_dynamics.dynamics.coordinates import (
    AtPose,
    actuator_rows,
    constraint_jacobian,
    learn_rank,
)
from closed_chain_dynamics.dynamics.singularities import branch_tangent, check_policy, refuse
from closed_chain_dynamics.dynamics.tree import NO_WRENCHES, body_wrenches
from closed_chain_dynamics.kernels import layout as at

__all__ = ['InverseDynamics', 'inverse_dynamics']

_kernel = kernels.Strict(kernels.compute_inverse_dynamics)


class InverseDynamics(AtPose):
    """
    Forces that a motion needs; every array is in the mechanism's order of names.

    `tau_O`: of the tree, (nv,); `tau_G`: generalized forces W^T tau_O, (mobility,); `tau_A`: of
    the actuators; `singular`: whether the pose is singular and a policy was at work; `robot`, `q`,
    `v`, `a`, `wrenches`: what was asked.
    """

    singular = False

    def __init__(self, forces, asked):
        self._forces, self._asked = forces, asked  # as the kernel writes them

    @cached_property
    def tau_O(self):
        """Return the forces on the tree, (nv,)."""
        return self._forces[1 : 1 + len(self.v)]

    @cached_property
    def tau_A(self):
        """Return the torques of the actuators, (actuators,)."""
        first = 1 + len(self.v)
        return self._forces[first : first + len(self.robot.actuator_names)]

    @cached_property
    def tau_G(self):
        """Return the generalized forces W^T tau_O, (mobility,), Eq. (7)."""
        first = 1 + len(self.v) + len(self.robot.actuator_names)
        return self._forces[first : first + int(self._forces[0])]

    def __repr__(self):
        return f'InverseDynamics(tau_A={self.torques()}, singular={self.singular})'

    robot, q, v, a, wrenches = (
        property(lambda self, place=place: self._asked[place]) for place in range(5)
    )

    @cached_property
    def residual(self):
        """Return tau_G - S^T tau_A, (mobility,): what the motion needs and no actuator gives."""
        return self.tau_G - self.coordinates.S.T @ self.tau_A

    @property
    def residual_by_name(self):
        """Return the residual by generalized coordinate, without those that are met."""
        scale = max(np.abs(self.tau_G).max(initial=0.0), 1.0)
        return {
            name: float(value)
            for name, value in zip(self.coordinates.independent, self.residual)
            if abs(value) > 1e-9 * scale
        }

    def torques(self):
        """Return the actuator torques by name."""
        return dict(zip(self.robot.actuator_names, self.tau_A.tolist()))

    def check(self):
        """
        Return how well the answer holds, three numbers that should be near zero.

        `loops`: largest J_C a + J_C' v; `power`: relative difference of the power of tau_A plus
        residual and of tau_O; `forward`: relative difference of forward dynamics and `a`.
        """
        from closed_chain_dynamics.dynamics.forward import forward_dynamics

        J_C, _, bias = constraint_jacobian(self.robot, self.q, self.v)
        c = self.coordinates
        independent = [self.robot.coordinate_names.index(name) for name in c.independent]
        rate = self.v[independent]
        power_tree = self.tau_O @ (c.W @ rate)
        power = self.tau_A @ (c.S @ rate) + self.residual @ rate
        unit = np.abs(self.tau_O) @ np.abs(self.v) + 1e-300
        missing = np.zeros(self.robot.nv)
        missing[independent] = self.residual
        forward = forward_dynamics(
            self.robot, self.q, self.v, self.tau_A, extra=missing, wrenches=self.wrenches
        ).acceleration
        return {
            'loops': float(np.abs(J_C @ self.a + bias).max(initial=0.0)),
            'power': float(abs(power - power_tree) / unit),
            'forward': float(
                np.abs(forward - self.a).max(initial=0.0)
                / max(np.abs(self.a).max(initial=0.0), 1.0)
            ),
        }


def inverse_dynamics(
    robot,
    q,
    v,
    a,
    *,
    wrenches=None,
    policy='minimum_norm',
    weights=None,
    preload=None,
    singularity='damp',
):
    """
    Return the forces that a motion of the closed chain needs, Eqs. (7) to (9) of paper 1.

    q, v, a: a closed pose, velocities and accelerations that respect the loops (see `assemble`,
    `complete_velocity`, `complete_acceleration`). Springs, damping, friction, also that of
    sliding contacts, limit moments and `wrenches` ({link: (6,)}, world axes at the link origin)
    are part of the dynamics. `policy`, `weights` and `preload` decide when actuators are
    redundant: see `actuator_torques`.
    `singularity`: what to do in a singular pose, 'damp', 'hold' or 'refuse'; see singularities.py.
    """
    if not robot.rank_known:
        learn_rank(robot, robot.vector(q, robot.nq, 'q'))
    forces = body_wrenches(robot, q, wrenches) if wrenches else NO_WRENCHES
    out = np.empty(1 + 2 * robot.nv + len(robot.actuator_names))
    try:  # the usual case costs nothing: the kernel itself looks at types and sizes
        status = _kernel.call(robot.mi, robot.mf, robot.w, q, v, a, forces, out)
    except TypeError:
        status = at.WRONG_SIZE
    if status == at.WRONG_SIZE:
        q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
        a = robot.vector(a, robot.nv, 'a')
        status = _kernel.checked(robot.mi, robot.mf, robot.w, q, v, a, forces, out)
    if status and status not in (at.UNSOLVED, at.SINGULAR):
        robot.raise_for(status, q, v, a)
    result = InverseDynamics(out, (robot, q, v, a, wrenches))
    if (
        status
        or policy != 'minimum_norm'
        or singularity != 'damp'
        or preload is not None
        or weights is not None
    ):
        result.singular = status == at.SINGULAR
        check_policy(robot, singularity)
        if result.singular and singularity == 'refuse':
            refuse(robot, result.coordinates)
        W, rows = result.coordinates.W, actuator_rows(robot, q)
        if result.singular and singularity == 'hold':  # ask nothing of the motion that came free
            W = branch_tangent(robot, q, v, result.coordinates)

        def torques(force):
            return actuator_torques(
                robot, rows @ W, W.T @ force, policy=policy, weights=weights, preload=preload
            ).tau_A

        if robot.mi[at.N_CONTACTS]:
            _take_off_drag(result, rows, torques)
        result.tau_A = torques(result.tau_O)
    return result


def _take_off_drag(result, rows, torques):
    """Let the friction of sliding contacts do its part: what they drag, no actuator needs to."""
    from closed_chain_dynamics.dynamics.constraint_forces import drag, solve_multipliers

    robot, q, needed = result.robot, result.q, result.tau_O.copy()
    J_C = constraint_jacobian(robot, q)[0]

    def normal_forces(force):
        rest = needed - force
        return solve_multipliers(robot, J_C, rest - rows.T @ torques(rest))[0]

    result.tau_O[:] -= drag(robot, q, result.v, normal_forces)[0]
    result.tau_G[:] = result.coordinates.W.T @ result.tau_O
