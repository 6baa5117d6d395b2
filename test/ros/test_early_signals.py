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

"""A signal ends a node with 0, wherever it comes: while it is made, and while it has no time."""

import signal
import subprocess
import sys
import time

from helpers.ros_helpers import PATIENCE, ros  # skips this file where there is no rclpy
import pytest
from sensor_msgs.msg import JointState

__all__ = ['ros']  # a fixture: pytest finds it by its name here

# The signal comes while C calls back, as LLVM does when a kernel is loaded.
PROGRAM = """
import ctypes, os, signal, sys, time
import rclpy
from closed_chain_dynamics.ros.running import run

NUMBERS = ctypes.POINTER(ctypes.c_int)

@ctypes.CFUNCTYPE(ctypes.c_int, NUMBERS, NUMBERS)
def compare(one, other):
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return one[0] - other[0]

def make():
    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, ctypes.sizeof(ctypes.c_int), compare)
    assert list(numbers) == [1, 2]
    sys.argv[3:] and print(sys.argv[3], flush=True)
    time.sleep(float(sys.argv[2]))
    return rclpy.create_node('made')

sys.exit(run(make, args=[]))
"""


@pytest.mark.parametrize('number', ['SIGINT', 'SIGTERM'])
@pytest.mark.parametrize('longer', ['0.0', '600.0'])
def test_a_signal_in_a_callback_of_c_ends_the_process_quietly(ros, number, longer):
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, number, longer],
        env=ros.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


HELD_UP = 1.5  # [s]


def test_a_process_that_is_stopped_and_continued_after_a_signal_ends_all_the_same(ros):
    """Whichever of its threads takes the alarm that is due meanwhile."""
    program = subprocess.Popen(
        [sys.executable, '-c', PROGRAM, 'SIGINT', '600.0', 'waits'],
        env=ros.environment,
        stdout=subprocess.PIPE,
    )
    assert program.stdout.readline()
    time.sleep(0.1)  # it goes to sleep
    program.send_signal(signal.SIGSTOP)
    time.sleep(HELD_UP)
    program.send_signal(signal.SIGCONT)
    assert program.wait(PATIENCE) == 0
    program.stdout.close()


def test_a_node_that_gets_no_time_after_a_signal_is_not_killed(ros):
    """Its watchdog sends zero meanwhile, and kills what hangs for longer than that."""
    node = ros.start('torque_node', {'model': 'five_bar'})
    torques = ros.listen(JointState, 'actuator_torques')
    ros.wait(lambda: torques, 'torques')
    ros.wait(lambda: ros.node.count_publishers('actuator_torques') == 2, 'node and watchdog')
    node.send_signal(signal.SIGINT)
    time.sleep(0.002)  # it is taken at once, and ends the node a little later
    node.send_signal(signal.SIGSTOP)
    ros.spin(HELD_UP)
    node.send_signal(signal.SIGCONT)
    assert node.wait() == 0, node.output()
