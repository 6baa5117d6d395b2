"""
Tells faults from glitches: what is wrong with measured states several times in a row.

One velocity beyond any speed is a glitch of a sensor or of the network, and its state is refused;
several in a row are a fault. So is a joint beyond its limit by more than the soft zone, a pose
that jumped to another branch while torques were sent, and an error beyond its bound.
"""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from closed_chain_dynamics.control.joint_limits import JointLimits
from closed_chain_dynamics.control.safety_state import ACTIVE, SafetyState
from closed_chain_dynamics.model.mechanism import Vector

__all__ = ['StateWatch']

CONFIRM = 3  # states in a row that make a fault
TOO_FAST = 1.25  # times its speed limit


class StateWatch:
    """Judges states for a ControlLoop; `tracking_bound`: largest error of a motor [rad or m]."""

    def __init__(
        self, limits: JointLimits, safety: SafetyState, tracking_bound: float = 0.5
    ) -> None:
        self.limits, self.safety, self.tracking_bound = limits, safety, tracking_bound
        self._suspects, self._misses, self._jumps = 0, 0, 0

    def refuses(self, names: Sequence[str], velocity: ArrayLike | None) -> str:
        """Return why a message is not to be believed, in words, or nothing."""
        return self._confirmed(
            'speed', self.limits.measured_too_fast(names, velocity, TOO_FAST), again=False
        )

    def judge(self, q: Vector, v: Vector, jumps: int) -> str:
        """Return what is wrong with a complete state, in words, or nothing."""
        jumped, self._jumps = jumps > self._jumps, jumps
        if jumped and self.safety.state == ACTIVE:
            self.safety.fault(
                'branch', 'the joints jumped to another pose, or branch of the loops'
            )
            return self.safety.text
        beyond = self.limits.beyond(q)
        if beyond:
            return self._confirmed('limit', beyond)
        return self._confirmed('speed', self.limits.too_fast(v, TOO_FAST))

    def present(self, q: Vector, v: Vector) -> str:
        """Return what is wrong with a state now, without counting."""
        return self.limits.beyond(q) or self.limits.too_fast(v, TOO_FAST)

    def _confirmed(self, cause: str, text: str, again: bool = True) -> str:
        if text:
            self._suspects += 1
            if self._suspects >= CONFIRM:
                self.safety.fault(cause, text)
        elif again:
            self._suspects = 0
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
