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

"""Files that no mechanism can be built from, and the words that their errors must have."""


def body(name, *, mass='1', moments='ixx="1" iyy="1" izz="1"', extra=''):
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><inertia {moments}/>'
        f'</inertial>{extra}</link>'
    )


def hinge(name, parent, child, *, kind='revolute', inside='', attributes=''):
    return (
        f'<joint name="{name}" type="{kind}" {attributes}><parent link="{parent}"/>'
        f'<child link="{child}"/>{inside}</joint>'
    )


def robot(*parts):
    """Return a file with one part a line: the first part stands in line 2."""
    return '\n'.join(['<robot name="r" xmlns:cc="urn:closed_chain_dynamics">', *parts, '</robot>'])


BASE, ARM, TIP = '<link name="base"/>', body('arm'), body('tip')
SHOULDER, ELBOW = hinge('shoulder', 'base', 'arm'), hinge('elbow', 'arm', 'tip')
GOOD = (BASE, ARM, TIP, SHOULDER, ELBOW)


def with_hinge(inside='', kind='revolute', attributes=''):
    """Return a pendulum whose joint stands in line 4."""
    return robot(
        BASE,
        ARM,
        hinge('shoulder', 'base', 'arm', kind=kind, inside=inside, attributes=attributes),
    )


def with_body(**values):
    """Return a two-link arm whose last link, in line 4, has these values, turning about x, y."""
    return robot(
        BASE,
        ARM,
        body('tip', **values),
        SHOULDER,
        hinge('elbow', 'arm', 'tip', inside='<axis xyz="0 1 0"/>'),
    )


def with_extra(*extra):
    """Return a good arm with more elements, the first in line 7."""
    return robot(*GOOD, *extra)


LOOP = (
    '<constraint name="grip" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
    '{inside}</constraint>'
)
SPRING = '<cc:spring name="s" type="linear">{}</cc:spring>'
AXIS = '<axis><xyz>0 0 1</xyz></axis>'
AXES = AXIS + AXIS.replace('axis', 'axis2')
PITCH = '<screw_thread_pitch>0.1</screw_thread_pitch>'


def sdf_joint(kind, inside='', *, name='j', child='a'):
    return (
        f'<joint name="{name}" type="{kind}"><parent>world</parent><child>{child}</child>'
        f'{inside}</joint>'
    )


def sdf_model(inside='', *joints):
    return f'<model name="m"><link name="a">{inside}</link>{"".join(joints)}</model>'


