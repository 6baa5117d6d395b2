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

"""Advice on the command line fits the command, and the file that is wrong."""

import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.errors import alternatives

FOUR_BAR = open(ccd.load('four_bar').description.file).read()
AXIS = '<parent_axis xyz="0 -1 0"/>'


def complaint_of(capsys, *words):
    assert main([*words]) == 1
    return capsys.readouterr().err


def test_names_are_offered_as_a_native_speaker_lists_them():
    assert alternatives(['a']) == "'a'"
    assert alternatives(['a', 'b']) == "'a' or 'b'"
    assert alternatives(['a', 'b', 'c']) == "'a', 'b' or 'c'"


def test_axes_that_a_file_has_rounded_are_named_as_the_reason(capsys, tmp_path):
    assert AXIS in FOUR_BAR
    path = tmp_path / 'rounded.urdf'
    path.write_text(FOUR_BAR.replace(AXIS, '<parent_axis xyz="0.00001 -1 0"/>'))
    said = complaint_of(capsys, 'check', str(path))
    assert '1e-05 rad' in said and 'write them exactly' in said and 'type="spherical"' in said
    path.write_text(path.read_text().replace('type="revolute" active', 'type="spherical" active'))
    assert main(['check', str(path)]) == 0  # the advice holds


def test_lengths_that_cannot_meet_are_not_called_rounded(capsys, tmp_path):
    path = tmp_path / 'short.urdf'
    path.write_text(
        FOUR_BAR.replace('<child_origin xyz="0.4 0 0"/>', '<child_origin xyz="9 0 0"/>')
    )
    said = complaint_of(capsys, 'check', str(path))
    assert 'Check lengths' in said and 'spherical' not in said and 'start=' not in said


def test_warnings_of_a_report_name_options_of_the_command(capsys, tmp_path):
    path = tmp_path / 'inertia.urdf'
    text = open(ccd.load('exo_leg').description.file).read()
    start = text.index('ixx="', text.index('<link name="foot">')) + len('ixx="')
    path.write_text(text[:start] + '9' + text[start:])
    assert main(['check', str(path)]) == 0
    said = capsys.readouterr().out
    assert '--inertia repair' in said and "inertia='repair'" not in said
    assert main(['check', str(path), '--inertia', 'repair']) == 0


@pytest.mark.parametrize('clip', [False, True])
def test_a_file_that_leaves_the_range_is_refused_before_nodes_wait_for_it(capsys, tmp_path, clip):
    path = tmp_path / 'far.csv'
    path.write_text('time,left_shoulder\n0,1\n1,2\n2,9\n3,2\n')
    words = ['up', 'five_bar', '--follow', str(path), '--torque', 'beyond_limits=clip']
    if clip:  # what torque_node clips is not refused; a pose that does not exist is
        said = complaint_of(capsys, *words, '--q', 'left_shoulder=99')
        assert 'is commanded' not in said
    else:
        said = complaint_of(capsys, *words[:-2])
        assert (
            "'left_shoulder' is commanded to 9 at t = 2 s" in said and 'beyond_limits=clip' in said
        )
