#!/usr/bin/env python3
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
A node that lets the figure of model walker walk in simulator_node, in step with it.

Takes joint_states (sensor_msgs/JointState), whose frame_id says which contacts are closed; gives
actuator_torques (sensor_msgs/JointState) with the stamp of the state they answer. A state that
comes twice gets the same answer; a time that goes back is a new start.

    python examples/walking_node.py &
    viewer_node &
    simulator_node $(python examples/walking_node.py -s)

walk_on_nodes.py starts both, and draws the forces of the ground. Option -s prints the parameters
of the simulator: where it starts, and that it keeps in step, so that the walk is the same however
busy the machine is.
"""

import json
import sys

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.gait import walking_gait
from closed_chain_dynamics.control.walking import Walking

ROBOT, GAIT = ccd.load('walker'), walking_gait()


def simulator_arguments(**further):
    """Return the arguments of simulator_node for a walk, with further parameters."""
    start = GAIT.sample(0.0)
    parameters = {'model': 'walker', 'rate': 1000.0, 'real_time_factor': 0.0}
    parameters |= {'lockstep': 'on', 'lockstep_timeout': 3600.0, **further}
    for name, numbers in (('positions', start.q), ('velocities', start.v)):
        pairs = zip(ROBOT.joint_names, numbers.tolist())
        parameters[f'initial_{name}'] = [f'{joint}={value!r}' for joint, value in pairs]
    words = [  # none of which has a space
        f'-p {name}:={json.dumps(value, separators=(",", ":"))}'
        for name, value in parameters.items()
    ]
    return ' '.join(['--ros-args', *words])


def make_node():
    """Return the node."""
    from rclpy.node import Node
    from sensor_msgs.msg import JointState

    from closed_chain_dynamics.ros.messages.qos import COMMAND, STREAM

    class WalkingNode(Node):
        """See the top of this file."""

        def __init__(self):
            super().__init__('walking_node')
            self.time, self.walking = np.inf, Walking(ROBOT, GAIT)
            self.answer = JointState(name=list(ROBOT.actuator_names))
            self.torques = self.create_publisher(JointState, 'actuator_torques', COMMAND)
            self.create_subscription(JointState, 'joint_states', self.on_state, STREAM)

        def on_state(self, state):
            """Answer a state with torques."""
            if not state.header.frame_id or not set(ROBOT.joint_names) <= set(state.name):
                self.get_logger().warning('this state is not of a walker in lockstep')
                return
            stamp = state.header.stamp
            time = stamp.sec + 1e-9 * stamp.nanosec
            if time < self.time:
                self.walking = Walking(ROBOT, GAIT)
            if time != self.time:
                places = [state.name.index(name) for name in ROBOT.joint_names]
                q, v = np.array(state.position)[places], np.array(state.velocity)[places]
                closed = [name for name, on in json.loads(state.header.frame_id).items() if on]
                self.answer.effort = self.walking.torques(q, v, closed, time).tolist()
                self.answer.header.stamp, self.time = stamp, time
            self.torques.publish(self.answer)

    return WalkingNode()


if __name__ == '__main__':
    if '-s' in sys.argv:
        print(simulator_arguments())
    else:
        from closed_chain_dynamics.ros.running import run

        sys.exit(run(make_node))
