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
Where friction locks: no finite forces fit a motion in which contacts slide (Painleve's paradox).

Then some of those contacts open, if they accelerate away and the others can go on. If none of
these ways is possible, the sliding jams: an impact without collision stops it at once, as when a
piece of chalk is pushed over a board. It takes energy, and stays within the friction cones.
"""

from itertools import combinations

import numpy as np

from closed_chain_dynamics.dynamics.contact_impacts import contact_impact
from closed_chain_dynamics.dynamics.contact_problem import (
    REST_SPEED,
    contact_problem,
    free_acceleration,
)
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.friction_lock import LOCKS
from closed_chain_dynamics.recording.events import Event
from closed_chain_dynamics.simulation.contact_modes import ContactModes
from closed_chain_dynamics.simulation.joint_holds import JointHolds

__all__ = ['resolve_lock']

MOST_WAYS = 10  # contacts that slide, all sets of which are tried
NO_IMPULSE = 1e-9  # speed that an impulse has to change, else it is none [m/s]


def resolve_lock(modes: ContactModes, joints: JointHolds, lock: StructureError) -> list[Event]:
    """Let contacts that friction locks open or jam; return the events, or raise the lock."""
    sliding = [k for k in modes.loops if modes.mode(k) == at.SLIDE]
    events: list[Event] = []
    if lock.why.startswith(LOCKS) and all(
        modes.loop(k)['contact'] == at.UNILATERAL for k in sliding
    ):
        opened = _way_out(modes, sliding)
        events = [modes.motion.event('lift_off', modes.robot.loop_names[k]) for k in opened]
        events = events or _jam(modes, joints, sliding)
    if not events:  # what is held on both sides is as the papers have it: told by name
        raise lock
    return events


def _way_out(modes: ContactModes, sliding: list[int]) -> tuple[int, ...]:
    """Open as few contacts as let the others go on; return them, none where there is no way."""
    if len(sliding) > MOST_WAYS:
        return ()
    kept = {k: modes.mode(k) for k in modes.loops}
    ways = {k: modes.loop(k)['direction'].copy() for k in modes.loops}
    for count in range(1, len(sliding) + 1):
        for opened in combinations(sliding, count):
            modes.set(dict.fromkeys(opened, None))
            if _goes_on(modes, opened):
                return opened
            modes.set(kept)
            for k, way in ways.items():
                modes.loop(k)['direction'] = way
    return ()


def _goes_on(modes: ContactModes, opened: tuple[int, ...]) -> bool:
    """Return whether there are forces without these contacts, which then move away."""
    motion = modes.motion
    try:
        signs = motion.signs()
    except StructureError:
        return False
    closed = modes.closed()
    if any(signs[k].min() < 0.0 for k in closed):
        return False
    a, problem = motion.accelerations(), contact_problem(modes.robot, motion.q, motion.v, opened)
    return bool(np.all((problem.J @ a + problem.bias)[::3] > 0.0))


def _jam(modes: ContactModes, joints: JointHolds, sliding: list[int]) -> list[Event]:
    """Let the impact without collision stop the sliding; return the events, none if it is none."""
    motion, robot = modes.motion, modes.robot
    joints.release()
    loops, stops, before = modes.closed(), joints.at_stops()[0], float(motion.energy())
    with motion.forces():
        pushed = free_acceleration(robot, motion.q, motion.v, loops)
    held = joints.held(stops, friction=False)
    none = [0.0] * (len(loops) + len(stops))
    hit = contact_impact(
        *(robot, motion.q, motion.v, loops, (), pushed), stops=held, restitution=none
    )
    if np.abs(hit.impact.v_after - motion.v).max() <= NO_IMPULSE:
        return []
    motion.v = hit.impact.v_after.copy()
    modes.set({k: None if k in hit.open else at.SLIDE for k in loops})
    motion.catch()
    lost = before - float(motion.energy())
    motion.lost += lost
    events = []
    for k in loops:
        name = robot.loop_names[k]
        if k in hit.open:
            events.append(motion.event('lift_off', name))
        elif k in sliding:
            stands = np.linalg.norm(modes.velocity(k)[0]) <= REST_SPEED
            kind = 'stick' if stands else 'slip'
            events.append(motion.event(kind, name, max(lost, 0.0), hit.impact))
            lost = 0.0  # one impact, whatever number of contacts shares it
    return events
