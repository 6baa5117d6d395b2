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
from closed_chain_dynamics.cli.check_elements import (
    coupling_record,
    joint_record,
    link_record,
    loop_record,
    spring_record,
)
from closed_chain_dynamics.description.elements import Description, JointType
from closed_chain_dynamics.dynamics.distances import ClusterDistance
from closed_chain_dynamics.dynamics.explanation import explain
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.errors import AssemblyError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.terminal import Report

__all__ = ['check_report', 'closed_chain_section']

SCHEMA = 'closed-chain-check/1'  # a key that is added keeps it, one that changes or goes ends it


def check_report(robot: Mechanism) -> Report:
    """Return everything that `check` knows about a mechanism: plain values, fit for JSON."""
    model = robot.description
    actuated = {actuator.joint for actuator in model.actuators}
    links = [link_record(link, model) for link in model.links]
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
        'joints': [joint_record(joint, actuated) for joint in model.joints],
        'loops': [loop_record(loop, actuated) for loop in model.loops],
        'couplings': [coupling_record(coupling) for coupling in model.couplings],
        'springs': [spring_record(spring) for spring in model.springs],
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
