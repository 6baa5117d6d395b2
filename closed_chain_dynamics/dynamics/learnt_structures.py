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
What was learnt of structures that were met, so that it is not learnt again when they come back.

A hand grips and lets go, feet touch and lift: the same few structures come again and again. Their
rank, and what of it is rounding, take milliseconds to learn (rank.py) and nothing to remember.
"""

import numpy as np

from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.model.structure import Connections, Structure

__all__ = ['LearntStructures']

MOST_REMEMBERED = 128  # structures; those that were left longest ago are forgotten


class LearntStructures:
    """
    Remembers what was learnt of one model, by what is connected and cut.

    One thread keeps; others may `recall` into mechanisms of their own meanwhile.
    """

    def __init__(self) -> None:
        self._kept: dict[Connections, Structure] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, connections: Connections) -> bool:
        return connections in self._kept

    def keep(self, robot: Mechanism) -> None:
        """Remember what is known of the present structure of a mechanism, if anything is."""
        structure = robot.structure
        if not structure.rank_known:
            return
        connections = robot.connections()
        self._kept.pop(connections, None)  # it is the newest again
        while len(self._kept) >= MOST_REMEMBERED:
            del self._kept[next(iter(self._kept))]
        self._kept[connections] = structure.copy()

    def recall(self, robot: Mechanism) -> bool:
        """Tell a mechanism what is remembered of its present structure; return whether it was."""
        structure, known = robot.structure, self._kept.get(robot.connections())
        if structure.rank_known or known is None or not _is_same(structure, known):
            return False
        structure.know_rank(known)
        structure.know_motions(known)
        return True


def _is_same(one: Structure, other: Structure) -> bool:
    """Return whether two structures have the same clusters, in the same order."""
    return np.array_equal(one.bodies['cluster'], other.bodies['cluster']) and all(
        np.array_equal(one.clusters[name], other.clusters[name]) for name in ('n_dofs', 'n_rows')
    )
