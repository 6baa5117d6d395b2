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

"""Records without what is too fast to be motion."""

import numpy as np

from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.studies.motion.tracks import Tracks

__all__ = ['smoothed']


def smoothed(tracks: Tracks, cutoff: float) -> Tracks:
    """Return Tracks without what is faster than a frequency [Hz]: Butterworth, there and back."""
    from scipy.interpolate import CubicSpline
    from scipy.signal import butter, sosfiltfilt

    time = tracks.time
    rate = (len(time) - 1) / (time[-1] - time[0])
    if not 0.0 < cutoff < rate / 2.0:
        raise StateError(
            f'a cutoff of {cutoff:g} Hz is not below half the sampling rate of {rate:.4g} Hz',
            repair='Give a lower one, or a higher --rate.',
        )
    if np.ptp(np.diff(time)) > 1e-3 / rate:
        raise StateError(
            'the samples are not evenly spaced, and a filter needs them to be',
            repair='Resample it evenly with --rate.',
        )
    stages = butter(2, cutoff, fs=rate, output='sos')  # twice: fourth order, without delay
    found = Tracks(time)
    for joint, (positions, *_) in tracks.joints.items():
        if positions.shape[1] > 1:
            raise StateError(
                f'the joint {joint!r} turns about more than one axis, and a filter takes only one',
                repair='Smooth its record beforehand.',
            )
        spline = CubicSpline(
            time,
            sosfiltfilt(
                stages, positions, axis=0, padlen=min(len(time) - 1, 3 * int(rate / cutoff))
            ),
        )
        found.joints[joint] = (spline(time), spline(time, 1), spline(time, 2))
    return found
