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
Every block of code in the documentation does what the page says.

python    the blocks of a page run in order, in one namespace and one empty folder
xml       with title="name" it is saved there; a whole <robot> is loaded as it stands; anything
          else is put into the robot of its page that has the mark, and loaded
yaml      parsed, and saved where it has a title
console   every `$ closed-chain ...` runs in that folder and must exit with 0, or with what a line
          `exit code 1` says; each line between commands stands in the output. Programs that need
          a network, a robot or another installation do not run (NOT_RUN)
"""

import ast
import importlib
import importlib.util
import logging
from pathlib import Path
import re
import shlex

from helpers.error_sites import PACKAGE
from helpers.page_blocks import DOCS, blocks
import pytest
import yaml

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import COMMANDS, main
from closed_chain_dynamics.description import read

PAGES = sorted((DOCS / 'pages').glob('*.md'))
ROBOT = re.compile('<(robot|mujoco|sdf) ')
MARK = '<!-- the example stands here -->'
# Pages that stand another engine beside this one run where it is installed.
PEERS = {
    'from_pinocchio': 'pinocchio',
    'from_mujoco': 'mujoco',
    'from_drake': 'pydrake',
    'stories': 'pinocchio',
}
NOT_RUN = ('pip', 'make', 'git', 'cd', 'colcon', 'ros2', 'apt', 'source', 'rosdep')
TOO_LONG = ('bench', 'up')  # a minute, and many processes: their own tests run them
NODES = (
    'contact_node',
    'loop_state_node',
    'reference_node',
    'simulator_node',
    'torque_node',
    'viewer_node',
)
KINDS = ('python', 'xml', 'yaml', 'console', 'text')


def settings(node):
    """Return the parameters of a node by name."""
    module = importlib.import_module(f'closed_chain_dynamics.ros.nodes.{node}')
    managed = importlib.import_module('closed_chain_dynamics.ros.managed_node')
    shared = importlib.import_module('closed_chain_dynamics.ros.model_source')
    return {
        each.name: each for each in (managed.AUTOSTART, *shared.MODEL_SETTINGS, *module.SETTINGS)
    }


class Reader:
    """Someone who does everything that a page says, in the folder that is the current one."""

    def __init__(self, page, capsys):
        self.namespace, self.capsys = {'__name__': page.stem}, capsys
        self.frame = next((text for _, _, text in blocks(page) if MARK in text), '')

    def python(self, title, text):
        """Run a block."""
        exec(compile(text, title or 'python block', 'exec'), self.namespace)

    def xml(self, title, text):
        """Load a robot, or a robot with this part."""
        if title:
            Path(title).write_text(text)
        whole = text if ROBOT.search(text) else self.frame.replace(MARK, text)
        assert ROBOT.search(whole), 'a part of a robot, but no robot of the page has the mark'
        is_macro = (title or '').endswith('.xacro')  # which is read from a file only
        notes = ccd.load(title if is_macro else whole).description.notes
        assert not any('ignored' in note for note in notes), notes

    def yaml(self, title, text):
        """Parse a file; parameters of a node must be those that it has, within their bounds."""
        for name, part in yaml.safe_load(text).items():
            if name in NODES and importlib.util.find_spec('rclpy'):
                known = settings(name)
                for key, value in part['ros__parameters'].items():
                    known[key].read(value)
        if title:
            Path(title).write_text(text)

    def console(self, title, text):
        """Run commands and look for the lines below them in their output."""
        for part in re.split(r'^\$ ', text, flags=re.MULTILINE)[1:]:
            line, *expected = part.rstrip('\n').replace('\\\n', ' ').split('\n')
            program, *arguments = shlex.split(line, comments=True)
            if program in NOT_RUN or arguments[:1] and arguments[0] in TOO_LONG:
                continue
            assert program == 'closed-chain', f'nobody runs {program!r} here'
            code = 0
            if expected and expected[-1].startswith('exit code '):
                code = int(expected.pop().split()[-1])
            self._command(line, arguments, code, expected)

    def _command(self, line, arguments, code, expected):
        self.capsys.readouterr()
        try:
            got = main(arguments)
        except SystemExit as stopped:
            got = stopped.code or 0
        output = ''.join(self.capsys.readouterr())
        assert got == code, f'$ {line}\n{output}'
        said = ' '.join(output.split())
        for each in expected:
            assert ' '.join(each.split()) in said, f'$ {line}\n{output}\nlacks {each!r}'

    def text(self, title, text):
        """Nothing is asked of what is only shown."""


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_works(page, tmp_path, monkeypatch, capsys, caplog):
    if peer := PEERS.get(page.stem):
        pytest.importorskip(peer, reason=f'{peer} is not installed')
    caplog.set_level(logging.CRITICAL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('NO_COLOR', '1')
    monkeypatch.setenv('COLUMNS', '200')
    reader = Reader(page, capsys)
    for kind, title, text in blocks(page):
        assert kind in KINDS, f'a block of kind {kind!r}: how is it tested?'
        getattr(reader, kind)(title, text)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_no_block_is_overlooked(page):
    fences = [line for line in page.read_text(encoding='utf-8').splitlines() if '```' in line]
    assert len(fences) == 2 * len(blocks(page)), fences


def test_a_part_of_a_robot_that_is_wrong_is_found(capsys):
    reader = Reader(DOCS / 'pages' / 'tags.md', capsys)
    with pytest.raises(ccd.ClosedChainError):
        reader.xml('', '<constraint name="grip" type="magnetic"/>')
    with pytest.raises(AssertionError, match='lacks'):
        reader.console('', '$ closed-chain models\nfive_bra\n')


def test_the_page_on_python_has_every_public_name():
    text = (DOCS / 'pages' / 'python.md').read_text(encoding='utf-8')
    missing = [name for name in ccd.__all__ if f'`{name}' not in text and f'.{name}`' not in text]
    assert not missing


def test_the_reference_has_every_public_name_with_an_example_that_uses_it():
    found = {}
    for page in PAGES:
        parts = re.split(
            r'^::: closed_chain_dynamics\.public\.(\w+)$', page.read_text(), flags=re.M
        )
        found.update(zip(parts[1::2], parts[2::2]))
    assert set(found) == set(ccd.__all__)
    for name, part in found.items():
        # an example may use a result, as `pin` of `forces`, where the page shows what it is
        assert re.search(rf'```python\n(?:(?!```).)*\b{name}\b', part, re.DOTALL), name


def test_the_page_on_the_command_line_has_every_command_and_no_other():
    text = (DOCS / 'pages' / 'command_line.md').read_text(encoding='utf-8')
    assert set(re.findall(r'^## closed-chain (\w+)', text, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize('node', NODES)
def test_the_page_on_ros_has_every_parameter_with_its_default(node):
    pytest.importorskip('rclpy', reason='ROS 2 is not installed: no rclpy')
    known = settings(node)
    text = (DOCS / 'pages' / 'ros.md').read_text(encoding='utf-8')
    shared, mine = text.split('## torque_node')[0], re.split(r'^## ', text, flags=re.MULTILINE)
    mine = shared + next(part for part in mine if part.startswith(node))
    rows = dict(re.findall(r'^\| `(\w+)`(?: \*)? \| `(.+?)` \|', mine, re.MULTILINE))
    for name, setting in known.items():
        assert name in rows, name
        if isinstance(setting.default, (bool, int, float)):
            assert yaml.safe_load(rows[name]) == setting.default, name
    assert set(rows) <= set(known)


def test_the_page_on_ros_has_every_argument_of_the_launch_files():
    text = (DOCS / 'pages' / 'ros.md').read_text(encoding='utf-8')
    for path in (DOCS.parent / 'launch').glob('*.launch.py'):
        tree = ast.parse(path.read_text(encoding='utf-8'))
        arguments = next(
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id == 'ARGUMENTS'
        )
        for name, (default, about) in arguments.items():
            row = rf'\| `{name}` \| .*{path.name.split(".")[0]}.* \| {re.escape(about)} \|'
            assert re.search(row, text), f'{path.name}: {name}'


def test_the_tag_reference_has_every_own_element_and_attribute():
    from closed_chain_dynamics.description.vocabulary import CC_ATTRIBUTES, CC_ELEMENTS

    text = (DOCS / 'pages' / 'tags.md').read_text(encoding='utf-8')
    examples = ' '.join(
        block for kind, _, block in blocks(DOCS / 'pages' / 'tags.md') if kind == 'xml'
    )
    for element, attributes in CC_ELEMENTS.items():
        assert f'<cc:{element}' in examples, element
        for attribute in attributes:
            assert f'`{attribute}`' in text, f'{element} {attribute}'
    for attribute in set().union(*CC_ATTRIBUTES.values()):
        assert f'cc:{attribute}=' in examples, attribute


def test_the_gallery_shows_every_example():
    text = (DOCS / 'pages' / 'gallery.md').read_text(encoding='utf-8')
    for example in (DOCS.parent / 'examples').glob('[0-9][0-9]_*.py'):
        about = ast.get_docstring(ast.parse(example.read_text(encoding='utf-8')))
        assert f'{about.splitlines()[0]} `examples/{example.name}`' in text, example.name
    for picture in re.findall(r'\((pictures/.+?)\)', text):
        assert (DOCS / picture).is_file(), picture


def test_files_and_tests_that_the_pages_name_are_there():
    root = DOCS.parent
    tests = {path.stem: path.read_text() for path in (root / 'test').rglob('*.py')}
    for page in PAGES:
        text = page.read_text(encoding='utf-8')
        for name in re.findall(r'`((?:[a-z]+/)+[\w.]+\.(?:py|md|urdf|yaml|yml|rviz))`', text):
            assert (root / name).exists() or (PACKAGE / name).exists(), f'{page.name}: {name}'
        for name in re.findall(r'`(test_\w+)`', text):
            found = any(f'def {name}(' in test for test in tests.values())
            assert found or name in tests, f'{page.name}: {name}'


def test_xml_of_the_pages_stays_readable_when_it_is_saved(tmp_path):
    text = next(
        text for _, title, text in blocks(DOCS / 'pages' / 'tutorial.md') if title == 'lift.urdf'
    )
    ccd.load(text).save(tmp_path / 'again.urdf')
    assert read(tmp_path / 'again.urdf') == read(text)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_no_row_of_a_table_has_more_cells_than_its_head(page):
    """What is beyond the last column is shown nowhere."""
    lines, cells, within = page.read_text(encoding='utf-8').splitlines(), 0, False
    for line in lines:
        within ^= line.startswith('```')
        bars = len(re.findall(r'(?<!\\)\|', line)) if line.startswith('|') and not within else 0
        assert not cells or not bars or bars == cells, line
        cells = bars
