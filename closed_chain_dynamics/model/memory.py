"""Tables in one block of memory: copying them is one copy, finding their addresses one sum."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.kernels import records as at

__all__ = ['Layout']

ALIGNED = 64  # bytes: tables begin on lines of the processor's cache

Memory = NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """Where tables stand in a block: of each its name, number of records and first byte."""

    tables: tuple[tuple[str, int, int], ...]
    size: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> 'Layout':
        """Return the layout of tables of a handle, {name: number of records}."""
        tables, end = [], 0
        for name, count in counts.items():
            tables.append((name, count, end))
            end += -(-count * at.TABLES[name].itemsize // ALIGNED) * ALIGNED
        return cls(tuple(tables), end)

    def memory(self) -> Memory:
        """Return a new block, all zeros."""
        return np.zeros(self.size, np.uint8)

    def views(self, memory: Memory) -> dict[str, NDArray[np.generic]]:
        """Return the tables in a block."""
        return {
            name: np.ndarray((count,), at.TABLES[name], memory, offset)
            for name, count, offset in self.tables
        }

    def addresses(self, memory: Memory) -> dict[str, tuple[int, int]]:
        """Return {name: (address, number of records)}, as a handle has them."""
        start = memory.ctypes.data
        return {name: (start + offset, count) for name, count, offset in self.tables}
