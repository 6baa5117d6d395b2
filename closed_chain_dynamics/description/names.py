"""Names for what a file leaves unnamed, which collide with no name of the file."""

from collections.abc import Iterable

__all__ = ['Names']


class Names:
    """The names that are taken in one room, such as all links of a description."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """Return the wanted name, with a number behind it where it is taken, and take it."""
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f'{wanted}_{number}'
        self.taken.add(name)
        return name
