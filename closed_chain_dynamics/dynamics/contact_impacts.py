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
Impacts of contacts with friction: stick or slide in the impact itself.

The law has two phases. In the first all contacts that touch are caught: impulses p in the cones
|t| <= mu n, no point goes in, one that carries no impulse may go out, and friction opposes what is
left of the sliding, or stops it. In the second, contacts with restitution e push with e times
their impulse along the normal (Poisson), again with friction in the cone.

Where friction locks, that is where no finite force fits a sliding motion (Painleve's paradox), the
same law stops it: an impact without collision.

The first phase cannot gain energy: with v_after = v + M^-1 J^T p the kinetic energy changes by
p u_after - p^T G p / 2, and p u_after = -mu n |u_t| at most. Where the second would give back more
than there was before, it is cut down to what there was.

Joints at their stops are part of the impact: a stop pushes as a contact without friction does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.arrays import Matrix, Vector
from closed_chain_dynamics.dynamics.contact_problem import Held, contact_problem, solve_contacts
from closed_chain_dynamics.dynamics.impacts import Impact
from closed_chain_dynamics.dynamics.tree import energy, momentum
from closed_chain_dynamics.dynamics.values import constant
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['BOUNCE_SPEED', 'ContactImpact', 'contact_impact']

# a contact that touches down slower than this does not bounce, and one that an impact lets go
# slower than this stays: it would be back at once [m/s]
BOUNCE_SPEED = 1e-3
LOCKING_SHARE = 1e-6  # share of the friction that may lack at the instant at which it locks
PUSH = 1e-8  # share of the speed that is gained within the time h: more than rounding


@dataclass(frozen=True, eq=False)
class ContactImpact:
    """What an impact does: the Impact, contacts open after it, impulses of stops, bounces."""

    impact: Impact
    open: frozenset[int]
    stops: Vector
    bounces: bool  # whether what hit comes back


def contact_impact(
    robot: Mechanism,
    q: Vector,
    v: Vector,
    loops: Sequence[int],
    touching: Sequence[int],
    pushed: Vector | None = None,
    stops: Held | None = None,
    restitution: Sequence[float] | None = None,
) -> ContactImpact:
    """
    Return the impact of contacts on a motion.

    `loops`: all contacts that are closed or touch; `touching`: those of them that were open. All
    that touch at once bounce with the smallest restitution of them. `pushed`: where no finite
    force fits the motion, theta_O'' without the contacts, (nv,). Over a time h it would take the
    points into their surfaces, so no impulse is no answer for any h > 0; where no force fits, the
    impulse stays finite as h goes to zero. `stops`: those that joints are at. `restitution`: of
    all contacts, then of all stops; of contacts alone, those of the model unless given.
    """
    table, problem = robot.structure.loops, contact_problem(robot, q, v, loops, stops)
    n, places = len(loops), np.arange(len(problem.moving))
    mu, c = table['mu'][list(loops)], problem.J @ v
    if pushed is not None:
        mu, rates = (1.0 + LOCKING_SHARE) * mu, problem.J @ pushed + problem.bias
        c = c + PUSH * np.abs(c).max() / max(np.abs(rates).max(), 1e-300) * rates
    speeds = np.concatenate([-c[: 3 * n : 3], _into(problem.bounds, c[3 * n :: 3])])
    fast: NDArray[np.bool_] = speeds > BOUNCE_SPEED
    hits = fast & (places >= n)
    hits[:n] = [k in touching for k in loops]
    shares = np.array(table['restitution'][list(loops)] if restitution is None else restitution)
    e = min((float(shares[i]) * bool(fast[i]) for i in np.flatnonzero(hits)), default=0.0)
    jams = pushed is not None
    found = solve_contacts(robot, problem, c, mu, drags=False, jams=jams)
    opens, p = found.opens, found.p.ravel()
    if e > 0.0:
        given = np.where(hits & ~opens, e * found.p[:, 0], np.nan)
        more = solve_contacts(robot, problem, problem.G @ p + c, mu, drags=False, given=given).p
        share: float = _possible_share(problem.G, c, p, more.ravel())
        p = p + share * more.ravel()
        opens = opens | hits
    elif np.any(slow := opens & (np.abs(found.u[:, 0]) < BOUNCE_SPEED)):
        held = np.flatnonzero(slow).tolist()
        found = solve_contacts(robot, problem, c, mu, drags=False, held=held, jams=jams)
        opens, p = found.opens, found.p.ravel()
    v_after = v + problem.response @ p
    p, pushes = p[: 3 * n], p[3 * n :: 3]
    world = np.einsum('kij,ki->kj', problem.frames[:n], p.reshape(-1, 3))
    rows = [
        along @ R_1 if friction else normal
        for along, R_1, friction, normal in zip(world, problem.turns, mu, p.reshape(-1, 3)[:, :1])
    ]
    owners = [robot.loop_names[k] for k, row in zip(loops, rows) for _ in row]
    impact = Impact(
        v_after,
        constant(np.concatenate([np.zeros(0), *rows])),
        energy(robot, q, v)[0],
        energy(robot, q, v_after)[0],
        constant(momentum(robot, q, v)),
        constant(momentum(robot, q, v_after)),
        tuple(owners),
        {},
    )
    open_now = frozenset(k for k, each in zip(loops, opens) if each)
    return ContactImpact(impact, open_now, pushes, e > 0.0)


def _into(bounds: Matrix, rates: Vector) -> Vector:
    """Return how fast coordinates run into their stops, by what these can do."""
    both = np.isinf(bounds).all(axis=1)
    return np.where(both, np.abs(rates), np.where(np.isinf(bounds[:, 1]), -rates, rates))


def _possible_share(G: Matrix, c: Vector, p: Vector, more: Vector) -> float:
    """Return the largest share of the second phase that leaves no more energy than there was."""
    lost = -(p @ c + 0.5 * p @ G @ p)
    a, b = 0.5 * more @ G @ more, more @ (G @ p + c)  # a share s gives back a s^2 + b s
    if a + b <= lost:
        return 1.0
    root = np.sqrt(b * b + 4.0 * a * max(float(lost), 0.0))
    return float((root - b) / (2.0 * a))
