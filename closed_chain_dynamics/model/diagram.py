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
A mechanism as a small drawing for a notebook: its tree from left to right, loops as dashed arcs.

Links are boxes, tree joints the lines between them; an actuated joint is drawn bold, an open loop
pale. It is SVG without scripts and without references to anything.
"""

from collections.abc import Mapping, Sequence
from html import escape

from closed_chain_dynamics.description import Description, LoopJoint

__all__ = ['draw_tree']

ROW_HEIGHT, NAME_WIDTH, LETTER_WIDTH, BOX_HEIGHT = (
    46,
    120,
    7,
    22,
)  # heights, width for a joint's name, of a letter [px]
# depth and row, left edge, width and middle of the box of every link
Drawn = tuple[dict[str, tuple[int, int]], dict[str, int], dict[str, int], dict[str, int]]
MOST_LINKS = 60  # links beyond which the drawing would hide more than it shows


def draw_tree(
    description: Description, actuated: Sequence[str], closed: Mapping[str, bool]
) -> str:
    """Return SVG, or nothing for a mechanism with too many links; `closed`: loops by name."""
    if len(description.links) > MOST_LINKS:
        return ''
    places = _places(description)
    wide = {name: LETTER_WIDTH * len(name) + 12 for name in places}
    column, columns = 0, dict[int, int]()
    for depth in range(1 + max(depth for depth, _ in places.values())):
        columns[depth] = column
        column += NAME_WIDTH + max(
            wide[name] for name, (each, _) in places.items() if each == depth
        )
    left = {name: columns[depth] for name, (depth, _) in places.items()}
    middle = {name: int(ROW_HEIGHT * (row + 0.5)) for name, (_, row) in places.items()}
    parts = []
    for joint in description.joints:
        x, y = left[joint.parent] + wide[joint.parent], middle[joint.parent]
        to_x, to_y = left[joint.child], middle[joint.child]
        width = 3 if joint.name in actuated else 1
        parts += [
            f'<path d="M{x} {y} C{x + 30} {y} {x + 10} {to_y} {x + 40} {to_y} L{to_x} {to_y}" '
            f'fill="none" stroke="currentColor" stroke-width="{width}"/>',
            _text(to_x - 5, to_y - 4, joint.name, 'end'),
        ]
    for loop in description.loops:
        parts += _loop(loop, (places, left, wide, middle), bool(closed.get(loop.name)))
    for name in places:
        parts += [
            f'<rect x="{left[name]}" y="{middle[name] - BOX_HEIGHT / 2}" width="{wide[name]}" '
            f'height="{BOX_HEIGHT}" rx="4" fill="none" stroke="currentColor"/>',
            _text(left[name] + 6, middle[name] + 4, name),
        ]
    column += LETTER_WIDTH * max((len(loop.name) for loop in description.loops), default=0)
    size = f'width="{column}" height="{max(middle.values()) + 2 * ROW_HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def _loop(loop: LoopJoint, drawn: Drawn, closed: bool) -> list[str]:
    """Return the arc of a loop: below its links, or to their right where they share a column."""
    places, left, wide, middle = drawn
    ends = loop.parent, loop.child
    beside = places[ends[0]][0] == places[ends[1]][0]
    along, down = (1.0, 0.25) if beside else (0.5, 0.5)  # where it leaves a box
    (from_x, from_y), (end_x, end_y) = (
        (left[end] + along * wide[end], middle[end] + down * BOX_HEIGHT) for end in ends
    )
    if beside:
        far = max(from_x, end_x) + ROW_HEIGHT
        bow, anchor = (far, from_y, far, end_y), 'start'
        name_at = far - 8, (from_y + end_y) / 2 + 4
    else:
        low = max(from_y, end_y) + ROW_HEIGHT / 2
        bow, anchor = (from_x, low, end_x, low), 'middle'
        name_at = (from_x + end_x) / 2, low - 0.1 * ROW_HEIGHT
    return [
        f'<path d="M{from_x} {from_y} C{" ".join(map(str, bow))} {end_x} {end_y}" fill="none" '
        f'stroke="#d9480f" stroke-dasharray="5 3" opacity="{1.0 if closed else 0.35}"/>',
        _text(*name_at, loop.name, anchor, '#d9480f'),
    ]


def _places(description: Description) -> dict[str, tuple[int, int]]:
    """Return depth and row of every link; a first child stays in the row of its parent."""
    children: dict[str, list[str]] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    places: dict[str, tuple[int, int]] = {}
    todo, row = [(description.root, 0, False)], 0
    while todo:
        name, depth, below = todo.pop()
        row += below
        places[name] = depth, row
        for number, child in reversed(list(enumerate(children.get(name, ())))):
            todo.append((child, depth + 1, number > 0))
    return places


def _text(x: float, y: float, text: str, anchor: str = 'start', fill: str = 'currentColor') -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="11" font-family="monospace" text-anchor="{anchor}" '
        f'fill="{fill}">{escape(text)}</text>'
    )
