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

"""Moments of inertia that no body has: noted where they never count, refused where they do."""

import math

from helpers.written_descriptions import arm
import pytest

from closed_chain_dynamics.description import read

ONE_MOMENT = 'ixx="0" iyy="0" izz="1"'
ACROSS = 'ixx="0.1" iyy="1" izz="0.1"'
ALONG = 'ixx="0.1" iyy="0.1" izz="1"'


@pytest.mark.parametrize(
    'values',
    [
        {'moments': ONE_MOMENT},
        {'moments': ACROSS},
        {'moments': ACROSS, 'upper_axis': '0 0 -1'},
        {'moments': ACROSS, 'upper_axis': '1 2 3', 'upper': 'prismatic'},
        {'moments': ACROSS, 'upper': 'fixed'},
        # z of the arm lies at an angle of half a radian in the axes of the upper link
        {
            'moments': ACROSS,
            'origin': 'rpy="0.5 0 0"',
            'upper_axis': f'0 {-math.sin(0.5)} {math.cos(0.5)}',
        },
        {'moments': ALONG, 'inertial': f'rpy="{math.pi / 2} 0 0"'},
    ],
)
def test_impossible_moments_that_never_count_are_noted(values):
    assert any('arm' in note and 'never count' in note for note in read(arm(**values)).notes)


@pytest.mark.parametrize(
    'values',
    [
        {'moments': ALONG},
        {'moments': ACROSS, 'inertial': f'rpy="{math.pi / 2} 0 0"'},
        {'moments': ACROSS, 'upper_axis': '0 1 0'},
        {'moments': ONE_MOMENT, 'upper_axis': '0 1 0'},
        {'moments': ONE_MOMENT, 'upper': 'spherical'},
        {'moments': ACROSS, 'axis': '0 0.01 1', 'upper_axis': '0 0.01 1'},
    ],
)
def test_impossible_moments_that_count_are_kept_with_a_warning(values):
    notes = read(arm(**values)).notes
    assert any('No rigid body' in note and 'arm (1 > ' in note for note in notes)


@pytest.mark.parametrize(
    'moments',
    [
        'ixx="0" iyy="1" izz="1"',
        'ixx="0.5" iyy="0.5" izz="1.0000004"',
        'ixx="0" iyy="0" izz="0"',
        'ixx="1" iyy="1" izz="0" ixy="1e-17"',
    ],
)
def test_rods_discs_and_points_are_bodies(moments):
    assert not any('rigid' in note for note in read(arm(moments, upper_axis='0 1 0')).notes)


def test_a_massless_link_that_carries_mass_is_allowed():
    assert read(arm('ixx="1" iyy="1" izz="1"')).links[1].inertia is None


def test_a_rotor_of_pure_rotary_inertia_is_allowed_and_noted():
    text = arm('ixx="1" iyy="1" izz="1"').replace('mass value="1"', 'mass value="0"')
    assert any('no mass: arm' in note for note in read(text).notes)
