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

"""Texts 'joint=value', as arguments of commands and parameters of nodes give them."""

from argparse import ArgumentTypeError
from collections.abc import Iterable

from closed_chain_dynamics.errors import StateError

__all__ = ['assignment', 'assignments']

Value = float | list[float]


def assignment(text: str) -> tuple[str, Value]:
    """Read 'joint=value', with commas where a joint has several numbers."""
    name, sign, values = text.rpartition('=')
    try:
        numbers = [float(each) for each in values.split(',')]
    except ValueError:
        numbers = []
    if not (name and sign and numbers):
        raise ArgumentTypeError(
            f'{text!r} is not of the form joint=value, such as crank=1.57; write it without a unit'
        )
    return name, numbers[0] if len(numbers) == 1 else numbers


def assignments(texts: Iterable[str], what: str) -> dict[str, Value]:
    """Return {joint: value} of texts 'joint=value', or say which is none."""
    try:
        return dict(assignment(each) for each in texts)
    except ArgumentTypeError as error:
        raise StateError(
            str(error), where=what, repair='For example crank=1.0, or base=0,0,1,0,0,0,1.'
        ) from None
