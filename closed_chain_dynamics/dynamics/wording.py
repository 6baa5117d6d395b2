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

"""Numbers, counts and lists of names in sentences."""

from collections.abc import Iterable

from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['MOST_LISTED', 'compact', 'listed', 'plural', 'share']

MOST_LISTED = 8  # names in a list before the rest is only counted
NO_SHARE = 1e-12  # shares of one below which all digits are rounding


def plural(n: int, noun: str) -> str:
    """Return for instance '1 row' or '3 rows'; velocity becomes velocities."""
    if n == 1:
        return f'1 {noun}'
    return f'{n} {noun[:-1]}ies' if noun.endswith('y') else f'{n} {noun}s'


def listed(names: Iterable[str], most: int = MOST_LISTED) -> str:
    """Return 'a', 'a and b', 'a, b and c', or 'a, b, c and 7 more'."""
    names = list(names)
    if len(names) > most:
        return f'{", ".join(names[:most])} and {len(names) - most} more'
    return ' and '.join(filter(None, [', '.join(names[:-1]), *names[-1:]]))


def compact(robot: Mechanism, names: Iterable[str]) -> list[str]:
    """Return names of coordinates with those of one whole joint in one, as in ball:wx..wz."""
    names, short = list(names), list[str]()
    for joint in robot.joint_names:
        own = robot.coordinate_names[robot.joint_slices(joint)[1]]
        if len(own) > 1 and set(own) <= set(names):
            short.append(f'{own[0]}..{own[-1].rsplit(":", 1)[1]}')
            names = [name for name in names if name not in own]
        else:
            short += [name for name in own if name in names]
    return short


def share(value: float) -> str:
    """Return a number that is compared with one; what is rounding is 0."""
    return f'{value if abs(value) > NO_SHARE else 0.0:.3g}'
