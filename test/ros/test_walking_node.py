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
import os
from pathlib import Path

from helpers.ros_helpers import ros  # skips this file where there is no rclpy
from helpers.walks import Walk
import pytest
from sensor_msgs.msg import JointState

__all__ = ['ros']  # a fixture: pytest finds it by its name here

EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
STEPS = 2  # of the ten that walk_on_nodes.py makes
UNTIL = (STEPS + 0.2) * Walk.gait.duration  # the last foot is flat, the other one in the air [s]
MILLISECONDS = 1e3


@pytest.fixture
def walk_on_nodes(monkeypatch):
    """Return the example, as a module; it imports the one beside it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import walk_on_nodes

    return walk_on_nodes


def test_the_figure_walks_on_nodes_as_it_does_in_one_process(ros, walk_on_nodes):
    heard = walk_on_nodes.Heard(ros.node)
    # Torques pass through here, so that a walk waits for a test that stands still: all is heard.
    hand_on = ros.publisher(JointState, 'actuator_torques')
    ros.node.create_subscription(JointState, 'answers', hand_on.publish, 10, raw=True)
    folders = str(EXAMPLES), os.environ.get('PYTHONPATH', '')
    ros.environment['PYTHONPATH'] = os.pathsep.join(filter(None, folders))
    ros.run('walking_node', '--ros-args', '-r', 'actuator_torques:=answers')
    words = walk_on_nodes.simulator_arguments(scene_rate=walk_on_nodes.FORCE_RATE)
    simulator = ros.run('closed_chain_dynamics.ros.nodes.simulator_node', *words.split())
    ros.wait(lambda: heard.time > UNTIL, 'two steps', progress=lambda: heard.time)
    simulator.end()  # what is computed below would share the machine with it
    states = {round(MILLISECONDS * time): state for time, state in heard.states.items()}
    walk, compared = Walk(), 0
    start = walk.sim.q[0]
    for period in range(int(MILLISECONDS * UNTIL)):
        if period in states:
            state, compared = states[period], compared + 1
            assert list(state.position) == list(walk.sim.q), f'they part at {period} ms'
            assert list(state.velocity) == list(walk.sim.v), f'they part at {period} ms'
        walk.step()
    assert compared > 0.5 * MILLISECONDS * UNTIL  # some may not have been heard here
    assert walk.controller.steps == STEPS
    closed = json.loads(states[max(states)].header.frame_id)
    assert closed['left_toe'] and closed['left_heel'] and not closed['right_heel']
    assert states[max(states)].position[0] - start > 0.95 * STEPS * Walk.gait.length

    times, forces = heard.forces()  # as the simulator has published them
    first, valley, second = walk_on_nodes.humps(times, forces[:, 0, 1] / walk_on_nodes.WEIGHT)
    assert first > 1.0 > 0.9 > valley and second > 1.0
    backward, forward = forces[:, 0, 0].min(), forces[:, 0, 0].max()
    assert backward < -0.1 * walk_on_nodes.WEIGHT and forward > 0.1 * walk_on_nodes.WEIGHT
