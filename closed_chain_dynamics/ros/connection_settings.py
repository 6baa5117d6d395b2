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

"""The parameters of all nodes that connect links: how far apart these may be."""

from closed_chain_dynamics.model.changes import CONNECT_ANGLE, CONNECT_GAP
from closed_chain_dynamics.ros.parameters import Setting

__all__ = ['CONNECTION_SETTINGS']

CONNECTION_SETTINGS = [
    Setting(
        'connect_gap', CONNECT_GAP, 'largest gap that a connection closes [m]', low=0.0, high=10.0
    ),
    Setting(
        'connect_angle',
        CONNECT_ANGLE,
        'largest misalignment that it closes [rad]',
        low=0.0,
        high=3.15,
    ),
]
