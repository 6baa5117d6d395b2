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
List files: the chapter's lists in YAML, each entry one line as in pt(2) = [1, r_1, 0].

Everything is read as text and goes through `parse_expression`, so that nothing in a file can run
and a name such as `no` stays a name. Errors name file, line and entry.
"""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
import re
from typing import Any

import sympy
import yaml

from closed_chain_dynamics.errors import DescriptionError, NameNotFound, nearest_names
from closed_chain_dynamics.model.library import shipped_lists
from closed_chain_dynamics.symbolic.list_elements import GRS, Point
from closed_chain_dynamics.symbolic.list_entries import BUILDERS, ENTRY_SHAPES, Entry
from closed_chain_dynamics.symbolic.list_expressions import (
    FORCE_FUNCTIONS,
    LIST_FUNCTIONS,
    parse_expression,
)
from closed_chain_dynamics.symbolic.lists import Lists, place_of

__all__ = ['parse_lists', 'read_lists', 'shipped_lists']

LIST_KEYS = (
    'name',
    'dimension',
    'coordinates',
    'inputs',
    'parameters',
    'gravity',
    'euler',
    *ENTRY_SHAPES,
    'constraint',
)
LIST_NAME = re.compile(r'\w+')


def read_lists(name_or_path: str | PathLike[str]) -> Lists:
    """Read a list file, given its path or the name of a shipped one, and return its Lists."""
    path = Path(name_or_path).expanduser()
    known = shipped_lists()
    if not path.is_file():
        if str(name_or_path) not in known:
            raise DescriptionError(
                'there is no such list file',
                file=name_or_path,
                repair=nearest_names(path.stem, known),
            )
        path = known[str(name_or_path)]
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(
            f'the file cannot be read: {error}',
            file=path,
            repair='It must be text in UTF-8 that you may read.',
        ) from None
    return parse_lists(text, file=str(path), name=path.stem)


def parse_lists(text: str, *, file: str = '', name: str = 'model') -> Lists:
    """Return the Lists that a text in the format of a list file describes."""
    return _ListFile(text, file).lists(name)


class _ListFile:
    """One file: its nodes by section, and where each entry stands."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.places: dict[tuple[str, str], str] = {}
        root = self._compose(text)
        if not isinstance(root, yaml.MappingNode):
            raise DescriptionError(
                'the top of the file is not a mapping',
                file=file,
                repair=f'Write keys among {", ".join(LIST_KEYS)}.',
            )
        self.nodes = self._mapping(root, '')
        for key in self.nodes:
            if key not in LIST_KEYS:
                raise NameNotFound('key', key, LIST_KEYS, **self.place(key))

    def _compose(self, text: str) -> yaml.Node:
        try:
            root: yaml.Node = yaml.compose(text, Loader=yaml.BaseLoader)
            return root
        except yaml.YAMLError as error:
            mark = getattr(error, 'problem_mark', None)
            raise DescriptionError(
                f'the YAML is malformed: {getattr(error, "problem", None) or "unreadable"}',
                file=self.file,
                where=f'line {mark.line + 1}' if mark else '',
                repair='Check brackets, colons and indentation.',
            ) from None
        except RecursionError:
            raise DescriptionError(
                'the YAML is nested too deep', file=self.file, repair='Write plain lists.'
            ) from None

    def place(self, section: str, name: str = '') -> dict[str, str]:
        """Return what an error says about where an entry stands."""
        return {'where': place_of(self.places, section, name), 'file': self.file}

    def _mapping(self, node: yaml.MappingNode, section: str) -> dict[str, yaml.Node]:
        """Return {name: node} and refuse a name that is given twice."""
        result: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ''
            at = (section, name) if section else (name, '')
            line = f'line {key.start_mark.line + 1}'
            if name in result:
                raise DescriptionError(
                    f'the name is given again in {line}',
                    repair='Rename one of the two entries.',
                    **self.place(*at),
                )
            self.places[at] = line
            if not LIST_NAME.fullmatch(name):
                raise DescriptionError(
                    f'{name!r} is not a valid name',
                    **self.place(*at),
                    repair='Use letters, digits and _.',
                )
            result[name] = value
        return result

    # ---- values -----------------------------------------------------------------------------

    def scalar(self, node: yaml.Node, section: str, name: str = '') -> str:
        """Return the text of a value."""
        if not isinstance(node, yaml.ScalarNode):
            raise DescriptionError(
                'a single value is expected here',
                repair='Remove the brackets.',
                **self.place(section, name),
            )
        text: str = node.value
        return text

    def _sequence(self, node: yaml.Node, section: str, name: str = '') -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise DescriptionError(
                'a list is expected here',
                **self.place(section, name),
                repair=f'Write {ENTRY_SHAPES.get(section, "[a, b]")}.',
            )
        nodes: list[yaml.Node] = node.value
        return nodes

    def _names(self, section: str) -> tuple[str, ...]:
        if section not in self.nodes:
            return ()
        return tuple(
            self.scalar(node, section) for node in self._sequence(self.nodes[section], section)
        )

    def _entries(self, section: str) -> dict[str, yaml.Node]:
        node = self.nodes.get(section)
        if node is None or (isinstance(node, yaml.ScalarNode) and not node.value):
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise DescriptionError(
                'entries with names are expected here',
                repair='Write one line "name: ..." for each.',
                **self.place(section),
            )
        return self._mapping(node, section)

    def expression(
        self, node: yaml.Node, section: str, name: str, symbols: Mapping[str, sympy.Symbol]
    ) -> sympy.Expr:
        """Return a value as SymPy."""
        functions = FORCE_FUNCTIONS if section in ('frc', 'trq') else LIST_FUNCTIONS
        return parse_expression(
            self.scalar(node, section, name),
            symbols,
            functions=functions,
            **self.place(section, name),
        )

    # ---- the model --------------------------------------------------------------------------

    def lists(self, name: str) -> Lists:
        """Build the Lists: names first, for expressions may use them before they stand."""
        for key in ('dimension', 'coordinates', 'gravity'):
            if key not in self.nodes:
                raise DescriptionError(
                    f'the key {key!r} is missing',
                    file=self.file,
                    repair={'gravity': 'Write e.g. gravity: [0, -g].'}.get(
                        key, f'Write {key}: ...'
                    ),
                )
        dimension = self.scalar(self.nodes['dimension'], 'dimension')
        if dimension not in ('2', '3'):
            raise DescriptionError(
                f'the dimension is {dimension!r}',
                repair='Write 2 or 3.',
                **self.place('dimension'),
            )
        self.dimension = int(dimension)
        scalars: dict[str, Any] = {
            key: self.scalar(self.nodes[key], key)
            for key in ('name', 'euler')
            if key in self.nodes
        }
        nodes = {section: self._entries(section) for section in (*ENTRY_SHAPES, 'constraint')}
        # Only names: enough to tell which symbols each section may use.
        outline = Lists(
            **{'name': name, **scalars},
            dimension=self.dimension,
            coordinates=self._names('coordinates'),
            inputs=self._names('inputs'),
            parameters=self._parameters(),
            gravity=(0,) * self.dimension,
            pt={each: Point(GRS, (0,) * self.dimension) for each in nodes['pt']},
            file=self.file,
            places=self.places,
        )
        return self._filled(outline, nodes)

    def _parameters(self) -> dict[str, float | None]:
        result: dict[str, float | None] = {}
        for name, node in self._entries('parameters').items():
            value = self.scalar(node, 'parameters', name)
            result[name] = (
                None
                if value in ('', '~', 'null')
                else float(self.expression(node, 'parameters', name, {}))
            )
        return result

    def _filled(self, outline: Lists, nodes: Mapping[str, Mapping[str, yaml.Node]]) -> Lists:
        def entries(section: str, build: Callable[[Entry], Any]) -> dict[str, Any]:
            known = outline.symbols(section)
            result = {}
            for name, node in nodes[section].items():
                items = node if section == 'constraint' else self._sequence(node, section, name)
                result[name] = build(Entry(self, section, name, items, known))
            return result

        gravity = Entry(
            self,
            'gravity',
            '',
            self._sequence(self.nodes['gravity'], 'gravity'),
            outline.symbols('gravity'),
        ).rest()
        shared: dict[str, Any] = {
            each: getattr(outline, each)
            for each in (
                'name',
                'dimension',
                'coordinates',
                'inputs',
                'parameters',
                'euler',
                'file',
                'places',
            )
        }
        filled: dict[str, Any] = {
            section: entries(section, build) for section, build in BUILDERS.items()
        }
        return Lists(**shared, gravity=gravity, **filled)
