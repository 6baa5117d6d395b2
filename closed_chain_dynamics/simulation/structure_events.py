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
Connecting and cutting joints of a mechanism in motion (Nakamura and Yamane, section V).

Connecting closes what is left of a gap and catches the motion; cutting sets it free. Several
joints may do it at the same instant. Whatever is refused leaves everything as it was.
"""

from collections.abc import Sequence
import dataclasses

import numpy as np

from closed_chain_dynamics import kernels
from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.closing import Closure
from closed_chain_dynamics.dynamics.impacts import body_states, impact_on_bodies
from closed_chain_dynamics.dynamics.tree import momentum
from closed_chain_dynamics.errors import ClosedChainError, StructureError
from closed_chain_dynamics.model import changes
from closed_chain_dynamics.model.model import Records
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.moving_mechanism import MovingMechanism

__all__ = ['connect', 'cut']

ONE_STEP_GAP = 1e-10  # from here on one step of Newton's method closes a loop to rounding


def connect(
    motion: MovingMechanism, names: Sequence[str], gap: float, angle: float
) -> list[Event]:
    """Connect loop joints, or tree joints that were cut, all at the same instant."""
    robot, before, energy = motion.robot, motion.mobility(), float(motion.energy())
    kept, moved = (motion.q, motion.v, robot.connections()), momentum(robot, motion.q, motion.v)
    states = body_states(robot, motion.q, motion.v)
    joints = [name for name in names if name not in robot.loop_names]
    try:
        # tree joints first: they change the coordinates that gaps of loops are looked at in
        with robot.same_digits():
            for name in sorted(names, key=robot.loop_names.__contains__):
                state = changes.connect(robot, name, motion.q, motion.v, gap=gap, angle=angle)
                _place(motion, *state)
        _bring_together(motion, states)
        hit = impact_on_bodies(robot, motion.q, states, joints=joints)
        after = motion.mobility()
        if after == 0:
            raise StructureError(
                f'connecting {", ".join(map(repr, names))} would leave no motion at all',
                where=robot.name,
                repair='Cut another connection first.',
            )
    except ClosedChainError:
        with robot.same_digits():
            robot.restructure(kept[2])
        motion.place(*kept[:2])
        raise
    motion.v = hit.v_after.copy()
    total = energy - float(motion.energy())
    motion.lost += total
    jump = hit.momentum_after - moved
    events = [
        Event(motion.time, 'connect', name, before, after, 0.0, hit.impulse_of(name), jump)
        for name in names
    ]
    for first in events[:1]:  # one impact, whatever number of joints shares it
        lost = max(float(hit.energy_lost), 0.0)
        events[0] = dataclasses.replace(first, energy_lost=lost, energy_of_gap=total - lost)
    return events


def cut(motion: MovingMechanism, names: Sequence[str]) -> list[Event]:
    """Cut loop joints or tree joints, all at the same instant."""
    robot, before, energy = motion.robot, motion.mobility(), float(motion.energy())
    kept = motion.q, motion.v, robot.connections()
    try:
        with robot.same_digits():
            for name in names:
                _place(motion, *changes.cut(robot, name, motion.q, motion.v))
    except ClosedChainError:
        with robot.same_digits():
            robot.restructure(kept[2])
        motion.place(*kept[:2])
        raise
    after = motion.mobility()
    lost = energy - float(motion.energy())  # what springs and limits of the joints had stored
    motion.lost += lost
    return [
        Event(motion.time, 'cut', name, before, after, lost if name == names[0] else 0.0)
        for name in names
    ]


def _place(motion: MovingMechanism, q: Vector | None, v: Vector | None) -> None:
    """Go on from a state in the coordinates of a new structure."""
    if q is not None and v is not None:
        motion.place(q, v)


def _bring_together(motion: MovingMechanism, states: Records) -> None:
    """
    Close the gaps of new connections; all masses stay as near as can be to where they were.

    Where that is too far for Newton's method, a more careful one goes ahead of it. Holding theta_G
    as a step does would send the others far, or nowhere, in a bad pose.
    """
    robot = motion.robot
    motion.v = np.zeros(robot.nv)
    if kernels.compute_settling(robot.handle, motion.q, states, motion.work):
        for cluster in np.flatnonzero(robot.structure.clusters['n_rows']):
            closure = Closure(robot, int(cluster), np.zeros(robot.nv, dtype=bool), False)
            motion.q = closure.close(motion.q, ONE_STEP_GAP)[0]
        motion.close()
        kernels.compute_settling(robot.handle, motion.q, states, motion.work)
