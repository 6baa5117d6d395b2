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

"""How large equations will be, and how long they will take to derive, before any is derived."""

from collections.abc import Collection
from dataclasses import dataclass

from numpy.typing import ArrayLike

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.codegen.gathering import gather
from closed_chain_dynamics.errors import StructureError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.symbolic.constraints import CRAMER
from closed_chain_dynamics.symbolic.coverage import refuse_what_is_not_covered
from closed_chain_dynamics.symbolic.planar_loops import planar_loop
from closed_chain_dynamics.symbolic.tree import SymbolicTree

__all__ = ['Size', 'refuse_too_large', 'size_estimate']

LONGEST_DERIVATION = 600.0  # whatever the equations are made from [s]
# Operations per joint, per pair of joints and so on, from chains of 4 to 32 joints with axes in
# any direction; planar mechanisms have fewer. Good to a factor of about three.
PER_JOINT = {'g_1': 120, 'c_1': 640, 'tau_1': 750, 'tau_1s': 60, 'tau_1d': 60, 'W': 30, 'q': 30}
SECONDS_PER_OPERATION = 4e-5


@dataclass(frozen=True)
class Size:
    """An estimate: operations, and the time to derive them [s]."""

    operations: float
    seconds: float

    def __str__(self) -> str:
        return f'about {float(f"{self.operations:.1g}"):,.0f} operations'


def size_estimate(
    robot: Mechanism,
    method: str = 'te',
    terms: Collection[str] = ('M_1', 'c_1', 'g_1'),
    q: ArrayLike | None = None,
) -> Size:
    """Return about how large the equations of a mechanism are."""
    pose = assemble(robot) if q is None else robot.vector(q, robot.nq, 'q')
    refuse_what_is_not_covered(robot)
    source = gather(robot, pose, contacts=True)
    n, n_1 = source.nv, len(source.independent)
    operations = float(sum(PER_JOINT.get(term, 0) * n for term in terms)) + n * n_1
    if 'M_1' in terms:
        operations += (
            45 * n * n + 120 * n + n * n * n_1 if method == 'ic' else n * n_1 * (3.2 * n_1 + 40)
        )
    if method == 'ic' and not _all_planar(SymbolicTree(source)):
        block = max(n - n_1, CRAMER)
        operations += 2 * block * block * (block + n_1)
    return Size(operations, operations * SECONDS_PER_OPERATION)


def _all_planar(tree: SymbolicTree) -> bool:
    try:
        for loop in tree.source.loops:
            planar_loop(tree, loop)
    except StructureError:
        return False
    return True


def refuse_too_large(robot: Mechanism, size: Size, longest: float = LONGEST_DERIVATION) -> None:
    """Refuse equations that would take longer to derive than is allowed."""
    if size.seconds > longest:
        raise StructureError(
            f'its equations have {size} and would take about {readable(size.seconds)}',
            where=robot.name,
            repair='Ask for fewer terms (tau_1 grows with the number of joints, M_1 with its '
            'cube), or allow more time.',
        )


def readable(seconds: float) -> str:
    """Return a time as people say it."""
    for unit, length in (('days', 86400.0), ('hours', 3600.0), ('minutes', 60.0)):
        if seconds >= 2 * length:
            return f'{seconds / length:.0f} {unit}'
    return f'{seconds:.0f} s' if seconds >= 1 else f'{seconds:.1g} s'
