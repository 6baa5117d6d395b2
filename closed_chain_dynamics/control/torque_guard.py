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

"""What torques pass last before they leave: finite, within effort, rate and power."""

from collections.abc import Mapping
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.actuation import actuator_vector
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels.limit_checks import limit_torques
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['DEFAULT_EFFORT', 'TorqueGuard']

DEFAULT_EFFORT = 50.0  # of actuators whose limit says nothing of effort [N m or N]
LONGEST_BETWEEN_TORQUES = 0.01  # a longer pause does not allow a larger change [s]


class TorqueGuard:
    """
    Lets torques pass that are safe, and remembers the last ones.

    `effort_share`: share of the effort limits of the file that may be used. `rate_limit`: largest
    change of a torque in a second, as a multiple of its effort limit. `default_effort`: limit of
    actuators that have none in the file, whose names are in `unlimited`. `power_limit`: most that
    an actuator may give or take [W]. A fall to zero is never delayed: see `release`.
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        effort_share: float = 1.0,
        rate_limit: float = 100.0,
        default_effort: float = DEFAULT_EFFORT,
        power_limit: float = np.inf,
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
                repair='It counts effort limits per second: 100 reaches the limit in 10 ms.',
            )
        if not (0.0 < default_effort < np.inf and power_limit > 0.0):
            raise StateError(
                'default_effort must be positive and finite, and power_limit positive',
                where=robot.name,
                repair='Efforts in N m or N, power in W.',
            )
        self.robot, self._power = robot, power_limit
        given = robot.model.actuators['effort']
        self.unlimited = self._names(~np.isfinite(given))
        self.effort: Vector = effort_share * np.where(np.isfinite(given), given, default_effort)
        self._rate_limit, self._rate = rate_limit, rate_limit * self.effort
        self.tau = np.zeros(len(robot.actuator_names))
        self._time: float | None = None
        self.saturated: list[str] = []
        self.rate_limited: list[str] = []

    def __repr__(self) -> str:
        return f'<TorqueGuard of {self.robot.name!r}: {len(self.tau)} actuators>'

    @property
    def bounds_power(self) -> bool:
        """Return whether the speeds of actuators count."""
        return self._power < math.inf

    @property
    def reversal(self) -> float:
        """Return how long a torque takes from one end of its range to the other [s]."""
        return 2.0 / self._rate_limit

    def limit(
        self, tau: Mapping[str, float] | ArrayLike | None, time: float, speed: Vector | None = None
    ) -> Vector:
        """
        Return torques nearest to those wanted that are allowed at a time; refuse non-finite.

        `speed`: of the actuators, for the limit of power.
        """
        wanted = actuator_vector(self.robot, tau, 'tau_A')
        most = self.effort
        if speed is not None and self.bounds_power:
            most = np.minimum(most, self._power / np.maximum(np.abs(speed), 1e-12))
        # Power wins over the rate: a torque that speed has made too large falls at once.
        safe: Vector = np.empty(wanted.size)
        status = limit_torques(wanted, self.tau, most, self.reach(time), safe)
        return self.passed(wanted, most, safe, status, time)

    def reach(self, time: float) -> Vector:
        """Return by how much torques may change till a time."""
        step = (
            0.0
            if self._time is None
            else min(max(time - self._time, 0.0), LONGEST_BETWEEN_TORQUES)
        )
        reach: Vector = self._rate * step
        return reach

    def passed(
        self, wanted: Vector, most: Vector, safe: Vector, status: int, time: float
    ) -> Vector:
        """Take note of torques that leave at a time, `status` of `limit_torques`; return them."""
        self.saturated, self.rate_limited = [], []
        if status:
            allowed = np.clip(wanted, -most, most)
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
        if not mask.any():
            return []
        return [self.robot.actuator_names[k] for k in np.flatnonzero(mask)]
