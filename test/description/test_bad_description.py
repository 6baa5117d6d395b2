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

"""Bad input: each file gives one error that names the file, the culprit, and the repair."""

import os
import time

from helpers.bad_files import CASES, YAML_CASES
from helpers.small_files import ARM, BASE, GOOD, hinge, robot, with_hinge
import pytest
import xacro

from closed_chain_dynamics.description import read, xml_parsing
from closed_chain_dynamics.errors import ClosedChainError, DescriptionError, NameNotFound

# A refusal of a bomb must not take the time of an explosion.
SOON = 2.0  # of the processor [s]


@pytest.mark.parametrize('case', CASES)
def test_a_bad_file_gives_one_error_with_file_culprit_and_repair(tmp_path, case):
    text, culprit, repair = CASES[case]
    file = tmp_path / 'bad.urdf'
    file.write_text(text)
    with pytest.raises(ClosedChainError) as caught:
        read(file)
    message = str(caught.value)
    assert message.startswith(str(file)), message
    for words in culprit:
        assert words in message, message
    for words in repair:
        assert words in caught.value.repair, message
    assert '\n' not in message


def test_the_good_file_that_the_cases_spoil_is_good():
    assert [joint.name for joint in read(robot(*GOOD)).joints] == ['shoulder', 'elbow']


def test_the_constraint_that_the_error_offers_repairs_the_file(tmp_path):
    second = hinge('second', 'base', 'tip', inside='<origin xyz="1 2 0.1"/><axis xyz="0 1 0"/>')
    with pytest.raises(DescriptionError) as caught:
        read(robot(*GOOD, second))
    offered = caught.value.repair.split('the loop joint ')[1]
    (loop,) = read(robot(*GOOD, offered)).loops
    assert (loop.name, loop.parent, loop.child) == ('second', 'base', 'tip')
    assert loop.parent_origin.xyz == (1.0, 2.0, 0.1)
    assert loop.parent_axis == loop.child_axis == (0.0, 1.0, 0.0)


def bomb(use):
    lines = ['<!ENTITY e0 "0 0 0 0 0 0 0 0 0 0 ">']
    lines += [f'<!ENTITY e{i} "{10 * f"&e{i - 1};"}">' for i in range(1, 10)]
    return '<!DOCTYPE robot [' + ''.join(lines) + ']>' + use


@pytest.mark.parametrize(
    'use',
    [
        '<robot name="r">&e9;</robot>',
        '<robot name="&e9;"/>',
        '<robot name="r"><link name="a"><visual><origin xyz="&e9;"/></visual></link></robot>',
    ],
)
def test_an_entity_bomb_is_refused_at_once(tmp_path, use):
    file = tmp_path / 'bomb.urdf'
    file.write_text(bomb(use))
    start = time.process_time()
    for source in (file, bomb(use)):
        with pytest.raises(DescriptionError, match='DOCTYPE or entity declaration is refused'):
            read(source)
    assert time.process_time() - start < SOON


def test_an_entity_in_a_file_for_xacro_is_refused_too(tmp_path):
    file = tmp_path / 'bomb.urdf.xacro'
    file.write_text(bomb('<robot name="&e9;"/>'))
    with pytest.raises(DescriptionError, match='DOCTYPE'):
        read(file)


def test_an_entity_in_utf16_is_refused_too(tmp_path):
    file = tmp_path / 'wide.urdf'
    file.write_bytes(
        b'\xff\xfe' + '<!DOCTYPE r [<!ENTITY x "y">]><robot name="&x;"/>'.encode('utf-16-le')
    )
    with pytest.raises(DescriptionError, match='DOCTYPE'):
        read(file)


def test_nesting_without_end_is_refused(tmp_path):
    text = robot('<a>' * 100_000 + '</a>' * 100_000)
    with pytest.raises(DescriptionError, match='malformed'):
        read(text)


def test_a_missing_file_gives_the_nearest_names(tmp_path):
    for name in ('arm.urdf', 'four_bar.urdf', 'notes.txt'):
        (tmp_path / name).write_text(robot(*GOOD))
    with pytest.raises(DescriptionError, match="no such file.*'four_bar.urdf' or 'arm.urdf'"):
        read(tmp_path / 'fourbar.urdf')
    with pytest.raises(DescriptionError, match="Did you mean 'arm.urdf' or 'four_bar.urdf'"):
        read(tmp_path / 'something_else')
    with pytest.raises(DescriptionError, match='There is no folder'):
        read(tmp_path / 'nowhere' / 'four_bar.urdf')


def test_a_folder_is_refused_and_its_descriptions_offered(tmp_path):
    (tmp_path / 'arm.urdf').write_text(robot(*GOOD))
    (tmp_path / 'notes.txt').write_text('')
    with pytest.raises(DescriptionError, match='is a folder.*in it: arm.urdf') as caught:
        read(tmp_path)
    assert 'notes.txt' not in str(caught.value)


@pytest.mark.parametrize('content', [b'', b' \n\t'])
def test_an_empty_file_is_refused(tmp_path, content):
    file = tmp_path / 'empty.urdf'
    file.write_bytes(content)
    with pytest.raises(DescriptionError, match='empty.urdf: the file is empty. Write a <robot>'):
        read(file)


