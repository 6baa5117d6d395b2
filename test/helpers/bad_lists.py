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

"""Lists, expressions and calls that must be refused, and what the error tells."""

from dataclasses import replace
from functools import cache
import importlib
import sys
from unittest import mock

import sympy

from closed_chain_dynamics import symbolic
from closed_chain_dynamics.symbolic.list_expressions import FORCE_FUNCTIONS, parse_expression

PENDULUM = """
dimension: 2
coordinates: [q]
inputs: [T]
parameters: {m: 2, l: 0.5, g: }
gravity: [0, -g]
LRS:
  rod: [0, q]
pt:
  tip: [rod, l, 0]
seg:
  bob: [tip, m]
trq:
  hand: [0, rod, T]
"""
SPACE = """
dimension: 3
coordinates: [a, b, c]
parameters: {m: 1, A: 1}
gravity: [0, 0, -9.81]
LRS:
  body: [0, a, b, c]
pt:
  tip: [body, 0, 0, 1]
seg:
  body: [tip, m, A, A, A]
"""


def changed(old, new, text=PENDULUM):
    assert text.count(old) == 1, old
    return text.replace(old, new)


BAD = {
    'a frame that is not there': (
        changed('[rod, l, 0]', '[rood, l, 0]'),
        ('line 10, pt tip', "there is no LRS named 'rood'", "'rod'"),
    ),
    'a point that is not there': (
        changed('[tip, m]', '[top, m]'),
        ('line 12, seg bob', "there is no pt named 'top'", "'tip'"),
    ),
    'a ring': (
        changed('rod: [0, q]', 'rod: [tip, q]'),
        ('depends on itself: pt tip -> LRS rod -> pt tip', 'Attach one of them to 0'),
    ),
    'a ring of orientations': (
        changed('rod: [0, q]', 'rod: [0, q, arm]\n  arm: [0, q, rod]'),
        ('LRS rod -> LRS arm -> LRS rod',),
    ),
    'a point given twice': (
        changed('tip: [rod, l, 0]', 'tip: [rod, l, 0]\n  tip: [rod, 0, 0]'),
        ('line 10, pt tip', 'given again in line 11'),
    ),
    'a section given twice': (PENDULUM + 'pt: {a: [0, 0, 0]}', ('pt', 'given again')),
    'a quantity given twice': (
        changed('inputs: [T]', 'inputs: [T, m]'),
        ('inputs m', 'already used in parameters'),
    ),
    'a coordinate given twice': (
        changed('coordinates: [q]', 'coordinates: [q, q]'),
        ('coordinates q', 'already'),
    ),
    'an unknown key': (changed('trq:', 'torque:'), ("there is no key named 'torque'", "'trq'")),
    'a misspelt quantity': (
        changed('[tip, m]', '[tip, mm]'),
        ('line 12, seg bob', "'mm' uses 'mm'", "'m'"),
    ),
    'a coordinate in a mass': (changed('[tip, m]', '[tip, q]'), ("uses 'q'", 'seg bob')),
    'an input in a position': (changed('[rod, l, 0]', '[rod, T, 0]'), ("uses 'T'", 'pt tip')),
    'a corner in a position': (
        changed('[rod, l, 0]', '[rod, "max(0, q)", 0]'),
        ("calls 'max'", 'pt tip'),
    ),
    'a broken expression': (
        changed('[rod, l, 0]', '[rod, l*, 0]'),
        ('line 10, pt tip', "'l*' is not an expression"),
    ),
    'a comma without quotes': (
        changed('[0, rod, T]', '[0, rod, max(0, T)]'),
        ('trq hand', 'into quotes'),
    ),
    'space in the plane': (
        changed('[rod, l, 0]', '[rod, l, 0, 0]'),
        ('pt tip', 'position has 3 components, but dimension 2 takes 2'),
    ),
    'gravity of space in the plane': (
        changed('[0, -g]', '[0, 0, -g]'),
        ('gravity', '3 components'),
    ),
    'the plane in space': (
        changed('[body, 0, 0, 1]', '[body, 0, 0]', SPACE),
        ('pt tip', 'position has 2 components'),
    ),
    'two angles in space': (
        changed('[0, a, b, c]', '[0, a, b]', SPACE),
        ('LRS body', '3 values do not make an entry', '[x, y, z, w]'),
    ),
    'a short quaternion': (
        changed('[0, a, b, c]', '[0, [a, b, c]]', SPACE),
        ('LRS body', 'do not make an entry'),
    ),
    'two moments of inertia': (
        changed('A, A, A', 'A, A', SPACE),
        ('seg body', 'inertia has 2 components', '0 or 3 or 6'),
    ),
    'unknown axes': (SPACE + 'euler: zxw', ("'zxw'", 'zxz')),
    'inertia of a point that does not turn': (
        changed('bob: [tip, m]', 'bob: [0, m, 1]'),
        ('seg bob', 'does not turn'),
    ),
    'dimension 4': (changed('dimension: 2', 'dimension: 4'), ("is '4'", '2 or 3')),
    'no gravity': (changed('gravity: [0, -g]', ''), ("'gravity' is missing", '[0, -g]')),
    'no coordinates': (changed('coordinates: [q]', 'coordinates: []'), ('no coordinates',)),
    'a reserved name': (
        changed('coordinates: [q]', 'coordinates: [q, t]'),
        ('coordinates t', 'cannot be the name'),
    ),
    'a keyword': (
        changed('coordinates: [q]', 'coordinates: [q, lambda]'),
        ('coordinates lambda', 'cannot be the name'),
    ),
    'the name of a velocity': (
        changed('{m: 2,', '{q_dot: 1, m: 2,'),
        ('parameters q_dot', 'velocity'),
    ),
    'an entry for index 0': (
        changed('tip: [rod, l, 0]', 'tip: [rod, l, 0]\n  0: [0, 0, 0]'),
        ('pt 0', 'global reference system'),
    ),
    'a value that is text': (changed('m: 2', 'm: heavy'), ('parameters m', "'heavy'")),
    'too few values': (changed('[0, rod, T]', '[0]'), ('trq hand', '[LRS, LRS, tau]')),
    'too many values': (PENDULUM + 'joint: {j: [0, tip, tip]}', ('joint j', '[pt, pt]')),
    'no list': (changed('[tip, m]', 'tip'), ('seg bob', 'a list is expected')),
    'a list of lists': (changed('[tip, m]', '[[tip], m]'), ('seg bob', 'single value')),
    'a name with blanks': (changed('bob:', '"a bob":'), ('is not a valid name',)),
    'broken yaml': (changed('[tip, m]', '[tip, m'), ('YAML is malformed', 'line')),
    'deep yaml': ('[' * 1000, ('deep',)),
    'no mapping': ('- 1', ('not a mapping', 'coordinates')),
    'nothing': ('', ('not a mapping',)),
    'no names': (changed('  bob: [tip, m]', '  - [tip, m]'), ('seg', 'entries with names')),
}

