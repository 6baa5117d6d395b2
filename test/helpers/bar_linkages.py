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

"""Four-bar, five-bar and slider-crank, with their motion in closed form."""

import math

from helpers.planar_linkages import Rod, planar_linkage
import mpmath

__all__ = [
    'FIVE_BAR',
    'FIVE_BAR_RODS',
    'FOUR_BAR',
    'FOUR_BAR_RODS',
    'SLIDER_CRANK',
    'SLIDER_CRANK_RODS',
    'five_bar',
    'five_bar_frames',
    'four_bar',
    'four_bar_frames',
    'full_turn',
    'slider_crank',
    'slider_crank_frames',
]


def _meeting_point(one, radius_one, two, radius_two, branch=1):
    """Return where two circles meet, to the left of the way from one to two for branch 1."""
    way = two - one
    distance = abs(way)
    along = (distance**2 + radius_one**2 - radius_two**2) / (2 * distance)
    height = mpmath.sqrt(radius_one**2 - along**2)
    return one + (along + 1j * branch * height) * way / distance


# --- the four-bar --------------------------------------------------------------------------------
FOUR_BAR = {'crank': 0.4, 'coupler': 1.1, 'rocker': 0.8, 'ground': 1.2}  # lengths [m]
FOUR_BAR_RODS = {
    'crank': Rod(1.3, 0.17 + 0.02j, 0.031),
    'coupler': Rod(2.1, 0.5 - 0.08j, 0.22),
    'rocker': Rod(1.7, 0.35 + 0.05j, 0.12),
}
FOUR_BAR_JOINTS = (
    ('crank', 'ground', 'crank', lambda frames: 0j),
    ('knee', 'crank', 'coupler', lambda frames: frames['coupler'][0]),
    ('pin', 'coupler', 'rocker', lambda frames: frames['pin']),
    ('rocker', 'ground', 'rocker', lambda frames: frames['rocker'][0]),
)


def four_bar_frames(theta, lengths=FOUR_BAR):
    """Return origin and angle of every body of a four-bar, and where its last pin is."""
    knee = lengths['crank'] * mpmath.expj(theta)
    foot = mpmath.mpc(lengths['ground'])
    pin = _meeting_point(knee, lengths['coupler'], foot, lengths['rocker'])
    return {
        'ground': (0j, 0),
        'crank': (0j, theta),
        'coupler': (knee, mpmath.arg(pin - knee)),
        'rocker': (foot, mpmath.arg(pin - foot)),
        'pin': pin,
    }


def four_bar(cut='pin', *, actuated=('crank',), origin=1.0, **options):
    """Return a four-bar with any of its joints cut, and its closed form."""
    return planar_linkage(
        'four_bar',
        FOUR_BAR_RODS,
        four_bar_frames,
        FOUR_BAR_JOINTS,
        origin=(origin,),
        cut=(cut,),
        actuated=actuated,
        **options,
    )


# --- the five-bar --------------------------------------------------------------------------------
FIVE_BAR = {'proximal': 0.5, 'distal': 0.75, 'ground': 0.6}
FIVE_BAR_RODS = {
    'left': Rod(1.1, 0.2 + 0.01j, 0.02),
    'left_distal': Rod(0.9, 0.35 + 0.04j, 0.05),
    'right': Rod(1.2, 0.22 - 0.03j, 0.03),
    'right_distal': Rod(0.8, 0.3 + 0.02j, 0.04),
}
FIVE_BAR_JOINTS = (
    ('left', 'ground', 'left', lambda frames: 0j),
    ('left_elbow', 'left', 'left_distal', lambda frames: frames['left_distal'][0]),
    ('tip', 'left_distal', 'right_distal', lambda frames: frames['tip']),
    ('right_elbow', 'right', 'right_distal', lambda frames: frames['right_distal'][0]),
    ('right', 'ground', 'right', lambda frames: frames['right'][0]),
)


def five_bar_frames(left, right, lengths=FIVE_BAR):
    """Return origin and angle of every body of a five-bar, and where its tip is."""
    foot = mpmath.mpc(lengths['ground'])
    elbows = (
        lengths['proximal'] * mpmath.expj(left),
        foot + lengths['proximal'] * mpmath.expj(right),
    )
    tip = _meeting_point(elbows[0], lengths['distal'], elbows[1], lengths['distal'])
    return {
        'ground': (0j, 0),
        'left': (0j, left),
        'right': (foot, right),
        'left_distal': (elbows[0], mpmath.arg(tip - elbows[0])),
        'right_distal': (elbows[1], mpmath.arg(tip - elbows[1])),
        'tip': tip,
    }


def five_bar(cut='tip', *, actuated=('left', 'right'), **options):
    """Return a five-bar with any of its joints cut, and its closed form."""
    return planar_linkage(
        'five_bar',
        FIVE_BAR_RODS,
        five_bar_frames,
        FIVE_BAR_JOINTS,
        origin=(2.0, 1.2),
        cut=(cut,),
        actuated=actuated,
        **options,
    )


# --- the slider-crank ----------------------------------------------------------------------------
SLIDER_CRANK = {'crank': 0.05, 'rod': 0.16, 'offset': 0.01}
SLIDER_CRANK_RODS = {
    'crank': Rod(3.0, 0.01 + 0.002j, 0.004),
    'rod': Rod(0.7, 0.05 + 0.001j, 0.002),
    'piston': Rod(0.5, 0.01 + 0j, 0.001),
}
SLIDER_CRANK_JOINTS = (
    ('crank', 'ground', 'crank', lambda frames: 0j),
    ('journal', 'crank', 'rod', lambda frames: frames['rod'][0]),
    ('wrist', 'rod', 'piston', lambda frames: frames['piston'][0]),
    ('bore', 'ground', 'piston', 'slide'),
)


def slider_crank_frames(theta, lengths=SLIDER_CRANK):
    """Return origin and angle of every body of a slider-crank whose bore lies off the centre."""
    journal = lengths['crank'] * mpmath.expj(theta)
    fall = lengths['offset'] - journal.imag
    piston = journal.real + mpmath.sqrt(lengths['rod'] ** 2 - fall**2) + 1j * lengths['offset']
    return {
        'ground': (0j, 0),
        'crank': (0j, theta),
        'rod': (journal, mpmath.arg(piston - journal)),
        'piston': (piston, 0),
    }


def slider_crank(cut='wrist', *, actuated=('crank',), **options):
    """Return a slider-crank with any of its joints cut, and its closed form."""
    return planar_linkage(
        'slider_crank',
        SLIDER_CRANK_RODS,
        slider_crank_frames,
        SLIDER_CRANK_JOINTS,
        origin=(0.7,),
        cut=(cut,),
        actuated=actuated,
        **options,
    )


def full_turn(count):
    """Return angles spread over a turn that meet no special pose."""
    return [math.tau * (k + 0.13) / count for k in range(count)]
