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
Simulate a closed chain: simulator, controller, RViz or the view in the browser.

  ros2 launch closed_chain_dynamics simulation.launch.py model:=swing rviz:=true
"""

from closed_chain_dynamics.ros import composition
from closed_chain_dynamics.ros.launching import describe, is_true, rviz

ARGUMENTS = {
    'model': ('swing', 'a file, or a shipped model: swing, high_bar, four_bar, exo, ...'),
    'controller': ('true', 'torque_node: torques that follow topic reference'),
    'hold': ('false', 'reference_node: hold the pose of the start; nothing falls before'),
    'follow': ('', 'reference_node: a CSV to follow, with the columns time and joints'),
    'viewer': ('false', 'viewer_node: the view in the browser'),
    'rviz': ('false', 'RViz with model, TF, markers and wrenches'),
    'rate': ('1000.0', 'joint states and torques per second [Hz]'),
    'real_time_factor': ('1.0', 'simulated seconds per second'),
    'port': ('8080', 'of the view'),
    'namespace': ('', 'of all nodes'),
}


def programs(given):
    """Return what to start."""
    rate = float(given['rate'])
    wanted = is_true(given['hold']) or bool(given['follow'])
    waiting = {'start_paused': True, 'lockstep': 'on'} if wanted else {}
    return composition.simulation(
        given['model'],
        controller=is_true(given['controller']),
        viewer=is_true(given['viewer']),
        port=int(given['port']),
        torque={'rate': rate},
        simulator={'rate': rate, 'real_time_factor': float(given['real_time_factor']), **waiting},
        reference={'file': given['follow']} if wanted else None,
    )


def generate_launch_description():
    """Return what `ros2 launch` starts."""
    # all stamps are simulated time
    return describe(ARGUMENTS, programs, rviz('rviz', use_sim_time=True))
