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

"""What is said of a mechanism that friction locks, whoever finds it."""

from typing import TYPE_CHECKING

from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.kernels import records as at

if TYPE_CHECKING:
    from closed_chain_dynamics.model.mechanism import Mechanism

__all__ = ['LOCKS', 'locked_error']

LOCKS = 'friction locks'  # how what is said begins


def locked_error(robot: 'Mechanism', when: str = '') -> StructureError:
    """Return the error that friction locks a mechanism (the frictional paradox)."""
    names = ', '.join(
        repr(name)
        for name, loop in zip(robot.loop_names, robot.structure.loops)
        if loop['active'] and loop['mode'] == at.SLIDE
    )
    return StructureError(
        f'friction locks the contact {names}{when}: the coefficient A of the normal force is not '
        'positive (frictional paradox), so no finite force fits the motion',
        where=robot.name,
        repair='Reduce the friction, or choose another pose.',
    )
