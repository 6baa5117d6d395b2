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
Spoils inputs: bytes anywhere, or the structure of what a format holds.

Every mutant is a function of its input and a random generator alone, so that a seed number brings
it back.
"""

from collections.abc import Callable
import copy
import io
from random import Random
import zipfile

from lxml import etree
import numpy as np
import yaml

__all__ = ['archive', 'bits', 'fields', 'table', 'words', 'xml']

Mutant = Callable[[bytes, Random], bytes]

NUMBERS = (
    *('0', '-0', '1', '-1', '0.5', '1e-308', '5e-324', '1e308', '-1e308', '1e400', '1e154'),
    *(
        'nan',
        'inf',
        '-inf',
        '1_0',
        '0x10',
        '1e',
        '--1',
        '1,5',
        '2147483648',
        '18446744073709551616',
    ),
    *(
        '9' * 400,
        '0 0 0',
        '1 0',
        '0 0 0 0 0 0 0',
        '1e308 1e308 1e308',
        'nan nan nan',
        '1e-320 0 0',
    ),
)
NAMES = (
    *('', ' ', 'a b', 'a/b', '../../etc/passwd', '/etc/passwd', 'ä', '\u202e', '\U0001f9be', '٣'),
    *(
        "'",
        '"',
        '<',
        '&amp;',
        '{}',
        '{0}',
        '%s',
        '%n',
        '$(env HOME)',
        '${1/0}',
        '*',
        '@',
        ':',
        'q:',
    ),
    *(
        'x' * 5000,
        'world',
        'base',
        'root_joint',
        'true',
        'false',
        'none',
        '~',
        '\x7f',
        'a\nb',
        '__',
    ),
    *('file:///etc/passwd', 'package://x/../../../etc/passwd', 'http://localhost/x'),
)
YAML_VALUES = (None, True, -1, 0, 10**30, 1e308, float('nan'), float('inf'), [], {}, [[]], [None])
BYTES = (
    b'\0',
    b'\xff\xfe',
    b'\xef\xbb\xbf',
    b'<!DOCTYPE a [<!ENTITY b "c">]>',
    b'&b;',
    b'<![CDATA[',
)
BYTES += (
    b']]>',
    b'<?x?>',
    b'<!--',
    b'-->',
    b'"',
    b"'",
    b'{',
    b'[',
    b'*a',
    b'&a ',
    b'!!python/name:',
    b'\r',
)
COUNTS = (0, 1, 2, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000000)
DEEP = (50, 300, 5000)
LONGEST = 2**20  # bytes: doubling again and again would test nothing but size


def bits(data: bytes, rng: Random) -> bytes:
    """Return bytes of which some are changed, left out, repeated or put in."""
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, length = rng.randrange(len(spoilt) + 1), rng.choice((1, 1, 2, 4, 8, 64, 1000))
        part = spoilt[at : at + length]
        spoilt[at : at + length] = rng.choice(
            (
                lambda: bytes(rng.randrange(256) for _ in part),
                lambda: b'',
                lambda: bytes(part * rng.choice((2, 3, 100))),
                lambda: rng.choice(BYTES) + part,
                lambda: bytes(b ^ (1 << rng.randrange(8)) for b in part),
                lambda: rng.choice(NUMBERS).encode(),
                lambda: rng.choice(COUNTS).to_bytes(4, 'little'),
                lambda: np.float64(rng.choice((np.nan, np.inf, 1e308, -1e300, 1e-320))).tobytes(),
            )
        )()
    if rng.random() < 0.1:
        del spoilt[rng.randrange(len(spoilt) + 1) :]
    return bytes(spoilt[:LONGEST])


def words(data: bytes, rng: Random) -> bytes:
    """Return a text of which some words are others."""
    parts = data.decode('utf-8', 'replace').split(' ')
    for _ in range(rng.choice((1, 1, 2, 5))):
        word = rng.choice((*parts, *NUMBERS, *NAMES))
        parts[rng.randrange(len(parts))] = word
    return ' '.join(parts)[:LONGEST].encode('utf-8', 'replace')


def xml(data: bytes, rng: Random) -> bytes:
    """Return a document with other elements, attributes and texts."""
    try:
        root = etree.fromstring(
            data, etree.XMLParser(remove_comments=True, resolve_entities=False)
        )
    except (etree.XMLSyntaxError, ValueError):
        return bits(data, rng)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        _change_element(root, rng)
    return etree.tostring(root)[:LONGEST]


def _change_element(root, rng: Random) -> None:
    elements = list(root.iter(etree.Element))
    one, other = rng.choice(elements), rng.choice(elements)
    what = rng.randrange(11)
    if what < 4 and one.attrib:
        values = [value for each in elements for value in each.attrib.values()]
        one.set(
            rng.choice(one.keys()),
            _text(
                rng.choice(
                    (
                        rng.choice(NUMBERS),
                        rng.choice(NAMES),
                        rng.choice(values),
                        rng.choice(values),
                    )
                )
            ),
        )
    elif what == 4 and one.attrib:
        del one.attrib[rng.choice(one.keys())]
    elif what == 5 and one is not root:
        one.getparent().remove(one)
    elif what == 6:  # a copy of it elsewhere: twice the same name, or out of place
        other.insert(rng.randrange(len(other) + 1), copy.deepcopy(one))
    elif what == 7:
        one.tag = other.tag
    elif what == 8:
        one.text = _text(rng.choice((*NUMBERS, *NAMES)))
    elif what == 9 and other.attrib:
        one.set(rng.choice(other.keys()), _text(rng.choice(other.values())))
    elif what == 10 and rng.random() < 0.2:
        for _ in range(rng.choice(DEEP)):
            one = etree.SubElement(one, other.tag)


def _text(value: str) -> str:
    """Return what XML can hold of a text."""
    return ''.join(c for c in value if c in '\t\n\r' or c >= ' ')


def fields(data: bytes, rng: Random) -> bytes:
    """Return YAML or JSON with other values at some places."""
    if rng.random() < 0.05:
        return rng.choice(
            (
                _laughs(rng),
                b'[' * rng.choice(DEEP),
                b'{a: ' * rng.choice(DEEP),
                b'&a [*a]',
                b'a: &a {b: *a}',
            )
        )
    try:
        content = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError):
        return bits(data, rng)
    holder = [content]
    for _ in range(rng.choice((1, 1, 2, 4))):
        _change_value(holder, rng)
    try:
        return yaml.safe_dump(
            holder[0],
            allow_unicode=True,
            default_flow_style=rng.choice((None, True)),
            sort_keys=False,
        ).encode('utf-8', 'replace')[:LONGEST]
    except (yaml.YAMLError, RecursionError):
        return bits(data, rng)


def _laughs(rng: Random) -> bytes:
    """Return YAML whose aliases stand for ever more: short as a text, long when written out."""
    key = rng.choice((b'closed_loop', b'vary', b'responses', b'q', b'pt', b'name', b'coordinates'))
    lines = [b'a0: &a0 [x, x, x, x, x, x, x, x, x]']
    lines += [
        b'a%d: &a%d [%s]' % (k, k, b', '.join([b'*a%d' % (k - 1)] * 9)) for k in range(1, 10)
    ]
    return (
        b'\n'.join([*lines, key + b': *a9'])
        if rng.random() < 0.5
        else key + b': {' + b', '.join(lines) + b'}'
    )


def _change_value(holder: list, rng: Random) -> None:
    places, seen = [(holder, 0)], set()
    for parent, key in places:
        value = parent[key]
        if id(value) in seen:  # aliases: what they stand for may have no end
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            places += [(value, each) for each in value]
        elif isinstance(value, list):
            places += [(value, each) for each in range(len(value))]
    parent, key = rng.choice(places)
    other, where = rng.choice(places)
    what = rng.randrange(6)
    if what < 3:
        parent[key] = rng.choice(
            (rng.choice(NUMBERS), rng.choice(NAMES), rng.choice(YAML_VALUES), _number(rng))
        )
    elif what == 3 and isinstance(parent, dict):
        parent[rng.choice((rng.choice(NAMES), key, 1, None, 'a'))] = copy.deepcopy(other[where])
    elif what == 4 and parent is not holder:
        del parent[key]
    else:
        parent[key] = copy.deepcopy(other[where])


def _number(rng: Random) -> float:
    return rng.choice(
        (rng.uniform(-10, 10), 10.0 ** rng.randrange(-320, 309), rng.randrange(-5, 10**10))
    )


def table(data: bytes, rng: Random) -> bytes:
    """Return CSV with other cells and lines."""
    rows = [line.split(',') for line in data.decode('utf-8', 'replace').splitlines()] or [['']]
    for _ in range(rng.choice((1, 1, 2, 5))):
        k = rng.choice((0, rng.randrange(len(rows))))
        row, what = rows[k], rng.randrange(6)
        at = rng.randrange(len(row)) if row else 0
        if what < 3 and row:
            row[at] = rng.choice((*NUMBERS, *NAMES, *rows[0]))
        elif what == 3 and row:
            del row[at:]
        elif what == 4:
            rows.insert(k, list(row))
        elif len(rows) > 1:
            del rows[k]
    return '\n'.join(','.join(row) for row in rows)[:LONGEST].encode('utf-8', 'replace')


def archive(data: bytes, rng: Random) -> bytes:
    """Return an .npz with other arrays, or arrays whose heads lie."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = {name: file.read(name) for name in file.namelist()}
    except Exception:  # of zipfile, which has many
        return bits(data, rng)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice([*members])
        what = rng.randrange(5)
        if what == 0:
            del members[name]
        elif what == 1:
            members[name] = members[rng.choice([*members])]
        elif what == 2:
            members[name] = bits(members[name], rng)
        elif what == 3:
            members[name] = _array(rng)
        else:
            shape = rng.choice(
                (b'(9999999999999,)', b'(-1,)', b'(2, 2)', b'()', b'(0,)', b'(99999999, 99999999)')
            )
            head, mark, rest = members[name].partition(b"'shape': ")
            members[name] = head + mark + shape + rest[len(shape) :]
        if not members:
            break
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, 'w', zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return packed.getvalue()


def _array(rng: Random) -> bytes:
    """Return an array of some kind as a file."""
    values = rng.choice((np.nan, 1e308, -1, 2**40, 'x' * 100, True, b'y', 1j))
    shape = rng.choice(((), (0,), (1,), (3,), (2, 2), (1, 1, 6), (0, 5)))
    file = io.BytesIO()
    np.save(file, np.full(shape, values))
    return file.getvalue()