def test_a_binary_file_is_refused(tmp_path):
    file = tmp_path / 'mesh.stl'
    file.write_bytes(bytes(range(256)))
    with pytest.raises(DescriptionError, match='mesh.stl.*malformed'):
        read(file)


def test_a_file_above_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_parsing, 'SIZE_LIMIT', 2**20)
    file = tmp_path / 'large.urdf'
    file.write_text(robot(*GOOD) + ' ' * 2**20)
    for source, name in ((file, 'large.urdf'), (file.read_text(), 'XML text')):
        with pytest.raises(DescriptionError, match=f'{name}.*limit of 1 MiB.*Keep meshes'):
            read(source)


def test_a_yaml_above_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_parsing, 'SIZE_LIMIT', 2**20)
    (tmp_path / 'robot.urdf').write_text(robot(*GOOD))
    (tmp_path / 'robot.yaml').write_text('closed_loop: []' + ' ' * 2**20)
    with pytest.raises(DescriptionError, match='robot.yaml.*limit of 1 MiB'):
        read(tmp_path / 'robot.urdf')


def test_the_limit_is_64_mebibyte():
    assert xml_parsing.SIZE_LIMIT == 64 * 2**20


@pytest.mark.skipif(
    os.name != 'posix' or os.geteuid() == 0, reason='root reads files whatever their permissions'
)
def test_a_file_without_permission_is_refused(tmp_path):
    file = tmp_path / 'secret.urdf'
    file.write_text(robot(*GOOD))
    file.chmod(0)
    with pytest.raises(DescriptionError, match='secret.urdf.*Check its permissions'):
        read(file)


@pytest.mark.parametrize('source', [None, 3, 'a\0b', 'x' * 10_000, b'<robot'])
def test_what_is_no_path_and_no_text_is_refused(source):
    with pytest.raises(DescriptionError):
        read(source)


def test_an_error_in_a_text_says_that_it_was_a_text():
    with pytest.raises(DescriptionError, match='^XML text, line 4, <axis> of <joint'):
        read(with_hinge('<axis xyz="0 0 0"/>'))


def test_a_text_with_macros_is_refused():
    text = '<robot xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm/></robot>'
    with pytest.raises(DescriptionError, match='holds xacro macros. Expand it first'):
        read(text)


@pytest.mark.parametrize(
    'inside, why',
    [
        ('<xacro:include filename="absent.xacro"/>', 'absent.xacro'),
        ('<xacro:no_such_macro/>', 'no_such_macro'),
        ('<link name="${undefined_name}"/>', 'undefined_name'),
        ('<link name="${1/0}"/>', 'ZeroDivisionError|division by zero'),
        ('<link name="$(arg size)"/>', 'size'),
    ],
)
def test_a_failure_of_xacro_names_the_file(tmp_path, inside, why):
    file = tmp_path / 'arm.urdf.xacro'
    file.write_text(f'<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">{inside}</robot>')
    with pytest.raises(DescriptionError, match=rf'arm.urdf.xacro: xacro failed.*({why})'):
        read(file)


def test_an_error_after_xacro_says_that_lines_are_of_the_expanded_file(tmp_path):
    file = tmp_path / 'arm.xacro'
    file.write_text(with_hinge('<axis xyz="0 0 0"/>'))
    expanded = xacro.process_file(str(file)).toprettyxml(indent='  ').splitlines()
    line = next(i for i, text in enumerate(expanded, 1) if '<axis' in text)
    with pytest.raises(DescriptionError, match=rf'arm.xacro \(expanded by xacro\), line {line},'):
        read(file)


def test_an_unknown_actuated_joint_gives_the_nearest_name():
    with pytest.raises(NameNotFound, match="argument `actuated`.*'elbw'.*mean 'elbow'"):
        read(robot(*GOOD), actuated=['elbw'])


def test_a_wrong_root_joint_is_refused():
    with pytest.raises(DescriptionError, match="'free'.*'fixed' or 'floating'"):
        read(robot(*GOOD), root_joint='free')


def test_a_floating_root_is_refused_where_it_cannot_be():
    floats = robot(BASE, ARM, hinge('free', 'base', 'arm', kind='floating'))
    with pytest.raises(DescriptionError, match="already has a floating base, the joint 'free'"):
        read(floats, root_joint='floating')
    taken = robot(*GOOD).replace('"tip"', '"world"')
    with pytest.raises(DescriptionError, match="name 'world'"):
        read(taken, root_joint='floating')
    taken = robot(*GOOD).replace('"elbow"', '"root_joint"')
    with pytest.raises(DescriptionError, match="name 'root_joint'"):
        read(taken, root_joint='floating')


@pytest.mark.parametrize('case', YAML_CASES)
def test_a_bad_yaml_beside_the_file_names_it(tmp_path, case):
    text, culprit, repair = YAML_CASES[case]
    (tmp_path / 'robot.urdf').write_text(robot(*GOOD))
    (tmp_path / 'robot.yaml').write_text(text)
    with pytest.raises(ClosedChainError) as caught:
        read(tmp_path / 'robot.urdf')
    message = str(caught.value)
    assert 'robot.yaml' in message, message
    for words in culprit:
        assert words in message, message
    for words in repair:
        assert words in caught.value.repair, message
