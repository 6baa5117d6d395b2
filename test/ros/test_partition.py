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
A network that is cut and mended, between two network namespaces of this machine.

The robot, which says its states, is on one side; `torque_node` and an ear for its torques are on
the other. Needs root, and a kernel that gives namespaces; else these tests are skipped.
"""

from contextlib import contextmanager
import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed here: no rclpy')

PATIENCE = 300.0  # only a broken program takes as long, on a machine however busy [s]
ROBOT = """
import time
import rclpy
from sensor_msgs.msg import JointState
from closed_chain_dynamics.ros.transport import use_safe_transport
use_safe_transport()
rclpy.init()
node = rclpy.create_node('robot')
out = node.create_publisher(JointState, 'joint_states', 1)
message = JointState(name=['crank'], position=[1.0], velocity=[0.0])
while True:
    message.header.stamp = node.get_clock().now().to_msg()
    out.publish(message)
    time.sleep(0.02)
"""
EAR = """
import rclpy
from sensor_msgs.msg import JointState
from closed_chain_dynamics.ros.transport import use_safe_transport
use_safe_transport()
rclpy.init()
node = rclpy.create_node('ear')
tell = lambda message: print(*message.effort, flush=True)
node.create_subscription(JointState, 'actuator_torques', tell, 10)
rclpy.spin(node)
"""


def ip(*words):
    """Run `ip`; return whether it did."""
    done = subprocess.run(['ip', *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.returncode == 0


@contextmanager
def two_sides():
    """Give the names of two namespaces with a cable between them."""
    sides = [f'ccd{os.getpid()}{side}' for side in 'ab']
    if os.geteuid() or not shutil.which('ip') or not ip('netns', 'add', sides[0]):
        pytest.skip('network namespaces cannot be made here')
    try:
        made = ip('netns', 'add', sides[1]) and ip(
            *('link', 'add', 'cable', 'netns', sides[0], 'type', 'veth', 'peer', 'name', 'cable'),
            *('netns', sides[1]),
        )
        if not made:
            pytest.skip('a cable between network namespaces cannot be made here')
        for number, side in enumerate(sides, start=1):
            ip('-n', side, 'link', 'set', 'lo', 'up')
            ip('-n', side, 'addr', 'add', f'10.231.7.{number}/24', 'dev', 'cable')
            plug(side)
        yield sides
    finally:
        for side in sides:
            ip('netns', 'delete', side)


def plug(side):
    """Plug the cable in; multicast goes through it, by which nodes find each other."""
    ip('-n', side, 'link', 'set', 'cable', 'up')
    ip('-n', side, 'route', 'add', '224.0.0.0/4', 'dev', 'cable')


def start(side, *words, **options):
    """Start a Python program on one side."""
    unset = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTDDS_DEFAULT_PROFILES_FILE')
    unset += ('FASTRTPS_DEFAULT_PROFILES_FILE', 'ROS_LOCALHOST_ONLY')
    given = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.Popen(
        ['ip', 'netns', 'exec', side, sys.executable, *words],
        env={**given, 'ROS_DOMAIN_ID': '0'},  # nobody else is in this network
        **options,
    )


def test_when_the_network_is_cut_torques_become_zero_and_come_back_when_it_is_mended(tmp_path):
    with two_sides() as (there, here), open(tmp_path / 'log', 'w') as log:
        torques = []
        node = ('-m', 'closed_chain_dynamics.ros.nodes.torque_node', '--ros-args')
        node += ('-p', 'model:=four_bar', '-p', 'mode:=gravity_compensation')
        node += ('-p', 'state_timeout:=0.5')
        ear = start(here, '-c', EAR, stdout=subprocess.PIPE, text=True)
        programs = [ear, start(here, *node, stderr=log), start(there, '-c', ROBOT)]

        def listen():
            for line in ear.stdout:
                torques.append([float(word) for word in line.split()])

        def wait(condition, what):
            end = time.monotonic() + PATIENCE
            while not condition():
                assert time.monotonic() < end, f'{what}: {(tmp_path / "log").read_text()}'
                time.sleep(0.02)

        threading.Thread(target=listen, daemon=True).start()
        try:
            for _ in range(2):
                wait(lambda: torques and any(torques[-1]), 'torques')
                assert ip('-n', there, 'link', 'set', 'cable', 'down')
                wait(lambda: not any(torques[-1]), 'zero, when the network is cut')
                plug(there)
            wait(lambda: any(torques[-1]), 'torques, when the network is mended')
            assert programs[1].poll() is None, (tmp_path / 'log').read_text()
        finally:
            for program in programs:
                program.kill()
                program.wait()
