"""
Forward dynamics of the closed chain: A theta_G'' + b = tau_G, Eqs. (23), (24) of the papers.

The compiled path projects and factors A cluster by cluster. What it does not need for the
accelerations - A and b as a whole, constraint forces - is computed when asked for.
"""

from functools import cached_property

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.actuation import actuator_vector, refuse_non_finite
from closed_chain_dynamics.dynamics.coordinates import (
    AtPose,
    actuator_rows,
    constraint_jacobian,
    learn_rank,
)
from closed_chain_dynamics.dynamics.singularities import check_policy, hold_forward, refuse
from closed_chain_dynamics.dynamics.tree import NO_WRENCHES, body_wrenches, mass_matrix
from closed_chain_dynamics.kernels import layout as at

__all__ = ['ForwardDynamics', 'forward_dynamics']

NO_FORCE = np.zeros(0)
_kernel = kernels.Strict(kernels.compute_forward_dynamics)


class ForwardDynamics(AtPose):
    """
    Accelerations that torques give, and the forces inside.

    `acceleration`: theta_O'', (nv,); `singular`: whether the pose is singular and a policy was at
    work; `robot`, `q`, `v`, `tau_A`, `extra`, `wrenches`: what was asked.
    """

    singular = False

    def __init__(self, acceleration, asked):
        self.acceleration, self._asked = acceleration, asked

    def __repr__(self):
        return f'ForwardDynamics(acceleration={self.acceleration!r}, singular={self.singular})'

    robot, q, v, tau_A, extra, wrenches = (
        property(lambda self, place=place: self._asked[place]) for place in range(6)
    )

    @cached_property
    def A(self):
        """Return the inertia matrix W^T M W of the generalized coordinates."""
        W = self.coordinates.W
        return W.T @ mass_matrix(self.robot, self.q) @ W

    @cached_property
    def b(self):
        """Return b with A theta_G'' + b = tau_G: velocity, gravity and passive forces."""
        return self.tau_G - self.A @ self.theta_G

    @property
    def theta_G(self):
        """Return the generalized accelerations theta_G'', (mobility,)."""
        names = self.robot.coordinate_names
        return self.acceleration[[names.index(name) for name in self.coordinates.independent]]

    @property
    def tau_G(self):
        """Return the generalized force of the actuators, S^T tau_A, Eq. (8)."""
        c = self.coordinates
        return c.S.T @ self.tau_A + (0.0 if self.extra is None else c.W.T @ self.extra)

    @cached_property
    def constraint_forces(self):
        """
        Return the forces in the rows of J_C, (rows,) [N or N m], on the child against the parent.

        They solve J_C^T lambda = tau_O - tau; of least norm where rows are redundant.
        """
        from closed_chain_dynamics.dynamics.reactions import multipliers

        return multipliers(self)

    def check(self):
        """
        Return how well the answer holds, three numbers that should be near zero.

        `loops`: largest J_C a + J_C' v; `motion`: relative residual of the equations of motion
        of the tree with the constraint forces; `power`: relative power of the constraint forces.
        """
        from closed_chain_dynamics.dynamics.reactions import motion_residual

        J_C, _, bias = constraint_jacobian(self.robot, self.q, self.v)
        missing, unit = motion_residual(self)
        force = J_C.T @ self.constraint_forces
        return {
            'loops': float(np.abs(J_C @ self.acceleration + bias).max(initial=0.0)),
            'motion': float(np.abs(missing - force).max(initial=0.0) / unit),
            'power': float(abs(force @ self.v) / (np.abs(force) @ np.abs(self.v) + 1e-300)),
        }


def forward_dynamics(robot, q, v, tau=None, *, wrenches=None, extra=None, singularity='damp'):
    """
    Return the accelerations of the closed chain under actuator torques, Eq. (24) of paper 2.

    `tau`: torques by actuator name, or an array over `robot.actuator_names`; None is zero.
    `wrenches`: {link: (6,)} in world axes at the link origin; `extra`: forces on any coordinate
    of the tree, (nv,), whether it has an actuator or not. `singularity`: what to do in a singular
    pose, 'damp', 'hold' or 'refuse'; see singularities.py.
    """
    if not robot.rank_known:
        learn_rank(robot, robot.vector(q, robot.nq, 'q'))
    forces = body_wrenches(robot, q, wrenches) if wrenches else NO_WRENCHES
    added = NO_FORCE if extra is None else robot.vector(extra, robot.nv, 'extra')
    acceleration = np.empty(robot.nv)
    try:  # the usual case costs nothing: the kernel itself looks at types and sizes
        status = _kernel.call(robot.mi, robot.mf, robot.w, q, v, tau, added, forces, acceleration)
    except TypeError:
        status = at.WRONG_SIZE
    if status == at.WRONG_SIZE:
        q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
        tau = actuator_vector(robot, tau, 'tau')
        status = _kernel.checked(
            robot.mi, robot.mf, robot.w, q, v, tau, added, forces, acceleration
        )
    if status and status != at.SINGULAR:
        refuse_non_finite(robot, tau, 'tau')
        robot.raise_for(status, q, v, added)
    result = ForwardDynamics(acceleration, (robot, q, v, tau, extra, wrenches))
    if status == at.SINGULAR or singularity != 'damp':
        result.singular = status == at.SINGULAR
        check_policy(robot, singularity)
        if result.singular and singularity == 'refuse':
            refuse(robot, result.coordinates)
        if result.singular and singularity == 'hold':
            result.acceleration = hold_forward(robot, result, _driving_force(result))
    return result


def _driving_force(f):
    """Return what drives the tree at zero acceleration, tau - h with all that acts, (nv,)."""
    from closed_chain_dynamics.dynamics.inverse import inverse_dynamics

    needed = inverse_dynamics(f.robot, f.q, f.v, np.zeros(f.robot.nv), wrenches=f.wrenches).tau_O
    given = actuator_rows(f.robot, f.q).T @ f.tau_A
    return given - needed + (0.0 if f.extra is None else f.extra)
