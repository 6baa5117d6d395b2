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

"""What the nodes refuse: id -> function of a folder. Empty where ROS 2 is not installed."""

from importlib.util import find_spec
import json
import math
from unittest import mock

from helpers.called_mechanisms import FLOATING, four_bar
from helpers.called_where import command, without
import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli import up
from closed_chain_dynamics.control.state_tracking import StateTracker
from closed_chain_dynamics.model.library import share_folder
from closed_chain_dynamics.recording.segments import position_names

__all__ = ['NODES', 'ROS', 'VALUES']

ROS = find_spec('rclpy') is not None


def tracked():
    """Return a tracker that knows the pose of a four-bar."""
    mechanism, q = four_bar()
    tracker = StateTracker(mechanism.copy())
    tracker.take(['crank'], np.array([1.0]), None, stamp=1.0)
    return tracker


def reconnected():
    """Cut a loop of a tracked mechanism, let it fall open, and connect it again."""
    tracker = tracked()
    tracker.cut('coupler_rocker')
    tracker.take(['crank', 'coupler', 'rocker'], np.array([1.0, 0.0, 0.0]), None, stamp=1.001)
    for stamp in (1.002, 1.003, 1.004):
        tracker.take(['crank', 'coupler', 'rocker'], np.array([1.0, 0.0, 0.0]), None, stamp=stamp)
    tracker.connect('coupler_rocker')


def without_ros(at):
    """Start nodes where ROS 2 is not installed."""
    with without('rclpy'):
        command('four_bar', module=up)(at)


# Values that a parameter refuses, with its default and the options of its Setting.
VALUES = {
    'a word for a list': ([], 'crank', {}),
    'a number for a word': ('zero', 3, {}),
    'a number that is nan': (1.0, math.nan, {}),
    'a number beyond its bounds': (1.0, -1.0, {'low': 0.0}),
    'a word that is no choice': ('zero', 'one', {'choices': ('zero', 'gravity')}),
}

NODES = {
    'a connection before any state': lambda at: StateTracker(four_bar()[0]).connect('crank'),
    'an unknown joint of a tracked state': lambda at: tracked().cut('cranc'),
    'a connection far from closed': lambda at: reconnected(),
    'no ROS 2': without_ros,
}

