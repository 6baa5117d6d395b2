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
What numba writes about errors while kernels are compiled: only where one comes up.

At every operator it tells, in colour, of what it knows that does not fit, and of every instruction
what it is about to do, which nobody reads; where it looks for constants, it quotes the source of
each expression that is none. Where arrays of different size would be copied, the
error has their sizes in it: that takes text, lists and numbers as text, two seconds of compiling.
"""

from numba.core import errors, ir, lowering, typeinfer
from numba.core.types import functions
from numba.core.typing import typeof
from numba.extending import overload
from numba.np import arrayobj


def _refuse_sizes(source, target):
    """Stand in, compiled, for the error where arrays of different size would be copied."""


@overload(_refuse_sizes)
def _refuse_sizes_compiled(source, target):
    def refuse(source, target):
        raise ValueError('arrays of different size cannot be copied')

    return refuse


class _About:
    """Says what numba was doing when an error came up."""

    def __init__(self, text, *arguments, **named):
        self.words = text, arguments, named
        place = named.get('loc')
        if place is not None and not place.filename.startswith(errors._numba_path):
            errors.loc_info.update(named)

    def __enter__(self):
        pass

    def __exit__(self, kind, error, _):
        if isinstance(error, errors.NumbaError):
            error.add_context(errors._format_msg(*self.words))


class _Colourless:
    """Stands in for numba's colours of a terminal: every way to highlight a text leaves it."""

    def __getattr__(self, name):
        return str


def _no_constant(self):
    """Say of an expression that it is no constant, without the lines of its source."""
    raise errors.ConstantInferenceError('not a constant')


TEXTS = [
    (errors, '_termcolor_inst', _Colourless()),
    (functions, '_termcolor', _Colourless()),
    (typeof, '_termcolor', _Colourless()),
    (ir.Expr, 'infer_constant', _no_constant),
    (lowering, 'new_error_context', _About),
    (typeinfer, 'new_error_context', _About),
    (arrayobj, 'raise_with_shape_context', _refuse_sizes),
]
