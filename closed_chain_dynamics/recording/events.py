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

"""What a log tells of an instant at which the structure changed, or was refused to."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ['Event']


@dataclass
class Event:
    """Something that happened at an instant: a connection, a cut, or a refusal."""

    time: float
    # connect, cut; of contacts touch_down, bounce, lift_off, stick, slip, below_surface; of joints
    # at the ends of their range stop, bounce, leave_stop, beyond_limit; of those that friction
    # holds lock, unlock
    kind: str
    name: str
    mobility_before: int
    mobility_after: int
    energy_lost: float = 0.0  # in the impact, never negative; at a cut, what springs held [J]
    # in the rows of a loop joint; of a tree joint force and moment on the child; of a stop along
    # its joint [N s, N m s]
    impulse: np.ndarray = field(default_factory=lambda: np.zeros(0))
    momentum_change: np.ndarray = field(default_factory=lambda: np.zeros(6))
    energy_of_gap: float = 0.0  # that closing it took: from gravity, springs and motion [J]