if ROS:
    from geometry_msgs.msg import Transform, Twist
    import rclpy
    from rclpy.parameter import Parameter
    from sensor_msgs.msg import JointState, MultiDOFJointState
    from std_msgs.msg import String

    from closed_chain_dynamics.ros.composition import Program
    from closed_chain_dynamics.ros.messages.base_topics import odometry_message
    from closed_chain_dynamics.ros.messages.joint_commands import commanded_efforts
    from closed_chain_dynamics.ros.messages.state_messages import multi_dof_states
    from closed_chain_dynamics.ros.nodes.contact_node import ContactNode
    from closed_chain_dynamics.ros.nodes.demo_node import DemoNode
    from closed_chain_dynamics.ros.nodes.reference_node import ReferenceNode
    from closed_chain_dynamics.ros.nodes.torque_node import TorqueNode
    from closed_chain_dynamics.ros.supervision import Family
    from closed_chain_dynamics.simulation.driven_simulation import MOST_WAITING, DrivenSimulation

    def node(kind, use=lambda node: None, **parameters):
        """Return a call that makes a node with parameters."""

        def run(at):
            context = rclpy.Context()
            rclpy.init(context=context)
            made = None
            try:
                made = kind(
                    context=context,
                    parameter_overrides=[
                        Parameter(name, value=value) for name, value in parameters.items()
                    ],
                )
                use(made)
            finally:
                if made is not None:
                    made.destroy_node()
                rclpy.shutdown(context=context)

        return run

    def driven(**settings):
        """Return the simulation of a simulator_node."""
        usual = {'initial_positions': [], 'initial_velocities': [], 'integrator': 'rk4'}
        return DrivenSimulation(four_bar()[0], mock.Mock(**{**usual, **settings}), 1e-3)

    def without_odometry(at):
        """Ask for odometry where its messages are not installed."""
        with without('nav_msgs'):
            odometry_message()

    def crowded():
        """Ask for more connections than anybody means."""
        simulation = driven()
        for _ in range(MOST_WAITING + 1):
            simulation.ask('cut', 'coupler_rocker')

    def states(*names, x=0.0, w=1.0, twists=0, mechanism=None):
        """Read a message with these joints."""
        message = MultiDOFJointState(joint_names=list(names))
        for _ in names:
            pose = Transform()
            pose.translation.x, pose.rotation.w = x, w
            message.transforms.append(pose)
        message.twist = [Twist()] * twists
        return multi_dof_states(mechanism or ccd.load(FLOATING), message)

    def ball_trajectory(at):
        """Follow a file with columns of a joint that no trajectory can name."""
        swing = ccd.load('swing')
        names = [name for name in position_names(swing) if name.startswith('left_ceiling')]
        path = at / 'ball.csv'
        rows = [','.join(['time', *names])]
        rows += [f'{0.1 * k},0,0,0,1' for k in range(5)]
        path.write_text('\n'.join(rows))
        node(ReferenceNode, model='swing', file=str(path))(at)

    def far_trajectory(at):
        """Follow a file that leads beyond a limit."""
        (at / 'far.csv').write_text('time,left_shoulder\n0,1\n1,2\n2,9\n3,2\n')
        command('five_bar', '--follow', str(at / 'far.csv'), module=up)(at)

    def passive(at):
        """Hold a model that has no motors."""
        path = at / 'passive.urdf'
        text = (share_folder() / 'urdf' / 'pendulum.urdf').read_text(encoding='utf-8')
        path.write_text(text.replace('cc:role="actuated"', 'cc:role="passive"'))
        command(str(path), '--hold', module=up)(at)

    def start_nothing():
        """Start a program where there is no Python to run it."""
        family = Family([Program('torque_node', 'what it is for')])
        with mock.patch('sys.executable', '/nowhere/python'):
            family.start()

    NODES |= {
        'odometry without its messages': without_odometry,
        'commands of nobody': lambda at: commanded_efforts(JointState(name=['a']), ['a']),
        'a file that leaves the range of a joint': far_trajectory,
        'a pose that nobody holds': passive,
        'a trajectory of a ball joint': ball_trajectory,
        'a parameter that is no list': node(TorqueNode, measured='crank'),
        'a parameter that is no choice': node(TorqueNode, mode='magic'),
        'one gain instead of two': node(TorqueNode, model='four_bar', joint_gains=['crank=1']),
        'gains that are no assignment': node(TorqueNode, model='four_bar', joint_gains=['crank']),
        'a preload beyond its motor': node(
            TorqueNode, model='four_bar', watchdog=False, preload=['crank=1000']
        ),
        'cycles longer than a timeout': node(
            TorqueNode, model='four_bar', watchdog=False, rate=10.0
        ),
        'an order of unknown motors': node(TorqueNode, model='four_bar', command_order=['cranc']),
        'a contact named twice': node(ContactNode, force_contacts=['a', 'a']),
        'one threshold instead of two': node(
            ContactNode, force_contacts=['a'], thresholds=['a=1']
        ),
        'thresholds of no contact': node(ContactNode, thresholds=['a=2,1']),
        'a demonstration of another model': node(
            DemoNode, lambda made: made._on_state(String(data=json.dumps({'crank': True})))
        ),
        'names without efforts': lambda at: driven().set_torques(['crank'], []),
        'a motor named twice': lambda at: driven().set_torques(['crank', 'crank'], [1.0, 1.0]),
        'a torque of an unknown motor': lambda at: driven().set_torques(['cranc'], [1.0]),
        'an effort that is nan': lambda at: driven().set_torques(['crank'], [math.nan]),
        'a push without end': lambda at: driven().push('crank_link', 6 * [math.inf]),
        'a cut at no time': lambda at: driven().ask('cut', 'coupler_rocker@inf'),
        'too many connections': lambda at: crowded(),
        'names without transforms': lambda at: multi_dof_states(
            ccd.load(FLOATING), MultiDOFJointState(joint_names=['free'])
        ),
        'a state of an unknown joint': lambda at: states('fre'),
        'a state that is nan': lambda at: states('free', x=math.nan),
        'a state without orientation': lambda at: states('free', w=0.0),
        'a state of a hinge': lambda at: states('crank', mechanism=four_bar()[0]),
        'a program that cannot be started': lambda at: start_nothing(),
    }
