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
What numba writes in LLVM's language where kernels use arrays, in a fraction of the instructions.

Numba keeps every array that it looks at in memory of its own, field by field, and every variable
that more than one block uses; it counts who holds an argument; and it leaves it to LLVM to find
out that this is not needed: six instructions of seven are gone after its first passes. Until then
each of them is made, written as text, read and looked at. Here they are not made, and those whose
result nobody uses are not written. What is left means the same, and so is the machine code.
"""

from collections import Counter
from functools import reduce

from llvmlite import ir
from llvmlite.ir._utils import NameScope
from numba.core import callconv, cgutils, types
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.np import arrayobj

ARRAY_FIELDS = 'meminfo', 'parent', 'nitems', 'itemsize', 'data', 'shape', 'strides'
_extract, _in_memory, _index = (
    ir.IRBuilder.extract_value,
    arrayobj.make_array,
    arrayobj.basic_indexing,
)


def _taken_out(builder, whole, place, name=''):
    """Return a part of a structure: where it was put in just before, what was put in."""
    if isinstance(place, int):
        before = whole
        while isinstance(before, ir.instructions.InsertValue):
            if list(before.indices) == [place]:
                return before.value
            if before.indices[0] == place:  # a part of the part
                break
            before = before.aggregate
    return _extract(builder, whole, place, name)


class _Array:
    """An array as a value: its fields are taken out of it. Asked for its address, it gets one."""

    def __init__(self, kind, context, builder, value):
        self._kind, self._context, self._builder = kind, context, builder
        self._datamodel = context.data_model_manager[kind.as_array]
        self._value, self._block, self._memory = value, builder.block, None

    def __getattr__(self, name):
        if self._memory is not None:
            return getattr(self._memory, name)
        if name not in ARRAY_FIELDS:
            raise AttributeError(name)
        return self._builder.extract_value(self._getvalue(), ARRAY_FIELDS.index(name))

    def __setattr__(self, name, value):
        if name.startswith('_'):
            self.__dict__[name] = value
        elif self._builder.block is self._block:
            setattr(self._laid_down(), name, value)
        else:  # which the code may not always come by
            raise NotImplementedError('an array that is changed far from where it was made')

    def _laid_down(self):
        if self._memory is None:
            self._memory = _in_memory(self._kind)(self._context, self._builder, self._value)
        return self._memory

    def _getpointer(self):
        return self._laid_down()._getpointer()

    def _get_ptr_by_name(self, name):
        return self._laid_down()._get_ptr_by_name(name)

    def _getvalue(self):
        if self._memory is not None:
            return self._memory._getvalue()
        if self._value is None:
            return ir.Constant(self._datamodel.get_value_type(), None)
        return self._value


def _make_array(kind):
    """Return what makes an array, of a value, at an address, or empty to be filled."""
    if not isinstance(kind, types.Array):
        return _in_memory(kind)

    def make(context, builder, value=None, ref=None):
        if ref is not None:
            return _in_memory(kind)(context, builder, value, ref)
        return _Array(kind, context, builder, value)

    return make


_populate = arrayobj.populate_array


def _populate_array(array, data, shape, strides, itemsize, meminfo, parent=None):
    """Fill in an array, at once."""
    if not isinstance(array, _Array) or array._memory is not None:
        return _populate(array, data, shape, strides, itemsize, meminfo, parent)
    context, builder, model = array._context, array._builder, array._datamodel
    index = context.get_value_type(types.intp)
    if isinstance(shape, tuple | list):
        shape = cgutils.pack_array(builder, shape, index)
    if isinstance(strides, tuple | list):
        strides = cgutils.pack_array(builder, strides, index)
    lengths = cgutils.unpack_tuple(builder, shape, shape.type.count)
    if all(isinstance(length, ir.Constant) for length in lengths):
        count = 1
        for length in lengths:
            count *= length.constant
        count = index(count)
    else:
        count = lengths[0]
        for length in lengths[1:]:
            count = builder.mul(count, length, flags=['nsw'])
    kind = model.get_value_type()
    given = {
        'meminfo': meminfo or ir.Constant(kind.elements[ARRAY_FIELDS.index('meminfo')], None),
        'parent': parent or ir.Constant(kind.elements[ARRAY_FIELDS.index('parent')], None),
        'nitems': count,
        'itemsize': index(itemsize) if isinstance(itemsize, int) else itemsize,
        'data': data,
        'shape': shape,
        'strides': strides,
    }
    value = ir.Constant(kind, ir.Undefined)
    for place, name in enumerate(ARRAY_FIELDS):
        value = builder.insert_value(value, given[name], place)
    array._value = value
    return array


def _is_counted_from_front(index):
    """Return whether an index is a number in the program, and not one from the end."""
    return isinstance(index, ir.Constant) and index.constant >= 0


def _basic_indexing(context, builder, kind, array, index_types, indices, boundscheck=None):
    """Return the address of one element by rows straight away, and else what numba does."""
    plain = (
        kind.layout == 'C'
        and len(indices) == kind.ndim
        and all(isinstance(each, types.Integer) for each in index_types)
        and not boundscheck
    )
    if not plain:
        return _index(context, builder, kind, array, index_types, indices, boundscheck)
    shape, place = array.shape, None
    for axis, (index, of) in enumerate(zip(indices, index_types, strict=True)):
        length = builder.extract_value(shape, axis) if axis or of.signed else None
        if not _is_counted_from_front(index):
            index = arrayobj.fix_integer_index(context, builder, of, index, length)
        place = index if place is None else builder.add(builder.mul(place, length), index)
    return builder.gep(array.data, [place]), [], []


_find_memory, _is_counted = NRTContext.get_meminfos, {}  # the latter by type


def _counted(context, kind):
    if kind not in _is_counted:
        _is_counted[kind] = context.data_model_manager[kind].contains_nrt_meminfo()
    return _is_counted[kind]


def _counted_memory(self, builder, kind, value):
    """Return the counted memory in a value, without looking where there is none."""
    if not _counted(self._context, kind):
        return []
    if isinstance(kind, types.Array):
        memory = builder.extract_value(value, 0)
        return [] if isinstance(memory, ir.Constant) else [(kind, memory)]
    return _find_memory(self, builder, kind, value)


_find_block_local = Lower._find_singly_assigned_variable


def _find_values(self):
    """
    Find the variables that need no memory of their own: each is set in one place.

    Those that are also used in that block alone numba finds, too. Any other one is a value as well
    where nothing counts who holds it, if whoever uses it has come by the place where it is set.
    """
    self._values_everywhere = set()
    if self.func_ir.is_generator:
        _find_block_local(self)
        return
    lives, places = self.func_ir.variable_lifetime, {}
    for offset, block in self.blocks.items():
        for statement in block.body:
            if type(statement) is Assign:
                name = statement.target.name
                places[name] = None if name in places else offset
    once = {name for name, place in places.items() if place is not None}
    elsewhere, dominators = set(), lives.cfg.dominators()
    for offset, names in lives.usedefs.usemap.items():
        elsewhere |= names
        before = dominators[offset] - {offset}
        once -= {name for name in names & once if places[name] not in before}
    self._singly_assigned_vars, self._blk_local_varmap = once - elsewhere, {}
    self._values_everywhere = once & elsewhere


_store, _delete = Lower.storevar, Lower.delvar


def _store_variable(self, value, name, argidx=None):
    """Set a variable, in no memory if it needs none, and without a look at what it held before."""
    kind = self.typeof(name)
    if name in self._values_everywhere:
        if not self.context.nrt.get_meminfos(self.builder, kind, value):
            self._blk_local_varmap[name] = value
            return
        self._values_everywhere.discard(name)
    if (
        argidx is None
        and name not in self._singly_assigned_vars
        and not _counted(self.context, kind)
    ):
        self._alloca_var(name, kind)
        self.builder.store(value, self.getvar(name))
    else:
        _store(self, value, name, argidx)


_load = Lower.loadvar


def _load_variable(self, name):
    """Return the value of a variable, from memory if it is set in a later line."""
    if name not in self._blk_local_varmap:
        self._values_everywhere.discard(name)
    return _load(self, name)


def _delete_variable(self, name):
    """Forget a variable, which leaves no trace where nothing counts who holds its value."""
    if not _counted(self.context, self.typeof(name)):
        return
    if name in self._values_everywhere:
        if name in self._blk_local_varmap:
            return
        self._values_everywhere.discard(name)
    _delete(self, name)


_assign = Lower.lower_assign


def _lower_assign(self, kind, statement):
    """Write what a variable is set to; of a function nothing: its name is in the call."""
    if isinstance(kind, types.Dispatcher):
        return ir.Constant(self.context.get_value_type(kind), None)
    return _assign(self, kind, statement)


_take_arguments = Lower.extract_function_arguments


def _borrow_arguments(self):
    """
    Take the arguments; of arrays without what counts who holds them, unless one may be returned.

    The caller holds them until the function returns.
    """
    given = _take_arguments(self)
    if not _counted(self.context, self.fndesc.restype):
        kinds = self.fndesc.argtypes
        self.fnargs = [
            _borrowed(self.builder, kind, value) for kind, value in zip(kinds, given, strict=True)
        ]
    return self.fnargs


def _borrowed(builder, kind, value):
    """Return an array, or a tuple with the arrays in it, that nobody counts."""
    if isinstance(kind, types.Array):
        nobody = ir.Constant(value.type.elements[0], None)
        return builder.insert_value(value, nobody, ARRAY_FIELDS.index('meminfo'))
    if isinstance(kind, types.BaseTuple):
        for place, member in enumerate(kind.types):
            if isinstance(member, types.Array | types.BaseTuple):
                part = builder.extract_value(value, place)
                value = builder.insert_value(value, _borrowed(builder, member, part), place)
    return value


class _Status:
    """How a call ended: what is asked about it is compared, and nothing else."""

    def __init__(self, builder, code, error):
        self._builder, self.code, self.excinfoptr = builder, code, error

    def _is(self, *codes, operator='=='):
        compared = [self._builder.icmp_signed(operator, self.code, code) for code in codes]
        return reduce(self._builder.or_, compared)

    is_ok = property(lambda self: self._is(callconv.RETCODE_OK, callconv.RETCODE_NONE))
    is_error = property(lambda self: self._builder.not_(self.is_ok))
    is_none = property(lambda self: self._is(callconv.RETCODE_NONE))
    is_python_exc = property(lambda self: self._is(callconv.RETCODE_EXC))
    is_stop_iteration = property(lambda self: self._is(callconv.RETCODE_STOPIT))
    is_user_exc = property(lambda self: self._is(callconv.RETCODE_USEREXC, operator='>='))


def _status(self, builder, code, error):
    return _Status(builder, code, error)


# instructions on numbers that leave no trace but a result
TRACELESS = 'add', 'sub', 'mul', 'and', 'or', 'xor'
UNSEEN_KINDS = (
    ir.instructions.InsertValue,
    ir.instructions.ExtractValue,
    ir.instructions.GEPInstr,
    ir.instructions.ICMPInstr,
    ir.instructions.SelectInstr,
    ir.instructions.CastInstr,
    ir.instructions.LoadInstr,
)


def _used_by(instruction):
    """Return the values that an instruction uses."""
    if isinstance(instruction, ir.instructions.PhiInstr):
        return [value for value, _ in instruction.incomings]
    if isinstance(instruction, ir.instructions.CallInstr):
        return [instruction.callee, *instruction.operands]
    if isinstance(instruction, ir.instructions.SwitchInstr):
        return [instruction.value]
    return instruction.operands


def leave_out_unused(module):
    """Take out instructions whose result nobody uses, before they are written as text and read."""
    for function in module.functions:
        uses = Counter()
        for block in function.blocks:
            for instruction in block.instructions:
                uses.update(map(id, _used_by(instruction)))
        for block in reversed(function.blocks):
            kept = []
            for instruction in reversed(block.instructions):
                unseen = isinstance(instruction, UNSEEN_KINDS) or instruction.opname in TRACELESS
                if unseen and not uses[id(instruction)]:
                    uses.subtract(map(id, _used_by(instruction)))
                else:
                    kept.append(instruction)
            block.instructions = kept[::-1]


_reserve_zeros, _register = cgutils.alloca_once, NameScope.register


def _reserve(builder, kind, size=None, name='', zfill=False):
    """Reserve memory; what is filled with zeros where it is used is not filled before as well."""
    if not zfill or size is not None:
        return _reserve_zeros(builder, kind, size, name, zfill)
    with builder.goto_entry_block():
        place = builder.alloca(kind, name=name)
    builder.store(kind(None), place)
    return place


def _name(scope, name, deduplicate=False):
    """Return a name that is free; for what has none, the next number."""
    if name or not deduplicate:
        return _register(scope, name, deduplicate)
    scope._basenamemap[''] += 1
    name = f'.{scope._basenamemap[""]}'
    if name in scope._useset:
        return _register(scope, '', deduplicate)
    scope._useset.add(name)
    return name


def _write_block(block, lines):
    """Write a block as text: each instruction once, so nobody keeps it for a second time."""
    lines.append(f'{block._format_name()}:\n')
    lines += [f'  {each._to_string()}\n' for each in block.instructions]


INSTEAD = [
    (cgutils, 'alloca_once', _reserve),
    (NameScope, 'register', _name),
    (ir.Block, 'descr', _write_block),
    (callconv.CPUCallConv, '_get_return_status', _status),
    (ir.IRBuilder, 'extract_value', _taken_out),
    (arrayobj, 'make_array', _make_array),
    (arrayobj, 'populate_array', _populate_array),
    (arrayobj, 'basic_indexing', _basic_indexing),
    (NRTContext, 'get_meminfos', _counted_memory),
    (Lower, 'extract_function_arguments', _borrow_arguments),
    (Lower, '_find_singly_assigned_variable', _find_values),
    (Lower, 'lower_assign', _lower_assign),
    (Lower, 'storevar', _store_variable),
    (Lower, 'loadvar', _load_variable),
    (Lower, 'delvar', _delete_variable),
]
