"""
Generalized coordinates of a closed chain (paper 2, section II).

Symbol      Meaning                                                        Shape
theta_O     joint positions of the tree after the virtual cut              (nv,) as velocities
J_C         constraint Jacobian of all loops, Eq. (11)                     (rows, nv)
m           rank of J_C                                                    Eq. (12)
theta_G     generalized coordinates, N_F = nv - m of theta_O               Eq. (13)
theta_S     the other m, dependent                                         Eq. (14)
H           d theta_S / d theta_G = -J_S^-1 J_G                            (m, N_F), Eq. (17)
W           d theta_O / d theta_G                                          (nv, N_F), Eq. (4)
S           d theta_A / d theta_G                                          (motors, N_F), Eq. (6)

The paper counts the cut joints among theta_J; here their columns are eliminated row by row (see
kernels/loops.py), and their rates are `L theta_O'`, so that a motor on one has a row in S.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.dynamics.explanation import explain
from closed_chain_dynamics.dynamics.singularities import lost_motion
from closed_chain_dynamics.kernels import layout as at

__all__ = ['Coordinates', 'constraint_jacobian', 'coordinates', 'loop_jacobian', 'loop_positions']

SINGULAR_DISTANCE = 1e-4  # below this the pose counts as close to a singularity


def constraint_jacobian(robot, q, v=None):
    """
    Return J_C (rows, nv), Eq. (11), the position errors (rows,) and the bias J_C' theta' (rows,).

    Rows stand loop by loop in the order of `robot.loop_names`, open loops left out, then one per
    coupling; linear rows in metres along axes of the parent's loop frame, then turning rows.
    """
    q = robot.vector(q, robot.nq, 'q')
    v = robot._zeros if v is None else robot.vector(v, robot.nv, 'v')
    rows = robot.mi[at.N_ROWS]
    J_C, error, bias = np.empty((rows, robot.nv)), np.empty(rows), np.empty(rows)
    status = kernels.compute_constraints(robot.mi, robot.mf, robot.w, q, v, J_C, error, bias)
    if status:
        robot.raise_for(status, q, v)
    return J_C, error, bias


def _loop_kinematics(robot, q):
    q = robot.vector(q, robot.nq, 'q')
    n = len(robot.loop_coordinate_names)
    L, positions = np.empty((n, robot.nv)), np.empty(n)
    status = kernels.compute_loop_jacobian(
        robot.mi, robot.mf, robot.w, q, robot._zeros, L, positions
    )
    if status:
        robot.raise_for(status, q)
    return L, positions


def loop_jacobian(robot, q):
    """Return L with the rates of all loop joints = L theta_O', (loop coordinates, nv)."""
    return _loop_kinematics(robot, q)[0]


def loop_positions(robot, q):
    """Return the position of every coordinate of every loop joint, {name: rad or m}."""
    return dict(zip(robot.loop_coordinate_names, _loop_kinematics(robot, q)[1]))


@dataclass
class Coordinates:
    """The generalized coordinates of a mechanism in one pose, and why these."""

    robot: object = field(repr=False)
    q: np.ndarray = field(repr=False)
    J_C: np.ndarray = field(repr=False)
    W: np.ndarray = field(repr=False)
    independent: list
    dependent: list
    full_rank: int = 0  # the rank of J_C at closed poses around this one

    @property
    def mobility(self):
        """Return N_F, the number of generalized coordinates, Eq. (13)."""
        return len(self.independent)

    @property
    def rank(self):
        """Return m, the rank of J_C."""
        return len(self.dependent)

    @cached_property
    def H(self):
        """Return d theta_S / d theta_G, (rank, mobility), Eq. (17)."""
        names = self.robot.coordinate_names
        return self.W[[names.index(name) for name in self.dependent]]

    @cached_property
    def S(self):
        """Return d theta_A / d theta_G, (actuators, mobility), Eq. (6), Fig. 6."""
        return actuator_rows(self.robot, self.q) @ self.W

    @cached_property
    def _svd(self):
        """Singular values of J_C with rows and columns freed of units."""
        units = self.robot.table(at.DOF_F)[:, at.SCALE]
        return np.linalg.svd(
            row_units(self.robot)[:, None] * self.J_C * units, full_matrices=False
        )

    @property
    def singular_values(self):
        """Return the singular values of J_C without units, largest first."""
        return self._svd[1]

    @property
    def distance(self):
        """Return the distance to the nearest singularity: the smallest relative singular value."""
        if self.full_rank == 0:
            return 1.0
        sigma = self.singular_values
        return float(sigma[self.full_rank - 1] / sigma[0])

    @property
    def condition(self):
        """Return the condition number of the independent constraints; 1 without loops."""
        return 1.0 / self.distance if self.distance > 0.0 else np.inf

    @property
    def singular_direction(self):
        """Return the velocity that comes free at the nearest singularity, (nv,), unit length."""
        if self.full_rank == 0:
            return np.zeros(self.robot.nv)
        if self.lost_rank:
            return lost_motion(self)
        direction = self._svd[2][self.rank - 1] * self.robot.table(at.DOF_F)[:, at.SCALE]
        return direction / np.linalg.norm(direction)

    @property
    def is_singular(self):
        """Return whether the pose is at or close to a singularity."""
        return self.distance < SINGULAR_DISTANCE or self.lost_rank > 0

    @property
    def lost_rank(self):
        """Return by how much the rank is below that of the closed poses nearby."""
        return self.full_rank - self.rank

    @cached_property
    def redundant_rows(self):
        """Return the rows of J_C that the others imply, a list of row numbers."""
        if not len(self.J_C):
            return []
        from scipy.linalg import qr  # slow to import, seldom needed

        rows = row_units(self.robot)[:, None] * self.J_C
        order = qr(rows.T, mode='r', pivoting=True)[1]
        return sorted(int(row) for row in order[self.rank :])

    @property
    def redundant_rows_by_loop(self):
        """Return how many rows of each loop or coupling the others imply, {name: count}."""
        owners = row_owners(self.robot)
        counts = {}
        for row in self.redundant_rows:
            counts[owners[row]] = counts.get(owners[row], 0) + 1
        return counts

    def __str__(self):
        return explain(self)


