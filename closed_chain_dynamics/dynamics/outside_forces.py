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

"""Forces from outside that act during one computation: wrenches on links, and any coordinate's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.model import Records
from closed_chain_dynamics.model.workspace import NO_LOADS

__all__ = ['acting', 'checked_wrenches', 'loads_of']


def checked_wrenches(
    robot: Mechanism, wrenches: Mapping[str, ArrayLike] | None
) -> dict[str, tuple[float, ...]]:
    """Return wrenches by link as numbers that nobody changes, or say what is wrong with them."""
    checked = {}
    for link, wrench in (wrenches or {}).items():
        robot.link_frame(link)  # an unknown name is told
        numbers = robot.vector(wrench, 6, f'wrench on link {link!r}')
        if not np.all(np.isfinite(numbers)):
            raise StateError(f'the wrench on link {link!r} is not finite', where=robot.name)
        checked[link] = tuple(numbers.tolist())
    return checked


def loads_of(robot: Mechanism, wrenches: Mapping[str, ArrayLike] | None) -> Records:
    """Return wrenches, {link: (6,)} in world axes at the link origin, as the kernels take them."""
    loads = np.zeros(len(wrenches or {}), at.LOAD)
    for load, (link, wrench) in zip(loads, checked_wrenches(robot, wrenches).items()):
        load['body'], _, load['p'] = robot.link_frame(link)
        load['wrench'] = wrench
    return loads


@contextmanager
def acting(
    robot: Mechanism,
    wrenches: Mapping[str, ArrayLike] | None = None,
    extra: ArrayLike | None = None,
) -> Iterator[None]:
    """
    Let wrenches on links and forces on coordinates, (nv,), act within a `with` block.

    Whatever happens in it, nothing acts on the mechanism when it is over.
    """
    if not wrenches and extra is None:
        yield
        return
    robot.set_loads(loads_of(robot, wrenches))
    try:
        if extra is not None:
            force = robot.vector(extra, robot.nv, 'extra')
            if not np.all(np.isfinite(force)):
                robot.raise_for(at.NOT_FINITE, robot.neutral(), force)
            robot.set_extra(force)
        yield
    finally:
        robot.set_loads(NO_LOADS)
        robot.set_extra(None)
