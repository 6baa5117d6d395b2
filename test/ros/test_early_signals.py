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

"""A signal while nodes are being made ends the process with 0, wherever it comes."""

import subprocess
import sys

from helpers.ros_helpers import PATIENCE, ros  # skips this file where there is no rclpy
import pytest

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
