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
Coordinates that stops or friction may hold, one record each; all of them let go at the start.

A joint of one degree of freedom has a stop at each limit of its range, unless a limit moment takes
its place. Friction may hold any coordinate. Joints that close loops are listed also where only a
spring or a limit moment asks for their position: their whole turns are counted.
"""

import numpy as np

from closed_chain_dynamics.kernels import records as at
from closed_chain_dynamics.model.model import Records

__all__ = ['has_stop', 'hold_records']

TURNS_COUNTED = (at.LOOP_REVOLUTE, at.LOOP_CYLINDRICAL, at.LOOP_PLANAR, at.LOOP_UNIVERSAL)


def hold_records(
    bodies: Records, dofs: Records, loops: Records, loop_dofs: Records, springs: Records
) -> Records:
    """Return a record per coordinate that may be held; loop joints know where they begin."""
    rows = []
    for j, law in enumerate(dofs):
        body = bodies[law['body']]
        single = body['n_dof'] == 1
        stop = single and has_stop(law)
        if stop or law['friction'] > 0.0:
            rows.append(_record(-1, j, int(body['iq']), single, stop, law))
    sprung = set(springs['dof'][springs['type'] == at.ON_LOOP].tolist())
    for k, loop in enumerate(loops):
        for d in range(loop['dof'], loop['dof'] + loop['n_dofs']):
            law, single = loop_dofs[d], loop['n_dofs'] == 1
            stop = single and has_stop(law)
            turns = loop['type'] in TURNS_COUNTED and (d in sprung or law['stop_stiffness'] > 0.0)
            if loop['mode'] == at.NO_MODE and (stop or turns or law['friction'] > 0.0):
                rows.append(_record(k, d, -1, single, stop, law))
            if single and np.isfinite(law['lower']) and np.isfinite(law['upper']):
                law['seen'] = 0.5 * (law['lower'] + law['upper'])
    return np.concatenate(rows) if rows else np.zeros(0, at.HOLD)


def has_stop(law: np.void) -> bool:
    """Return whether a range ends at stops: it is finite, and no limit moment softens it."""
    soft = law['stop_stiffness'] != 0.0 or law['stop_damping'] != 0.0
    return not soft and bool(np.isfinite(law['lower']) or np.isfinite(law['upper']))


def _record(loop: int, dof: int, iq: int, single: bool, stop: bool, law: np.void) -> Records:
    row = np.zeros(1, at.HOLD)
    row['loop'], row['dof'], row['home'], row['iq'] = loop, dof, dof, iq
    row['placed'], row['cluster'] = single, -1
    row['lower'] = law['lower'] if stop else -np.inf
    row['upper'] = law['upper'] if stop else np.inf
    return row
