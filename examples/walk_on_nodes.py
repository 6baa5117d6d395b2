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
Ten steps of the model walker on nodes, and the forces of the ground that these nodes publish.

Starts simulator_node and walking_node.py in step with each other, listens to joint_states and to
joint_wrenches of heels and toes, which are in the axes of the feet, and draws them in those of
the world. Whoever has a view open (viewer_node) sees it walk.

    python examples/walk_on_nodes.py out/walk_on_nodes.png
"""

from pathlib import Path
import subprocess
import sys

from geometry_msgs.msg import WrenchStamped
from matplotlib import pyplot as plt
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from walking_node import GAIT, ROBOT, simulator_arguments

import closed_chain_dynamics as ccd
from closed_chain_dynamics.ros.messages.measured_states import seconds
from closed_chain_dynamics.ros.running import run

STEPS = 10
FORCE_RATE = 250.0  # forces per simulated second [Hz]
SMOOTH = 5  # forces of a moving mean, as force plates have filters
WEIGHT = 70.0 * 9.80665  # [N]
MANY = 2000  # messages that may wait: no force is to be lost
FALLEN = 0.75  # the hips are at 0.9 m


class Heard:
    """What a node hears of a walk: states, and forces under heels and toes, by their stamps."""

    def __init__(self, node):
        self.states, self.wrenches, self.time = {}, {}, 0.0
        node.create_subscription(JointState, 'joint_states', self.on_state, MANY)
        for name in ROBOT.loop_names:
            node.create_subscription(
                WrenchStamped,
                f'joint_wrenches/{name}',
                lambda message, name=name: self.on_wrench(name, message),
                MANY,
            )

    def on_state(self, state):
        """Keep a state of the walker."""
        if set(ROBOT.joint_names) <= set(state.name):
            self.time = seconds(state.header.stamp)
            self.states[self.time] = state

    def on_wrench(self, name, message):
        """Keep the force on a heel or a ball of a foot."""
        force = message.wrench.force
        self.wrenches[seconds(message.header.stamp), name] = force.x, force.y, force.z

    def pose(self, time):
        """Return the coordinates at a time, in the order of the model."""
        state = self.states[time]
        return np.array(state.position)[[state.name.index(each) for each in ROBOT.joint_names]]

    def has_fallen(self):
        """Return whether the hips are low."""
        return bool(self.states) and self.pose(self.time)[1] < FALLEN

    def forces(self):
        """Return times, and forward and upward forces of both feet, (times, 2, 2) [N]."""
        times = sorted({time for time, _ in self.wrenches if time in self.states})
        loops = {loop.name: loop for loop in ROBOT.description.loops}
        found = np.zeros((len(times), 2, 2))
        for row, time in enumerate(times):
            X = ccd.link_placements(ROBOT, self.pose(time))
            for name, loop in loops.items():
                force = X[loop.child][:3, :3] @ self.wrenches.get((time, name), np.zeros(3))
                found[row, int(name.startswith('right'))] += force[[0, 2]]
        return np.array(times), found


def humps(times, up):
    """Return the humps of the left foot's upward force, in the mean of strides, and the valley."""
    stride = 2.0 * GAIT.duration
    share = np.linspace(0.0, 0.65, 131)  # of a stride: as long as the foot is on the ground
    strides = int(times[-1] / stride)
    mean = np.convolve(up, np.ones(SMOOTH) / SMOOTH, 'same')
    curve = np.mean([np.interp((k + share) * stride, times, mean) for k in range(strides)], axis=0)
    return curve[15:55].max(), curve[50:80].min(), curve[80:120].max()


def draw(times, forces, path):
    """Write the picture of the forces under both feet."""
    figure, axes = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout='constrained')
    for part, (axis, name) in enumerate(zip(axes[::-1], ('forward', 'upward'))):
        for foot, side in enumerate(('left', 'right')):
            mean = np.convolve(forces[:, foot, part] / WEIGHT, np.ones(SMOOTH) / SMOOTH, 'same')
            axis.plot(times, mean, color=f'C{1 - foot}', label=side)
        axis.set_ylabel(f'{name} force / weight')
        axis.grid(alpha=0.3)
    axes[0].legend(ncols=2, loc='lower right', bbox_to_anchor=(1.0, 1.0), frameon=False)
    axes[1].set_xlabel('simulated time [s]')
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def main(path, end=(STEPS + 0.5) * GAIT.duration):
    """Let it walk, then draw; return the exit code."""
    walking = Path(__file__).with_name('walking_node.py')
    words = simulator_arguments(scene_rate=FORCE_RATE).split()
    simulator = [sys.executable, '-m', 'closed_chain_dynamics.ros.nodes.simulator_node', *words]
    nodes = [subprocess.Popen(each) for each in ([sys.executable, str(walking)], simulator)]
    heard = None

    def listener():
        nonlocal heard
        node = Node('walk_listener')
        heard = Heard(node)
        return node

    def is_done():
        ended = any(node.poll() is not None for node in nodes)
        return heard.time > end or heard.has_fallen() or ended

    try:
        run(listener, args=[], until=is_done)
    finally:
        for node in nodes:
            node.terminate()
            node.wait()
    if heard is None or heard.time <= end or heard.has_fallen():
        print(f'it fell, or a node ended, after {heard.time if heard else 0.0:.2f} of {end:.2f} s')
        return 1
    times, forces = heard.forces()
    first, valley, second = humps(times, forces[:, 0, 1] / WEIGHT)
    print(f'{heard.pose(heard.time)[0]:.2f} m in {heard.time:.2f} s')
    print(f'humps of {first:.2f} and {second:.2f}, {valley:.2f} of the weight between them')
    draw(times, forces, path)
    print(f'wrote {path}')
    return 0


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else 'out/walk_on_nodes.png')))
