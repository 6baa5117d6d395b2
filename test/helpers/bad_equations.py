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

"""Mechanisms whose equations cannot be derived as asked: id -> function of a folder."""

from dataclasses import replace
from unittest import mock

from helpers.called_mechanisms import FLOATING, four_bar
from helpers.small_files import ARM, BASE, TIP, hinge, robot
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.derive_list import list_file
from closed_chain_dynamics.description import CouplingTerm, Spring
from closed_chain_dynamics.model.changes import cut
from closed_chain_dynamics.symbolic.elimination import derive
from closed_chain_dynamics.symbolic.size import refuse_too_large, size_estimate
from closed_chain_dynamics.symbolic.speed import compile_c

__all__ = ['EQUATIONS']

SLIDES = 'prismatic'


def closed(
    first='revolute', second='revolute', loop='spherical', axes=('1 0 0', '1 0 0'), axis=''
):
    """Return a chain of two joints whose end is joined to its base, closed with both at zero."""
    joints = [
        hinge(
            name,
            parent,
            child,
            kind=kind,
            inside=f'<origin xyz="0 {y} 0"/><axis xyz="{direction}"/>',
        )
        for name, parent, child, kind, direction, y in (
            ('shoulder', 'base', 'arm', first, axes[0], 0),
            ('elbow', 'arm', 'tip', second, axes[1], 1),
        )
    ]
    return ccd.load(
        robot(
            BASE,
            ARM,
            TIP,
            *joints,
            f'<constraint name="pin" type="{loop}"><parent link="base"/>'
            f'<parent_origin xyz="0 2 0"/>{axis and f"""<parent_axis xyz="{axis}"/>"""}'
            f'<child link="tip"/><child_origin xyz="0 1 0"/></constraint>',
        )
    )


def derived(mechanism, method='te', q=None):
    """Derive the equations at zero."""
    return derive(mechanism, method, mechanism.neutral() if q is None else q).term('g_1')


def scotch_yoke():
    """A crank pin in two slides: both are unknown."""
    return ccd.load(
        robot(
            BASE,
            ARM,
            TIP,
            '<link name="x"/>',
            hinge(
                'crank',
                'base',
                'arm',
                inside='<axis xyz="0 0 1"/>',
                attributes='cc:role="actuated"',
            ),
            hinge('x', 'base', 'x', kind=SLIDES, inside='<axis xyz="1 0 0"/>'),
            hinge('y', 'x', 'tip', kind=SLIDES, inside='<axis xyz="0 1 0"/>'),
            '<constraint name="pin" type="revolute"><parent link="arm"/>'
            '<parent_origin xyz="1 0 0"/><parent_axis xyz="0 0 1"/><child link="tip"/>'
            '<child_origin xyz="1 0 0"/></constraint>',
        )
    )


def torn_apart():
    """A four-bar whose tree has been cut."""
    mechanism, q = four_bar()
    mechanism = mechanism.copy()
    q, _ = cut(mechanism, 'coupler', q, np.zeros(3))
    return derive(mechanism, q=q)


def with_slack():
    """A tendon that does not pull everywhere."""
    mechanism, q = four_bar()
    cord = Spring('cord', 'tendon', 1.0, terms=(CouplingTerm('crank', (1.0,)),), slack=0.5)
    return derive(ccd.Mechanism(replace(mechanism.description, springs=(cord,))), q=q)


def with_parabola():
    """A coupling that no one joint can be found from without a root."""
    description = ccd.load(
        robot(
            BASE,
            ARM,
            TIP,
            hinge('shoulder', 'base', 'arm', attributes='cc:role="actuated"'),
            hinge('elbow', 'arm', 'tip'),
            '<coupling name="cam"><cc:term joint="shoulder"/>'
            '<cc:term joint="elbow" coefficients="1 1"/></coupling>',
        )
    )
    return derived(description)


def on_a_ball():
    """The tip of the two-link arm on a sphere."""
    description = ccd.load('two_link').description
    loop = description.loops[0]
    return ccd.Mechanism(
        replace(
            description,
            loops=(replace(loop, contact=replace(loop.contact, surface='sphere', radius=0.5)),),
        )
    )


def without_compiler():
    """Compile where there is no compiler."""
    with mock.patch.dict('os.environ', {'PATH': ''}):
        compile_c('')


EQUATIONS = {
    'an unknown list file': lambda at: list_file('standing_figur'),
    'an unknown method': lambda at: derive(four_bar()[0], 'guess'),
    'an unknown term': lambda at: derive(four_bar()[0]).term('M_2'),
    'numbers that do not fit': lambda at: derive(four_bar()[0]).evaluate('g_1', np.zeros(2)),
    'equations of a free body': lambda at: derive(ccd.load(FLOATING)),
    'equations of what was cut': lambda at: torn_apart(),
    'equations of a spring with slack': lambda at: with_slack(),
    'equations of a sliding loop': lambda at: derived(closed(loop=SLIDES, axis='0 1 0')),
    'equations of slides alone': lambda at: derived(closed(SLIDES, SLIDES)),
    'equations of joints that cross': lambda at: derived(closed(axes=('1 0 0', '0 0 1'))),
    'equations of a slide across': lambda at: derived(closed(second=SLIDES)),
    'equations of two slides': lambda at: derived(scotch_yoke()),
    'equations of a stretched chain': lambda at: derived(closed()),
    'equations of a parabola': lambda at: with_parabola(),
    'equations on a ball': lambda at: derive(on_a_ball(), 'ic'),
    'equations without end': lambda at: refuse_too_large(
        four_bar()[0], size_estimate(four_bar()[0]), longest=1e-9
    ),
    'no compiler': lambda at: without_compiler(),
    'a source that is no C': lambda at: compile_c('int main(void) {'),
}
