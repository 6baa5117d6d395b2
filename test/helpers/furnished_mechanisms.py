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

"""Random mechanisms with something of everything: laws, springs, couplings, motors on loops."""

from dataclasses import replace

from helpers.random_mechanisms import moving_joints, random_description, random_loops

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description.elements import (
    Actuator,
    Coupling,
    CouplingTerm,
    Dynamics,
    LimitMoment,
    LoopType,
    Spring,
)


def _with_laws(rng, joint, rotor):
    """Give a joint damping, friction, a rotor, and limits that its position is within reach of."""
    stop = LimitMoment('linear', 30.0, 0.5, 0.4)
    return replace(
        joint,
        dynamics=Dynamics(
            damping=rng.uniform(0.1, 1.0), friction=rng.uniform(0.1, 1.0), armature=rotor
        ),
        limit=replace(joint.limit, lower=-0.3, upper=0.3),
        limit_moment=stop,
    )


def furnished(rng, kind, q_of, bodies=8, rotor=0.0, carried=0.0):
    """
    Return a random mechanism with two loops of a type, all laws, springs, a coupling, motors.

    `rotor`: the armature of every joint; `carried`: the share of weight that is carried.
    """
    description = random_description(rng, bodies, massless=0.0)
    links = tuple(replace(link, gravcomp=carried) for link in description.links)
    description = replace(description, links=links)
    q = q_of(description)
    description = replace(
        description, joints=tuple(_with_laws(rng, joint, rotor) for joint in description.joints)
    )
    description = random_loops(rng, description, q, 2, (kind,))
    loops = tuple(_with_laws(rng, loop, rotor) for loop in description.loops)
    single = [joint for joint in moving_joints(description) if joint.type.nv == 1]
    bare = ccd.Mechanism(replace(description, loops=()))
    at = {joint.name: q[bare.joint_slices(joint.name)[0]][0] for joint in single}
    ends = {'from_link': description.links[0].name, 'to_link': description.links[-1].name}
    points = {'from_xyz': (0.1, 0.2, 0.0), 'to_xyz': (0.0, 0.1, 0.1)}
    springs = [Spring('line', 'linear', 40.0, 2.0, 0.3, **ends, **points)]
    springs += [Spring('coil', 'torsional', 5.0, 0.3, 0.2, joint=single[0].name)] if single else []
    if kind in (LoopType.REVOLUTE, LoopType.PRISMATIC):
        springs.append(Spring('twist', 'torsional', 4.0, 0.2, 0.1, joint=loops[0].name))
    couplings = ()
    if len(single) > 1:
        one, two = single[:2]
        terms = (CouplingTerm(one.name, (1.0, 0.2)), CouplingTerm(two.name, (-0.7, 0.0, 0.1)))
        values = (
            sum(c * at[t.joint] ** (k + 1) for k, c in enumerate(t.coefficients)) for t in terms
        )
        couplings = (Coupling('gear', terms, constant=-sum(values)),)
    motors = [joint.name for joint in moving_joints(description)][::2] + [loops[-1].name]
    return q, replace(
        description,
        loops=loops,
        springs=tuple(springs),
        couplings=couplings,
        actuators=tuple(Actuator(name) for name in motors),
    )