DERIVED = {
    'a massless coordinate': (PENDULUM.replace('[q]', '[q, idle]', 1), 'idle.*no mass'),
    'too many constraints': (PENDULUM + 'constraint: {a: q, b: X_tip}', 'act on only 1'),
    'a constant quaternion of length 2': (
        changed('[0, a, b, c]', '[0, [0, 0, 0, 2]]', SPACE),
        'LRS body.*length 1',
    ),
    'a torsional spring without a common axis': (
        SPACE + 'spt: {s: [0, body, 1, 1, 0]}',
        'spt s.*no common axis',
    ),
}

NO_EXPRESSIONS = [
    '__import__("os").system("true")',
    'x.__class__',
    'x[0]',
    '(lambda: 1)()',
    'x if x else x',
    '[x for x in x]',
    'f"{x}"',
    '"text"',
    'x and x',
    'x < 1',
    'True',
    '1j',
    'x := 2',
    'eval(x)',
    'sin',
    'sin()',
    'sin(x, x)',
    'atan2(x)',
    'max(x)',
    'sin(*x)',
    'sin(x=1)',
    '1/0',
    '1e999',
    '9**9**9',
    'x**1000',
    'x +',
    '',
    'lambda',
    '(' * 500 + 'x' + ')' * 500,
    'x' * 3000,
    '-' * 1500 + 'x',
    'y',
    'open(x)',
    'x; x',
    'x @ x',
    'x // x',
    'x % x',
    '~x',
    'not x',
    '0**-1',
    '\x00',
    'sqrt(-1)',
    'asin(2)',
    'log(-1)*x',
]


