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
Closing the loops of one cluster: damped Gauss-Newton (Levenberg-Marquardt) on the manifold.

A cluster is a set of joints that loops tie together; clusters close independently of each other.
The unknowns are the velocities of the cluster that nobody holds, freed of units, so that a step
of least norm moves all joints a little instead of one joint a lot. Damping falls with the square
of the error, which keeps the convergence quadratic where J_C has redundant rows, as the loop of
every planar linkage has.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.constraints import loop_coordinate_owner
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['Closure', 'has_position', 'is_turn']

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

CLOSING_ITERATIONS = 100  # more than any start that ends well was seen to need
LARGEST_CHANGE = 0.7  # largest change of a joint in one step [rad, or typical lengths]
LOCAL_MINIMUM = 1e-8  # squared share of the error that a step can take away: a local minimum
DAMPING_TRIALS = 12  # times that damping may grow fourfold before a step counts as impossible
WORSE = 1e-3  # share of the foreseen gain below which a step is not taken
SWEEP_STEP = 0.1  # step of held joints on the way to their target [rad, or typical lengths]
LONGEST_SWEEP = 1000  # steps: a sensor that lies can name a target years away
NEARBY = 1e-3  # how far a pose is that tells a singularity [rad, or typical lengths]
ERROR_ROUNDING = 1e-15  # an error that no step can be expected to make smaller
WITHIN = 1e-9  # a loop joint this little beyond its limit is at it [rad or m]


