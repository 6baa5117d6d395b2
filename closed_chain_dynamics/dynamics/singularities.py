"""
At and near singular poses: what comes free there, and what is done about it.

At a singular pose J_C loses rank: constraints that were independent are so no longer, and a motion
comes free that the poses around it do not have. Which motion depends on the branch that the
mechanism is on. Near the pose, accelerations may grow without bound, and rounding decides. The
policies:

damp     the constraints that cannot be told apart are dropped; the motion that came free counts
         as a generalized coordinate for this instant. Nothing grows beyond the rank tolerance.
hold     the motion that came free is held: the mechanism keeps to the branch of its velocity.
refuse   an error that names the joints that come free.
"""

import numpy as np

from closed_chain_dynamics.errors import SingularityError, StateError

__all__ = ['SINGULARITY_POLICIES']

SINGULARITY_POLICIES = ('damp', 'hold', 'refuse')
STEP_ASIDE = 1e-3  # how far to look for the branch [rad, or typical lengths]


def check_policy(robot, policy):
    """Refuse an unknown policy."""
    if policy not in SINGULARITY_POLICIES:
        raise StateError(
            f'unknown policy {policy!r} for singularities',
            where=robot.name,
            repair=f'Choose one of {", ".join(SINGULARITY_POLICIES)}.',
        )


def refuse(robot, c):
    """Raise the error that names what comes free at a singular pose."""
    share = np.abs(c.singular_direction)
    names = [robot.coordinate_names[j] for j in np.argsort(-share)[:4] if share[j] > 0.1]
    raise SingularityError(
        f'the pose is singular: the loops lose {c.lost_rank} of {c.full_rank} constraints, and '
        f'{", ".join(names)} can move beside the motion that the poses around it have',
        where=robot.name,
        repair="Move away from it, or choose the policy 'damp' or 'hold'.",
    )


def branch_tangent(robot, q, v, c):
    """
    Return the motions of the branch that the velocity v is on, (nv, n), orthonormal.

    They are those of a closed pose a little further along v, as far as the singular pose has them.
    """
    from closed_chain_dynamics.assembly.search import assemble
    from closed_chain_dynamics.dynamics.coordinates import coordinates
    from closed_chain_dynamics.dynamics.tree import integrate

    size = np.abs(v).max(initial=0.0)
    direction = v / size if size > 0.0 else c.W @ np.ones(c.mobility)
    ahead = assemble(robot, {}, start=integrate(robot, q, STEP_ASIDE * direction), limits=False)
    W_ahead = coordinates(robot.copy(), ahead).W
    free = np.linalg.qr(c.W)[0]
    return np.linalg.qr(free @ (free.T @ W_ahead))[0]


def lost_motion(c):
    """Return the motion that a singular pose has and the poses around it have not, (nv,)."""
    tangent = branch_tangent(c.robot.copy(), c.q, np.zeros(c.robot.nv), c)
    free = np.linalg.qr(c.W)[0]
    rest = free - tangent @ (tangent.T @ free)
    return np.linalg.svd(rest)[0][:, 0]


def hold_forward(robot, f, force):
    """
    Return accelerations with the motion that came free held, (nv,).

    `force`: what drives the tree, tau - h, (nv,).
    """
    from closed_chain_dynamics.dynamics.coordinates import constraint_jacobian
    from closed_chain_dynamics.dynamics.tree import mass_matrix

    W = branch_tangent(robot, f.q, f.v, f.coordinates)
    J_C, _, bias = constraint_jacobian(robot, f.q, f.v)
    rest = -np.linalg.lstsq(J_C, bias, rcond=1e-6)[0]
    M = mass_matrix(robot, f.q)
    return W @ np.linalg.solve(W.T @ M @ W, W.T @ (force - M @ rest)) + rest
