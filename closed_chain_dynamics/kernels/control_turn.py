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
A whole turn of control in one call: state, limits, law and guard, where nothing is out of the way.

The loops are solved once for all of it, where the joint state is complete and in accord with them;
else once more for the drift, which needs the velocity that they give.
"""

from collections import namedtuple

import numpy as np

from . import records as at
from .compiling import kernel_of_same_types
from .following import FOLLOWED, compute_follow, solve_with_drift
from .limit_checks import find_offenders, limit_torques
from .torque_law import law_at, law_by_code

# of the last state, what joints say now, and where the next one is written, see following.py
Joints = namedtuple('Joints', 'q v named fit found')
# reference, gains, room for accelerations, and what the law writes
Law = namedtuple('Law', 'target gains a out')
# effort limits, the largest change now, the last torques, and room for those that leave
Guard = namedtuple('Guard', 'effort reach last safe')
# what a state must not do, lest somebody looks at it closely: move too fast, by a share of the
# speed limit; change the speed of unnamed joints, by a share of it, as only another branch would
Bounds = namedtuple('Bounds', 'too_fast flip at_rest')

LOOK_CLOSER = -1  # a turn that has to be taken step by step; else the answer of `limit_torques`


@kernel_of_same_types
def compute_turn(m, joints, facts, limits, bounds, law, guard):
    """
    Write the state that joints lead to, and the torques that leave; return LOOK_CLOSER or status.

    What is looked at closer: rates that nobody measured, a state that is not where it was
    foreseen or moves as on another branch, a joint near its limits or too fast, and a law that
    needs more than one solution of S.
    """
    named, found, fact = joints.named, joints.found, facts[0]
    for rate in named.rates:
        if not abs(rate) < np.inf:
            return LOOK_CLOSER
    done = compute_follow(m, joints.q, joints.v, named, joints.fit, facts, found)
    if done != FOLLOWED or max(fact.distance, fact.misfit) > fact.jump:
        return LOOK_CLOSER
    allowed = bounds.flip * fact.speed + 10.0 * fact.named_change
    if fact.speed > bounds.at_rest and fact.unnamed_change > allowed:
        return LOOK_CLOSER
    beyond, fast, near = find_offenders(limits, found.q, found.v, found.q, 1.0, bounds.too_fast)
    if near or fast >= 0 or beyond >= 0:
        return LOOK_CLOSER
    if not law_by_code(m, found.q, found.v, law.target, law.gains, law.out):
        solve_with_drift(m, facts, found)
        if law_at(m, found.q, found.v, law.target, law.gains, law.a, law.out) != at.OK:
            return LOOK_CLOSER
    first = 1 + found.v.size
    tau_A = law.out[first : first + guard.safe.size]
    return limit_torques(tau_A, guard.last, guard.effort, guard.reach, guard.safe)
