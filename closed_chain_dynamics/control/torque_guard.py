"""The last thing that torques pass before they leave: finite, within effort, within a rate."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.model.mechanism import Mechanism, Vector

__all__ = ['TorqueGuard']

LONGEST_STEP = 0.01  # a longer pause does not allow a larger change [s]


class TorqueGuard:
    """
    Lets torques pass that are safe, and remembers the last ones.

    `effort_share`: share of the effort limits of the file that may be used. `rate_limit`: largest
    change of a torque in a second, as a multiple of its effort limit; actuators without an effort
    limit have no rate limit. A fall to zero is never delayed: see `release`.
    """

    def __init__(
        self, robot: Mechanism, *, effort_share: float = 1.0, rate_limit: float = 100.0
    ) -> None:
        if not 0.0 < effort_share <= 1.0:
            raise StateError(
                f'effort_share must be above 0 and at most 1, not {effort_share!r}',
                where=robot.name,
            )
        if not rate_limit > 0.0:
            raise StateError(
                f'rate_limit must be positive, not {rate_limit!r}',
                where=robot.name,
                repair='Efforts per second: 100 reaches the limit in 10 ms.',
            )
        self.robot = robot
        self.effort: Vector = effort_share * robot.model.actuators['effort']
        self._unlimited = ~np.isfinite(self.effort)
        self._rate = np.where(self._unlimited, 0.0, rate_limit * self.effort)
        self.tau = np.zeros(len(robot.actuator_names))
        self._time: float | None = None
        self.saturated: list[str] = []
        self.rate_limited: list[str] = []

    def limit(self, tau: Mapping[str, float] | ArrayLike | None, time: float) -> Vector:
        """Return torques nearest to those wanted that are allowed at a time; refuse non-finite."""
        wanted = actuator_vector(self.robot, tau, 'tau_A')
        allowed = np.clip(wanted, -self.effort, self.effort)
        step = 0.0 if self._time is None else min(max(time - self._time, 0.0), LONGEST_STEP)
        reach = np.where(self._unlimited, np.inf, self._rate * step)
        safe: Vector = np.clip(allowed, self.tau - reach, self.tau + reach)
        self.saturated = self._names(allowed != wanted)
        self.rate_limited = self._names(safe != allowed)
        self.tau, self._time = safe, time
        return safe

    def resume(self, other: 'TorqueGuard') -> None:
        """Go on from the torques that another guard has let pass."""
        self.tau, self._time = other.tau, other._time

    def restart(self) -> None:
        """Begin anew, from zero torques at no time."""
        self.tau, self._time = np.zeros_like(self.tau), None

    def release(self, time: float) -> Vector:
        """Return zero torques, at once."""
        self.tau, self._time = np.zeros_like(self.tau), time
        self.saturated, self.rate_limited = [], []
        return self.tau

    def _names(self, mask: NDArray[np.bool_]) -> list[str]:
        return [self.robot.actuator_names[k] for k in np.flatnonzero(mask)]
