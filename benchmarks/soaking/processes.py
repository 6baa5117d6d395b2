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

"""The nodes of the demonstration as processes whose memory and open files are watched."""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from closed_chain_dynamics.ros.composition import Program, simulation
from closed_chain_dynamics.ros.demo_programme import START

__all__ = ['Nodes']

MODEL, RATE = 'swing', 100.0
SETTLED = 120.0  # a node has loaded and compiled what it needs after this long [s]
MOST_GROWTH = 20.0  # of a node that has settled: allocators keep what they had once [MB]
MOST_FILES = 3  # that a node may have more than when it had settled
PATIENCE = 180.0  # for an end; only what hangs takes longer [s]


def programs():
    """Return the programs of the demonstration, and one that completes its states."""
    simulator = {'rate': RATE, 'lockstep': 'on', 'start_paused': True, 'initial_velocities': START}
    complete = {
        'measured_joint_states': 'joint_states',
        'measured_multi_dof_joint_states': 'multi_dof_joint_states',
        'joint_states': 'complete/joint_states',
        'multi_dof_joint_states': 'complete/multi_dof_joint_states',
    }
    return [
        *simulation(MODEL, viewer=True, port=0, demo=True, simulator=simulator),
        Program('loop_state_node', 'completes states', {'use_sim_time': True}, complete),
    ]


class Life:
    """One process of a node: when it began, and what it took."""

    def __init__(self, program, folder):
        words = [
            word
            for name, value in program.parameters.items()
            for word in ('-p', f'{name}:={json.dumps(value)}')
        ]
        words += [
            word for old, new in program.remappings.items() for word in ('-r', f'{old}:={new}')
        ]
        self.name, self.began = program.executable, time.monotonic()
        self.log = folder / f'{self.name}-{time.monotonic_ns()}.log'
        with open(self.log, 'w') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', program.module, '--ros-args', *words],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.samples = []  # (age [s], memory [MB], open files)

    def look(self):
        """Note memory and open files."""
        at = Path(f'/proc/{self.process.pid}')
        try:
            pages = int((at / 'statm').read_text().split()[1])
            files = len(os.listdir(at / 'fd'))
        except (FileNotFoundError, ProcessLookupError, IndexError):
            return
        memory = pages * os.sysconf('SC_PAGE_SIZE') / 1e6
        self.samples.append((time.monotonic() - self.began, memory, files))

    def growth(self):
        """Return how much memory [MB] and how many files it has more than when it had settled."""
        settled = [each for each in self.samples if each[0] > SETTLED]
        if len(settled) < 10:
            return None
        first, last = settled[: len(settled) // 5 or 1], settled[-(len(settled) // 5 or 1) :]
        return tuple(
            sorted(each[k] for each in last)[len(last) // 2]
            - sorted(each[k] for each in first)[len(first) // 2]
            for k in (1, 2)
        )


class Nodes:
    """All nodes; what ends without being told to is a finding."""

    def __init__(self, folder, find):
        self.programs = {each.executable: each for each in programs()}
        self.folder, self._find = folder, find
        self.now = {name: Life(each, folder) for name, each in self.programs.items()}
        self.past = []

    def look(self):
        """Watch memory, files, and whether all are there."""
        for name, life in [*self.now.items()]:
            life.look()
            code = life.process.poll()
            if code is not None:
                self._find('ended', f'{name} ended with {code}: {life.log.read_text()[-1500:]}')
                self._restart(name)

    def kill(self, name):
        """Kill a node with -9, and start it again."""
        self.now[name].process.kill()
        self.now[name].process.wait()
        self._restart(name)

    def _restart(self, name):
        self.past.append(self.now[name])
        self.now[name] = Life(self.programs[name], self.folder)

    def signal(self, name, number):
        """Send a signal to a node."""
        self.now[name].process.send_signal(number)

    def end(self):
        """End all by SIGINT; return {name: exit code}."""
        codes = {}
        for name in self.now:
            self.signal(name, signal.SIGCONT)
            self.signal(name, signal.SIGINT)
        for name, life in self.now.items():
            try:
                codes[name] = life.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                life.process.kill()
                codes[name] = 'did not end'
            said = life.log.read_text()
            if codes[name] != 0:
                self._find('end', f'{name} ended with {codes[name]}: {said[-1500:]}')
            if 'Traceback' in said:
                self._find('traceback', f'{name}: {said[-3000:]}')
        return codes

    def report(self):
        """Return what each process took; note what grew."""
        rows = []
        for life in [*self.past, *self.now.values()]:
            grown = life.growth()
            last = life.samples[-1] if life.samples else (0.0, 0.0, 0)
            row = dict(zip(('seconds', 'MB', 'files'), last))
            rows.append({'node': life.name, **row, 'grown': grown})
            if grown and (grown[0] > MOST_GROWTH or grown[1] > MOST_FILES):
                self._find('grew', f'{life.name} by {grown[0]:.1f} MB and {grown[1]} open files')
        return rows
