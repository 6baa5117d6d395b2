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

"""The parameters of simulator_node."""

from closed_chain_dynamics.ros.connection_settings import CONNECTION_SETTINGS
from closed_chain_dynamics.ros.parameters import Setting
from closed_chain_dynamics.simulation.simulation import INTEGRATORS

__all__ = ['SETTINGS']

LOCKSTEP = ('auto', 'on', 'off')

SETTINGS = [
    Setting(
        'rate',
        1000.0,
        'periods per simulated second: torques in, joint_states out [Hz]',
        low=1.0,
        high=10000.0,
        fixed=True,
    ),
    Setting(
        'dt',
        0.001,
        'largest step of the integrator; a period is divided evenly [s]',
        low=1e-6,
        high=0.1,
        fixed=True,
    ),
    Setting('integrator', 'rk4', 'how a step is taken', choices=INTEGRATORS, fixed=True),
    Setting('limits', True, 'joints stop at the ends of their range', fixed=True),
    Setting(
        'real_time_factor',
        1.0,
        'simulated seconds per second; 0: as fast as possible',
        low=0.0,
        high=100.0,
    ),
    Setting(
        'lockstep',
        'auto',
        'wait for the torques of every state; auto: at factor 0, if a node sends torques',
        choices=LOCKSTEP,
    ),
    Setting(
        'lockstep_timeout',
        5.0,
        'continue without torques after this time [s]',
        low=0.01,
        high=3600.0,
    ),
    Setting('start_paused', False, 'start paused; services step and pause continue', fixed=True),
    Setting(
        'scene_rate',
        30.0,
        'tf, markers and wrenches per simulated second [Hz]',
        low=0.1,
        high=1000.0,
    ),
    Setting(
        'frame_prefix', '', 'prefix of all tf frames, for several robots in one graph', fixed=True
    ),
    Setting('publish_clock', True, 'publish /clock; only one simulator should', fixed=True),
    Setting(
        'initial_positions', [], 'initial pose, joint=value; loops determine the rest', fixed=True
    ),
    Setting('initial_velocities', [], 'initial velocities, joint=value', fixed=True),
    Setting(
        'torque_timeout',
        0.1,
        'torques older than this become zero; 0: never [s]',
        low=0.0,
        high=60.0,
    ),
    Setting('push_duration', 0.1, 'how long an external wrench acts [s]', low=0.0, high=3600.0),
    *CONNECTION_SETTINGS,
]
