"""
The choice of generalized coordinates, explained in words.

A few lines that name joints, loops and links: how many ways there are to move, which coordinates
stand for them and why, which constraints say nothing new, how far the next singularity is, what
moves idly, and what the actuators can do.
"""

import numpy as np

from closed_chain_dynamics.dynamics.actuation import RANK_TOLERANCE, kind_of
from closed_chain_dynamics.dynamics.idle_motion import Motions, idle_motions
from closed_chain_dynamics.kernels import layout as at

__all__ = ['explain', 'unmoved_joints']

FREE_SHARE = 0.1  # joints that move by less than this share of the fastest are not named
MOVES = 1e-7  # a coordinate that moves by less than this share of the fastest stands still
PARALLEL = 1e-7  # sine of the angle between axes, and share of a slide across a plane
MOST = 8  # names in a list before the rest is only counted


def explain(c, *, actuators=True):
    """
    Return sentences on mobility, coordinates, redundancy, singularity, idleness, actuators.

    `actuators=False` leaves the last out, for a report that has spoken of them already.
    """
    if c.robot.nv == 0:
        return 'Mobility 0: nothing moves, every joint is fixed.'
    motions = Motions(c)
    idle = idle_motions(motions)
    lines = [
        _mobility(c),
        *_choice(c),
        _redundancy(c, motions),
        *_singularity(c),
        _clusters(c),
        _idle(idle),
    ]
    lines += [_actuation(c), _unmoved(c, len(idle))] if actuators else []
    return '\n'.join(line for line in lines if line)


def plural(n, noun):
    """Return for instance '1 row' or '3 rows'; velocity becomes velocities."""
    if n == 1:
        return f'1 {noun}'
    return f'{n} {noun[:-1]}ies' if noun.endswith('y') else f'{n} {noun}s'


def listed(names, most=MOST):
    """Return 'a', 'a and b', 'a, b and c', or 'a, b, c and 7 more'."""
    names = list(names)
    if len(names) > most:
        return f'{", ".join(names[:most])} and {len(names) - most} more'
    return ' and '.join(filter(None, [', '.join(names[:-1]), *names[-1:]]))


def compact(robot, names):
    """Return names of coordinates with those of one whole joint in one, as in ball:wx..wz."""
    names, short = list(names), []
    for joint in robot.joint_names:
        own = robot.coordinate_names[robot.joint_slices(joint)[1]]
        if len(own) > 1 and set(own) <= set(names):
            short.append(f'{own[0]}..{own[-1].rsplit(":", 1)[1]}')
            names = [name for name in names if name not in own]
        else:
            short += [name for name in own if name in names]
    return short


def _mobility(c):
    velocities = plural(c.robot.nv, 'joint velocity')
    if not len(c.J_C):
        reason = 'all loops are open' if c.robot.loop_names else 'no loop or coupling'
        return f'Mobility {c.mobility}: {velocities}, {reason}.'
    text = (
        f'Mobility {c.mobility} = {velocities} - rank {c.rank} of '
        f'{plural(len(c.J_C), "constraint row")}'
    )
    return f'{text}: a structure, nothing moves.' if c.mobility == 0 else f'{text}.'


def _choice(c):
    """Say which coordinates were chosen and why, and which follow from them."""
    dof_i, cluster_i = c.robot.table(at.DOF_I), c.robot.table(at.CLUSTER_I)
    body_i, names = c.robot.table(at.BODY_I), c.robot.coordinate_names
    reasons, motors = {}, []
    for dof, name in zip(dof_i, names):
        wish = dof[at.DOF_PREFERENCE]
        if name in c.dependent:
            motors += [name] if wish == 2 else []
            continue
        tied = cluster_i[body_i[dof[at.DOF_BODY], at.CLUSTER], at.CLUSTER_N_ROWS]
        reason = (
            'actuated'
            if wish == 2
            else 'on no loop'
            if not tied
            else 'marked independent'
            if wish == 1
            else 'the best conditioned of those left'
        )
        reasons.setdefault(reason, []).append(name)
    lines, noun = [], f'Generalized coordinate{"s" * (c.mobility != 1)}'
    if reasons and len(c.J_C):
        parts = [
            f'{listed(compact(c.robot, found))} ({reason})' for reason, found in reasons.items()
        ]
        lines.append(f'{noun}: {"; ".join(parts)}.')
    elif reasons:  # without constraints there was no choice
        lines.append(f'{noun}: {listed(compact(c.robot, c.independent))}.')
    if c.mobility and c.dependent:
        lines.append(f'Dependent: {listed(compact(c.robot, c.dependent))}.')
        if motors:
            follow = 'follows' if len(motors) == 1 else 'follow'
            lines.append(
                f'Actuated and yet dependent: {listed(motors)}, which {follow} from the others.'
            )
    return lines


def _redundancy(c, motions):
    counts = c.redundant_rows_by_loop
    if not counts:
        return ''
    robot, parts = c.robot, []
    for name, count in counts.items():
        if name in robot.loop_names:
            loop = robot.table(at.LOOP_I)[robot.loop_names.index(name)]
            rows, cluster = loop[at.LOOP_N_ROWS], loop[at.LOOP_CLUSTER]
            why = (
                ', within one body'
                if cluster < 0
                else ', a planar loop'
                if is_planar(motions.columns(cluster), motions.length)
                else ''
            )
            parts.append(f'{name} ({count} of {rows}{why})')
        else:
            parts.append(f'{name} (a coupling)')
    total = sum(counts.values())
    verb = 'is' if total == 1 else 'are'
    return f'Redundant: {plural(total, "row")} {verb} implied by the others, in {listed(parts)}.'


