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

"""What finds no place, or changes, on the way from or to a file: one sentence per kind."""

from closed_chain_dynamics.description.fields import Reader, some_of

__all__ = ['LeftOut']

MOST_NAMES = 4


class LeftOut:
    """Collects names by kind."""

    def __init__(self) -> None:
        self.kinds: dict[str, list[str]] = {}
        self.effects: dict[str, str] = {}
        self.changes: dict[str, list[str]] = {}

    def add(self, kind: str, name: str, effect: str = '') -> None:
        """Count one element of a kind; the last effect that is given is told."""
        self.kinds.setdefault(kind, []).append(name)
        if effect:
            self.effects[kind] = effect

    def change(self, what: str, name: str) -> None:
        """Count one element that is there in another form."""
        self.changes.setdefault(what, []).append(name)

    def sentences(self) -> list[str]:
        """Return one sentence per kind, what is left out first, then what is changed."""
        found = []
        for kind, names in self.kinds.items():
            effect = f'; {self.effects[kind]}' if kind in self.effects else ''
            found.append(f'Left out: {kind}{_listed(names)}{effect}.')
        return found + [f'Changed: {what}{_listed(each)}.' for what, each in self.changes.items()]

    def say(self, reader: Reader) -> None:
        """Write one note per kind."""
        for sentence in self.sentences():
            reader.note(sentence)


def _listed(names: list[str]) -> str:
    named = [name for name in names if name]
    return f' ({len(names)}: {some_of(named, most=MOST_NAMES)})' if named else ''
