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

"""Gains as they are given, by joint or coordinate, and one for every velocity."""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from closed_chain_dynamics.arrays import Vector
from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['GivenGains', 'joint_gains']

GivenGains: TypeAlias = float | Mapping[str, float]  # a number, or by name with 'default'


def joint_gains(robot: Mechanism, given: GivenGains) -> Vector:
    """Return a gain for every velocity, (nv,)."""
    named = given if isinstance(given, Mapping) else {'default': given}
    gains = np.full(robot.nv, float(named.get('default', 0.0)))
    for name, value in named.items():
        if name in robot.joint_names:
            gains[robot.joint_slices(name)[1]] = value
        elif name in robot.coordinate_names:
            gains[robot.coordinate_names.index(name)] = value
        elif name != 'default':
            raise NameNotFound(
                'joint or coordinate',
                name,
                [*robot.joint_names, *robot.coordinate_names],
                where='gains',
            )
    if not (np.isfinite(gains).all() and (gains >= 0.0).all()):
        raise StateError(
            'gains must be finite and not negative',
            where=robot.name,
            repair='kp in 1/s^2, kd in 1/s; kd = 2 sqrt(kp) does not overshoot.',
        )
    return gains
