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

"""Couplings as other formats write them: a joint follows another, q = ratio leader + offset."""

from closed_chain_dynamics.description.elements import Coupling, CouplingTerm, Description
from closed_chain_dynamics.description.tree import ONE_DOF

__all__ = ['as_mimics']


def as_mimics(description: Description) -> tuple[dict[str, Coupling], list[Coupling]]:
    """
    Return couplings by the joint that follows, with coefficient 1 there, and those that remain.

    A joint follows one leader alone; couplings that are open follow none.
    """
    types = {joint.name: joint.type for joint in description.joints}
    found: dict[str, Coupling] = {}
    rest = []
    for coupling in description.couplings:
        straight = (
            coupling.active
            and len(coupling.terms) == 2
            and all(len(term.coefficients) == 1 for term in coupling.terms)
            and all(types.get(term.joint) in ONE_DOF for term in coupling.terms)
            and coupling.terms[0].joint != coupling.terms[1].joint
        )
        follower = coupling.terms[0].joint if coupling.terms else ''
        if not straight or follower in found or not coupling.terms[0].coefficients[0]:
            rest.append(coupling)
            continue
        first, second = (term.coefficients[0] for term in coupling.terms)
        found[follower] = Coupling(
            f'{follower}_mimic',
            (
                CouplingTerm(follower, (1.0,)),
                CouplingTerm(coupling.terms[1].joint, (second / first,)),
            ),
            constant=coupling.constant / first,
        )
    return found, rest
