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

"""The parameters of viewer_node."""

from closed_chain_dynamics.ros.parameters import Setting

__all__ = ['SETTINGS']

SETTINGS = [
    Setting('port', 8080, 'port of the page; 0: any free port', low=0, high=65535, fixed=True),
    Setting(
        'host',
        '127.0.0.1',
        'address that the page is served at; from other machines only with the token in the log',
        fixed=True,
    ),
    Setting(
        'state_timeout',
        1.0,
        'report states that are missing for longer than this [s]',
        low=0.01,
        high=3600.0,
    ),
]
