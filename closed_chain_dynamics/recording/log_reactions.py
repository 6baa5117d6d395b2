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

"""Forces in the joints over a log, computed when they are asked for."""

from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.joint_reactions import reactions
from closed_chain_dynamics.dynamics.reaction_values import Reaction
from closed_chain_dynamics.recording.log import Log

__all__ = ['logged_reactions']


def logged_reactions(log: Log, frame: str, every: int) -> list[dict[str, Reaction]]:
    """Return the reactions of every so many-th sample, under the torques and wrenches then."""
    torques, number = log.rows('tau'), 0
    found: list[dict[str, Reaction]] = []
    for segment in log.segments:
        robot, wrenches = segment.mechanism(), segment.wrenches or None
        for q, v in zip(segment.get('q'), segment.get('v')):
            tau = next(torques)
            if number % every == 0:
                f = forward_dynamics(robot, q, v, tau, wrenches=wrenches)
                found.append(
                    dict(
                        reactions(robot, q, v, f.acceleration, tau, wrenches=wrenches, frame=frame)
                    )
                )
            number += 1
    return found
