"""What a first call compiles, from an empty cache in a process of its own."""

import json
import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[2]
# Loads a model, closes it and asks for torques, the way the README does; prints what was compiled.
FIRST_ANSWER = """
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
robot = ccd.load('four_bar')
q = ccd.assemble(robot, {'crank': 1.0})
v = ccd.complete_velocity(robot, q, {'crank': 2.0})
a = ccd.complete_acceleration(robot, q, v, {'crank': 0.5})
torques = ccd.inverse_dynamics(robot, q, v, a).torques()
entries = sorted(name.rpartition('.')[2] for name, _, _ in count.entries)
print(json.dumps({
    'torques': torques, 'entries': entries,
    'twice': [key[0] for kind in (count.parts, count.entries) for key in kind if kind[key] > 1],
}))
"""
# A kernel more means a second more of waiting at the first start; say so here when it is worth it.
MOST_ENTRIES = 16


def test_a_first_answer_compiles_each_kernel_once_and_few_entries(tmp_path):
    environment = {
        **os.environ,
        'NUMBA_CACHE_DIR': str(tmp_path),
        'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
    }
    done = subprocess.run(
        [sys.executable, '-c', FIRST_ANSWER], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report['twice'] == []
    assert 'compute_inverse_dynamics' in report['entries']
    assert not any('contact' in name or 'run' in name for name in report['entries'])
    assert len(report['entries']) <= MOST_ENTRIES, report['entries']
