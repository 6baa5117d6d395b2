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

"""Files whose links, joints or bodies make no robot."""

from helpers.small_files import (
    ARM,
    BASE,
    GOOD,
    LOOP,
    SHOULDER,
    SPRING,
    TIP,
    body,
    hinge,
    robot,
    with_body,
    with_extra,
    with_hinge,
)

# id: (the file, words of the culprit, words of the repair)
TREES = {
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
    'negative moment about the turning axis': (
        robot(
            BASE,
            body('arm', moments='ixx="1" iyy="1" izz="-0.5"'),
            hinge('shoulder', 'base', 'arm', inside='<axis xyz="0 0 1"/>'),
        ),
        ['<link name="arm">', '-0.5 kg m^2'],
        ['signs'],
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
}