class Closure:
    """
    The closing problem of one cluster of a mechanism, whose workspace it uses.

    `held`: bool (nv,), velocities that must not move. `limits`: whether joints stay in range.
    `loop_targets`: {loop coordinate number: wanted position}.
    """

    def __init__(
        self,
        robot: Mechanism,
        cluster: int,
        held: Mask,
        limits: bool,
        loop_targets: Mapping[int, float] | None = None,
    ) -> None:
        self.robot, self.cluster = robot, cluster
        structure = robot.structure
        own = structure.clusters[cluster]
        self.dofs = structure.dofs_of(cluster).copy()
        self.loops = _listed(structure.cluster_loops, own['first_loop'], own['n_loops'])
        self.couplings = _listed(
            structure.cluster_couplings, own['first_coupling'], own['n_couplings']
        )
        self.q_places = _body_places(
            robot, _listed(structure.cluster_bodies, own['first_body'], own['n_bodies'])
        )
        self.n_rows = int(own['n_rows'])
        self.held, self.limits = held[self.dofs], limits
        law = structure.dofs[self.dofs]
        self.scale: Vector = law['scale']
        self.places, self.turns = _single_places(robot, self.dofs)
        limited = limits & (self.places >= 0) & ~self.held
        self.lower = np.where(limited, law['lower'], -np.inf)
        self.upper = np.where(limited, law['upper'], np.inf)
        # without a range, whether one is asked for or not
        self.endless: Mask = self.turns & np.isinf(law['lower']) & np.isinf(law['upper'])
        self.limited = np.flatnonzero(np.isfinite(self.lower) | np.isfinite(self.upper))
        mine = {d for k in self.loops for d in _loop_dofs(robot, k)}
        self.loop_targets = {d: x for d, x in (loop_targets or {}).items() if d in mine}
        self.loop_bounds = self._loop_bounds() if limits else {}
        self.units = self._units()

    def _units(self) -> Vector:
        """Return what turns each error into metres or radians."""
        length, units = float(self.robot.structure.world['length']), []
        for k in self.loops:
            loop = self.robot.structure.loops[k]
            linear = int(kernels.linear_rows(loop))
            units += [length] * linear + [1.0] * (int(loop['n_rows']) - linear)
        holds = self.robot.structure.holds
        held = np.count_nonzero((holds['active'] != 0) & (holds['cluster'] == self.cluster))
        extra = len(self.couplings) + held + len(self.loop_targets) + len(self.loop_bounds)
        return np.array(units + [1.0] * extra)

    def _loop_bounds(self) -> dict[int, tuple[float, float]]:
        """Return {loop coordinate: range} of the loop joints that have one."""
        bounds = {}
        for k in self.loops:
            for d in _loop_dofs(self.robot, k):
                law = self.robot.model.loop_dofs[d]
                lower, upper = float(law['lower']), float(law['upper'])
                if (
                    d not in self.loop_targets
                    and np.isfinite([lower, upper]).any()
                    and has_position(self.robot, d)
                ):
                    bounds[d] = (lower, upper)
        return bounds

    def evaluate(self, q: Vector) -> tuple[Vector, Matrix]:
        """Return errors and their derivatives, (rows,) and (rows, velocities), free of units."""
        robot, n = self.robot, self.n_rows
        error, J = np.zeros(self.units.size), np.zeros((self.units.size, self.dofs.size))
        kernels.compute_closure(robot.handle, self.cluster, q, J[:n], error[:n])
        if self.loop_targets or self.loop_bounds:
            count = len(robot.loop_coordinate_names)
            L, positions = np.empty((count, robot.nv)), np.empty(count)
            kernels.compute_loop_jacobian(robot.handle, q, np.zeros(robot.nv), L, positions)
            wanted = [
                *((d, value, value) for d, value in self.loop_targets.items()),
                *((d, *bounds) for d, bounds in self.loop_bounds.items()),
            ]
            for i, (d, lower, upper) in enumerate(wanted, start=n):
                away = positions[d] - np.clip(positions[d], lower, upper)
                if lower == upper and is_turn(robot, d):
                    away = np.remainder(away + np.pi, 2.0 * np.pi) - np.pi
                if away or lower == upper:  # a joint within its range asks for nothing
                    error[i], J[i] = away, L[d, self.dofs] * self.scale
        return error, J

    def gap(self, error: Vector) -> float:
        """Return the largest error [rad or m]; a loop joint at its limit counts as within."""
        size = np.abs(error * self.units)
        if self.loop_bounds:
            size[-len(self.loop_bounds) :] -= WITHIN
        return float(size.max(initial=0.0))

    def move(self, q: Vector, step: Vector) -> Vector:
        """Return q moved along a step of the cluster's velocities, kept in range."""
        tangent, out = np.zeros(self.robot.nv), np.empty(self.robot.nq)
        tangent[self.dofs] = step * self.scale
        kernels.integrate(self.robot.handle, q, tangent, out)
        return self.clamp(out)

    def clamp(self, q: Vector) -> Vector:
        """Return q with limited joints of the cluster brought into their range, in place."""
        k = self.places[self.limited]
        q[k] = np.clip(q[k], self.lower[self.limited], self.upper[self.limited])
        return q

    def _free(self, q: Vector, gradient: Vector) -> Mask:
        """Return the velocities that may move: not held, and not pushed against a limit."""
        free = ~self.held
        for j in self.limited:
            x = q[self.places[j]]
            if (x <= self.lower[j] and gradient[j] > 0.0) or (
                x >= self.upper[j] and gradient[j] < 0.0
            ):
                free[j] = False
        return np.asarray(free)

    def _directions(self, J: Matrix, free: Mask) -> tuple[Matrix, Vector, Matrix]:
        """Return the singular value decomposition of J over what is free, rounding cut off."""
        U, sigma, Vt = np.linalg.svd(J[:, free], full_matrices=False)
        tolerance = self.robot.structure.world['rank_tolerance']
        keep = sigma > tolerance * sigma.max(initial=1e-300)
        return U[:, keep], sigma[keep], Vt[keep]

    def close(self, q: Vector, tolerance: float) -> tuple[Vector, float, int]:
        """Return the closest closed pose found from q, its gap, and the number of iterations."""
        error, J = self.evaluate(q)
        damping, gap, iteration = 0.1, self.gap(error), 0
        while gap > ERROR_ROUNDING and iteration < CLOSING_ITERATIONS:
            iteration += 1
            last = gap <= tolerance  # one more step: convergence is quadratic, so to rounding
            size = error @ error
            free = self._free(q, J.T @ error)
            U, sigma, Vt = self._directions(J, free)
            along = U.T @ error
            if along @ along <= LOCAL_MINIMUM * size:
                break
            step = np.zeros(self.dofs.size)
            for _ in range(1 if last else DAMPING_TRIALS):
                step[free] = -(sigma / (sigma**2 + damping * size) * along) @ Vt
                step *= min(1.0, LARGEST_CHANGE / np.abs(step).max())
                moved = self.move(q, step)
                error_there, J_there = self.evaluate(moved)
                foreseen = size - ((error + J @ step) ** 2).sum()
                ratio = (size - error_there @ error_there) / max(foreseen, 1e-300)
                if ratio > WORSE:
                    break
                damping = max(4.0 * damping, 1e-3)
            if ratio <= WORSE:
                break
            damping = damping / 4.0 if ratio > 0.7 else damping if ratio > 0.2 else 2.0 * damping
            q, error, J, gap = moved, error_there, J_there, self.gap(error_there)
            if last:
                break
        return q, gap, iteration

    def nearby(self, q: Vector, rng: np.random.Generator, length: float = NEARBY) -> Vector | None:
        """Return a closed pose a little way off along what the cluster can do, or None."""
        free = ~self.held
        _, _sigma, Vt = self._directions(self.evaluate(q)[1], free)
        step = np.zeros(self.dofs.size)
        step[free] = rng.normal(size=free.sum())
        step[free] -= (Vt @ step[free]) @ Vt
        if np.abs(step).max(initial=0.0) < 1e-9:  # nothing moves
            return None
        q, gap, _ = self.close(self.move(q, length * step / np.abs(step).max()), 1e-12)
        return q if gap < 1e-3 * length else None

    def rank(self, q: Vector) -> int:
        """Return the rank of the derivatives over what is free."""
        return len(self._directions(self.evaluate(q)[1], ~self.held)[1])

    def is_singular(self, q: Vector, rng: np.random.Generator) -> bool:
        """Return whether the rank at a closed pose is below that of closed poses nearby."""
        others = [self.nearby(q, rng) for _ in range(2)]
        return any(self.rank(other) > self.rank(q) for other in others if other is not None)

    def sweep(self, q: Vector, target: Vector, tolerance: float) -> tuple[Vector | None, int]:
        """
        Return the closed pose that a closed one turns into while the held joints move to target.

        Small steps along the tangent keep the branch. None when the way is blocked or endless.
        """
        robot = self.robot
        away = np.empty(robot.nv)
        kernels.difference(robot.handle, q, target, away)
        away = np.where(self.held, away[self.dofs] / self.scale, 0.0)
        around = self.turns & ~np.isfinite(robot.structure.dofs['upper'][self.dofs])
        away[around] = np.remainder(away[around] + np.pi, 2.0 * np.pi) - np.pi
        steps, iterations = np.ceil(np.abs(away).max(initial=0.0) / SWEEP_STEP), 0
        if steps > LONGEST_SWEEP:
            return None, iterations
        count = max(int(steps), 1)
        for _ in range(count):
            _error, J = self.evaluate(q)
            U, sigma, Vt = self._directions(J, ~self.held)
            step = away / count
            step[~self.held] = -((U.T @ (J @ step)) / sigma) @ Vt
            q, gap, more = self.close(self.move(q, step), tolerance)
            iterations += more
            if gap > robot.structure.world['closing_tolerance']:
                return None, iterations
        return q, iterations


