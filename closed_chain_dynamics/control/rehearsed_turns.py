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
A few turns on a copy, so that every kernel is loaded before it counts.

What a parameter may change while a motor is driven counts too: to load a kernel takes as long as
many turns, and to compile one takes seconds. Kernels are the same for all mechanisms.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.law import MODES, TorqueController
from closed_chain_dynamics.control.sensed import Sensors
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.dynamics.singularities import SINGULARITY_POLICIES
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.model.mechanism import load

__all__ = ['warm_up']

# for all that a law may become
REHEARSED_MODEL, REHEARSED_MOTOR, REHEARSED_LINK = 'four_bar', 'crank', 'rocker_link'
# without a reference, then with one, step by step, in one call, and at an unforeseen time [s]
REHEARSED_TIMES = (0.0, 1e-3, 2e-3, 3e-3, 4e-3, 5.1e-3)


def warm_up(loop: ControlLoop) -> None:
    """Take turns with a copy of a loop's mechanism and law, then with all laws there are."""
    loop.tracker.warm_up()
    _take_turns(loop.controller.for_copy(loop.robot.copy()))
    _rehearse_all()


@cache
def _rehearse_all() -> None:
    """Take turns with all laws there are, once."""
    for options in _laws():
        _take_turns(TorqueController(load(REHEARSED_MODEL), **options), links=[REHEARSED_LINK])


def _laws() -> Iterator[dict[str, Any]]:
    for mode in MODES:
        yield {'mode': mode, 'feel': Feel({REHEARSED_MOTOR: (1.0, 1.0)}, inertia_share=0.5)}
    for policy in SINGULARITY_POLICIES:
        yield {'singularity': policy}


def _take_turns(controller: TorqueController, links: Sequence[str] = ()) -> None:
    """Take turns with a law; `links`: those with a wrench on them."""
    robot = controller.robot
    trial = ControlLoop(controller, TorqueGuard(robot), fallback='gravity')
    try:
        q = assemble(robot, limits=False)
    except ClosedChainError:  # it may be closed later, by an event
        return
    single = [name for name in robot.joint_names if name in robot.coordinate_names]
    trial.sensors = Sensors(robot, links=links)
    for now in REHEARSED_TIMES:
        for link in links:
            trial.sensors.take_wrench(link, np.zeros(6), now)
        trial.take_state(robot.joint_names, q, np.zeros(robot.nv), stamp=now, now=now)
        if single and not trial.is_asked:
            trial.take_reference(single[:1], [1.0], [q[robot.joint_slices(single[0])[0]]])
        trial.look_ahead()
