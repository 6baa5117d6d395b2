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
