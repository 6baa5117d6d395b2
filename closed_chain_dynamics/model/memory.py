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
Tables in one block of memory: copying them is one copy, finding their addresses one sum.

Most copies are asked for few of their tables, so that these are looked at only when asked for.
"""

from collections.abc import Mapping
from ctypes import addressof, c_char
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_chain_dynamics.kernels import records as at

__all__ = ['Layout', 'Tables']

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

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """Return {name: (number of records, first byte)}."""
        return {name: (count, offset) for name, count, offset in self.tables}

    def view(self, name: str, memory: Memory) -> NDArray[Any]:
        """Return a table in a block."""
        count, offset = self.places[name]
        table: NDArray[Any] = np.ndarray((count,), at.TABLES[name], memory, offset)
        return table

    @cached_property
    def _slots(self) -> tuple[slice, NDArray[np.int64]]:
        """The slots of the tables' addresses in a handle, and these in a block at 0."""
        slots = [at.SLOTS[name] for name, _, _ in self.tables]
        offsets = np.zeros(1 + (slots[-1] - slots[0]) // 2, np.int64)
        for slot, (_, _, offset) in zip(slots, self.tables):
            offsets[(slot - slots[0]) // 2] = offset
        return slice(slots[0], slots[-1] + 1, 2), offsets

    def write_addresses(self, memory: Memory, handle: NDArray[np.int64]) -> None:
        """Write where the tables in a block are, and something for tables between them."""
        slots, offsets = self._slots
        handle[slots] = offsets + addressof(c_char.from_buffer(memory.data))


class Tables:
    """Whoever has tables in a block of memory, as attributes; `_name` where `name` is a view."""

    layout: Layout
    memory: Memory

    def __getattr__(self, name: str) -> Any:
        table = name.removeprefix('_')
        if 'memory' not in self.__dict__ or table not in self.layout.places:
            raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')
        view = self.__dict__[name] = self.layout.view(table, self.memory)
        return view
