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

"""Exported C is of the structure that was asked for, and says what is open in it."""

import json

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.codegen.firmware_export import export


def test_what_is_cut_on_the_command_line_is_cut_in_the_code(tmp_path, capsys):
    robot = ccd.load('four_bar')
    loop = robot.loop_names[0]
    assert main(['export', 'four_bar', str(tmp_path / 'cut'), '--cut', loop, '--json']) == 0
    assert json.loads(capsys.readouterr().out)['open'] == [loop]
    assert main(['export', 'four_bar', str(tmp_path / 'cut'), '--cut', loop]) == 0
    assert f'open in this code: {loop}' in capsys.readouterr().out
    assert main(['export', 'four_bar', str(tmp_path / 'closed')]) == 0
    assert 'open in this code' not in capsys.readouterr().out
    robot.cut(loop)
    export(robot, tmp_path / 'expected')
    cut, closed, expected = (
        (tmp_path / name / 'model.c').read_text() for name in ('cut', 'closed', 'expected')
    )
    assert cut == expected != closed


@pytest.mark.parametrize('options', [['--connect', 'left_heel'], ['--cut', 'nobody']])
def test_closed_contacts_and_unknown_joints_are_refused_by_name(options, tmp_path, capsys):
    assert main(['export', 'walker', str(tmp_path), *options]) == 1
    told = capsys.readouterr().err
    assert options[1] in told and 'Traceback' not in told
    assert not list(tmp_path.iterdir())
