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

"""Mechanisms on which calls are made that must be refused."""

from dataclasses import replace
from functools import cache

from helpers.small_files import ARM, BASE, hinge, robot, with_extra

import closed_chain_dynamics as ccd
from closed_chain_dynamics.description import Joint, JointType, Link

__all__ = ['FLAT', 'FLOATING', 'PUCK', 'described', 'four_bar', 'moving', 'without_mass']

FLOATING = robot(BASE, ARM, hinge('free', 'base', 'arm', kind='floating'))
PUCK = robot(BASE, ARM, hinge('slide', 'base', 'arm', kind='planar'))
FLAT = with_extra(
    '<constraint name="on" type="surface" active="false"><parent link="base"/>'
    '<child link="tip"/></constraint>'
)


@cache
def four_bar():
    """Return the four-bar and a closed pose of it."""
    mechanism = ccd.load('four_bar')
    return mechanism, ccd.assemble(mechanism, {'crank': 1.0})


def moving(**options):
    """Return a simulation of the four-bar, at rest."""
    mechanism, q = four_bar()
    return ccd.Simulation(mechanism, q=q, dt=1e-3, **options)


def described(**parts):
    """Return the four-bar with other parts."""
    return replace(four_bar()[0].description, **parts)


def without_mass():
    """Return a hinge that moves nothing."""
    return ccd.Mechanism(
        described(
            links=(Link('ground'), Link('ghost')),
            loops=(),
            actuators=(),
            assemblies=(),
            joints=(Joint('hinge', JointType.CONTINUOUS, 'ground', 'ghost'),),
        )
    )
