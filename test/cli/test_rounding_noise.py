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

"""Rounding errors are not printed as if they were results."""

import re

import pytest

from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.recording.terminal import number

TINY = re.compile(r'(?<![\w.])-?\d[\d.]*e-1[0-9]\b')


def test_a_number_is_zero_next_to_one_that_is_larger_by_more_than_doubles_resolve():
    assert number(-2e-18, beside=1.0) == '0'
    assert number(-2e-18) == '-2e-18'
    assert number(2e-11, beside=1.0) == '2e-11'
    assert number(-0.0) == '0'


@pytest.mark.parametrize(
    'command',
    [
        'torque exo_leg --q hip=0 knee=0 ankle_pitch=0 ankle_roll=0 --v knee=1',
        'study what-if four_bar --q crank=1 --vary mass:coupler_link=x2 --time 0.1',
    ],
)
def test_results_that_are_zero_are_printed_as_zero(capsys, command):
    assert main(command.split()) == 0
    assert not TINY.findall(capsys.readouterr().out)
