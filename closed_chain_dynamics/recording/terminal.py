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

"""How text is written for people: colours and box lines in a terminal, plain in a pipe."""

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
import os
import shutil
import textwrap
import time
from typing import Any, TextIO

__all__ = [
    'Bar',
    'Cell',
    'Progress',
    'Report',
    'Style',
    'bullets',
    'closing_sections',
    'count',
    'number',
    'sections',
    'table',
]

Progress = Callable[[float], object]  # is told the share that is done
Report = dict[str, Any]  # what a command found out: plain values, fit for JSON
Cell = object  # a text, anything that is written as one, or (text, look)

NARROWEST = 24  # characters of the last column of a table that is too wide, at least
BAR_AFTER = 0.5  # a bar is shown for what takes longer than this [s]
REDRAW = 0.1  # between two drawings of it [s]
BAR = 30  # characters
SHOWN_ROUNDING = 1e-12  # share of another number below which a number is rounding error


@dataclass(frozen=True)
class Style:
    """How to write for a stream: colours and box lines in a terminal, plain text in a pipe."""

    colour: bool = False
    lines: bool = False
    width: int = 0  # where to wrap sentences; 0: never, one line stays one line for grep

    @classmethod
    def of(cls, stream: TextIO) -> 'Style':
        """Return the style that fits a stream."""
        if not stream.isatty() or os.environ.get('TERM') == 'dumb':
            return cls()
        return cls(
            colour=not os.environ.get('NO_COLOR'),
            lines='utf' in (stream.encoding or '').lower(),
            width=min(shutil.get_terminal_size().columns, 99),
        )

    def paint(self, text: str, *looks: str) -> str:
        """Return the text in bold, dim or a colour."""
        codes = {'bold': 1, 'dim': 2, 'red': 31, 'green': 32, 'yellow': 33, 'cyan': 36}
        if not (self.colour and text and looks):
            return text
        return f'\033[{";".join(str(codes[look]) for look in looks)}m{text}\033[0m'


def table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], style: Style) -> list[str]:
    """
    Line up columns; a cell is text, or text and its look. Without rows there is no table.

    Where a terminal is too narrow the last column is wrapped, so that the others stay in line.
    """
    cells = [[_cell(each) for each in row] for row in [[(head, 'dim') for head in heads], *rows]]
    used = [i for i in range(len(heads)) if any(row[i][0] for row in cells[1:])]
    if not used:
        return []
    widths = [max(len(row[i][0]) for row in cells) for i in used]
    room = style.width and max(style.width - 2 - sum(widths[:-1]) - 2 * len(used[1:]), NARROWEST)
    lines = []
    for row in cells:
        *first, (last, look) = (row[i] for i in used)
        for part in (textwrap.wrap(last, room) if room else []) or [last]:
            shown = zip([*first, (part, look)], widths)
            painted = [
                style.paint(text, *filter(None, [look])) + ' ' * (width - len(text))
                for (text, look), width in shown
            ]
            lines.append('  '.join(painted).rstrip())
            first = [('', '')] * len(first)
    return lines


def _cell(cell: Cell) -> tuple[str, str]:
    return (str(cell[0]), str(cell[1])) if isinstance(cell, tuple) else (str(cell), '')


def bullets(sentences: Iterable[str], style: Style) -> list[str]:
    """Return sentences as a list with dashes, wrapped to the terminal."""
    rows = []
    for sentence in sentences:
        lines = textwrap.wrap(sentence, style.width - 4) if style.width > 24 else [sentence]
        rows += [
            ('- ' if i == 0 else '  ') + style.paint(line, 'yellow')
            for i, line in enumerate(lines)
        ]
    return rows


def sections(parts: Iterable[tuple[str, list[str]]], style: Style) -> str:
    """Return (title, lines) as text: indented under their titles, empty ones left out."""
    blocks = []
    for title, lines in parts:
        if lines:
            lines = [f'  {line}'.rstrip() for line in lines] if title else lines
            blocks.append('\n'.join([style.paint(title, 'bold')] * bool(title) + lines))
    return '\n\n'.join(blocks)


def closing_sections(report: Report, style: Style) -> list[tuple[str, list[str]]]:
    """Return the sections that end a report: the files that were written, and warnings."""
    files = [list(each) for each in report['files'].items()]
    return [
        ('Files', table(['', ''], files, style)[1:]),
        ('Warnings', bullets(report['warnings'], style)),
    ]


def count(items: Sized, noun: str) -> str:
    """Return for instance '1 link' or '3 links'."""
    return f'{len(items)} {noun}{"s" * (len(items) != 1)}'


def number(value: float, digits: int = 4, *, beside: float = 0.0) -> str:
    """
    Return a number short enough for people; never '-0'.

    `beside`: the size of what it is compared with; next to it, a rounding error is written as 0.
    """
    if abs(value) <= SHOWN_ROUNDING * beside:
        value = 0.0
    return f'{value + 0.0:.{digits}g}'


class Bar:
    """A line that shows how far something is; nothing on what is not a terminal."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self.label, self.stream = label, stream
        self.begun = self.drawn = time.monotonic()
        self.visible = False

    def __call__(self, share: float, note: str = '') -> None:
        """Show a share of the work, 0 to 1, as done; a note replaces the time that is left."""
        now = time.monotonic()
        if now - self.begun < BAR_AFTER or now - self.drawn < REDRAW:
            return
        full = round(BAR * share)
        # The first hundredth says little about the rest.
        left = f', {(now - self.begun) * (1.0 / share - 1.0):.0f} s left' if share > 0.01 else ''
        left = note or left
        self.stream.write(
            f'\r{self.label} [{"#" * full}{"." * (BAR - full)}] {100 * share:3.0f} %{left} \033[K'
        )
        self.stream.flush()
        self.drawn, self.visible = now, True

    def __enter__(self) -> 'Bar | None':
        return self if self.stream.isatty() else None

    def __exit__(self, *_: object) -> None:
        if self.visible:
            self.stream.write('\r\033[K')
            self.stream.flush()
