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
Tells faults from glitches: what is wrong with measured states several times in a row.

One velocity beyond any speed is a glitch of a sensor or of the network, and its state is refused;
several in a row are a fault. So is a joint beyond its limit by more than the soft zone, a pose
that jumped to another branch while torques were sent, and an error beyond its bound.

What nobody has driven yet may fall, or be moved by hand, as it likes: there, limits and speeds are
no fault but a `doubt`, which ends by itself.
"""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.safety_state import SafetyState

__all__ = ['StateWatch']

CONFIRM = 3  # states in a row that make a fault
TOO_FAST = 1.25  # times its speed limit
NO_DOUBT = ('', '')


class StateWatch:
    """
    Judges states for a ControlLoop; `tracking_bound`: largest error of a motor [rad or m].

    `driven`: whether the law has sent torques since the begin, or since a fault was cleared;
    `doubt`: what is wrong with the states of a mechanism that is not driven, (cause, text);
    `is_near`: whether a joint of the last state is near its limits, and soft limits have work.
    """

    def __init__(
        self, limits: JointLimits, safety: SafetyState, tracking_bound: float = 0.5
    ) -> None:
        self.limits, self.safety, self.tracking_bound = limits, safety, tracking_bound
        self._suspects, self._misses, self._jumps = 0, 0, 0
        self.driven, self.doubt = False, NO_DOUBT
        self.is_near = False

    def refuses(self, names: Sequence[str], velocity: ArrayLike | None) -> str:
        """Return why a message is not to be believed, in words, or nothing."""
        return self._confirmed(
            'speed', self.limits.measured_too_fast(names, velocity, TOO_FAST), again=False
        )

    def judge(self, q: Vector, v: Vector, jumps: int, *, acts: bool) -> str:
        """Return what is wrong with a complete state, in words, or nothing; `acts`: the law."""
        jumped, self._jumps = jumps > self._jumps, jumps
        if jumped and acts:
            self.safety.fault(
                'branch', 'the joints jumped to another pose, or branch of the loops'
            )
            return self.safety.text
        beyond, fast, self.is_near = self.limits.look(q, v, share=TOO_FAST)
        if beyond:
            return self._confirmed('limit', beyond)
        return self._confirmed('speed', fast)

    def take_good(self) -> None:
        """Take note of a state that nothing is wrong with, nor nearly."""
        self._suspects, self.doubt, self.is_near = 0, NO_DOUBT, False

    def present(self, q: Vector, v: Vector) -> str:
        """Return what is wrong with a state now, without counting."""
        beyond, fast, _ = self.limits.look(q, v, share=TOO_FAST)
        return beyond or fast

    def is_unfit(self, v: Vector) -> bool:
        """Return whether nobody drives it yet, and a motion can not begin as it moves now."""
        return not self.driven and bool(self.doubt[0] or self.limits.too_fast(v))

    def _confirmed(self, cause: str, text: str, again: bool = True) -> str:
        if text:
            self._suspects += 1
            if self._suspects >= CONFIRM and self.driven:
                self.safety.fault(cause, text)
            elif self._suspects >= CONFIRM:
                self.doubt = cause, text
        elif again:
            self._suspects, self.doubt = 0, NO_DOUBT
        return text

    def take_error(self, error: float) -> None:
        """Take the largest tracking error of a turn."""
        self._misses = self._misses + 1 if not error <= self.tracking_bound else 0
        if self._misses >= CONFIRM:
            self.safety.fault(
                'tracking',
                f'a motor is {error:.3g} rad or m away from the reference, more than '
                f'{self.tracking_bound:g}',
            )

    def begin_anew(self) -> None:
        """Forget what was counted."""
        self._suspects, self._misses, self._jumps = 0, 0, 0
        self.doubt = NO_DOUBT