def is_planar(columns, length):
    """Return whether motion subspaces, (n, 6), keep all points in parallel planes."""
    linear, angular = columns[:, :3] / length, columns[:, 3:]
    turns = np.linalg.norm(angular, axis=1)
    if turns.max(initial=0.0) == 0.0:
        return np.linalg.matrix_rank(linear, tol=PARALLEL) <= 2
    normal = angular[np.argmax(turns)] / turns.max()
    size = max(1.0, np.abs(linear).max())
    return bool(
        np.abs(np.cross(angular, normal)).max() < PARALLEL
        and np.abs(linear @ normal).max() < PARALLEL * size
    )


def _singularity(c):
    if c.rank == 0:
        return []
    if c.lost_rank:  # the singular values that are left say nothing about the one that is lost
        ways = 'one way' if c.lost_rank == 1 else f'{c.lost_rank} ways'
        return [
            f'At a singularity, distance 0: {listed(_fastest(c, c.W))} can move in {ways} '
            'more than in the poses nearby.'
        ]
    lines = [
        f'Condition {c.condition:.3g}; distance to the nearest singularity {c.distance:.3g} '
        '(smallest over largest singular value).'
    ]
    if c.is_singular:
        lines.append(
            'Close to a singularity: in it '
            f'{listed(_fastest(c, c.singular_direction[:, None]))} would come free.'
        )
    return lines


def _fastest(c, directions):
    """Return the joints on loops that move most in some velocities, (nv, k), fastest first."""
    body_i, cluster_i = c.robot.table(at.BODY_I), c.robot.table(at.CLUSTER_I)
    speed = np.abs(directions).max(axis=1, initial=0.0) / c.robot.table(at.DOF_F)[:, at.SCALE]
    for j, dof in enumerate(c.robot.table(at.DOF_I)):
        if not cluster_i[body_i[dof[at.DOF_BODY], at.CLUSTER], at.CLUSTER_N_ROWS]:
            speed[j] = 0.0
    order = np.argsort(-speed, kind='stable')
    return [
        c.robot.coordinate_names[j]
        for j in order
        if speed[j] > FREE_SHARE * speed.max(initial=0.0)
    ]


def _clusters(c):
    groups = {}
    for names, table, active, column in (
        (c.robot.loop_names, at.LOOP_I, at.LOOP_ACTIVE, at.LOOP_CLUSTER),
        (c.robot.coupling_names, at.COUPLING_I, at.COUPLING_ACTIVE, at.COUPLING_CLUSTER),
    ):
        for name, row in zip(names, c.robot.table(table)):
            if row[active] and row[column] >= 0:
                groups.setdefault(row[column], []).append(name)
    if len(groups) < 2:
        return ''
    parts = [', '.join(group) for group in groups.values()]
    more = [f'{len(parts) - MOST} more'] if len(parts) > MOST else []
    return (
        f'{len(groups)} clusters that share no joint, each solved on its own: '
        f'{"; ".join(parts[:MOST] + more)}.'
    )


def _idle(idle):
    if not idle:
        return ''
    axes = {}
    for motion in idle:
        axes.setdefault(motion.axis, []).append(motion.link)
    parts = [
        f'{links[0]} spins about its {axis} axis'
        if len(links) == 1
        else f'{listed(links)} spin about their {axis} axes'
        for axis, links in axes.items()
    ]
    words = 'Idle degree of freedom' if len(idle) == 1 else f'{len(idle)} idle degrees of freedom'
    return f'{words}: {"; ".join(parts)}, and nothing else moves.'


def _actuation(c):
    actuators, mobility = c.S.shape
    if not actuators:
        return (
            'No joint is actuated: mark motors with cc:role="actuated", or load with '
            'actuated=[...].'
        )
    if not mobility:
        return f'{plural(actuators, "actuator")} in a structure: torques only preload it.'
    kind, rank = kind_of(c.S), np.linalg.matrix_rank(c.S, tol=_lever(c.S))
    have = f'{plural(actuators, "actuator")} for mobility {mobility}'
    if kind == 'square':
        return f'Actuation is square: {have}.'
    if kind == 'redundant':
        return (
            f'Actuation is redundant by {actuators - mobility}: {have}, so that torques can '
            'preload the mechanism.'
        )
    if kind == 'deficient':
        return f'Actuation is deficient by {mobility - rank}: {have}.'
    return (
        f'Actuation is mixed: {have} drive {rank} of it, deficient by {mobility - rank} and '
        f'redundant by {actuators - rank}.'
    )


def _lever(S):
    return RANK_TOLERANCE * max(np.linalg.norm(S, 2) if S.size else 0.0, 1e-300)


def _free_of_actuators(c):
    """Return the velocities that no actuator feels, (nv, k)."""
    if not c.S.size:
        return c.W
    _, sigma, V = np.linalg.svd(c.S)
    return c.W @ V[int(np.sum(sigma > _lever(c.S))) :].T


def unmoved_joints(c):
    """Return the joints whose motion no actuator determines, in the order of their names."""
    free = np.abs(_free_of_actuators(c)).max(axis=1, initial=0.0)
    free = free / c.robot.table(at.DOF_F)[:, at.SCALE]
    bodies = c.robot.table(at.DOF_I)[free > MOVES, at.DOF_BODY]
    return [c.robot.joint_names[body - 1] for body in dict.fromkeys(bodies.tolist())]


def _unmoved(c, idle):
    joints = unmoved_joints(c) if c.S.size else []
    if not joints:
        return ''
    if idle and _free_of_actuators(c).shape[1] == idle:
        return 'No actuator moves the idle spins; all other motion is theirs.'
    verb = 'moves' if len(joints) == 1 else 'move'
    return f'No actuator decides how {listed(joints)} {verb}.'
