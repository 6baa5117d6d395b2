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
What ``closed-chain check`` says about a mechanism.

``check_report`` gathers everything into one plain dict, which is what ``--json`` prints;
``check_text`` writes the same dict for people, so that the two cannot disagree.
"""

from collections.abc import Sequence, Set
import math

from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.description.elements import (
    Coupling,
    Description,
    Joint,
    JointType,
    Link,
    LoopJoint,
    Spring,
)
from closed_chain_dynamics.description.inertia_checks import is_possible
from closed_chain_dynamics.dynamics.distances import ClusterDistance
from closed_chain_dynamics.dynamics.explanation import explain
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import AssemblyError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.terminal import Report, number

__all__ = ['check_report', 'closed_chain_section']

SCHEMA = 'closed-chain-check/1'  # a key that is added keeps it, one that changes or goes ends it


def check_report(robot: Mechanism) -> Report:
    """Return everything that `check` knows about a mechanism: plain values, fit for JSON."""
    model = robot.description
    actuated = {actuator.joint for actuator in model.actuators}
    links = [_link(link, model) for link in model.links]
    section = closed_chain_section(robot)
    warnings = list(model.notes)
    if not section['assembled']:
        warnings.append(f'The loops could not be closed: {section["explanation"]}')
    return {
        'schema': SCHEMA,
        'name': model.name,
        'file': model.file,
        'root_link': model.root,
        'nq': robot.nq,
        'nv': robot.nv,
        'coordinate_names': list(robot.coordinate_names),
        'total_mass': math.fsum(link['mass'] for link in links),
        'links': links,
        'joints': [_joint(joint, actuated) for joint in model.joints],
        'loops': [_loop(loop, actuated) for loop in model.loops],
        'couplings': [_coupling(coupling) for coupling in model.couplings],
        'springs': [_spring(spring) for spring in model.springs],
        'actuators': [{'joint': each.joint, 'source': each.source} for each in model.actuators],
        'assemblies': [
            {'name': each.name, 'positions': dict(each.positions)} for each in model.assemblies
        ],
        'mobility': section,
        'warnings': warnings,
        'missing': _missing(model, actuated),
    }


def closed_chain_section(robot: Mechanism) -> Report:
    """
    Return mobility, chosen coordinates, redundancy, singularity and actuation, in a closed pose.

    Where no closed pose is found, `assembled` is False, `explanation` says why, and what only a
    closed pose can tell is None.
    """
    section: Report = dict.fromkeys(
        (
            'mobility',
            'rank',
            'rank_gap',
            'rows',
            'independent',
            'dependent',
            'redundant_rows',
            'condition',
            'distance',
            'distances',
            'singular',
            'actuation',
            'explanation',
            'assembled',
        )
    )
    section.update(rows=int(robot.structure.shape['n_rows']), assembled=False)
    try:
        q = assemble(robot, {})
    except AssemblyError as error:
        section.update(explanation=' '.join(str(error).split()))
        return section
    c = coordinates(robot, q)
    section.update(
        mobility=c.mobility,
        rank=c.rank,
        rank_gap=list(c.rank_gap),
        independent=list(c.independent),
        dependent=list(c.dependent),
        redundant_rows=c.redundant_rows_by_loop,
        # JSON knows no infinity; in a singular pose the values that are left say nothing
        condition=c.condition if math.isfinite(c.condition) and not c.lost_rank else None,
        distance=0.0 if c.lost_rank else c.distance,
        distances={name: _distance(each) for name, each in c.distances.items()},
        singular=bool(c.is_singular),
        actuation=c.levers.kind if len(c.S) else 'none',
        # that there is no actuator is said once, among what is missing
        explanation=explain(c, actuators=bool(len(c.S))),
        assembled=True,
    )
    return section


def _distance(found: ClusterDistance) -> Report:
    """Return how far a cluster is from a singular pose; None where there is nothing to lose."""
    numbers = {'loops': found.loops, 'actuators': found.actuators, 'links': found.links}
    return {
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        'link': found.link,
    }


def _link(link: Link, model: Description) -> Report:
    inertia = link.inertia
    return {
        'name': link.name,
        'parent_joint': next(
            (joint.name for joint in model.joints if joint.child == link.name), None
        ),
        'mass': inertia.mass if inertia else 0.0,
        'center_of_mass': list(inertia.origin.xyz) if inertia else None,
        # about the centre of mass, in the axes of the link
        'inertia': inertia.tensor.tolist() if inertia else None,
        'possible': inertia is None or is_possible(inertia),  # for a rigid body
    }


def _joint(joint: Joint, actuated: Set[str]) -> Report:
    return {
        'name': joint.name,
        'type': joint.type.value,
        'parent': joint.parent,
        'child': joint.child,
        'nv': joint.type.nv,
        'axis': list(joint.axis),
        'role': _role(joint, actuated),
        'independent': joint.independent,
        **_passive_properties(joint),
    }


def _loop(loop: LoopJoint, actuated: Set[str]) -> Report:
    contact = loop.contact
    return {
        'name': loop.name,
        'type': loop.type.value,
        'rows': loop.type.rows,
        'active': loop.active,
        'parent': loop.parent,
        'child': loop.child,
        'role': _role(loop, actuated),
        **_passive_properties(loop),
        'contact': contact
        and {'normal': list(contact.normal), 'unilateral': contact.unilateral, 'mu': contact.mu},
    }


def _role(joint: Joint | LoopJoint, actuated: Set[str]) -> str:
    return 'actuated' if joint.name in actuated else 'passive'


def _passive_properties(joint: Joint | LoopJoint) -> Report:
    """Return limits, damping, friction and limit moment of a tree or loop joint."""
    limit, moment = joint.limit, joint.limit_moment
    return {
        # JSON knows no infinity: null is "no limit"
        'limit': {
            key: value if math.isfinite(value) else None for key, value in vars(limit).items()
        },
        'dynamics': dict(vars(joint.dynamics)),
        'limit_moment': moment and dict(vars(moment)),
        'end_of_range': _end_of_range(joint),
    }


def _end_of_range(joint: Joint | LoopJoint) -> str | None:
    """Return what a joint meets at the ends of its range in a simulation, or None."""
    limit, moment = joint.limit, joint.limit_moment
    if not (math.isfinite(limit.lower) or math.isfinite(limit.upper)):
        return None
    return 'limit moment' if moment and (moment.stiffness or moment.damping) else 'stop'


def _coupling(coupling: Coupling) -> Report:
    return {
        'name': coupling.name,
        'rows': 1,
        'active': coupling.active,
        'terms': [
            {'joint': term.joint, 'coefficients': list(term.coefficients)}
            for term in coupling.terms
        ],
        'constant': coupling.constant,
        'equation': _equation(coupling),
        'predecessor': coupling.predecessor or None,
        'successor': coupling.successor or None,
        'carrier': coupling.carrier or None,
    }


def _equation(coupling: Coupling) -> str:
    """Write a coupling as people do, for instance 'rotor - 6 crank + 0.1 = 0'."""
    parts = [
        (value, term.joint if power == 1 else f'{term.joint}^{power}')
        for term in coupling.terms
        for power, value in enumerate(term.coefficients, start=1)
        if value
    ]
    parts += [(coupling.constant, '')] if coupling.constant or not parts else []
    text = ''
    for value, name in parts:
        size = '' if abs(value) == 1 and name else number(abs(value))
        sign = ('-' if value < 0 else '') if not text else (' - ' if value < 0 else ' + ')
        text += sign + ' '.join(filter(None, (size, name)))
    return f'{text} = 0'


def _spring(spring: Spring) -> Report:
    ends: Report = {
        'from': {'link': spring.from_link, 'xyz': list(spring.from_xyz)},
        'to': {'link': spring.to_link, 'xyz': list(spring.to_xyz)},
    }
    if spring.joint:
        ends = {'joint': spring.joint}
    elif spring.terms:
        ends = {'terms': {term.joint: term.coefficients[0] for term in spring.terms}}
    return {
        'name': spring.name,
        'type': spring.type,
        'stiffness': spring.stiffness,
        'damping': spring.damping,
        'rest': spring.rest,
        **ends,
    }


def _missing(model: Description, actuated: Set[str]) -> list[str]:
    """Return what the model leaves out and some later step will want, each with its repair."""
    missing = []
    movable = [joint for joint in model.joints if joint.type is not JointType.FIXED]
    if not movable:
        missing.append('Nothing moves: every joint is fixed.')
    elif not actuated:
        missing.append(
            'No joint is actuated, so no actuator torques can be computed. Mark motors '
            'with cc:role="actuated", by <ros2_control> or <transmission>, or name '
            'them with --actuated.'
        )
    limits = {joint.name: joint.limit for joint in model.all_joints}
    weak = [name for name in limits if name in actuated and not 0 < limits[name].effort < math.inf]
    if weak:
        missing.append(
            f'No effort limit is given for {_names(weak)}: it cannot be checked whether a motor '
            'is strong enough. Add effort to <limit>.'
        )
    if any(loop.active for loop in model.loops) and not model.assemblies:
        missing.append(
            'No pose is given in which the loops are closed: several may exist, and '
            'which of them is found is left to the solver. Add a <cc:assembly>.'
        )
    unseen = [
        link.name
        for link in model.links
        if link.inertia and link.inertia.mass and not link.visuals
    ]
    if unseen:
        missing.append(f'No visual is given for {_names(unseen)}: nothing will be drawn there.')
    return missing


def _names(names: Sequence[str], most: int = 6) -> str:
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(names[:most]) + more
