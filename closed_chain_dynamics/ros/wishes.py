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

"""What contact/connect and contact/cut may say: a name, or name@time; needs no ROS."""

from collections.abc import Collection
import math

from closed_chain_dynamics.errors import StateError

__all__ = ['NOW', 'read_wish']

NOW = -math.inf
SHOWN_OF_WISH = 100  # characters of a text that is refused


def read_wish(text: str, known: Collection[str]) -> tuple[str, float]:
    """Return the name of a joint, and the simulated time [s] behind an @, NOW where none is."""
    name, mark, after = text.rpartition('@')
    if text in known or not mark:
        return text, NOW
    try:
        when = float(after)
    except ValueError:
        return text, NOW  # a name, and refused as one that nobody bears
    if not math.isfinite(when):
        raise StateError(
            f'the time of {name[:SHOWN_OF_WISH]!r} is {after[:SHOWN_OF_WISH]}',
            where='contact',
            repair='Give finite seconds.',
        )
    return name, when
