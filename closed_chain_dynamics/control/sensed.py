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
What a controller knows beside the joints, each with a time of its own, and what becomes of it.

wrenches       on links, from force plates and sensors: loads that motors carry, in every mode
human torques  on joints, measured or estimated: what the mode `assist` takes a share of
accelerations  of the joints, from their velocities through a low-pass of first order, whose gain
               is nowhere above one: what the mode `transparent` takes a share of

What is older than its timeout, or of a time that has started anew since, is left out and named in
`stale`, until it comes again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
import math

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.dynamics.tree import link_placement
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['NOTHING_SENSED', 'Sensed', 'Sensors']

LONGEST_BETWEEN_STATES = 0.1  # between two states that still tell an acceleration [s]


@dataclass(frozen=True)
class Sensed:
    """What is known at one instant, and fresh."""

    wrenches: Mapping[str, Vector] = field(default_factory=dict)  # {link: (6,)}, world axes
    human: Vector | None = None  # on the tree, (nv,) [N m or N]
    acceleration: Vector | None = None  # of the tree, filtered, (nv,)
    stale: str = ''  # what stays away, in words

    @cached_property
    def sources(self) -> frozenset[str]:
        """Return what counts now; torques may step where this changes."""
        return frozenset([*self.wrenches, *(['human torques'] if self.human is not None else [])])


NOTHING_SENSED = Sensed()


class Sensors:
    """
    Takes what is measured beside the joints.

    `links`: those whose wrenches are measured; wrenches on others are left alone.
    `wrench_timeout`, `human_timeout`: ages from which they count no more [s]; `cutoff`: of the
    acceleration [Hz].
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        links: Collection[str] = (),
        wrench_timeout: float = 0.1,
        human_timeout: float = 0.1,
        cutoff: float = 10.0,
    ) -> None:
        for link in links:
            robot.link_frame(link)  # an unknown name is told
        self.robot, self.links = robot, list(links)
        self.wrench_timeout, self.human_timeout, self._cutoff = (
            wrench_timeout,
            human_timeout,
            cutoff,
        )
        self._wrenches: dict[str, tuple[float, Vector]] = {}  # when, and in axes of the link
        self._human: tuple[float, dict[str, float]] = (-math.inf, {})
        self._last: tuple[float, Vector] | None = None  # stamp and velocity
        self._acceleration = np.zeros(robot.nv)

    def resume(self, other: 'Sensors') -> None:
        """Go on with what another one has heard."""
        self._wrenches, self._human = other._wrenches, other._human
        self._last, self._acceleration = other._last, other._acceleration

    # --- what comes ------------------------------------------------------------------------------
    def take_wrench(self, link: str, wrench: ArrayLike, now: float) -> bool:
        """Take force and moment on a link, (6,) in its axes at its origin; return if it counts."""
        if link not in self.links:
            return False
        given = self.robot.vector(wrench, 6, f'wrench on link {link!r}')
        if not np.isfinite(given).all():
            raise StateError(f'the wrench on link {link!r} is not finite', where='external_wrench')
        self._wrenches[link] = now, given.copy()
        return True

    def take_human(self, names: Sequence[str], efforts: ArrayLike, now: float) -> None:
        """Take what a person does to joints of one degree, or to coordinates [N m or N]."""
        given = np.array(efforts, dtype=float)
        if given.shape != (len(names),) or not np.isfinite(given).all():
            raise StateError(
                f'{len(names)} names need as many finite efforts',
                where='human_torques',
                repair='Give name and effort of each joint.',
            )
        for name in names:
            if name not in self.robot.coordinate_names:
                raise NameNotFound(
                    'joint or coordinate', name, self.robot.coordinate_names, where='human_torques'
                )
        self._human = now, dict(zip(names, given.tolist()))

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is measured beside the joints."""
        return not self.links and not self._human[1]

    # --- what is -------------------------------------------------------------------------------
    def at(self, q: Vector, v: Vector, stamp: float, now: float) -> Sensed:
        """Return what is fresh now; the stamps of states tell accelerations."""
        wrenches = {}
        for link, (when, wrench) in self._wrenches.items():
            if link in self.links and abs(now - when) <= self.wrench_timeout:
                R = link_placement(self.robot, q, link)[:3, :3]
                wrenches[link] = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
        missing = [f'the wrench on {link!r}' for link in self.links if link not in wrenches]
        human, (when, torques) = None, self._human
        if torques and abs(now - when) <= self.human_timeout:
            human = np.zeros(self.robot.nv)
            places = {name: k for k, name in enumerate(self.robot.coordinate_names)}
            for name, torque in torques.items():
                if name in places:  # else cut since
                    human[places[name]] = torque
        elif torques:
            missing.append('human torques')
        stale = f'not received within the timeout: {", ".join(missing)}' if missing else ''
        return Sensed(wrenches, human, self._accelerated(v, stamp), stale)

    def _accelerated(self, v: Vector, stamp: float) -> Vector:
        """Return the filtered acceleration of the joints."""
        last, self._last = self._last, (stamp, v.copy())
        if last is None or last[1].size != v.size:
            self._acceleration = np.zeros(v.size)
            return self._acceleration
        dt = stamp - last[0]
        if dt == 0.0:  # the same state again
            return self._acceleration
        if not 0.0 < dt <= LONGEST_BETWEEN_STATES:
            self._acceleration = np.zeros(v.size)
            return self._acceleration
        share = dt / (dt + 1.0 / (2.0 * math.pi * self._cutoff))
        self._acceleration = self._acceleration + share * ((v - last[1]) / dt - self._acceleration)
        return self._acceleration