@cache
def stopped_pendulum():
    """Return equations that fail at q = 1, where the constraint has no slope, and l = 1."""
    return symbolic.lagrange(
        symbolic.parse_lists(
            changed('  tip:', '  hook: [0, 1, 0]\n  tip:')
            + """
spl: {rope: [hook, tip, 0, 1, 0]}
constraint: {stop: q*(q - 1)^2}
"""
        )
    )


@cache
def dynamics():
    """Return them compiled."""
    return stopped_pendulum().compile({'g': 9.81})


def read_file(data):
    """Return a call that reads a file of these bytes."""

    def run(at):
        (at / 'bad.yaml').write_bytes(data)
        symbolic.read_lists(at / 'bad.yaml')

    return run


def derive(text, **options):
    """Return a call that derives the equations of a text."""
    return lambda at: symbolic.lagrange(symbolic.parse_lists(text), **options)


def parse(text):
    """Return a call that parses an expression."""
    return lambda at: parse_expression(text, {'x': sympy.Symbol('x')}, functions=FORCE_FUNCTIONS)


def pendulum(**fields):
    """Return a call that changes the pendulum, as an object."""
    return lambda at: replace(symbolic.parse_lists(PENDULUM), **fields)


def without_sympy(at):
    """Import the folder where SymPy is not installed."""
    with mock.patch.dict(sys.modules, {'sympy': None}):
        importlib.reload(symbolic)


# All of them as calls with a folder: id -> function.
LISTS = {
    **{f'list: {name}': read_file((text or ' ').encode()) for name, (text, _) in BAD.items()},
    **{f'equations: {name}': derive(text) for name, (text, _) in DERIVED.items()},
    **{f'expression: {text[:30]}': parse(text) for text in NO_EXPRESSIONS},
    'a list file that is not there': lambda at: symbolic.read_lists(at / 'nowhere.yaml'),
    'a list file that is no text': read_file(b'\xff\xfe\x00'),
    'a list of objects in another dimension': pendulum(dimension=4),
    'a list of objects with a foreign symbol': pendulum(gravity=(0, sympy.Symbol('G'))),
    'a model that takes too long': derive(SPACE, longest=1e-6),
    'no value of a parameter': lambda at: stopped_pendulum().compile(),
    'a value of no parameter': lambda at: stopped_pendulum().compile({'mass': 1}),
    'a value of a parameter that is text': lambda at: stopped_pendulum().compile({'g': 'much'}),
    'a state of text': lambda at: dynamics()(['up'], [0]),
    'inputs of text': lambda at: dynamics()([1], [0], {'T': 'much'}),
    'a state of another size': lambda at: dynamics()([1, 2], [0]),
    'inputs of another size': lambda at: dynamics()([1], [0], [1, 2]),
    'an unknown input': lambda at: dynamics()([1], [0], {'TT': 1}),
    'a state that is no number': lambda at: dynamics()([float('nan')], [0]),
    'no SymPy': without_sympy,
    'a constraint without slope': lambda at: dynamics().accelerations([1.0], [0.0]),
}
