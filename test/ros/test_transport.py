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

"""Messages go by UDP unless the user decides, and nodes end in order whatever they are doing."""

import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
import time

from helpers import ros_helpers  # skips without rclpy
from helpers.ros_helpers import CLAIM_PORT, PATIENCE, Process, claim_domain, ros
import pytest
from sensor_msgs.msg import JointState

from closed_chain_dynamics.ros.transport import SHARED_MEMORY, use_safe_transport

__all__ = ['ros']  # a fixture: pytest finds it by its name here

RANGE, PROFILES = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTDDS_DEFAULT_PROFILES_FILE'
LISTENER = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node, heard = rclpy.create_node('stranger'), []
node.create_subscription(JointState, 'joint_states', heard.append, 10)
while not heard:
    rclpy.spin_once(node, timeout_sec=0.1)
print('shared memory:', '/dev/shm/fastrtps' in open('/proc/self/maps').read())
"""


@pytest.mark.parametrize(
    'given, profile, range_after',
    [
        ({}, 'fastdds_subnet.xml', 'SUBNET'),
        ({RANGE: 'LOCALHOST'}, 'fastdds_loopback.xml', 'SYSTEM_DEFAULT'),
        ({'ROS_LOCALHOST_ONLY': '1'}, 'fastdds_loopback.xml', 'SYSTEM_DEFAULT'),
        ({RANGE: 'SYSTEM_DEFAULT'}, 'fastdds_subnet.xml', 'SYSTEM_DEFAULT'),
        ({SHARED_MEMORY: '1'}, None, 'SUBNET'),
        ({PROFILES: 'mine.xml'}, None, 'SUBNET'),
        ({'FASTRTPS_DEFAULT_PROFILES_FILE': 'mine.xml'}, None, 'SUBNET'),
        ({'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'}, None, 'SUBNET'),
        ({RANGE: 'LOCALHOST', 'ROS_STATIC_PEERS': '10.0.0.7'}, None, 'LOCALHOST'),
    ],
)
def test_what_the_user_has_chosen_wins(given, profile, range_after):
    environment = dict(given)
    path = use_safe_transport(environment)
    assert (path and path.name) == profile and environment[RANGE] == range_after
    if profile:
        assert path.is_file() and environment[PROFILES] == str(path)
        assert use_safe_transport(environment) is None  # a child process changes nothing
    else:
        assert {name: environment.get(name) for name in given} == given


def test_a_profile_in_the_working_folder_is_the_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'DEFAULT_FASTDDS_PROFILES.xml').write_text('<profiles/>')
    assert use_safe_transport({}) is None


def shares_memory(process):
    """Return whether a process has memory of Fast DDS mapped that others have, too."""
    return '/dev/shm/fastrtps' in Path(f'/proc/{process.pid}/maps').read_text()


@pytest.mark.parametrize('shared', [False, True])
def test_no_memory_is_shared_unless_asked_for(ros, shared):
    for name in (PROFILES, 'FASTRTPS_DEFAULT_PROFILES_FILE'):
        del ros.environment[name]
    ros.environment[RANGE] = 'LOCALHOST'
    if shared:
        ros.environment[SHARED_MEMORY] = '1'
    process = ros.start('simulator_node', {'model': 'four_bar', 'rate': 100.0})
    heard = ros.listen(JointState, 'joint_states')
    ros.wait(lambda: heard, 'joint states')
    assert shares_memory(process) == shared
    assert process.end() == 0, process.output()


def test_a_stranger_with_shared_memory_hears_a_node_without(ros):
    ros.start('simulator_node', {'model': 'four_bar', 'rate': 100.0})
    plain = {name: value for name, value in ros.environment.items() if 'PROFILES' not in name}
    said = subprocess.run(
        [sys.executable, '-c', LISTENER],
        env={**plain, RANGE: 'LOCALHOST'},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert said.stdout == 'shared memory: True\n', said.stderr


def until(condition, process, seconds=PATIENCE):
    """Wait for something that a process does while it starts."""
    end = time.monotonic() + seconds
    while not condition():
        assert process.is_running() and time.monotonic() < end, process.output()
        time.sleep(0.002)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('library', ['llvmlite', 'rclpy'])
def test_a_signal_while_it_is_imported_ends_a_node_with_0(ros, library, number):
    has_started = True
    while has_started:  # where this test stood still meanwhile, the node is past its imports
        process = ros.start('torque_node', {'model': 'four_bar'}, warm=False)
        maps = Path(f'/proc/{process.pid}/maps')
        until(lambda maps=maps: library in maps.read_text(), process)
        assert process.end(number) == 0, process.output()
        has_started = '[torque_node]' in process.output()
    assert not process.output()


def test_a_signal_while_kernels_compile_ends_a_node_with_0(ros, tmp_path):
    ros.environment['NUMBA_CACHE_DIR'] = str(tmp_path / 'kernels')
    process = ros.start('torque_node', {'model': 'four_bar'}, warm=False)
    until(lambda: list((tmp_path / 'kernels').rglob('*.nbi')), process)
    assert process.end() == 0, process.output()
    assert 'Traceback' not in process.output()


def test_only_nodes_take_signals_over_when_imported():
    """A program of somebody else, even with a similar name, keeps what it has set up."""
    code = (
        'import signal, closed_chain_dynamics;'
        'print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)'
    )
    said = subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=PATIENCE,
    )
    assert said.stdout == 'True\n', said.stderr


@pytest.mark.parametrize('warm', [False, True])
def test_a_domain_is_taken_as_long_as_a_process_of_its_test_lives(tmp_path, monkeypatch, warm):
    """A test that is killed may leave nodes behind, and the next must not hear them."""
    monkeypatch.setattr(ros_helpers, 'DOMAINS', range(40, 60))  # no test beside this one does
    domain, holder = claim_domain()
    program = ['timeit', '-n', '1', '-r', '1', 'import time; time.sleep(600)']
    process = Process(program, dict(os.environ), tmp_path, holder, warm=warm)
    holder.close()
    with socket.socket() as other:
        with pytest.raises(OSError):
            other.bind(('127.0.0.1', CLAIM_PORT + domain))
        process.end(signal.SIGKILL)
        other.bind(('127.0.0.1', CLAIM_PORT + domain))
