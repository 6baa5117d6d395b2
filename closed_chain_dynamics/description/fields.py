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
Attributes of XML elements as checked Python values.

A Reader knows the file, so every complaint names file, line and element.
"""

from collections.abc import Collection, Sequence
import logging
import math
from typing import Any, TypeVar

from lxml import etree

from closed_chain_dynamics.description.elements import Numbers, Pose
from closed_chain_dynamics.description.xml_parsing import CC
from closed_chain_dynamics.errors import DescriptionError, nearest_names

__all__ = ['UNLIMITED', 'Reader', 'shown_tag', 'some_of', 'unit_vector']

Default = TypeVar('Default')

logger = logging.getLogger('closed_chain_dynamics')

# A written effort or speed of this size or more means none: standard parsers insist on a number.
UNLIMITED = 1e30
# Below this an axis is zero; a unit vector that was rounded to doubles stays as it was written,
# so that writing and reading again gives the same numbers.
ZERO_AXIS = 1e-9
UNIT_ROUNDING = 1e-14
WORTH_A_NOTE = 1e-2


class Reader:
    """Read values from the elements of one file and collect notes about it."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.notes: list[str] = []
        self.places: dict[
            tuple[str, str], list[str]
        ] = {}  # (kind, name) -> where it stands, for checks of the whole
        self._ignored: set[tuple[str, str]] = set()

    def place(self, element: Any) -> str:
        """Return e.g. 'line 12, <joint name="knee">'."""
        name = element.get('name')
        tag = shown_tag(element)
        shown = f'<{tag} name="{name}">' if name is not None else f'<{tag}>'
        parent = element.getparent()
        while parent is not None and parent.get('name') is None:
            parent = parent.getparent()
        if name is None and parent is not None and shown_tag(parent) != 'robot':
            shown += f' of <{shown_tag(parent)} name="{parent.get("name")}">'
        return f'line {element.sourceline}, {shown}'

    def error(self, element: Any, why: str, repair: str = '') -> DescriptionError:
        """Return a DescriptionError that points at an element."""
        return DescriptionError(why, where=self.place(element), repair=repair, file=self.label)

    def note(self, sentence: str) -> None:
        """Keep a warning, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def remember(self, kind: str, name: str, element: Any) -> None:
        """Keep the place of a named element for the checks of the whole."""
        self.places.setdefault((kind, name), []).append(self.place(element))

    def where(self, kind: str, name: str, which: int = 0) -> str:
        """Return the place that was remembered, or just what it is."""
        found = self.places.get((kind, name), [])
        tag = {'loop': 'constraint', 'spring': 'cc:spring', 'assembly': 'cc:assembly'}.get(
            kind, kind
        )
        return found[which] if which < len(found) else f'<{tag} name="{name}">'

    # ---- children ---------------------------------------------------------------------------

    def child(self, element: Any, tag: str, *, required: bool = False, example: str = '') -> Any:
        """Return the only child with this tag ('cc:x' for the own namespace), or None."""
        found = element.findall(_qualified(tag))
        if len(found) > 1:
            raise self.error(
                element, f'it has {len(found)} <{tag}> elements', f'Keep one <{tag}>.'
            )
        if not found and required:
            raise self.error(element, f'it has no <{tag}>', f'Add {example or f"<{tag}/>"}.')
        return found[0] if found else None

    def children(self, element: Any, tag: str) -> list[Any]:
        """Return all children with this tag."""
        return list(element.findall(_qualified(tag)))

    def ignore_unknown(self, element: Any, known: Collection[str]) -> None:
        """Log and note each tag that nothing reads, once per kind of place."""
        for each in element.iterchildren(etree.Element):
            tag = shown_tag(each)
            if tag in known:
                continue
            if etree.QName(each).namespace == CC:
                raise self.error(
                    each,
                    f'<{tag}> does not belong inside <{shown_tag(element)}>',
                    'Move it to where the tag reference shows it.',
                )
            if (tag, shown_tag(element)) not in self._ignored:
                self._ignored.add((tag, shown_tag(element)))
                logger.warning(
                    '%s, %s: unknown tag <%s> is ignored', self.label, self.place(each), tag
                )
                self.note(
                    f'The tag <{tag}> inside <{shown_tag(element)}> is unknown and ignored '
                    f'(first at line {each.sourceline}).'
                )

    # ---- attributes -------------------------------------------------------------------------

    def text(
        self,
        element: Any,
        attribute: str,
        default: str | None = None,
        *,
        choices: Collection[str] | None = None,
    ) -> str:
        """Return an attribute as text; without a default it must be there and not be empty."""
        value = element.get(_qualified(attribute))
        if value is None or not value.strip():
            if default is not None and value is None:
                return default
            state = 'is missing' if value is None else 'is empty'
            raise self.error(
                element, f'the attribute {attribute} {state}', f'Write {attribute}="...".'
            )
        if choices is not None and value not in choices:
            raise self.error(element, f'{attribute} is {value!r}', nearest_names(value, choices))
        return str(value)

    def numbers(
        self,
        element: Any,
        attribute: str,
        default: Numbers | None = None,
        *,
        count: int | None = None,
        most: int | None = None,
    ) -> Numbers:
        """Return an attribute as a tuple of finite floats."""
        text = element.get(_qualified(attribute))
        if text is None:
            if default is not None:
                return default
            raise self.error(
                element,
                f'the attribute {attribute} is missing',
                f'Write {attribute}="{" ".join(["0"] * (count or 1))}".',
            )
        return self._parsed(element, attribute, text, count, most)

    def content(
        self, element: Any, *, count: int | None = None, most: int | None = None
    ) -> Numbers:
        """Return the text of an element as a tuple of finite floats."""
        return self._parsed(element, 'the text', element.text or '', count, most)

    def _parsed(
        self, element: Any, attribute: str, text: str, count: int | None, most: int | None
    ) -> Numbers:
        parts = text.split()
        if (count and len(parts) != count) or not parts or (most and len(parts) > most):
            wanted = (
                f'{count} number{"s" if count > 1 else ""}' if count else f'1 to {most} numbers'
            )
            raise self.error(
                element,
                f'{attribute} needs {wanted}, but is {text!r}',
                'Separate numbers by spaces.',
            )
        return tuple(self._number(element, attribute, part) for part in parts)

    def number(
        self,
        element: Any,
        attribute: str,
        default: float | None = None,
        *,
        least: float | None = None,
    ) -> float:
        """Return an attribute as a finite float, not below `least`."""
        if element.get(_qualified(attribute)) is None and default is not None:
            return default
        (value,) = self.numbers(element, attribute, count=1)
        if least is not None and value < least:
            raise self.error(
                element,
                f'{attribute} is {value:g}, but must not be below {least:g}',
                f'Correct {attribute}.',
            )
        return value

    def _number(self, element: Any, attribute: str, part: str) -> float:
        try:
            if '_' in part:  # Python would read 1_000 as a number, no other parser does
                raise ValueError
            value = float(part)
        except ValueError:
            raise self.error(
                element,
                f'{attribute} holds {part!r}, which is not a number',
                'Write a number such as 0.5 or 1e-3.',
            ) from None
        if not math.isfinite(value):
            raise self.error(
                element,
                f'{attribute} holds {part!r}, which is not finite',
                'Write a finite number, or leave an optional attribute out.',
            )
        return value

    def boolean(self, element: Any, attribute: str, default: Default) -> bool | Default:
        """Return an attribute as True or False."""
        value = element.get(attribute)
        if value is None:
            return default
        if value.strip().lower() in ('true', '1'):
            return True
        if value.strip().lower() in ('false', '0'):
            return False
        raise self.error(
            element,
            f'{attribute} is {value!r}',
            f'Write {attribute}="true" or {attribute}="false".',
        )

    def pose(self, element: Any) -> Pose:
        """Return the Pose of an origin element, identity when there is none."""
        if element is None:
            return Pose()
        zero = (0.0, 0.0, 0.0)
        return Pose(
            self.numbers(element, 'xyz', zero, count=3),
            self.numbers(element, 'rpy', zero, count=3),
        )

    def check_size(self, element: Any, size: Sequence[float]) -> None:
        """Refuse negative lengths of a shape."""
        if min(size) < 0.0:
            raise self.error(
                element, f'a size is negative ({min(size):g} m)', 'Write sizes of zero or more.'
            )

    def axis(
        self, element: Any, attribute: str = 'xyz', default: Numbers | None = None
    ) -> Numbers:
        """Return a unit vector; a zero one is refused."""
        raw = self.numbers(element, attribute, default, count=3)
        vector = unit_vector(raw)
        if vector is None:
            raise self.error(
                element,
                f'{attribute} is a zero vector, which has no direction',
                f'Write a direction such as {attribute}="0 0 1".',
            )
        if abs(math.hypot(*raw) - 1.0) > WORTH_A_NOTE:
            self.note(
                f'The vector {attribute} at {self.place(element)} is not a unit vector and '
                'was normalised.'
            )
        return vector


def some_of(names: Sequence[str], *, most: int = 8) -> str:
    """Return names for a sentence: the first few, and how many more there are."""
    more = f' and {len(names) - most} more' if len(names) > most else ''
    return ', '.join(names[:most]) + more


def unit_vector(vector: Sequence[float]) -> Numbers | None:
    """Return the vector scaled to length one, or None when it is zero."""
    largest = max(abs(value) for value in vector)
    if largest < ZERO_AXIS:
        return None
    if abs(math.hypot(*vector) - 1.0) <= UNIT_ROUNDING:
        return tuple(vector)
    scaled = [value / largest for value in vector]  # the squares must not overflow
    length = math.hypot(*scaled)
    return tuple(value / length for value in scaled)


def _qualified(tag: str) -> str:
    return f'{{{CC}}}{tag[3:]}' if tag.startswith('cc:') else tag


def shown_tag(element: Any) -> str:
    """Return the tag as a file writes it, such as 'cc:spring'."""
    name = etree.QName(element)
    if name.namespace == CC:
        return f'cc:{name.localname}'
    return f'{element.prefix}:{name.localname}' if element.prefix else name.localname
