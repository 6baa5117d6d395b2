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

"""The parameters of torque_node."""

from closed_chain_dynamics.control.fallback import FALLBACKS
from closed_chain_dynamics.control.feel import SPACES
from closed_chain_dynamics.control.joint_limits import DEFAULT_SPEED
from closed_chain_dynamics.control.law import MODES
from closed_chain_dynamics.control.torque_guard import DEFAULT_EFFORT
from closed_chain_dynamics.dynamics.actuation import ACTUATION_POLICIES
from closed_chain_dynamics.dynamics.singularities import SINGULARITY_POLICIES
from closed_chain_dynamics.kernels.passive import FRICTION_SPEED
from closed_chain_dynamics.ros.connection_settings import CONNECTION_SETTINGS
from closed_chain_dynamics.ros.messages.base_topics import SOURCES
from closed_chain_dynamics.ros.parameters import Setting

__all__ = ['SETTINGS']

SETTINGS = [
    Setting('mode', 'computed_torque', 'the control law', choices=MODES),
    Setting(
        'rate',
        1000.0,
        'most control cycles per second, by time stamps [Hz]',
        low=1.0,
        high=10000.0,
    ),
    Setting('kp', 400.0, 'stiffness of the error [1/s^2]', low=0.0, high=1e6),
    Setting(
        'kd', 40.0, 'damping of the error [1/s]; 2 sqrt(kp) does not overshoot', low=0.0, high=1e4
    ),
    Setting(
        'compiled',
        False,
        'compute torques with generated code, once there is code for the present structure',
        fixed=True,
    ),
    Setting('joint_gains', [], 'joint=kp,kd for joints with individual gains'),
    Setting(
        'blend',
        0.2,
        'duration of the transition after a change of mode, gains or inputs [s]',
        low=0.0,
        high=10.0,
    ),
    Setting('impedance', [], 'joint=stiffness,damping, for mode impedance [N m/rad, N m s/rad]'),
    Setting('impedance_space', 'joint', 'where the springs act', choices=SPACES),
    Setting(
        'friction_share',
        0.8,
        'share of friction and damping that is compensated, in the modes a person feels',
        low=0.0,
        high=1.0,
    ),
    Setting(
        'friction_speed',
        0.05,
        'speed within which friction compensation changes sign [rad/s, m/s]',
        low=FRICTION_SPEED,
        high=10.0,
    ),
    Setting(
        'inertia_share',
        0.0,
        'share of the inertia that is compensated, in the modes transparent and assist',
        low=0.0,
        high=0.9,
    ),
    Setting(
        'acceleration_cutoff',
        10.0,
        'cutoff of the acceleration filter used for inertia_share [Hz]',
        low=0.1,
        high=500.0,
    ),
    Setting(
        'assist_share',
        0.5,
        'share of the human torque that is added, in mode assist',
        low=0.0,
        high=1.0,
    ),
    Setting('human_timeout', 0.1, 'oldest human_torques that are used [s]', low=1e-3, high=10.0),
    Setting('wrench_links', [], 'links whose wrench is measured, on external_wrench'),
    Setting(
        'frame_prefix',
        '',
        'prefix of link names in frame_id, for several robots in one graph',
        fixed=True,
    ),
    Setting('wrench_timeout', 0.1, 'oldest wrench that is used [s]', low=1e-3, high=10.0),
    Setting(
        'policy',
        'minimum_norm',
        'how redundant actuators share the load',
        choices=ACTUATION_POLICIES,
    ),
    Setting('weights', [], 'actuator=weight, for policy weighted'),
    Setting('preload', [], 'actuator=torque that redundant actuators stay near [N m, N]'),
    Setting('singularity', 'damp', 'what to do in singular poses', choices=SINGULARITY_POLICIES),
    Setting(
        'singular_distance', 1e-2, 'distance below which refuse or hold acts', low=0.0, high=1.0
    ),
    Setting(
        'weak_lever',
        1e-3,
        'leverage that counts as none: the rate of an actuator in a motion of unit length',
        low=1e-9,
        high=0.5,
    ),
    Setting(
        'effort_share', 1.0, 'share of the effort limits that may be used', low=1e-3, high=1.0
    ),
    Setting(
        'rate_limit',
        100.0,
        'largest change of a torque, in effort limits per second',
        low=1e-3,
        high=1e6,
    ),
    Setting(
        'default_effort',
        DEFAULT_EFFORT,
        'effort limit of actuators that have none in the model [N m, N]',
        low=1e-3,
        high=1e6,
    ),
    Setting(
        'power_limit', 0.0, 'largest power of an actuator; 0: no limit [W]', low=0.0, high=1e6
    ),
    Setting(
        'beyond_limits',
        'refuse',
        'what to do with references beyond position limits',
        choices=('refuse', 'clip'),
    ),
    Setting(
        'soft_zone',
        0.05,
        'zone before a position limit in which torques push back [rad, or typical lengths]',
        low=1e-4,
        high=1.0,
    ),
    Setting(
        'default_speed',
        DEFAULT_SPEED,
        'speed limit of joints that have none in the model [rad/s, or typical lengths/s]',
        low=1e-2,
        high=1e4,
    ),
    Setting(
        'tracking_bound',
        0.5,
        'distance of a motor from its reference that counts as a fault [rad, m]',
        low=1e-4,
        high=100.0,
    ),
    Setting(
        'state_timeout',
        0.05,
        'age of the last state at which torques fall back [s]',
        low=1e-3,
        high=10.0,
    ),
    Setting(
        'wall_timeout',
        2.0,
        'the same by the clock of the machine, with use_sim_time [s]',
        low=1e-2,
        high=3600.0,
    ),
    Setting(
        'trajectory_action',
        False,
        'offer the action ~/follow_joint_trajectory (control_msgs)',
        fixed=True,
    ),
    Setting(
        'reference_timeout',
        0.5,
        'how long the last point of a stream stays valid [s]',
        low=1e-3,
        high=3600.0,
    ),
    Setting(
        'fallback',
        'zero',
        'torques in case of doubt: none, those that hold the last pose, or braking',
        choices=FALLBACKS,
    ),
    Setting(
        'damping', 2.0, 'damping of the fallback damping [N m s/rad, N s/m]', low=1e-6, high=1e4
    ),
    Setting(
        'other_clock', False, 'accept time stamps of a clock that is hours away from this one'
    ),
    Setting(
        'watchdog',
        True,
        'run a second process that sends zero if the node hangs or is killed',
        fixed=True,
    ),
    Setting(
        'base_source',
        'multi_dof_joint_states',
        'where the base of a floating robot comes from',
        choices=SOURCES,
        fixed=True,
    ),
    Setting('base_joint', '', 'free joint of the base; empty: the only one', fixed=True),
    Setting(
        'base_timeout', 0.05, 'oldest imu or odom message that is used [s]', low=1e-3, high=10.0
    ),
    Setting('measured', [], 'joints that every state must contain; empty: the actuated ones'),
    Setting(
        'command_order',
        [],
        'order of actuators in effort_controller/commands; empty: all',
        fixed=True,
    ),
    Setting(
        'joint_commands',
        False,
        'also publish <joint>_effort_controller/commands for each actuator',
        fixed=True,
    ),
    Setting(
        'priority',
        0,
        'SCHED_FIFO priority; 0: as the process was started',
        low=0,
        high=99,
        fixed=True,
    ),
    Setting('lock_memory', False, 'keep all memory of the process in RAM', fixed=True),
    Setting('cores', [], 'cores to run on, by number; empty: all', item=int, fixed=True),
    *CONNECTION_SETTINGS,
]
