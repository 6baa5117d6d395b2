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
Errors that name the culprit, say why, and say what to do.

Every error raised on purpose is a ``ClosedChainError``. Its message is one paragraph:
``where: why. repair`` - so that a terminal, a log and a diagnostics topic can show it as it is.
"""

from collections.abc import Iterable, Sequence
import difflib

__all__ = [
    'ActuationError',
    'AssemblyError',
    'ClosedChainError',
    'DescriptionError',
    'GenerationError',
    'NameNotFound',
    'SingularityError',
    'StateError',
    'StructureError',
    'alternatives',
    'nearest_names',
]


class ClosedChainError(Exception):
    """
    Base of every error of the package.

    ``where`` names the culprit (file, element, joint), ``why`` says what is wrong with it and
    ``repair`` what to do; each is plain text, and ``str(error)`` joins them.
    """

    def __init__(self, why: str, *, where: str = '', repair: str = '', file: object = '') -> None:
        self.why = why
        self.where = where
        self.repair = repair
        self.file = str(file)
        place = ', '.join(part for part in (self.file, where) if part)
        message = f'{place}: {why}' if place else why
        if repair:
            message = f'{message.rstrip(".")}. {repair}'
        super().__init__(message)


class DescriptionError(ClosedChainError):
    """A file, or an element of it, that no mechanism can be built from."""


class StateError(ClosedChainError):
    """A configuration, velocity, acceleration or torque that does not fit the mechanism."""


class AssemblyError(ClosedChainError):
    """Loops that stay open: the pose asked for does not exist, or was not found."""


class SingularityError(ClosedChainError):
    """A pose too close to a singularity for the chosen policy."""


class ActuationError(ClosedChainError):
    """Actuators that cannot provide what was asked for."""


class StructureError(ClosedChainError):
    """A connection or a cut that the mechanism does not allow."""


class GenerationError(ClosedChainError):
    """Code that cannot be generated, compiled or stored on this machine."""


class NameNotFound(ClosedChainError, KeyError):
    """A name that is not in the mechanism; the message offers the nearest ones."""

    def __init__(
        self,
        kind: str,
        name: object,
        known: Iterable[object],
        *,
        file: object = '',
        where: str = '',
    ) -> None:
        self.name = name
        super().__init__(
            f'there is no {kind} named {name!r}',
            where=where,
            repair=nearest_names(name, known),
            file=file,
        )

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError would print the repr


def alternatives(names: Sequence[object]) -> str:
    """Return names as a choice: 'a', 'b' or 'c'."""
    *first, last = map(repr, names)
    return f'{", ".join(first)} or {last}' if first else last


def nearest_names(name: object, known: Iterable[object], *, most: int = 3) -> str:
    """Return a sentence that offers the known names closest to a misspelt one."""
    names = list(dict.fromkeys(str(each) for each in known))
    near = difflib.get_close_matches(str(name), names, n=most, cutoff=0.5)
    if near:
        return f'Did you mean {alternatives(near)}?'
    if not names:
        return 'There are none.'
    shown = ', '.join(names[:12]) + (f' and {len(names) - 12} more' if len(names) > 12 else '')
    return f'Known: {shown}.'
