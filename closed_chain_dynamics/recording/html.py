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

"""How objects show themselves in a notebook: a title, facts and tables, without any script."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ['Table', 'shown']

Table = tuple[str, Sequence[str], Iterable[Sequence[object]]]  # title, heads, rows


def shown(title: str, facts: Iterable[tuple[str, object]], tables: Iterable[Table] = ()) -> str:
    """Return a title, facts by name and tables as HTML; everything in it is escaped."""
    parts = [f'<strong>{escape(title)}</strong>', _table((), facts)]
    for heading, heads, rows in tables:
        written = _table(heads, rows)
        parts += [f'<div>{escape(heading)}</div>', written] if written else []
    return f'<div>{"".join(parts)}</div>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table, or nothing where it has no rows."""
    lines = [
        ''.join(f'<td style="text-align:left">{escape(str(cell))}</td>' for cell in row)
        for row in rows
    ]
    if not lines:
        return ''
    head = ''.join(f'<th style="text-align:left">{escape(each)}</th>' for each in heads)
    body = ''.join(f'<tr>{line}</tr>' for line in lines)
    return f'<table>{f"<tr>{head}</tr>" if heads else ""}{body}</table>'