# id: (the file, words of the culprit, words of the repair)
CASES = {
    # the file as a whole
    'malformed': (
        '<robot name="r">\n<link name="a">\n</robot>',
        ['line 3, column', 'malformed'],
        ['closed'],
    ),
    'text after the end': ('<robot name="r"/>junk', ['line 1', 'malformed'], ['quoted']),
    'no declaration of cc': (
        '<robot name="r"><cc:spring name="s"/></robot>',
        ['prefix cc'],
        ['xmlns:cc="urn:closed_chain_dynamics"'],
    ),
    'cc means something else': (
        '<robot name="r" xmlns:cc="urn:other"><cc:spring name="s"/></robot>',
        ["'urn:other'"],
        ['xmlns:cc="urn:closed_chain_dynamics"'],
    ),
    'external entity': (
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>',
        ['DOCTYPE', 'refused'],
        ['Remove'],
    ),
    'doctype alone': ('<!DOCTYPE robot><robot name="r"/>', ['DOCTYPE'], ['Remove']),
    'doctype in a broken file': (
        '<!DOCTYPE r [<!ENTITY x "y">]><robot name="r">&z;</robo>',
        ['DOCTYPE'],
        ['Remove'],
    ),
    'wrong root': ('<svg/>', ['line 1', '<svg>'], ['URDF']),
    'no link': (robot(), ['<robot>', 'no <link>'], ['Add']),
    # names
    'link without name': (robot('<link/>'), ['line 2, <link>', 'name is missing'], ['Write name']),
    'empty name': (robot('<link name=""/>'), ['line 2', 'name is empty'], ['Write name']),
    'two links of one name': (
        robot(BASE, ARM, ARM, SHOULDER),
        ['line 4', "'arm'", '2 times', 'also at line 3'],
        ['its own name'],
    ),
    'two joints of one name': (
        robot(*GOOD[:4], hinge('shoulder', 'arm', 'tip')),
        ['line 6', "'shoulder'", 'also at line 5'],
        ['its own name'],
    ),
    'a loop named as a joint': (
        with_extra(
            LOOP.format(kind='fixed', parent='base', child='tip', inside='').replace(
                'grip', 'elbow'
            )
        ),
        ['line 7', "'elbow'", 'also at line 6'],
        ['its own name'],
    ),
    'a coupling named as a joint': (
        with_extra(
            '<coupling name="elbow"><predecessor link="arm"/><successor link="tip"/>'
            '<carrier link="base"/></coupling>'
        ),
        ['line 7', "'elbow'"],
        ['its own name'],
    ),
    'two springs of one name': (
        with_extra(
            *2
            * (SPRING.format('<cc:from link="base"/><cc:to link="tip"/><cc:law stiffness="1"/>'),)
        ),
        ['line 8', "'s'", 'spring'],
        ['its own name'],
    ),
    # the tree
    'unknown parent': (
        robot(BASE, ARM, hinge('shoulder', 'bass', 'arm')),
        ['line 4, <joint name="shoulder">', "'bass'"],
        ["mean 'base'"],
    ),
    'unknown child': (
        robot(BASE, ARM, hinge('shoulder', 'base', 'armm')),
        ['line 4', "'armm'"],
        ["mean 'arm'"],
    ),
    'two roots': (
        robot(BASE, ARM, SHOULDER, TIP, '<link name="lost"/>'),
        ['3 roots', "'base', 'tip', 'lost'"],
        ['one root'],
    ),
    'cycle without root': (
        robot(ARM, TIP, hinge('there', 'arm', 'tip'), hinge('back', 'tip', 'arm')),
        ['line 5', 'cycle', 'tip -> arm -> tip'],
        ['<constraint>'],
    ),
    'cycle beside a root': (
        robot(*GOOD, body('p'), body('q'), hinge('there', 'p', 'q'), hinge('back', 'q', 'p')),
        ['cycle', 'q -> p -> q'],
        ['<constraint>'],
    ),
    'joint from a link to itself': (
        robot(BASE, ARM, hinge('j', 'arm', 'arm')),
        ['line 4', "'arm' with itself"],
        ['two different links'],
    ),
    'two parents': (
        robot(
            *GOOD,
            hinge(
                'second',
                'base',
                'tip',
                inside='<origin xyz="1 2 3" rpy="0 0 0.5"/><axis xyz="0 1 0"/>',
                kind='continuous',
            ),
        ),
        ['line 7, <joint name="second">', "'tip' has two parents", "'elbow'"],
        [
            '<constraint name="second" type="revolute">',
            '<parent link="base"/>',
            '<parent_origin xyz="1 2 3" rpy="0 0 0.5"/>',
            '<parent_axis xyz="0 1 0"/>',
            '<child link="tip"/>',
            '<child_axis xyz="0 1 0"/>',
            '</constraint>',
        ],
    ),
    # joints
    'joint without type': (
        with_hinge().replace('type="revolute"', ''),
        ['line 4', 'type is missing'],
        ['Write type'],
    ),
    'unknown type of joint': (
        with_hinge(kind='revolut'),
        ['line 4', "'revolut'"],
        ["mean 'revolute'"],
    ),
    'joint without parent': (
        robot(BASE, ARM, '<joint name="j" type="fixed"><child link="arm"/></joint>'),
        ['line 4', 'no <parent>'],
        ['Add <parent'],
    ),
    'two axes': (
        with_hinge('<axis xyz="1 0 0"/><axis xyz="0 1 0"/>'),
        ['line 4', '2 <axis>'],
        ['Keep one'],
    ),
    'zero axis': (
        with_hinge('<axis xyz="0 0 0"/>'),
        ['line 4, <axis> of <joint name="shoulder">', 'zero vector'],
        ['direction such as'],
    ),
    'axis of two numbers': (
        with_hinge('<axis xyz="1 0"/>'),
        ['line 4', 'xyz needs 3 numbers'],
        ['spaces'],
    ),
    'origin that is no number': (
        with_hinge('<origin xyz="0 zero 0"/>'),
        ['line 4', "'zero'", 'not a number'],
        ['number such as'],
    ),
    'number with underscore': (
        with_hinge('<origin xyz="0 1_0 0"/>'),
        ["'1_0'"],
        ['number such as'],
    ),
    'origin with nan': (
        with_hinge('<origin xyz="0 nan 0"/>'),
        ['line 4', "'nan'", 'not finite'],
        ['finite number'],
    ),
    'origin with inf': (
        with_hinge('<origin rpy="0 inf 0"/>'),
        ['rpy', "'inf'", 'not finite'],
        ['finite number'],
    ),
    'number that overflows': (
        with_hinge('<origin xyz="0 1e999 0"/>'),
        ["'1e999'", 'not finite'],
        ['finite number'],
    ),
    'crossed limits': (
        with_hinge('<limit lower="1" upper="-1"/>'),
        ['line 4', 'lower (1) is above upper (-1)'],
        ['Swap'],
    ),
    'a stop that makes energy': (
        with_hinge('<limit effort="1" cc:restitution="1.5"/>'),
        ['cc:restitution is 1.5'],
        ['Give 0 to 1'],
    ),
    'negative effort': (with_hinge('<limit effort="-1"/>'), ['effort is -1'], ['Correct effort']),
    'negative damping': (
        with_hinge('<dynamics damping="-1"/>'),
        ['damping is -1'],
        ['Correct damping'],
    ),
    'wrong independent': (
        with_hinge(attributes='independent="perhaps"'),
        ["'perhaps'"],
        ['independent="true"'],
    ),
    'cc:type on a hinge': (
        with_hinge(attributes='cc:type="spherical"'),
        ['line 4', 'revolute'],
        ['type="floating"'],
    ),
    'unknown cc:type': (
        with_hinge(kind='floating', attributes='cc:type="sphericl"'),
        ["'sphericl'"],
        ["mean 'spherical'"],
    ),
    'unknown role': (
        with_hinge(attributes='cc:role="actuatd"'),
        ["'actuatd'"],
        ["mean 'actuated'"],
    ),
    'actuated fixed joint': (
        with_hinge(kind='fixed', attributes='cc:role="actuated"'),
        ['line 4', "'shoulder'", 'fixed'],
        ['type that moves'],
    ),
    # bodies
    'no mass': (
        robot('<link name="a"><inertial/></link>'),
        ['line 2', 'no <mass>'],
        ['<mass value'],
    ),
    'negative mass': (
        with_body(mass='-2'),
        ['line 4', 'tip', 'negative (-2 kg)'],
        ['zero or more'],
    ),
    'mass nan': (with_body(mass='NaN'), ['line 4', "'NaN'"], ['finite number']),
    'negative moment': (
        with_body(moments='ixx="1" iyy="1" izz="-0.5"'),
        ['line 4, <link name="tip">', '-0.5 kg m^2'],
        ['signs'],
    ),
    'indefinite inertia': (
        with_body(moments='ixx="1" iyy="1" izz="1" ixy="1.5"'),
        ['<link name="tip">', '-0.5 kg m^2'],
        ['signs'],
    ),
    'triangle inequality': (
        with_body(moments='ixx="0.1" iyy="0.2" izz="1"'),
        ['line 4, <link name="tip">', '1 > 0.1 + 0.2'],
        ['centre of mass'],
    ),
    'triangle about the turning axis': (
        robot(
            BASE,
            body('arm', moments='ixx="0.1" iyy="0.2" izz="1"'),
            hinge('shoulder', 'base', 'arm', inside='<axis xyz="0 0 1"/>'),
        ),
        ['<link name="arm">', '1 > 0.1 + 0.2'],
        ['centre of mass'],
    ),
    'inertia without izz': (
        with_body(moments='ixx="1" iyy="1"'),
        ['izz is missing'],
        ['Write izz'],
    ),
    'massless leaf': (
        robot(BASE, '<link name="arm"/>', SHOULDER),
        ['line 4, <joint name="shoulder">', "'arm'", 'no mass'],
        ['<inertial>', 'fixed'],
    ),
    'massless leaf with a massless hand': (
        robot(
            BASE,
            '<link name="arm"/>',
            '<link name="tip"/>',
            SHOULDER,
            hinge('wrist', 'arm', 'tip', kind='fixed'),
        ),
        ["'shoulder'", "'arm'"],
        ['<inertial>'],
    ),
    'massless slider with rotary inertia': (
        robot(BASE, body('arm', mass='0'), hinge('slide', 'base', 'arm', kind='prismatic')),
        ["'slide'", 'no mass'],
        ['<inertial>'],
    ),
    'empty geometry': (
        robot('<link name="a"><visual><geometry/></visual></link>'),
        ['<geometry> of <link name="a">', 'empty'],
        ['<box>'],
    ),
    'negative size': (
        robot('<link name="a"><visual><geometry><sphere radius="-1"/></geometry></visual></link>'),
        ['<sphere>', '-1 m'],
        ['zero or more'],
    ),
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
                'a wheel touches a plane, with its rim alone; here is a sphere',
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
            ('', 'it holds 0 models: none', 'Keep one <model>'),
            ('<model name="a"/><model name="b"/>', "it holds 2 models: 'a', 'b'", 'Keep one'),
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

# id: (the YAML beside a good file, words of the culprit, words of the repair)
YAML_CASES = {
    'malformed': ('closed_loop: [[', ['line 1', 'malformed'], ['brackets']),
    'no mapping': ('- closed_loop', ['not a mapping'], ['closed_loop']),
    'no pairs': ('closed_loop: [tip, base]', ['pairs of names'], ['[[']),
    'unknown frame': ('closed_loop: [[tpi, base]]', ["'tpi'"], ["mean 'tip'"]),
    'unknown type': ("closed_loop: [[tip, base]]\ntype: ['4d']", ["'4d'"], ['6d']),
    'too few types': ('closed_loop: [[tip, base]]\ntype: []', ['1 entries', 'has 0'], ['one']),
    'unknown motor': (
        'closed_loop: []\nname_mot: [elbw]',
        ["'elbw'", 'name_mot'],
        ["mean 'elbow'"],
    ),
    'motors that are no names': ('closed_loop: []\nname_mot: [1]', ['name_mot'], ['first']),
    'unknown type of joint': (
        'closed_loop: []\njoint_name: [elbow]\njoint_type: [SPHERICL]',
        ["'SPHERICL'", "'elbow'"],
        ["mean 'SPHERICAL'"],
    ),
    'types that miss': ('closed_loop: []\njoint_name: [elbow]', ['1 entries', 'has 0'], ['one']),
    'loop with itself': ('closed_loop: [[tip, elbow]]', ["'tip' with itself"], ['two different']),
    'code': ('closed_loop: !!python/object/apply:os.getcwd []', ['malformed'], ['brackets']),
}
