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

"""The leg of an exoskeleton: what its file says about itself."""

import math

import numpy as np
import pytest

import closed_chain_dynamics as ccd

CRANK, LEVER, ROD = 0.04, 0.06, 0.25  # of the ankle [m]
EXACT = 1e-9  # closed forms and closed loops [rad]


@pytest.fixture(scope='module')
def leg():
    return ccd.load('exo_leg')


def test_it_is_closed_at_zero_and_square(leg):
    q = np.zeros(leg.nq)
    assert max(max(gap) for gap in leg.loop_gaps(q).values()) < EXACT
    c = ccd.coordinates(leg, q)
    assert c.mobility == len(leg.actuator_names) == 4
    assert set(c.independent) == {'hip', 'knee', 'left_crank', 'right_crank'}


def crank_angle(pitch):
    """Return the crank of a pitched foot: the rod keeps its length, in the plane of the leg."""
    heel = -LEVER * np.array([math.cos(pitch), math.sin(pitch)])  # seen from the ankle
    x, z = heel - np.array([-LEVER + CRANK, ROD])  # seen from the crank's pivot
    # |(x, z) + CRANK (cos, sin)|^2 = ROD^2
    far = math.hypot(x, z)
    return math.acos((ROD**2 - CRANK**2 - far**2) / (2 * CRANK * far)) - math.atan2(-z, x)


@pytest.mark.parametrize('pitch', [-0.6, -0.3, 0.0, 0.2, 0.6])
def test_cranks_follow_the_closed_form(leg, pitch):
    q = ccd.assemble(leg, {'ankle_pitch': pitch, 'ankle_roll': 0.0}, start=np.zeros(leg.nq))
    found = dict(zip(leg.joint_names, q))
    expected = crank_angle(pitch)
    assert found['left_crank'] == pytest.approx(expected, abs=EXACT)
    assert found['right_crank'] == pytest.approx(expected, abs=EXACT)


def test_crank_and_rod_are_in_line_a_little_beyond_the_limit(leg):
    """The heel is highest where it is a crank and a rod away from the pivot."""
    pivot = np.array([-LEVER + CRANK, ROD])
    pitch = np.linspace(0.6, 0.8, 20001)
    heel = -LEVER * np.stack([np.cos(pitch), np.sin(pitch)], axis=1)
    away = np.linalg.norm(heel - pivot, axis=1)
    dead = pitch[np.searchsorted(away, ROD + CRANK)]
    assert 0.6 < dead < 0.75
    with pytest.raises(ccd.AssemblyError):
        ccd.assemble(
            leg, {'ankle_pitch': dead + 0.01, 'ankle_roll': 0.0}, limits=False, attempts=5
        )
