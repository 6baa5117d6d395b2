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

"""The figure walks on real nodes: simulator_node and the controller of the examples, in step."""

import json
from pathlib import Path
import subprocess
import sys

from helpers.ros_helpers import ros  # skips this file where there is no rclpy
from helpers.walks import Walk
import numpy as np
from sensor_msgs.msg import JointState

from closed_chain_dynamics.ros.messages.measured_states import seconds

__all__ = ['ros']  # a fixture: pytest finds it by its name here

NODE = Path(__file__).resolve().parents[2] / 'examples' / 'walking_node.py'
UNTIL = 0.7  # one heel strike more, its foot flat, the other one in the air [s]


def own(heard):
    """Return the last states of the walker: a node that another test left may speak here, too."""
    return [each for each in heard[-2000:] if 'hip_x' in each.name and each.header.frame_id]


def test_the_figure_walks_on_nodes_as_it_does_in_one_process(ros):
    heard = ros.listen(JointState, 'joint_states', 2000)
    node = subprocess.Popen([sys.executable, str(NODE)], env=ros.environment)
    try:
        words = subprocess.run(
            [sys.executable, str(NODE), '-s'], env=ros.environment, capture_output=True, check=True
        ).stdout.decode()
        ros.run('closed_chain_dynamics.ros.nodes.simulator_node', *words.split())
        ros.wait(lambda: any(seconds(each.header.stamp) > UNTIL for each in own(heard)), 'a step')
    finally:
        node.terminate()
        node.wait()
    states = {round(1e3 * seconds(each.header.stamp)): each for each in own(heard)}
    walk = Walk()
    compared = 0
    for period in range(int(1e3 * UNTIL)):
        if period in states:
            state, compared = states[period], compared + 1
            assert list(state.position) == list(walk.sim.q), f'they part at {period} ms'
            assert list(state.velocity) == list(walk.sim.v), f'they part at {period} ms'
        walk.step()
    assert compared > 0.5e3 * UNTIL  # best effort: some states may not have been heard here
    closed = json.loads(states[max(states)].header.frame_id)
    assert closed['right_toe'] and not closed['left_heel'] and walk.controller.steps == 1
    assert np.ptp([state.position[0] for state in states.values()]) > 0.8  # metres ahead
