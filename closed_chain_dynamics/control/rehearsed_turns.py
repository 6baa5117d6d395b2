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

"""A few turns on a copy, so that every kernel is loaded before it counts."""

import numpy as np

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.errors import ClosedChainError

__all__ = ['warm_up']


def warm_up(loop: ControlLoop) -> None:
    """Take turns with a copy of a loop's mechanism and law."""
    loop.tracker.warm_up()
    robot = loop.robot.copy()
    trial = ControlLoop(loop.controller.for_copy(robot), TorqueGuard(robot), fallback='gravity')
    try:
        q = assemble(robot, limits=False)
    except ClosedChainError:  # it may be closed later, by an event
        return
    single = [
        name
        for name in robot.joint_names
        if robot.joint_slices(name)[1].stop - robot.joint_slices(name)[1].start == 1
    ]
    # without a reference, then with one, step by step, in one call, and at an unforeseen time
    for now in (0.0, 1e-3, 2e-3, 3e-3, 4e-3, 5.1e-3):
        trial.take_state(robot.joint_names, q, np.zeros(robot.nv), stamp=now, now=now)
        if single and not trial.is_asked:
            trial.take_reference(single[:1], [1.0], [q[robot.joint_slices(single[0])[0]]])
        trial.look_ahead()
