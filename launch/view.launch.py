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
Look at a model in the browser, with sliders that respect its loops.

  ros2 launch closed_chain_dynamics view.launch.py model:=four_bar
"""

from closed_chain_dynamics.ros import composition
from closed_chain_dynamics.ros.launching import describe

ARGUMENTS = {
    'model': ('four_bar', 'a file, or a shipped model: swing, high_bar, four_bar, exo, ...'),
    'port': ('8080', 'of the view'),
    'namespace': ('', 'of all nodes'),
}


def programs(given):
    """Return what to start."""
    return composition.view(given['model'], port=int(given['port']))


def generate_launch_description():
    """Return what `ros2 launch` starts."""
    return describe(ARGUMENTS, programs)
