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
Several numbers in one register: four neighbours of a row, or the six of a spatial vector.

Rows in the kernels are ten to forty numbers long. Left to itself the compiler asks before every
such row whether memory overlaps, and takes what is not a multiple of sixteen one by one. Here a
kernel says what is loaded, added and stored. A place counts the numbers of the whole array, row by
row. The last four of a row may reach beyond its end: rows that are written have room for that.
"""

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, signature
from numba.extending import lower_builtin, models, register_model, typeof_impl

DOUBLE = ir.DoubleType()
FUSED = ('contract',)  # a product and a sum in one instruction, as everywhere in the kernels
ROOM = 3  # numbers that the last four of a row may reach beyond its end


class Lanes(types.Type):
    """Numbers in one register."""

    def __init__(self, count):
        self.count, self.vector = count, ir.VectorType(DOUBLE, count)
        super().__init__(f'Lanes({count})')


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.vector)


FOUR, SIX = Lanes(4), Lanes(6)


class _Operation:
    """What compiled code does with lanes in a few instructions, and Python with arrays."""

    def __init__(self, result, others, write, plain):
        self.plain = plain

        def call(template, given, _):
            return signature(result or given[0], given[0], *others)

        template = type('Operation', (AbstractTemplate,), {'key': self, 'generic': call})
        self.type = types.Function(template)
        for first in (types.Array, Lanes):
            lower_builtin(self, first, *others)(write)

    def __call__(self, *arguments):
        """Return the same of arrays, for kernels that run as plain Python."""
        return self.plain(*arguments)


@typeof_impl.register(_Operation)
def _as_function(operation, _):
    return operation.type


def _pointer(context, builder, kind, array, place, lanes):
    """Return where lanes are in memory."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), lanes.vector.as_pointer())


def _spread(builder, number, vector):
    """Return a number in every lane of a vector."""
    nothing, zero = ir.Constant(vector, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    first = builder.insert_element(nothing, number, zero)
    places = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, nothing, places)


def _reading(lanes):
    def write(context, builder, signature, arguments):
        where = _pointer(context, builder, signature.args[0], *arguments, lanes)
        return builder.load(where, align=8)

    def plain(array, place):
        return array.reshape(-1)[int(place) : int(place) + lanes.count].copy()

    return _Operation(lanes, (types.int64,), write, plain)


def _putting(lanes):
    def write(context, builder, signature, arguments):
        array, place, value = arguments
        where = _pointer(context, builder, signature.args[0], array, place, lanes)
        builder.store(value, where, align=8)
        return context.get_dummy_value()

    def plain(array, place, value):
        array.reshape(-1)[int(place) : int(place) + lanes.count] = value

    return _Operation(types.none, (types.int64, lanes), write, plain)


def _scaling(lanes):
    def write(context, builder, signature, arguments):
        return builder.fmul(arguments[0], _spread(builder, arguments[1], lanes.vector))

    return _Operation(None, (types.float64,), write, lambda x, factor: factor * x)


def _adding(lanes):
    def write(context, builder, signature, arguments):
        total, factor, x = arguments
        added = builder.fmul(_spread(builder, factor, lanes.vector), x, flags=FUSED)
        return builder.fadd(total, added, flags=FUSED)

    return _Operation(
        None, (types.float64, lanes), write, lambda total, factor, x: total + factor * x
    )


def _take_one():
    def write(context, builder, signature, arguments):
        return builder.extract_element(*arguments)

    return _Operation(types.float64, (types.int64,), write, lambda x, k: x[k])


lane = _take_one()  # one of the numbers
# numbers of an array from a place on, and written to it
four, put_four, six, put_six = _reading(FOUR), _putting(FOUR), _reading(SIX), _putting(SIX)
# numbers times a factor, and a sum with a factor times others
scale_four, add_four = _scaling(FOUR), _adding(FOUR)
scale_six, add_six = _scaling(SIX), _adding(SIX)
