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

"""What a first call compiles, from an empty cache in a process of its own."""

import json
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

from closed_chain_dynamics.kernels import compiling

ROOT = Path(__file__).resolve().parents[2]
# Counts what is compiled, with its arguments, while the rest of a script runs; and what was used.
COUNTED = """
import collections, json, sys
from numba.core import event

class Count(event.Listener):
    parts, entries = collections.Counter(), collections.Counter()

    def on_start(self, event):
        dispatcher = event.data['dispatcher']
        name = f'{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}'
        if not name.startswith('closed_chain_dynamics.kernels'):
            return
        is_part = dispatcher.targetoptions.get('no_cpython_wrapper', False)
        kind = self.parts if is_part else self.entries
        kind[name, id(dispatcher.py_func), str(event.data['args'])] += 1

    def on_end(self, event):
        pass

count = Count()
event.register('numba:compile', count)
import closed_chain_dynamics as ccd
from closed_chain_dynamics import kernels
from closed_chain_dynamics.kernels.compiling import Kernel

def report(**more):
    modules = [each for name, each in sys.modules.items() if name.startswith(kernels.__name__)]
    found = {each for module in modules for each in vars(module).values()
             if isinstance(each, Kernel) and each.entry.signatures}
    print(json.dumps({
        **more, 'used': sorted(each.__name__ for each in found),
        'entries': len(count.entries), 'parts': len(count.parts),
        'twice': [key[0] for kind in (count.parts, count.entries)
                  for key in kind if kind[key] > 1],
    }))
"""
# Loads a model, closes it and asks for torques, the way the README does.
FIRST_ANSWER = (
    COUNTED
    + """
if 'at_once' in sys.argv:
    kernels.compile_at_once()
robot = ccd.load('four_bar')
q = ccd.assemble(robot, {'crank': 1.0})
v = ccd.complete_velocity(robot, q, {'crank': 2.0})
a = ccd.complete_acceleration(robot, q, v, {'crank': 0.5})
torques = ccd.inverse_dynamics(robot, q, v, a).torques()
if 'run' in sys.argv:
    ccd.Simulation(robot, q=q, v=v).run(0.1)
report(torques=torques)
"""
)
# Three entries that share most of their parts
ENERGY = (
    COUNTED
    + """
kernels.compile_at_once()
robot = ccd.load('pendulum')
ccd.energy(robot, robot.neutral(), robot.neutral())
ccd.newton_euler(robot, robot.neutral(), robot.neutral(), robot.neutral())
report()
"""
)
# A kernel more means a second more of waiting at the first start; say so here when it is worth it.
MOST_ENTRIES = 20
# What only mechanisms with contacts call
SELDOM = {'contact_dynamics', 'surface_rows', 'contact_signs', 'aim', 'aim_slow'}


# Every computation of one state, on a mechanism with its loops; prints numbers.
COMPUTATIONS = """
import json, sys
import numpy as np
import closed_chain_dynamics as ccd

numbers = {}
for name in sys.argv[1:]:
    robot = ccd.load(name)
    q = ccd.assemble(robot)
    rng = np.random.default_rng(1)
    v = ccd.complete_velocity(robot, q, dict.fromkeys(ccd.coordinates(robot, q).independent, 0.3))
    f = ccd.forward_dynamics(robot, q, v, rng.normal(size=len(robot.actuator_names)))
    r = ccd.inverse_dynamics(robot, q, v, f.acceleration)
    w = ccd.reactions(robot, q, v, f.acceleration)
    closed = [name for name in robot.loop_names if robot.is_connected(name)]
    joint = (closed or robot.joint_names)[-1]
    sim = ccd.Simulation(robot, q=q, v=v)
    numbers[name] = {
        'q': q.tolist(), 'W': ccd.coordinates(robot, q).W.tolist(), 'v': v.tolist(),
        'acceleration': f.acceleration.tolist(), 'tau_O': r.tau_O.tolist(),
        'tau_A': r.tau_A.tolist(), 'M': ccd.mass_matrix(robot, q).tolist(),
        'force': [list(each.force) + list(each.moment) for each in w.values()],
        'links': [np.asarray(each).tolist() for each in ccd.link_placements(robot, q).values()],
        'energy': ccd.energy(robot, q, v),
    }
    for change in (sim.cut, sim.connect):
        change(joint)
        numbers[name][change.__name__] = [sim.q.tolist(), sim.v.tolist()]
print(json.dumps(numbers))
"""
MODELS = ['pendulum', 'four_bar', 'six_bar', 'slider_crank', 'exo', 'biped', 'swing', 'stewart']
# Compiled code may fuse a product and a sum: the last digits differ, and some of the poses that
# are found from them, within the tolerance to which loops are closed.
ROUNDING = 1e-8