def row_owners(robot):
    """Return the loop or coupling that each row of J_C belongs to."""
    owners = []
    for name, loop in zip(robot.loop_names, robot.table(at.LOOP_I)):
        owners += [name] * (loop[at.LOOP_N_ROWS] if loop[at.LOOP_ACTIVE] else 0)
    for name, coupling in zip(robot.coupling_names, robot.table(at.COUPLING_I)):
        owners += [name] if coupling[at.COUPLING_ACTIVE] else []
    return owners


def row_units(robot):
    """Return what frees each row of J_C of its unit: 1 / typical length, or 1."""
    units = np.ones(robot.mi[at.N_ROWS])
    length = robot.table(at.WORLD_F)[0, at.LENGTH]
    for loop in robot.table(at.LOOP_I):
        if loop[at.LOOP_ACTIVE]:
            linear = kernels.linear_rows(loop)
            units[loop[at.LOOP_ROW] : loop[at.LOOP_ROW] + linear] = 1.0 / length
    return units


def actuator_rows(robot, q):
    """Return d theta_A / d theta_O, (actuators, nv): unit rows, or rows of L for loop joints."""
    rows = np.zeros((len(robot.actuator_names), robot.nv))
    L = None
    for row, (on_loop, dof) in zip(rows, robot.table(at.ACTUATOR_I)):
        if not on_loop:
            row[dof] = dof >= 0  # else its joint has been cut
        else:
            L = loop_jacobian(robot, q) if L is None else L
            loop = next(
                loop
                for loop in robot.table(at.LOOP_I)
                if loop[at.LOOP_DOF] <= dof < loop[at.LOOP_DOF] + loop[at.LOOP_N_DOFS]
            )
            if loop[at.LOOP_ACTIVE]:  # a motor on an open joint moves nothing
                row[:] = L[dof]
    return rows


def coordinates(robot, q):
    """
    Return the generalized coordinates of a mechanism in a closed pose.

    The choice prefers actuated joints, then joints marked independent; it is kept from call to
    call while it is well conditioned.
    """
    q = robot.vector(q, robot.nq, 'q').copy()
    W = np.empty((robot.nv, robot.nv))
    learn_rank(robot, q)
    status = kernels.compute_coordinates(robot.mi, robot.mf, robot.w, q, W)
    if status:
        robot.raise_for(status, q)
    dependent = robot.table(at.DOF_I)[:, at.DOF_DEPENDENT].astype(bool)
    names = np.array(robot.coordinate_names, dtype=object)
    return Coordinates(
        robot,
        q,
        constraint_jacobian(robot, q)[0],
        W[:, : robot.mi[at.MOBILITY]].copy(),
        list(names[~dependent]),
        list(names[dependent]),
        int(robot.mi[at.FULL_RANK]),
    )


def learn_rank(robot, q):
    """
    Find the rank of J_C at closed poses around q, once per structure.

    The kernels remember the largest rank they have met; the first pose may be a singular one.
    """
    if not robot.rank_known:
        from closed_chain_dynamics.assembly.search import nearby_rank

        robot.rank_known = True
        other = robot.copy()
        rank = nearby_rank(coordinates(other, q))
        robot.mi[at.FULL_RANK] = max(rank, robot.mi[at.FULL_RANK])


class AtPose:
    """What every result knows of its pose: coordinates, and how close to a singularity it is."""

    @cached_property
    def coordinates(self):
        """Return the generalized coordinates of the pose: W, S, names and condition."""
        return coordinates(self.robot, self.q)

    @property
    def condition(self):
        """Return the condition number of the loops; large near a singular pose."""
        return self.coordinates.condition

    @property
    def singular_direction(self):
        """Return the motion that comes free at the nearest singularity, (nv,)."""
        return self.coordinates.singular_direction
