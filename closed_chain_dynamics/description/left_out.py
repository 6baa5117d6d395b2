"""What a file states and a description has no place for: one note per kind, with its effect."""

from closed_chain_dynamics.description.fields import Reader, some_of

__all__ = ['LeftOut']

MOST_NAMES = 4


class LeftOut:
    """Collects names by kind."""

    def __init__(self) -> None:
        self.kinds: dict[str, list[str]] = {}
        self.effects: dict[str, str] = {}

    def add(self, kind: str, name: str, effect: str = '') -> None:
        """Count one element of a kind; the last effect that is given is told."""
        self.kinds.setdefault(kind, []).append(name)
        if effect:
            self.effects[kind] = effect

    def sentences(self) -> list[str]:
        """Return one sentence per kind."""
        found = []
        for kind, names in self.kinds.items():
            named = [name for name in names if name]
            listed = f' ({len(names)}: {some_of(named, most=MOST_NAMES)})' if named else ''
            effect = f'; {self.effects[kind]}' if kind in self.effects else ''
            found.append(f'Left out: {kind}{listed}{effect}.')
        return found

    def say(self, reader: Reader) -> None:
        """Write one note per kind."""
        for sentence in self.sentences():
            reader.note(sentence)
