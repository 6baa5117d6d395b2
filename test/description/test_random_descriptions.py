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

"""Descriptions made up at random come back from their files; spoiled files never crash."""

import math

from helpers.written_descriptions import EVERYTHING
from hypothesis import HealthCheck, given, settings, strategies as st

from closed_chain_dynamics.description import (
    Actuator,
    Assembly,
    Contact,
    Coupling,
    CouplingTerm,
    Description,
    Dynamics,
    Geometry,
    Inertia,
    Joint,
    JointType,
    Limit,
    LimitMoment,
    Link,
    LoopJoint,
    LoopType,
    Pose,
    Shape,
    Spring,
    check,
    read,
    to_xml,
)
from closed_chain_dynamics.errors import ClosedChainError

numbers = st.floats(-1e6, 1e6)
not_negative = st.floats(0.0, 1e6)
vectors = st.tuples(numbers, numbers, numbers)
poses = st.builds(Pose, vectors, vectors)
# Unit vectors as a file would hold them.
units = st.sampled_from(
    [
        (1.0, 0.0, 0.0),
        (0.0, -1.0, 0.0),
        (0.0, 0.6, 0.8),
        (1 / math.sqrt(3),) * 3,
        (0.0, 1 / math.sqrt(2), -1 / math.sqrt(2)),
    ]
)
words = st.text(
    st.characters(codec='utf-8', exclude_categories=('C', 'Z')), min_size=1, max_size=4
)
efforts = st.one_of(st.just(math.inf), st.floats(0.0, 1e20))


@st.composite
def limits(draw, ranged=True):
    lower, upper = -math.inf, math.inf
    if ranged and draw(st.booleans()):
        lower, upper = sorted(draw(st.tuples(numbers, numbers)))
    return Limit(lower, upper, draw(efforts), draw(efforts))


@st.composite
def inertias(draw):
    # The moments of a box satisfy the triangle inequality.
    x, y, z = draw(st.tuples(*3 * [st.floats(0.01, 10.0)]))
    mass = draw(st.floats(0.001, 1e3))
    moments = [mass * (a * a + b * b) for a, b in ((y, z), (x, z), (x, y))]
    return Inertia(mass, draw(poses), (moments[0], 0.0, 0.0, moments[1], 0.0, moments[2]))


@st.composite
def shapes(draw):
    kind = draw(st.sampled_from(['box', 'sphere', 'cylinder', 'capsule', 'mesh']))
    count = {'box': 3, 'sphere': 1, 'mesh': 0}.get(kind, 2)
    geometry = Geometry(kind, tuple(draw(not_negative) for _ in range(count)))
    if kind == 'mesh':
        geometry = Geometry(kind, (), draw(words), draw(vectors))
    rgba = draw(st.one_of(st.just(()), st.tuples(*4 * [st.floats(0.0, 1.0)])))
    return Shape(
        geometry,
        draw(poses),
        rgba,
        draw(words) if rgba else '',
        draw(st.one_of(st.just(''), words)),
    )


@st.composite
def descriptions(draw):
    count = draw(st.integers(1, 5))
    links = tuple(
        Link(
            f'{draw(words)} {i}',
            draw(inertias()),
            tuple(draw(st.lists(shapes(), max_size=2))),
            tuple(draw(st.lists(shapes(), max_size=1))),
        )
        for i in range(count)
    )
    joints = []
    for i in range(1, count):
        kind = draw(st.sampled_from(JointType))
        has_axis = kind.nv == 1 or kind is JointType.PLANAR
        joints.append(
            Joint(
                f'{draw(words)} joint {i}',
                kind,
                links[draw(st.integers(0, i - 1))].name,
                links[i].name,
                draw(poses),
                draw(units) if has_axis else (1.0, 0.0, 0.0),
                draw(limits(ranged=kind is not JointType.CONTINUOUS)),
                Dynamics(draw(not_negative), draw(not_negative)),
                draw(
                    st.none()
                    | st.builds(
                        LimitMoment, st.just('linear'), not_negative, not_negative, not_negative
                    )
                ),
                draw(st.sampled_from(['', 'passive'] + ['actuated'] * (kind.nv > 0))),
                draw(st.none() | st.booleans()),
            )
        )
    loops = draw(loop_joints(links)) if count > 1 else ()
    hinges = [joint.name for joint in joints if joint.type.nv == 1]
    couplings = draw(explicit_couplings(hinges)) if len(hinges) > 1 else ()
    springs = []
    if count > 1:
        springs.append(
            Spring(
                's',
                'linear',
                draw(not_negative),
                draw(not_negative),
                draw(not_negative),
                links[0].name,
                draw(vectors),
                links[1].name,
                draw(vectors),
            )
        )
    springs += [
        Spring(
            f't{i}', 'torsional', draw(not_negative), draw(not_negative), draw(numbers), joint=name
        )
        for i, name in enumerate(hinges)
    ]
    return Description(
        draw(words),
        links,
        tuple(joints),
        loops,
        couplings,
        tuple(springs),
        tuple(Actuator(each.name) for each in (*joints, *loops) if each.role == 'actuated'),
        (Assembly('up', tuple((name, draw(numbers)) for name in hinges)),),
    )


@st.composite
def loop_joints(draw, links):
    loops = []
    for i in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(LoopType))
        axes = (
            {}
            if kind in (LoopType.FIXED, LoopType.SPHERICAL, LoopType.FREE)
            else {'parent_axis': draw(units), 'child_axis': draw(units)}
        )
        loops.append(
            LoopJoint(
                f'loop {i}',
                kind,
                links[0].name,
                links[-1].name,
                draw(poses),
                draw(poses),
                active=draw(st.booleans()),
                limit=draw(limits()),
                dynamics=Dynamics(draw(not_negative), draw(not_negative)),
                role=draw(st.sampled_from(['', 'passive'] + ['actuated'] * (kind.rows < 6))),
                contact=draw(st.none() | st.builds(Contact, units, st.booleans(), not_negative)),
                **axes,
            )
        )
    return tuple(loops)


@st.composite
def explicit_couplings(draw, hinges):
    first, second = draw(st.permutations(hinges))[:2]
    coefficients = st.lists(numbers, min_size=1, max_size=4).map(tuple)
    mimics = [
        Coupling(
            f'{one}_mimic',
            (CouplingTerm(one, (1.0,)), CouplingTerm(other, (draw(numbers),))),
            draw(numbers),
            active=draw(st.booleans()),
        )
        for one, other in ((first, second), (second, first))
    ]
    other = Coupling(
        'polynomial',
        (CouplingTerm(first, draw(coefficients)), CouplingTerm(second, draw(coefficients))),
        draw(numbers),
        active=draw(st.booleans()),
    )
    return tuple(draw(st.permutations([*mimics, other])))


@given(
    st.integers(0, len(EVERYTHING) - 1),
    st.integers(0, 30),
    st.sampled_from(
        [
            '',
            '"',
            '<',
            '>',
            '/',
            '-',
            'nan',
            '1e999',
            '0',
            'x',
            ' ',
            '<cc:law/>',
            '<axis xyz="0 0 0"/>',
            '&#0;',
            '&x;',
            '\0',
            'é',
            'cc:',
        ]
    ),
)
@settings(max_examples=400, deadline=None)
def test_a_spoiled_file_is_read_or_refused_but_never_crashes(start, length, put):
    try:
        read('<' + (EVERYTHING[:start] + put + EVERYTHING[start + length :]).lstrip('\n<'))
    except ClosedChainError as error:
        assert str(error)


@given(descriptions())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_is_read_as_the_same(description):
    check(description)
    assert read(to_xml(description)) == description
