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

"""The parameters of loop_state_node."""

from closed_chain_dynamics.ros.connection_settings import CONNECTION_SETTINGS
from closed_chain_dynamics.ros.parameters import Setting

__all__ = ['SETTINGS']

SETTINGS = [
    Setting(
        'jump',
        0.3,
        'distance from the predicted pose beyond which a state is doubted [rad, or lengths]',
        low=1e-3,
        high=10.0,
        fixed=True,
    ),
    Setting(
        'confirm',
        3,
        'consecutive states after which a jump is accepted',
        low=1,
        high=1000,
        fixed=True,
    ),
    Setting('state_timeout', 0.1, 'age at which a state is rejected [s]', low=1e-3, high=60.0),
    Setting(
        'contradiction',
        0.02,
        'disagreement with the loops that causes a warning [rad, or lengths]',
        low=0.0,
        high=10.0,
    ),
    Setting(
        'frame_prefix', '', 'prefix of all tf frames, for several robots in one graph', fixed=True
    ),
    *CONNECTION_SETTINGS,
]
