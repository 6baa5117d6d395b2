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
"""Whatever a parameter changes while motors are driven, no kernel has to be loaded for it."""

import subprocess
import sys

WATCHED = """
import sys

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.control.control_loop import ControlLoop
from closed_chain_dynamics.control.feel import Feel
from closed_chain_dynamics.control.law import MODES, TorqueController
from closed_chain_dynamics.control.rehearsed_turns import warm_up
from closed_chain_dynamics.control.torque_guard import TorqueGuard
from closed_chain_dynamics.kernels.compiling import Kernel

robot = ccd.load('exo_leg')
loop = ControlLoop(TorqueController(robot), TorqueGuard(robot))
warm_up(loop)
begun, modules, waits = [], set(sys.modules), Kernel.waits
Kernel.waits = lambda kernel, given: begun.append(kernel.__name__) or waits(kernel, given)

q, zero = ccd.assemble(robot, {'hip': 0.98}), np.zeros(robot.nv)
times = iter(1e-3 * np.arange(10_000))


def turns(count=4, given=zero):
    for now in (next(times) for _ in range(count)):
        assert loop.take_state(robot.joint_names, q, given, stamp=now, now=now) is not None
        loop.look_ahead()


turns()
feel = Feel({'hip': (50.0, 1.0), 'ankle_pitch': (9.0, 0.1)}, inertia_share=0.3)
preload = {'hip': 1.0}
laws = [{'mode': mode, 'feel': feel} for mode in MODES]
laws += [{'singularity': each} for each in ('hold', 'refuse')]
laws += [{'policy': each, 'preload': preload} for each in ('weighted', 'within_limits')]
assert loop.take_reference(['hip', 'knee'], [0.1], [[0.98, 0.0]])
for law in laws:
    loop.controller = TorqueController(robot, **law)
    loop.use_singularity_policy()
    turns()
    assert loop.watcher.is_near and not loop.reason, loop.reason
loop.controller = TorqueController(robot)
loop.sensors.links.append('foot')
loop.sensors.take_wrench('foot', np.ones(6), 0.1)
loop.sensors.take_human(['hip'], [1.0], 0.1)
turns(given=np.full(robot.nv, np.nan))
for fallback in ('zero', 'gravity', 'damping'):
    loop.fallback = fallback
    loop.fall_back(1.0, 'tried')
loop.cut('knee_pin')
turns(1)
assert not begun, begun
imported = set(sys.modules) - modules
assert not imported, imported
"""


def test_no_kernel_is_loaded_and_nothing_is_imported_in_a_turn():
    """In a process of its own: in this one, other tests may have loaded them before."""
    done = subprocess.run([sys.executable, '-c', WATCHED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
