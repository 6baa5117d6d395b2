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

from .compiling import kernel

ROUNDING = 1e-9  # beyond a limit by less is at it [rad or m, share of a speed]


@kernel
def first_beyond(x, since, limits, zones):
    """
    Return the first joint that is beyond its limits by more than some zones, or -1.

    `limits`: lower, upper and zone of each, (3, n); `since`: positions that are allowed anyhow.
    """
    for k in range(x.size):
        lower, upper = limits[0, k], limits[1, k]
        before = max(since[k] - upper, lower - since[k], 0.0)
        if max(x[k] - upper, lower - x[k]) > zones * limits[2, k] + ROUNDING + before:
            return k
    return -1


@kernel
def first_too_fast(rates, places, speed, share):
    """Return the first whose rate, at its place, is above a share of its speed, or -1."""
    for k in range(places.size):
        if abs(rates[places[k]]) > share * speed[k] * (1.0 + ROUNDING):
            return k
    return -1


@kernel
def is_near_limit(x, rates, limits, speed):
    """Return whether a joint is in the zone before a limit, or faster than its speed."""
    for k in range(x.size):
        zone = limits[2, k]
        if x[k] > limits[1, k] - zone or x[k] < limits[0, k] + zone or abs(rates[k]) > speed[k]:
            return True
    return False


@kernel
def limit_torques(wanted, last, most, reach, out):
    """
    Write torques nearest to those wanted, within `most`, and within reach of the last ones.

    Returns 1 where one was beyond `most`, plus 2 where one was out of reach. The last ones count
    as brought within `most`: what has become too large falls at once.
    """
    status = 0
    for k in range(wanted.size):
        allowed = min(max(wanted[k], -most[k]), most[k])
        before = min(max(last[k], -most[k]), most[k])
        out[k] = min(max(allowed, before - reach[k]), before + reach[k])
        if allowed != wanted[k]:
            status |= 1
        if out[k] != allowed:
            status |= 2
    return status