def run(script, cache, *arguments):
    """Run a script in a process of its own with its own cache; return what it prints."""
    environment = {
        **os.environ,
        'NUMBA_CACHE_DIR': str(cache),
        'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
    }
    if cache is None:
        del environment['NUMBA_CACHE_DIR']
    done = subprocess.run(
        [sys.executable, '-c', script, *arguments], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_first_answer_compiles_nothing(tmp_path):
    report = run(FIRST_ANSWER, tmp_path)
    assert (report['entries'], report['parts'], report['used']) == (0, 0, [])
    assert not list(tmp_path.rglob('*.nbi'))
    compiled = run(FIRST_ANSWER, None, 'at_once')
    np.testing.assert_allclose(
        report['torques']['crank'], compiled['torques']['crank'], rtol=1e-13
    )
    assert 'compute_inverse_dynamics' in compiled['used']
    assert not any('contact' in name or 'run' in name for name in compiled['used'])
    assert len(compiled['used']) <= MOST_ENTRIES, compiled['used']


def test_each_kernel_is_compiled_once_whoever_calls_it(tmp_path):
    report = run(ENERGY, tmp_path)
    assert report['twice'] == []
    assert {'compute_totals', 'compute_newton_euler', 'placements'} <= set(report['used'])
    assert report['entries'] == len(report['used']) < report['parts']


def test_a_run_uses_nothing_of_contacts():
    """What is not used is not compiled either, from an empty cache."""
    report = run(FIRST_ANSWER, None, 'run')
    assert {'compute_run', 'forward_dynamics'} <= set(report['used'])
    assert not SELDOM & set(report['used'])


def test_plain_python_gives_the_numbers_of_compiled_code(tmp_path):
    plain, compiled = run(COMPUTATIONS, tmp_path, *MODELS), run(COMPUTATIONS, None, *MODELS)
    for name in MODELS:
        assert plain[name].keys() == compiled[name].keys()
        for what, numbers in compiled[name].items():
            size = 1.0 + np.max(np.abs(np.hstack([np.ravel(each) for each in numbers])))
            for one, other in zip(plain[name][what], numbers, strict=True):
                np.testing.assert_allclose(
                    one, other, atol=ROUNDING * size, err_msg=f'{name}: {what}'
                )


@pytest.fixture
def patient(monkeypatch):
    """Let kernels wait, whatever control loops of this process have asked for."""
    for each in Path(__file__).parent.glob('__pycache__/test_compiling.*.nb?'):
        # what an earlier run of these tests has compiled; other workers do the same at this time
        each.unlink(missing_ok=True)
    monkeypatch.setattr(compiling._Settings, 'at_once', False)


def test_a_kernel_that_stumbles_as_python_is_compiled(patient):
    @compiling.kernel
    def inverse_of(x):
        return 1.0 / x

    assert inverse_of(4.0) == 0.25 and not inverse_of.entry.signatures
    assert inverse_of(0.0) == np.inf and inverse_of.entry.signatures


def test_a_kernel_that_has_taken_its_time_is_compiled(patient):
    @compiling.kernel
    def count_to(n):
        total = 0
        for i in range(n):
            total += i
        return total

    while not count_to.entry.signatures:
        assert count_to(100_000) == 4999950000
        assert count_to._patience > -1.0
    assert count_to(10) == 45


def test_a_kernel_that_looks_at_types_once_takes_other_arrays_later():
    """As plain Python, at the first call of compiled code, and at those that look no more."""

    def add(given, factor):
        return factor * (given[0].sum() + given[1][0])

    total = compiling.kernel_of_same_types(add)
    for patience in (compiling.PATIENCE, 0.0, 0.0, 0.0):
        total._patience = patience
        for size in (1, 5):
            arrays = np.arange(1.0, 1.0 + size), np.full(3, 0.5)
            assert total(arrays, 2.0) == 2.0 * (size * (size + 1) / 2 + 0.5)
    assert len(total.entry.signatures) == 1
    with pytest.raises(TypeError):
        total(arrays, 'two')
