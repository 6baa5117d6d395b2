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
Clusters: sets of joints that loops, couplings and the mass of tendons tie together.

They come from the root outwards.
"""

from collections.abc import Iterable

from closed_chain_dynamics.codegen.source import (
    SourceBody,
    SourceCluster,
    SourceCoupling,
    SourceLoop,
    SourceSpring,
)
from closed_chain_dynamics.description.elements import LoopType

__all__ = ['common_ancestor', 'find_clusters', 'path', 'path_signs']


def common_ancestor(bodies: tuple[SourceBody, ...], a: int, b: int) -> int:
    """Return the nearest common ancestor; a child always has the larger number."""
    while a != b:
        if a > b:
            a = bodies[a].parent
        else:
            b = bodies[b].parent
    return a


def path(bodies: tuple[SourceBody, ...], a: int, top: int) -> list[int]:
    """Return the bodies from a up to, and without, one of its ancestors."""
    found = []
    while a != top:
        found.append(a)
        a = bodies[a].parent
    return found


def path_signs(bodies: tuple[SourceBody, ...], one: int, two: int) -> dict[int, float]:
    """Return +1 for velocities on the way to body two, -1 on the way to body one."""
    top = common_ancestor(bodies, one, two)
    signs = {}
    for end, sign in ((one, -1.0), (two, 1.0)):
        for b in path(bodies, end, top):
            body = bodies[b]
            signs.update(dict.fromkeys(range(body.iv, body.iv + body.nv), sign))
    return signs


def _bodies_between(bodies: tuple[SourceBody, ...], ends: list[int], moved: bool) -> list[int]:
    """Return the bodies between some and their common ancestor; it, too, if it is `moved`."""
    top = ends[0]
    for end in ends:
        top = common_ancestor(bodies, top, end)
    if moved and top in ends:
        top = bodies[top].parent
    return [body for end in ends for body in path(bodies, end, top)]


def _tied_bodies(
    bodies: tuple[SourceBody, ...], laws: Iterable[SourceCoupling | SourceSpring]
) -> list[list[int]]:
    """Return the bodies that each law ties together: its joints and those between them."""
    owner = {j: i for i, body in enumerate(bodies) for j in range(body.iv, body.iv + body.nv)}
    tied = []
    for law in laws:
        if isinstance(law, SourceSpring) and law.path:
            tied.append(_bodies_between(bodies, [point.body for point in law.path], False))
        else:
            ends = [owner[term[0]] for term in law.terms]
            tied.append(_bodies_between(bodies, ends, True))
    return tied


def find_clusters(
    bodies: tuple[SourceBody, ...],
    loops: tuple[SourceLoop, ...],
    couplings: tuple[SourceCoupling, ...],
    springs: tuple[SourceSpring, ...],
    dependent: set[int],
) -> tuple[SourceCluster, ...]:
    """Return sets of joints that share loops, those nearer to the root first."""
    leader = list(range(len(bodies)))

    def first(b: int) -> int:
        while leader[b] != b:
            b = leader[b]
        return b

    def tie(together: list[int]) -> None:
        lowest = min((first(b) for b in together), default=0)
        for b in together:
            leader[first(b)] = lowest

    tied = []
    for loop in loops:
        top = common_ancestor(bodies, loop.body_1, loop.body_2)
        tied.append(path(bodies, loop.body_1, top) + path(bodies, loop.body_2, top))
        if loop.kind is LoopType.FREE:  # no row: it ties nothing
            tied[-1] = []
        tie(tied[-1])
    coupled = _tied_bodies(bodies, couplings)
    heavy = [k for k, spring in enumerate(springs) if spring.armature]
    carried = dict(zip(heavy, _tied_bodies(bodies, (springs[k] for k in heavy))))
    for together in (*coupled, *carried.values()):
        tie(together)
    clusters = []
    for lead in sorted({first(b) for b in range(1, len(bodies))}):
        own = tuple(b for b in range(1, len(bodies)) if first(b) == lead)
        dofs = tuple(j for b in own for j in range(bodies[b].iv, bodies[b].iv + bodies[b].nv))
        clusters.append(
            SourceCluster(
                bodies[lead].parent,
                own,
                dofs,
                tuple(j for j in dofs if j in dependent),
                tuple(j for j in dofs if j not in dependent),
                tuple(k for k, each in enumerate(tied) if each and first(each[0]) == lead),
                tuple(k for k, each in enumerate(coupled) if first(each[0]) == lead),
                tuple(k for k, each in carried.items() if each and first(each[0]) == lead),
            )
        )
    return tuple(clusters)
