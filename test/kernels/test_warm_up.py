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
After `warm_up` nobody waits for a compiler, whatever is called.

No kernel returns an array: its arguments are borrowed, and a part of one would outlive its owner.
"""

import ast
import importlib
import json
from pathlib import Path
import subprocess
import sys

import closed_chain_dynamics as ccd
from closed_chain_dynamics.kernels.compiling import Kernel

HOUSE = 'closed_chain_dynamics'
# Warms up, then does what users do; prints what was compiled after that, and what was not run.
SCRIPT = """
import importlib, json, sys
from numba.core import event
import numpy as np

class Late(event.Listener):
    names = []

    def on_start(self, event):
        self.names.append(event.data['dispatcher'].py_func.__qualname__)

    def on_end(self, event):
        pass

import closed_chain_dynamics as ccd
from closed_chain_dynamics.kernels import sharing
ccd.warm_up(quiet=True)
event.register('numba:compile', Late())
called = [getattr(importlib.import_module(module), name) for module, name in json.load(sys.stdin)]
report = {
    'never run': [each.__name__ for each in called if not each.entry.signatures],
    'empty': [each.__name__ for each in sharing._by_cell.values() if not each.cell.value],
    'returns an array': [
        each.__name__
        for each in called
        for made in each.entry.overloads.values()
        if 'array' in str(made.signature.return_type).lower()
    ],
}
for name in ('four_bar', 'exo', 'two_link', 'swing', 'stewart'):
    robot = ccd.load(name)
    q = ccd.assemble(robot)
    sim = ccd.Simulation(robot, q=q)
    sim.run(0.1)
    f = ccd.forward_dynamics(robot, q, np.zeros(robot.nv))
    ccd.reactions(robot, q, np.zeros(robot.nv), f.acceleration)
    for loop in [each for each in robot.loop_names if sim.robot.is_connected(each)][:1]:
        sim.cut(loop)
        sim.run(0.01)
print(json.dumps({**report, 'compiled late': Late.names}))
"""


def kernels_that_python_calls():
    """Return the (module, name) of all kernels that rooms beside theirs name."""
    found = set()
    for path in Path(ccd.__file__).parent.rglob('*.py'):
        if path.parent.name == 'kernels':
            continue
        tree, rooms = ast.parse(path.read_text(encoding='utf-8')), {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or '').startswith(HOUSE):
                for each in node.names:
                    if node.module.startswith(f'{HOUSE}.kernels'):
                        found.add((node.module, each.name))
                    rooms[each.asname or each.name] = f'{node.module}.{each.name}'
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module = rooms.get(node.value.id, '')
                if module.startswith(f'{HOUSE}.kernels'):
                    found.add((module, node.attr))
    return sorted(each for each in found if is_kernel(*each))


def is_kernel(module, name):
    """Return whether it is a kernel, not a constant or a module."""
    try:
        return isinstance(getattr(importlib.import_module(module), name, None), Kernel)
    except ModuleNotFoundError:  # an attribute of something else that is imported by name
        return False


def test_nothing_is_compiled_after_warm_up():
    called = kernels_that_python_calls()
    assert ('closed_chain_dynamics.kernels', 'compute_run') in called and len(called) > 40
    done = subprocess.run(
        [sys.executable, '-c', SCRIPT], input=json.dumps(called), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report) == {'never run', 'empty', 'returns an array', 'compiled late'}
    assert not any(report.values()), report
