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
The choice of generalized coordinates, explained in words.

A few lines that name joints, loops and links: how many ways there are to move, which coordinates
stand for them and why, which constraints say nothing new, how far the next singularity is, what
moves idly, and what the actuators can do.
"""

from typing import TYPE_CHECKING

import numpy as np

from closed_chain_dynamics.arrays import Matrix
from closed_chain_dynamics.dynamics.idle_motion import IdleMotion, Motions, idle_motions
from closed_chain_dynamics.dynamics.wording import MOST_LISTED, compact, listed, plural, share

__all__ = ['explain', 'unmoved_joints']

if TYPE_CHECKING:
    from closed_chain_dynamics.dynamics.generalized_coordinates import Coordinates
FREE_SHARE = 0.1  # joints that move by less than this share of the fastest are not named
MOVES = 1e-7  # a coordinate that moves by less than this share of the fastest stands still
OFF_PLANE = 1e-7  # sine of the angle of a turn to a plane's normal, and share of a slide across
CLEAR_FALL = 1e-11  # singular values that fall by more than this leave no doubt about the rank


def explain(c: 'Coordinates', *, actuators: bool = True) -> str:
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


def _mobility(c: 'Coordinates') -> str:
    velocities = plural(c.robot.nv, 'joint velocity')
    if not len(c.J_C):
        reason = 'all loops are open' if c.robot.loop_names else 'no loop or coupling'
        return f'Mobility {c.mobility}: {velocities}, {reason}.'
    text = (
        f'Mobility {c.mobility} = {velocities} - rank {c.rank} of '
        f'{plural(len(c.J_C), "constraint row")}'
    )
    return f'{text}: a structure, nothing moves.' if c.mobility == 0 else f'{text}.'


def _tied(c: 'Coordinates') -> set[int]:
    """Return the velocities that loops or couplings tie."""
    return {int(j) for cluster in c.clusters for j in cluster.dofs}


def _choice(c: 'Coordinates') -> list[str]:
    """Say which coordinates were chosen and why, and which follow from them."""
    reasons: dict[str, list[str]] = {}
    motors: list[str] = []
    dependent, tied = set(c.dependent), _tied(c)
    for j, name in enumerate(c.robot.coordinate_names):
        wish = c.robot.structure.dofs['preference'][j]
        if name in dependent:
            motors += [name] if wish == 2 else []
            continue
        reason = (
            'actuated'
            if wish == 2
            else 'on no loop'
            if j not in tied
            else 'marked independent'
            if wish == 1
            else 'chosen for good conditioning'
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


def _redundancy(c: 'Coordinates', motions: Motions) -> str:
    counts = c.redundant_rows_by_loop
    if not counts:
        return ''
    robot, parts = c.robot, []
    for name, count in counts.items():
        if name in robot.loop_names:
            loop = robot.structure.loops[robot.loop_names.index(name)]
            rows, cluster = loop['n_rows'], loop['cluster']
            why = (
                ', within one body'
                if cluster < 0
                else ', a planar loop'
                if is_planar(motions.subspaces[robot.structure.dofs_of(cluster)], motions.length)
                else ''
            )
            parts.append(f'{name} ({count} of {rows}{why})')
        else:
            parts.append(f'{name} (a coupling)')
    total = sum(counts.values())
    verb = 'is' if total == 1 else 'are'
    return f'Redundant: {plural(total, "row")} {verb} implied by the others, in {listed(parts)}.'


def is_planar(columns: Matrix, length: float) -> bool:
    """Return whether motion subspaces, (n, 6), keep all points in parallel planes."""
    linear, angular = columns[:, :3] / length, columns[:, 3:]
    turns = np.linalg.norm(angular, axis=1)
    if turns.max(initial=0.0) == 0.0:
        return bool(np.linalg.matrix_rank(linear, tol=OFF_PLANE) <= 2)
    normal = angular[np.argmax(turns)] / turns.max()
    size = max(1.0, np.abs(linear).max())
    return bool(
        np.abs(np.cross(angular, normal)).max() < OFF_PLANE
        and np.abs(linear @ normal).max() < OFF_PLANE * size
    )


def _singularity(c: 'Coordinates') -> list[str]:
    if c.rank == 0:
        return []
    if c.lost_rank:  # the singular values that are left say nothing about the one that is lost
        ways = 'one way' if c.lost_rank == 1 else f'{c.lost_rank} ways'
        return [
            f'At a singularity, distance 0: {listed(_fastest(c, c.W))} can move in {ways} '
            'more than in the poses nearby.'
        ]
    lines = [
        f'Condition {c.condition:.3g}; distance to the nearest singularity {share(c.distance)}.'
    ]
    if c.nearest and c.nearest.what != 'loops':  # of loops, the condition has said it
        lines[0] += f' Nearest: {c.nearest}.'
    kept, dropped = c.rank_gap
    if dropped > CLEAR_FALL * kept:
        lines.append(
            f'Rank {c.rank}: singular values of the loops fall from {kept:.2g} to {dropped:.2g} '
            'of the largest, which counts as rounding of the file.'
        )
    if c.is_singular:
        lines.append(
            'Close to a singularity, in which '
            f'{listed(_fastest(c, c.singular_direction[:, None]))} would be free to move.'
        )
    return lines


def _fastest(c: 'Coordinates', directions: Matrix) -> list[str]:
    """Return the joints on loops that move most in some velocities, (nv, k), fastest first."""
    speed = np.abs(directions).max(axis=1, initial=0.0) / c.robot.structure.dofs['scale']
    speed[[j for j in range(len(speed)) if j not in _tied(c)]] = 0.0
    order = np.argsort(-speed, kind='stable')
    return [
        c.robot.coordinate_names[j]
        for j in order
        if speed[j] > FREE_SHARE * speed.max(initial=0.0)
    ]


def _clusters(c: 'Coordinates') -> str:
    groups: dict[int, list[str]] = {}
    for names, table in (
        (c.robot.loop_names, c.robot.structure.loops),
        (c.robot.coupling_names, c.robot.structure.couplings),
    ):
        for name, row in zip(names, table):
            if row['active'] and row['cluster'] >= 0:
                groups.setdefault(int(row['cluster']), []).append(name)
    if len(groups) < 2:
        return ''
    parts = [', '.join(group) for group in groups.values()]
    more = [f'{len(parts) - MOST_LISTED} more'] if len(parts) > MOST_LISTED else []
    return (
        f'{len(groups)} clusters that share no joint, each solved on its own: '
        f'{"; ".join(parts[:MOST_LISTED] + more)}.'
    )


def _idle(idle: list[IdleMotion]) -> str:
    if not idle:
        return ''
    axes: dict[str, list[str]] = {}
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


def _actuation(c: 'Coordinates') -> str:
    actuators, mobility = c.S.shape
    if not actuators:
        return (
            'No joint is actuated: mark motors with cc:role="actuated", or load with '
            'actuated=[...].'
        )
    if not mobility:
        return f'{plural(actuators, "actuator")} in a structure: torques only preload it.'
    kind, rank = c.levers.kind, c.levers.rank
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


def _free_of_actuators(c: 'Coordinates') -> Matrix:
    """Return the velocities that no actuator feels, (nv, k)."""
    return np.asarray(c.W @ c.levers.unmoved)


def unmoved_joints(c: 'Coordinates') -> list[str]:
    """Return the joints whose motion no actuator determines, in the order of their names."""
    free = np.abs(_free_of_actuators(c)).max(axis=1, initial=0.0)
    free = free / c.robot.structure.dofs['scale']
    bodies = c.robot.structure.dofs['body'][free > MOVES]
    return [c.robot.joint_names[body - 1] for body in dict.fromkeys(bodies.tolist())]


def _unmoved(c: 'Coordinates', idle: int) -> str:
    joints = unmoved_joints(c) if c.S.size else []
    if not joints:
        return ''
    if idle and _free_of_actuators(c).shape[1] == idle:
        return 'No actuator moves the idle spins; the actuators determine all other motion.'
    verb = 'moves' if len(joints) == 1 else 'move'
    return f'No actuator decides how {listed(joints)} {verb}.'
