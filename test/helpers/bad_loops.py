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

"""Files whose loops, couplings, springs or dialects are wrong."""

from helpers.small_files import (
    ARM,
    AXES,
    AXIS,
    BASE,
    ELBOW,
    GOOD,
    LOOP,
    PITCH,
    SHOULDER,
    SPRING,
    TIP,
    body,
    hinge,
    robot,
    sdf_joint,
    sdf_model,
    with_extra,
    with_hinge,
)

# id: (the file, words of the culprit, words of the repair)
PATH = '<cc:spring name="s" type="path"><cc:point link="base"/>{}{}<cc:law {}/></cc:spring>'
BALL_SPRING = (
    '<cc:spring name="s" type="spherical" joint="{}"><cc:law stiffness="1" {}/></cc:spring>'
)
LOOPS = {
    # loops
    'loop with itself': (
        with_extra(LOOP.format(kind='fixed', parent='tip', child='tip', inside='')),
        ['line 7, <constraint name="grip">', "'tip' with itself"],
        ['two different'],
    ),
    'rotor on a weld': (
        with_extra(
            LOOP.format(
                kind='fixed', parent='tip', child='base', inside='<cc:rotor inertia="0.1"/>'
            )
        ),
        ['line 7, <constraint name="grip">', "'fixed'", 'no axis'],
        ['a motor drives'],
    ),
    'loop to an unknown link': (
        with_extra(LOOP.format(kind='fixed', parent='tpi', child='base', inside='')),
        ['line 7', "'tpi'"],
        ["mean 'tip'"],
    ),
    'unknown type of loop': (
        with_extra(LOOP.format(kind='sphericl', parent='tip', child='base', inside='')),
        ['line 7', "'sphericl'"],
        ["mean 'spherical'"],
    ),
    'universal with one axis': (
        with_extra(
            LOOP.format(
                kind='universal', parent='tip', child='base', inside='<parent_axis xyz="1 0 0"/>'
            )
        ),
        ['line 7', 'two axes'],
        ['<child_axis'],
    ),
    'contact without direction': (
        with_extra(
            LOOP.format(
                kind='surface', parent='tip', child='base', inside='<cc:contact normal="0 0 0"/>'
            )
        ),
        ['<cc:contact>', 'grip', 'zero vector'],
        ['normal="0 0 1"'],
    ),
    'negative friction': (
        with_extra(
            LOOP.format(
                kind='surface', parent='tip', child='base', inside='<cc:contact mu="-0.1"/>'
            )
        ),
        ['mu is -0.1'],
        ['Correct mu'],
    ),
    **{
        f'contact: {culprit}': (
            with_extra(
                LOOP.format(
                    kind='surface',
                    parent='tip',
                    child='base',
                    inside=f'<cc:contact {attributes}/>',
                )
            ),
            [culprit],
            [repair],
        )
        for attributes, culprit, repair in (
            ('surface="torus"', "surface is 'torus'", 'plane, sphere, cylinder'),
            ('surface="sphere"', 'a sphere needs a radius', 'radius="0.5"'),
            (
                'surface="sphere" radius="1" wheel="0.1"',
                'a wheel can only touch a plane, with its rim, and not a sphere',
                'ball="0.1"',
            ),
            ('restitution="1.2"', 'restitution is 1.2', 'from 0 to 1'),
            ('mu="0.5" mu_static="0.2"', 'mu_static is 0.2, less than mu = 0.5', 'at least'),
        )
    },
    'wrong active': (
        with_extra(LOOP.format(kind='fixed" active="on', parent='tip', child='base', inside='')),
        ["active is 'on'"],
        ['active="true"'],
    ),
    'loop without successor': (
        with_extra('<loop name="l" type="revolute"><predecessor link="tip"/></loop>'),
        ['line 7, <loop name="l">', 'no <successor>'],
        ['Add <successor'],
    ),
    'loop joint of one link': (
        with_extra('<loop_joint name="l" type="spherical"><link1 link="tip"/></loop_joint>'),
        ['line 7, <loop_joint name="l">', 'two links, not 1'],
        ['<link1 link'],
    ),
    'ball constraint without point': (
        with_extra(
            '<drake:ball_constraint xmlns:drake="http://drake.mit.edu">'
            '<drake:ball_constraint_body_A name="tip"/><drake:ball_constraint_body_B name="base"/>'
            '</drake:ball_constraint>'
        ),
        ['line 7', 'no <drake:ball_constraint_p_AP>'],
        ['Add it'],
    ),
    # couplings
    'coupling of unknown link': (
        with_extra(
            '<coupling name="c"><predecessor link="arn"/><successor link="tip"/></coupling>'
        ),
        ['line 7', "'arn'"],
        ["mean 'arm'"],
    ),
    'coupling with itself': (
        with_extra(
            '<coupling name="c"><predecessor link="tip"/><successor link="tip"/></coupling>'
        ),
        ['line 7', "'tip' with itself"],
        ['two different'],
    ),
    'coupling of a link that rests': (
        with_extra(
            '<coupling name="c"><predecessor link="base"/><successor link="tip"/></coupling>'
        ),
        ["'base' does not move"],
        ['<carrier'],
    ),
    'coupling of links that are one': (
        robot(
            *GOOD,
            body('hand'),
            hinge('wrist', 'tip', 'hand', kind='fixed'),
            '<coupling name="c"><predecessor link="hand"/><successor link="tip"/>'
            '<carrier link="base"/></coupling>',
        ),
        ['line 9', 'terms cancel'],
        ['Check ratio'],
    ),
    'coupling across a free joint': (
        robot(
            BASE,
            ARM,
            TIP,
            hinge('shoulder', 'base', 'arm', kind='floating'),
            ELBOW,
            '<coupling name="c"><predecessor link="arm"/><successor link="tip"/>'
            '<carrier link="base"/></coupling>',
        ),
        ['line 7', 'floating', "'shoulder'"],
        ['<carrier'],
    ),
    'coupling of unknown joint': (
        with_extra('<coupling name="c"><cc:term joint="elbw"/></coupling>'),
        ['line 7, <coupling name="c">', "'elbw'"],
        ["mean 'elbow'"],
    ),
    'coupling of a fixed joint': (
        robot(
            BASE,
            ARM,
            TIP,
            SHOULDER,
            hinge('elbow', 'arm', 'tip', kind='fixed'),
            '<coupling name="c"><cc:term joint="elbow"/></coupling>',
        ),
        ['line 7', "'elbow' is fixed"],
        ['revolute'],
    ),
    'coupling of both kinds': (
        with_extra('<coupling name="c"><cc:term joint="elbow"/><ratio value="2"/></coupling>'),
        ['<cc:term> and <ratio>'],
        ['either'],
    ),
    'polynomial of degree five': (
        with_extra(
            '<coupling name="c"><cc:term joint="elbow" coefficients="1 2 3 4 5"/></coupling>'
        ),
        ['1 to 4 numbers'],
        ['spaces'],
    ),
    'mimic of itself': (
        with_hinge('<mimic joint="shoulder"/>'),
        ['<mimic>', 'itself'],
        ['another joint'],
    ),
    # springs, hints, vocabulary
    'unknown cc element': (
        with_extra('<cc:sprng name="s"/>'),
        ['line 7', '<cc:sprng>'],
        ["mean 'spring'"],
    ),
    'unknown cc attribute': (
        with_hinge(attributes='cc:rol="actuated"'),
        ['line 4', 'cc:rol'],
        ["mean 'role'"],
    ),
    'misspelt attribute of a cc element': (
        with_extra(SPRING.format('<cc:law stifness="1"/>')),
        ['<cc:law>', 'stifness'],
        ["mean 'stiffness'"],
    ),
    'cc element in a wrong place': (
        with_hinge('<cc:contact/>'),
        ['<cc:contact>', 'does not belong inside <joint>'],
        ['Move it'],
    ),
    'spring without law': (
        with_extra(SPRING.format('')),
        ['line 7', 'no <cc:law>'],
        ['<cc:law stiffness'],
    ),
    'spring without end': (
        with_extra(SPRING.format('<cc:from link="base"/><cc:law stiffness="1"/>')),
        ['no <cc:to>'],
        ['<cc:to link'],
    ),
    'spring to unknown link': (
        with_extra(
            SPRING.format('<cc:from link="base"/><cc:to link="tp"/><cc:law stiffness="1"/>')
        ),
        ["'tp'"],
        ["mean 'tip'"],
    ),
    'spring with both ends on a link': (
        with_extra(
            SPRING.format('<cc:from link="tip"/><cc:to link="tip"/><cc:law stiffness="1"/>')
        ),
        ["link 'tip'"],
        ['two different links'],
    ),
    'negative stiffness': (
        with_extra(SPRING.format('<cc:law stiffness="-1"/>')),
        ['stiffness is -1'],
        ['Correct'],
    ),
    'linear spring with an angle': (
        with_extra(SPRING.format('<cc:law stiffness="1" rest_angle="1"/>')),
        ['rest_angle'],
        ['rest_length'],
    ),
    'linear spring on a joint': (
        with_extra(
            SPRING.format('<cc:law stiffness="1"/>').replace('type=', 'joint="elbow" type=')
        ),
        ['line 7', 'not a joint'],
        ['type="torsional"'],
    ),
    'torsional spring on unknown joint': (
        with_extra(
            '<cc:spring name="s" type="torsional" joint="knee"><cc:law stiffness="1"/></cc:spring>'
        ),
        ['line 7', "'knee'"],
        ['shoulder, elbow'],
    ),
    'path that ends with a shape': (
        with_extra(
            PATH.format('<cc:wrap link="tip" shape="sphere" radius="0.1"/>', '', 'stiffness="1"')
        ),
        ['line 7', 'from point to point'],
        ['<cc:point>'],
    ),
    'mass along a path around a shape': (
        with_extra(
            PATH.format(
                '<cc:wrap link="tip" shape="sphere" radius="0.1"/>',
                '<cc:point link="tip"/>',
                'stiffness="1" armature="1"',
            )
        ),
        ['line 7', 'armature'],
        ['points'],
    ),
    'spring of a ball on a hinge': (
        with_extra(BALL_SPRING.format('elbow', '')),
        ['line 7', 'revolute', 'all axes'],
        ['type="torsional"'],
    ),
    'spring of a ball on an unknown joint': (
        with_extra(BALL_SPRING.format('knee', '')),
        ['line 7', "'knee'"],
        ['shoulder, elbow'],
    ),
    'spring of a ball that rests nowhere': (
        with_extra(BALL_SPRING.format('elbow', 'rest_turn="0 0 0 0"')),
        ['rest_turn', 'no rotation'],
        ['x y z w'],
    ),
    'unknown limit moment': (
        with_hinge('<cc:limit_moment model="linea"/>'),
        ["'linea'"],
        ["mean 'linear'"],
    ),
    'assembly of unknown joint': (
        with_extra('<cc:assembly name="up"><cc:joint name="elbo" value="1"/></cc:assembly>'),
        ['line 7, <cc:assembly name="up">', "'elbo'"],
        ["mean 'elbow'"],
    ),
    **{
        f'assembly: {culprit}': (
            robot(
                BASE,
                ARM,
                hinge('shoulder', 'base', 'arm', kind=kind),
                f'<cc:assembly name="up"><cc:joint name="shoulder" value="{value}"/>'
                '</cc:assembly>',
            ),
            ['line 5, <cc:assembly name="up">', culprit],
            [repair],
        )
        for kind, value, culprit, repair in (
            ('fixed', '0', 'is fixed and has no position', 'Leave it out'),
            ('floating', '1 2', 'seven numbers', 'value="0 0 0 0 0 0 1"'),
            ('planar', '0 0 1 1', 'has length 1.41421', 'cos sin'),
        )
    },
    'assembly without value': (
        with_extra('<cc:assembly name="up"><cc:joint name="elbow"/></cc:assembly>'),
        ['<cc:joint name="elbow">', 'value is missing'],
        ['Write value'],
    ),
    'ros2_control with a bound that is no number': (
        with_extra(
            '<ros2_control name="h" type="system"><joint name="elbow"><command_interface '
            'name="effort"><param name="max">much</param></command_interface></joint>'
            '</ros2_control>'
        ),
        ['line 7', "'max'"],
        ['number'],
    ),
    'ros2_control of unknown joint': (
        with_extra(
            '<ros2_control name="h" type="system"><joint name="elbwo">'
            '<command_interface name="effort"/></joint></ros2_control>'
        ),
        ['line 7', "'elbwo'"],
        ["mean 'elbow'"],
    ),
    # SDF
    **{
        f'SDF: {culprit}': (f'<sdf version="1.9">{text}</sdf>', [culprit], [repair])
        for text, culprit, repair in (
            ('', 'it holds no model', 'Put a <model> into it'),
            (sdf_model('<pose relative_to="b"/>'), "no frame named 'b'", 'Known: a'),
            (sdf_model('<pose relative_to="a"/>'), 'relative to itself', 'Break the circle'),
            (
                sdf_model('', sdf_joint('revolute', AXIS, child='')),
                'it names no link',
                '<child>link</child>',
            ),
            (sdf_model('', sdf_joint('revolut')), 'is not a type of joint', "mean 'revolute'"),
            (
                sdf_model('', sdf_joint('universal', AXIS)),
                'has 2 axes, but 1 are given',
                '<axis2>',
            ),
            (
                sdf_model('', sdf_joint('revolute', AXIS.replace('1', '0'))),
                'zero vector',
                'Correct xyz',
            ),
            (
                sdf_model('', sdf_joint('revolute', AXIS.replace('1', 'z'))),
                "'z', which is not a number",
                'number such as',
            ),
            (
                sdf_model(
                    '',
                    sdf_joint('screw', AXIS + PITCH),
                    sdf_joint('screw', AXIS + PITCH, name='k'),
                ),
                'a screw joint cannot close a loop',
                'cut=[...]',
            ),
            (
                sdf_model('', sdf_joint('fixed'), sdf_joint('gearbox', AXES, name='k')),
                'do not turn relative to the reference body',
                '<gearbox_reference_body>',
            ),
        )
    },
}