def _listed(values: Places, first: int, count: int) -> list[int]:
    """Return a part of one of the lists that clusters share."""
    return [int(k) for k in values[first : first + count]]


def _body_places(robot: Mechanism, bodies: list[int]) -> Places:
    """Return the places in q of the joints that move some bodies."""
    first = np.append(robot.structure.bodies['iq'][1:], robot.nq)
    return np.concatenate([np.arange(first[body - 1], first[body]) for body in bodies])


def _single_places(robot: Mechanism, dofs: Places) -> tuple[Places, Mask]:
    """
    Return the place in q of every velocity that is a joint of its own, -1 for the others.

    And whether it turns freely: a revolute joint that no coupling counts the turns of.
    """
    bodies = robot.structure.bodies[robot.structure.dofs['body'][dofs]]
    counted = np.isin(dofs, robot.structure.terms['dof'])
    single = bodies['joint'] <= at.PRISMATIC
    return np.where(single, bodies['iq'], -1), (bodies['joint'] == at.REVOLUTE) & ~counted


def _loop_dofs(robot: Mechanism, k: int) -> range:
    """Return the numbers of the coordinates of a loop joint."""
    loop = robot.model.loops[k]
    return range(loop['dof'], loop['dof'] + loop['n_dofs'])


def has_position(robot: Mechanism, d: int) -> bool:
    """Return whether a loop coordinate's rate is the derivative of its position."""
    kind = robot.model.loops[loop_coordinate_owner(robot, d)]['type']
    return not is_turn(robot, d) or kind not in (at.LOOP_SPHERICAL, at.LOOP_SURFACE, at.LOOP_FREE)


def is_turn(robot: Mechanism, d: int) -> bool:
    """Return whether a loop coordinate is an angle."""
    kind = robot.model.loops[loop_coordinate_owner(robot, d)]['type']
    return bool(kind != at.LOOP_PRISMATIC) and ':v' not in robot.loop_coordinate_names[d]
