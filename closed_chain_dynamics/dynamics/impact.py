"""
Velocity boundary condition after links are connected (paper 2, section V-C).

Symbol      Meaning                                                     Equation
v, v_after  velocities of the tree before and after                     theta' and theta' + Delta
J_C         rows of the connections that hold after                     J_1 - J_2 of (36)
impulse     J_C^T impulse = M (v_after - v), of least norm              F of (25), on the child

A blow acts along the normal of a contact only: friction at the instant of a touch-down is not
part of it, and begins with the motion after it.
"""

from dataclasses import dataclass, field

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.coordinates import constraint_jacobian, row_owners
from closed_chain_dynamics.dynamics.link_loads import cross
from closed_chain_dynamics.dynamics.tree import center_of_mass, energy, momentum
from closed_chain_dynamics.kernels import layout as at

__all__ = ['Impact', 'body_record', 'impact', 'impact_on_bodies']


@dataclass
class Impact:
    """A jump of velocities, and what passed through the joints in that instant."""

    v_after: np.ndarray
    impulse: np.ndarray  # in the rows of J_C, on the child against the parent [N s, N m s]
    energy_before: float  # kinetic [J]
    energy_after: float
    momentum_before: np.ndarray  # linear, and angular about the centre of mass, (6,)
    momentum_after: np.ndarray
    owners: list = field(repr=False, default_factory=list)
    passed: dict = field(repr=False, default_factory=dict)

    @property
    def energy_lost(self):
        """Return the kinetic energy that the connection took [J]; never negative."""
        return self.energy_before - self.energy_after

    def impulse_of(self, joint):
        """
        Return the impulse in the rows of a loop joint; in a joint of the tree all of it, (6,).

        That is force and moment on the child, at its origin, in world axes [N s, N m s].
        """
        if joint in self.passed:
            return self.passed[joint]
        return self.impulse[[row for row, name in enumerate(self.owners) if name == joint]]


def body_record(robot, q, v):
    """Return where all bodies are and how they move, for `impact_on_bodies`, (n, 18)."""
    q, v = robot.vector(q, robot.nq, 'q'), robot.vector(v, robot.nv, 'v')
    bodies = np.empty((robot.mi[at.N_BODIES], kernels.BODY_RECORD))
    status = kernels.compute_bodies(robot.mi, robot.mf, robot.w, q, v, bodies)
    if status:
        robot.raise_for(status, q, v)
    return bodies


def impact(robot, q, v, *, restitution=0.0):
    """
    Return the Impact of the loops that are connected now on a motion that may violate them.

    With `restitution` e the relative speed of what is caught turns round: e times as fast, which
    has a meaning for a single unilateral contact.
    """
    bodies = body_record(robot, q, v)
    return impact_on_bodies(robot, q, bodies, moved=False, v=v, restitution=restitution)


def impact_on_bodies(robot, q, bodies, *, joints=(), moved=True, v=None, restitution=0.0):
    """
    Return the Impact of joints and loops, as they are now, on bodies that moved as recorded.

    The structure may be another one since. `moved`: and so may the pose, where a gap was closed.
    `joints`: those of the tree whose impulse is asked for.
    """
    v_after, force = np.empty(robot.nv), np.empty(robot.nv)
    jump = np.empty((len(bodies), 6))
    status, before = kernels.compute_impact(
        robot.mi, robot.mf, robot.w, q, bodies.copy(), moved, v_after, jump, force
    )
    if status:
        robot.raise_for(status, q, v_after)
    if restitution:
        v_after = v_after + restitution * (v_after - v)
        jump, force = (1.0 + restitution) * jump, (1.0 + restitution) * force
    J_C, _, _ = constraint_jacobian(robot, q)
    impulse = np.linalg.lstsq(J_C.T, force, rcond=1e-10)[0] if len(J_C) else np.zeros(0)
    after, gained = momentum(robot, q, v_after), jump.sum(axis=0)
    arm = center_of_mass(robot, q) - robot.table(at.WORLD_W)[0, at.ORIGIN : at.ORIGIN + 3]
    gained[3:] -= cross(arm, gained[:3])
    passed = _passed(robot, joints, jump, impulse) if joints else {}
    return Impact(
        v_after,
        impulse,
        before,
        energy(robot, q, v_after)[0],
        after - gained,
        after,
        row_owners(robot),
        passed,
    )


def _passed(robot, joints, jump, impulse):
    """
    Return what joints of the tree passed on, {joint: (6,)}: the jumps less what loops gave.

    To be called after `constraint_jacobian`, which leaves placements and the covectors of J_C.
    """
    body_i, body_w = robot.table(at.BODY_I), robot.table(at.BODY_W)
    covectors, total = robot.table(at.ROW_W)[:, at.ROW_F : at.ROW_F + 6], jump.copy()
    for loop in robot.table(at.LOOP_I):
        if loop[at.LOOP_ACTIVE]:
            mine = slice(loop[at.LOOP_ROW], loop[at.LOOP_ROW] + loop[at.LOOP_N_ROWS])
            wrench = impulse[mine] @ covectors[mine]
            total[loop[at.LOOP_BODY_2]] -= wrench
            total[loop[at.LOOP_BODY_1]] += wrench
    for body in range(len(total) - 1, 0, -1):  # a child stands behind its parent
        total[body_i[body, at.PARENT]] += total[body]
    total[:, 3:] -= cross(body_w[:, at.P : at.P + 3], total[:, :3])
    return {name: total[robot._packing.joints[name]] for name in joints}
