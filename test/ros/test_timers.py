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
Timers of nodes: those of the machine alone, and never set anew.

rclpy's executor in C++ lets a timer of simulated time go off hundreds of times where it should
once, and a timer twice where another was reset while it was due; either way the memory of the
process can grow. Seen with rclpy 7.1.6; `python benchmarks/reset_timers.py` shows the second.
"""

import ast
from pathlib import Path

import pytest

import closed_chain_dynamics

SOURCES = sorted((Path(closed_chain_dynamics.__file__).parent / 'ros').rglob('*.py'))


def timers(tree):
    """Return the calls of create_timer."""
    return [
        call
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == 'create_timer'
    ]


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: path.stem)
def test_no_timer_is_of_simulated_time(path):
    for call in timers(ast.parse(path.read_text())):
        clocks = [ast.unparse(each.value) for each in call.keywords if each.arg == 'clock']
        assert clocks and 'steady' in clocks[0], f'line {call.lineno}'


@pytest.mark.parametrize('path', SOURCES, ids=lambda path: path.stem)
def test_no_timer_is_set_anew(path):
    """Neither by its period nor by `reset`, which attributes called timer or _timer have."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            assert node.attr != 'timer_period_ns', f'line {node.lineno}'
            named = ast.unparse(node.value).endswith('timer')
            assert not (node.attr == 'reset' and named), f'line {node.lineno}'


def test_there_are_timers():
    assert sum(len(timers(ast.parse(path.read_text()))) for path in SOURCES) > 5
