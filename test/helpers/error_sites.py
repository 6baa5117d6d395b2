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

"""Where the package raises errors on purpose, read from its source."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from closed_chain_dynamics import errors

PACKAGE = Path(errors.__file__).resolve().parent
MEASURE = ('agreement.py', 'models.py', 'peers.py', 'side_by_side.py')
CLASSES = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
HOLE = '\N{HORIZONTAL ELLIPSIS}'  # what a message fills in when it is raised
USAGE = 'ArgumentTypeError'  # of argparse: shown by the command line with exit code 2
PARAMETER = 'ValueError'  # in these modules: why a parameter is refused
TELL_PARAMETERS = ('ros/launching.py', 'ros/parameters.py')


@dataclass(frozen=True)
class Site:
    """A place that makes an error: its class, and its message with holes."""

    file: str
    line: int
    kind: str
    message: str


@dataclass(frozen=True)
class Maker:
    """A function that is given a message, or a part of it, and returns an error with it."""

    kind: str
    message: ast.AST
    parameters: tuple
    made: ast.Call  # the call inside, which is no site of its own


@cache
def files():
    """Return {name: path} of every module of the package, and of those that `bench` runs."""
    found = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob('*.py'))}
    return found | {f'benchmarks/{name}': PACKAGE.parent / 'benchmarks' / name for name in MEASURE}


@cache
def sources():
    """Return (name, syntax tree) of every module."""
    return [(name, ast.parse(path.read_text(encoding='utf-8'))) for name, path in files().items()]


@cache
def nodes(tree):
    """Return every node of a syntax tree."""
    return list(ast.walk(tree))


@cache
def sites():
    """Return every place that makes an error."""
    found, shared = [], {}
    for file, tree in sources():  # those that neighbours use, as `reader.error`
        shared.setdefault(_folder(file), {}).update(
            {name: maker for name, maker in makers(tree).items() if not name.startswith('_')}
        )
    for file, tree in sources():
        mine = shared[_folder(file)] | makers(tree)
        inside = {id(maker.made) for maker in makers(tree).values()}
        for node in nodes(tree):
            if isinstance(node, ast.Call) and id(node) not in inside:
                found += [Site(file, node.lineno, *made) for made in _made(node, mine)]
                if _name(node) == PARAMETER and file in TELL_PARAMETERS:
                    found.append(Site(file, node.lineno, PARAMETER, template(node.args[0])))
    return found


def raise_statements():
    """Return {file: [(first line, last line, source)]} of all raise statements."""
    return {
        file: [
            (node.lineno, node.end_lineno, ast.unparse(node))
            for node in nodes(tree)
            if isinstance(node, ast.Raise) and node.exc is not None
        ]
        for file, tree in sources()
    }


@cache
def makers(tree):
    """Return {name: Maker} of the functions of a module that return errors."""
    found = {}
    calls = [each.value for each in nodes(tree) if isinstance(each, ast.Return)]
    calls = [
        each
        for each in calls
        if isinstance(each, ast.Call) and _name(each) in CLASSES - {'NameNotFound'}
    ]
    for node in nodes(tree) if calls else ():
        if not isinstance(node, ast.FunctionDef):
            continue
        parameters = tuple(each.arg for each in node.args.args if each.arg != 'self')
        for call in calls:
            if node.lineno <= call.lineno <= node.end_lineno:
                used = {each.id for each in ast.walk(call.args[0]) if isinstance(each, ast.Name)}
                passed_on = not any(map(str.isalpha, template(call.args[0])))
                if passed_on and used & set(parameters):
                    found[node.name] = Maker(_name(call), call.args[0], parameters, call)
    return found


def template(node, known=None):
    """Return the constant parts of a text, with holes between them and known names filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return _joined(template(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return template(node.value, known) if isinstance(node.value, ast.Name) else HOLE
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined((template(node.left, known), template(node.right, known)))
    if isinstance(node, ast.Name) and known and node.id in known:
        return template(known[node.id])
    return HOLE


def _joined(parts):
    text = ''.join(parts)
    while 2 * HOLE in text:
        text = text.replace(2 * HOLE, HOLE)
    return text


def _folder(file):
    return file.rpartition('/')[0]


def _name(call):
    return getattr(call.func, 'id', getattr(call.func, 'attr', ''))


def _made(call, makers):
    """Return class and message of the errors that a call makes: none, one, or one of several."""
    name = _name(call)
    if name == 'NameNotFound':
        return [(name, f'there is no {template(call.args[0])} named {HOLE}')]
    if name in CLASSES or name == USAGE:
        return [(name, template(each)) for each in _cases(call.args[0])]
    maker = makers.get(name)
    if maker is None or not call.args or len(call.args) > len(maker.parameters):
        return []
    known = dict(zip(maker.parameters, call.args)) | {
        each.arg: each.value for each in call.keywords
    }
    used = next(
        each.id
        for each in ast.walk(maker.message)
        if isinstance(each, ast.Name) and each.id in known
    )
    return [
        (maker.kind, template(maker.message, known | {used: each})) for each in _cases(known[used])
    ]


def _cases(node):
    """Return the texts that a conditional expression chooses between."""
    return [*_cases(node.body), *_cases(node.orelse)] if isinstance(node, ast.IfExp) else [node]
