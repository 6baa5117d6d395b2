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

"""Limits of joints and actuators, looked at in one go: a turn of control has no time for more."""

from collections import namedtuple

import numpy as np

from .compiling import kernel

FAST = 0.9  # share of a speed limit from which a joint is braked
BRAKED_WITHIN = 0.2  # a joint that would be at its limit by then may have to be braked now [s]
LIMIT_ROUNDING = 1e-9  # beyond a limit by less is at it [rad or m, share of a speed]
TOO_MUCH, OUT_OF_REACH, TORQUE_NOT_FINITE = (
    1,
    2,
    4,
)  # what may be the matter with torques, in any sum

# lower, upper, zone and speed of joints of one degree, (4, n), and their places in q and v, (2, n)
Limits = namedtuple('Limits', 'table places')


@kernel
def find_offenders(limits, q, v, since, zones, share):
    """
    Return the first joint beyond its limits by more than some zones, and the first too fast.

    -1 for none; and whether one is near: in the zone before a limit, there within BRAKED_WITHIN,
    or nearly too fast. `since`: a pose whose joints are allowed anyhow; `share`: of the speeds.
    """
    beyond, fast, near = -1, -1, False
    for k in range(limits.table.shape[1]):
        lower, upper, zone = limits.table[0, k], limits.table[1, k], limits.table[2, k]
        speed = limits.table[3, k]
        x, then, rate = q[limits.places[0, k]], since[limits.places[0, k]], v[limits.places[1, k]]
        before = max(then - upper, lower - then, 0.0)
        if beyond < 0 and max(x - upper, lower - x) > zones * zone + LIMIT_ROUNDING + before:
            beyond = k
        if fast < 0 and abs(rate) > share * speed * (1.0 + LIMIT_ROUNDING):
            fast = k
        soon = x + BRAKED_WITHIN * rate
        near = near or max(x, soon) > upper - zone or min(x, soon) < lower + zone
        near = near or abs(rate) > FAST * speed
    return beyond, fast, near


@kernel
def first_too_fast(rates, places, speed, share):
    """Return the first whose rate, at its place, is above a share of its speed, or -1."""
    for k in range(places.size):
        if abs(rates[places[k]]) > share * speed[k] * (1.0 + LIMIT_ROUNDING):
            return k
    return -1


@kernel
def limit_torques(wanted, last, most, reach, out):
    """
    Write torques nearest to those wanted, within `most`, and within reach of the last ones.

    Returns TOO_MUCH where one was beyond `most`, plus OUT_OF_REACH, plus TORQUE_NOT_FINITE. The
    last ones count as brought within `most`: what has become too large falls at once.
    """
    status = 0
    for k in range(wanted.size):
        if not abs(wanted[k]) < np.inf:
            status |= TORQUE_NOT_FINITE
        allowed = min(max(wanted[k], -most[k]), most[k])
        before = min(max(last[k], -most[k]), most[k])
        out[k] = min(max(allowed, before - reach[k]), before + reach[k])
        if allowed != wanted[k]:
            status |= TOO_MUCH
        if out[k] != allowed:
            status |= OUT_OF_REACH
    return status
