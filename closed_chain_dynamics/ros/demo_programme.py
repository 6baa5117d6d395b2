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

"""
The programme of the demonstration: what the figure on the swing does when; needs no ROS.

It works up the swing with its knees, and waves with one hand after the other: a hand lets go,
the elbow stretches and bends again, and the hand grips where it was.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = [
    'JOINTS',
    'OPEN_HANDS',
    'ROUND',
    'START',
    'changes',
    'round_motion',
    'wanted_closed',
    'wanted_motion',
]

# Rates at which all swing about the ceiling, and nobody moves on the plate.
START = ['left_ceiling=0,-1.2,0', 'left_elbow=0', 'left_knee=0', 'right_knee=0']
JOINTS = ('left_knee', 'right_knee', 'left_elbow', 'right_elbow')
SWING = 2.6  # a swing to and fro [s]
ROUND = 3.0 * SWING  # of the programme [s]
KNEE, ELBOW = 1.5707963267948966, -2.084505393772381  # where the model starts [rad]
KNEE_SWING, WAVE = 0.5, 1.0  # how far they move [rad]
OPEN_HANDS = {'left_hand': (1.3, 3.3), 'right_hand': (4.7, 6.7)}  # of every round [s]
POINT_EVERY = 0.05  # between two points of the motion [s]
ELBOW_REST = 0.2  # the elbow rests just after letting go, and before gripping [s]


def wanted_closed(time: float) -> dict[str, bool]:
    """Return which hands hold on at a simulated time, {loop joint: bool}."""
    within = time % ROUND
    return {name: not begin <= within < end for name, (begin, end) in OPEN_HANDS.items()}


def changes(number: int) -> list[tuple[float, str, str]]:
    """Return what hands do in a round, [(simulated time [s], 'cut' or 'connect', loop joint)]."""
    return [
        (number * ROUND + when, kind, name)
        for name, (begin, end) in OPEN_HANDS.items()
        for when, kind in ((begin, 'cut'), (end, 'connect'))
    ]


def round_motion() -> tuple[NDArray[np.float64], ...]:
    """Return times [s] and positions, velocities and accelerations of JOINTS in a round."""
    times = np.arange(0.0, ROUND + 0.5 * POINT_EVERY, POINT_EVERY)
    return times, *np.array([wanted_motion(time) for time in times]).swapaxes(0, 1)


def wanted_motion(time: float) -> NDArray[np.float64]:
    """Return positions, velocities and accelerations of JOINTS at a time within a round [s]."""
    omega = 2.0 * np.pi / SWING
    knee = np.array(
        [np.sin(omega * time), omega * np.cos(omega * time), -(omega**2) * np.sin(omega * time)]
    )
    motion = np.zeros((3, len(JOINTS)))
    motion[:, 0] = motion[:, 1] = -KNEE_SWING * knee
    for column, (begin, end) in enumerate(OPEN_HANDS.values(), start=2):
        span = end - begin - 2.0 * ELBOW_REST
        turn = 2.0 * np.pi * np.clip((time - begin - ELBOW_REST) / span, 0.0, 1.0)
        if 0.0 < turn < 2.0 * np.pi:  # there and back, with continuous accelerations at the ends
            rate = 2.0 * np.pi / span
            u, du, ddu = 1.0 - np.cos(turn), np.sin(turn) * rate, np.cos(turn) * rate**2
            motion[:, column] = (
                0.25 * WAVE * np.array([u * u, 2.0 * u * du, 2.0 * (du * du + u * ddu)])
            )
    motion[0] += KNEE, KNEE, ELBOW, ELBOW
    return motion
