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

"""Contact decisions: thresholds, hysteresis, debouncing, dwell."""

import math

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.contact_detection import ContactDetector


def decisions(detector, values, period=1e-3, start=0.0):
    """Return [(time, decision)] of a signal that is sampled every period."""
    found = []
    for k, value in enumerate(values):
        decision = detector.update(start + k * period, value)
        if decision:
            found.append((round(start + k * period, 9), decision))
    return found


def test_a_force_makes_contact_after_the_debouncing_time():
    """And not before: the tenth millisecond after it has risen."""
    detector = ContactDetector('force', 50.0, 20.0, debounce=0.01, dwell=0.0)
    assert decisions(detector, [0.0] * 5 + [60.0] * 20) == [(0.015, 'connect')]
    assert detector.closed


def test_values_between_the_thresholds_change_nothing():
    """Hysteresis: a force of 30 N keeps what there is."""
    for closed in (False, True):
        detector = ContactDetector('force', 50.0, 20.0, debounce=0.0, dwell=0.0, closed=closed)
        assert decisions(detector, [30.0, 49.0, 21.0] * 50) == []


def test_a_height_works_the_other_way_round():
    """Contact below, release above."""
    detector = ContactDetector('height', 0.005, 0.02, debounce=0.002, dwell=0.0)
    values = [0.1] * 3 + [0.001] * 5 + [0.01] * 5 + [0.03] * 5
    assert decisions(detector, values) == [(0.005, 'connect'), (0.015, 'cut')]


def test_bouncing_is_waited_for():
    """Ten bounces of a few milliseconds end in one connection."""
    detector = ContactDetector('force', 50.0, 20.0, debounce=0.01, dwell=0.0)
    values = ([80.0] * 6 + [5.0] * 3) * 10 + [80.0] * 30
    assert decisions(detector, values) == [(0.1, 'connect')]


def test_a_contact_that_is_not_known_is_decided_by_the_first_clear_signal():
    """Open or closed, after the debouncing time; in between, or bouncing, it stays unknown."""
    for values, expected in (
        ([60.0] * 20, [(0.01, 'connect')]),
        ([0.0] * 20, [(0.01, 'cut')]),
        ([30.0] * 20, []),
        (([80.0] * 6 + [5.0] * 3) * 10, []),
    ):
        detector = ContactDetector('force', 50.0, 20.0, debounce=0.01, closed=None)
        assert decisions(detector, values) == expected


def test_a_decision_stands_for_the_dwell_time():
    """A force that is gone at once still keeps the contact for 50 ms."""
    detector = ContactDetector('force', 50.0, 20.0, debounce=0.001, dwell=0.05)
    made, cut = decisions(detector, [60.0] * 3 + [0.0] * 100)
    assert made == (0.001, 'connect') and cut == (0.051, 'cut')


def test_what_really_is_can_be_taken_over():
    """A refused connection is asked for again after the dwell time."""
    detector = ContactDetector('force', 50.0, 20.0, debounce=0.001, dwell=0.05)
    assert decisions(detector, [60.0] * 3) == [(0.001, 'connect')]
    detector.correct(False, 0.002)
    assert decisions(detector, [60.0] * 100, start=0.003) == [(0.052, 'connect')]


def test_a_clock_that_starts_anew_does_not_block_decisions():
    """Time running backwards forgets the waiting, not the contact."""
    detector = ContactDetector('force', 50.0, 20.0, debounce=0.01, dwell=0.05)
    decisions(detector, [60.0] * 20, start=1000.0)
    assert decisions(detector, [0.0] * 20) == [(0.01, 'cut')]


@pytest.mark.parametrize(
    'arguments, word',
    [
        (('pressure', 1.0, 0.5), 'unknown signal'),
        (('force', 20.0, 50.0), 'must be below'),
        (('height', 0.02, 0.005), 'must be above'),
        (('force', math.nan, 0.0), 'finite'),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(arguments, word):
    """With the reason."""
    with pytest.raises(ccd.StateError, match=word):
        ContactDetector(*arguments)


def test_a_signal_that_is_no_number_is_refused():
    """And changes nothing."""
    detector = ContactDetector('force', 50.0, 20.0, debounce=0.0)
    for value in (math.nan, math.inf):
        with pytest.raises(ccd.StateError, match='the signal is'):
            detector.update(0.0, value)
    assert not detector.closed
