"""
Impacts of contacts with friction: stick or slide in the impact itself.

The law has two phases. In the first all contacts that touch are caught: impulses p in the cones
|t| <= mu n, no point goes in, one that carries no impulse may go out, and friction opposes what is
left of the sliding, or stops it. In the second, contacts with restitution e push with e times
their impulse along the normal (Poisson), again with friction in the cone.

The first phase cannot gain energy: with v_after = v + M^-1 J^T p the kinetic energy changes by
p u_after - p^T G p / 2, and p u_after = -mu n |u_t| at most. Where the second would give back more
than there was before, it is cut down to what there was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.dynamics.constraints import Matrix
from closed_chain_dynamics.dynamics.contact_problem import contact_problem, solve_contacts
from closed_chain_dynamics.dynamics.impacts import Impact
from closed_chain_dynamics.dynamics.tree import energy, momentum
from closed_chain_dynamics.dynamics.values import constant
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['BOUNCE_SPEED', 'ContactImpact', 'contact_impact']

# a contact that touches down slower than this does not bounce, and one that an impact lets go
# slower than this stays: it would be back at once [m/s]
BOUNCE_SPEED = 1e-3


@dataclass(frozen=True, eq=False)
class ContactImpact:
    """What an impact does: the Impact, and the contacts that are open after it."""

    impact: Impact
    open: frozenset[int]


def contact_impact(
    robot: Mechanism, q: Vector, v: Vector, loops: Sequence[int], touching: Sequence[int]
) -> ContactImpact:
    """
    Return the impact of contacts on a motion.

    `loops`: all contacts that are closed or touch; `touching`: those of them that were open. All
    that touch at once bounce with the smallest restitution of them.
    """
    table, problem = robot.structure.loops, contact_problem(robot, q, v, loops)
    mu, c = table['mu'][list(loops)], problem.J @ v
    hits = np.array([k in touching for k in loops])
    fast: NDArray[np.bool_] = -c[::3] > BOUNCE_SPEED
    e = min(
        float(table['restitution'][k]) * bool(quick)
        for k, quick in zip(loops, fast)
        if k in touching
    )
    found = solve_contacts(robot, problem, c, mu, drags=False)
    opens, p = found.opens, found.p.ravel()
    if e > 0.0:
        given = np.where(hits & ~opens, e * found.p[:, 0], np.nan)
        more = solve_contacts(robot, problem, problem.G @ p + c, mu, drags=False, given=given).p
        share: float = _possible_share(problem.G, c, p, more.ravel())
        p = p + share * more.ravel()
        opens = opens | hits
    elif np.any(slow := opens & (found.u[:, 0] < BOUNCE_SPEED)):
        held = [k for k, stays in zip(loops, slow) if stays]
        found = solve_contacts(robot, problem, c, mu, drags=False, held=held)
        opens, p = found.opens, found.p.ravel()
    v_after = v + problem.response @ p
    world = np.einsum('kij,ki->kj', problem.frames, p.reshape(-1, 3))
    rows = [
        along @ R_1 if friction else normal
        for along, R_1, friction, normal in zip(world, problem.turns, mu, p.reshape(-1, 3)[:, :1])
    ]
    owners = [robot.loop_names[k] for k, row in zip(loops, rows) for _ in row]
    impact = Impact(
        v_after,
        constant(np.concatenate(rows)),
        energy(robot, q, v)[0],
        energy(robot, q, v_after)[0],
        constant(momentum(robot, q, v)),
        constant(momentum(robot, q, v_after)),
        tuple(owners),
        {},
    )
    return ContactImpact(impact, frozenset(k for k, each in zip(loops, opens) if each))


def _possible_share(G: Matrix, c: Vector, p: Vector, more: Vector) -> float:
    """Return the largest share of the second phase that leaves no more energy than there was."""
    lost = -(p @ c + 0.5 * p @ G @ p)
    a, b = 0.5 * more @ G @ more, more @ (G @ p + c)  # a share s gives back a s^2 + b s
    if a + b <= lost:
        return 1.0
    root = np.sqrt(b * b + 4.0 * a * max(float(lost), 0.0))
    return float((root - b) / (2.0 * a))
