"""Views: what is at an address, as an array that has no owner and is only counted from its front.

numba lets `array[-1]` be the last item, so that it looks at the length of an array and at the sign
of a place for every item, and at both ends of every slice. The kernel never counts from behind: a
view is an array of numba in everything but that. Where places are checked (`NUMBA_BOUNDSCHECK`),
those of a view are, and a negative one is wrong. Words at addresses are read and written here too.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_builtin
from numba.extending import intrinsic, register_model
from numba.np import arrayobj

_arrays: Any = arrayobj
_generate: Any = cgutils
_lower: Any = lower_builtin
_borrowed: Any = impl_ret_borrowed
_Array: Any = types.Array
_Model: Any = models.ArrayModel
_model: Any = register_model
_intrinsic: Any = intrinsic


class View(_Array):  # type: ignore[misc]  # numba has no types
    """An array of numbers that nobody owns, in one piece; a slice or a copy of it is an array."""

    def __init__(self, dtype: Any) -> None:
        super().__init__(dtype, 1, "C", name=f"View({dtype})")


def _make(kind: Any) -> Any:
    """A function that makes a view of what is at an address."""

    def make(_context: Any, _address: Any, _count: Any) -> Any:
        return View(kind)(types.int64, types.int64), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, count = arguments
        pointer = context.get_data_type(kind).as_pointer()
        return _array(
            context, builder, signature.return_type, builder.inttoptr(address, pointer), count
        )

    return _intrinsic(make)


def _array(context: Any, builder: Any, type_: Any, data: Any, count: Any) -> Any:
    """An array without an owner."""
    made = context.make_array(type_)(context, builder)
    size = context.get_constant(types.intp, context.get_abi_sizeof(made.data.type.pointee))
    _arrays.populate_array(
        made, data=data, shape=[count], strides=[size], itemsize=size, meminfo=None
    )
    return made._getvalue()


def _place(context: Any, builder: Any, view: Any, kind: Any, place: Any) -> Any:
    """Where an item is."""
    at = context.cast(builder, place, kind, types.intp)
    if context.enable_boundscheck:
        length = builder.extract_value(view.shape, 0)
        _generate.do_boundscheck(context, builder, at, length, 0)
    return builder.gep(view.data, [at], inbounds=True)


def _marked(builder: Any, instruction: Any, name: str) -> Any:
    """Say of what kind the memory is that is read or written: words are never items of a view.

    Else every item that is written might be an address, and all addresses were read again.
    """
    module, zero = builder.module, ir.Constant(ir.IntType(64), 0)
    root = module.add_metadata([ir.MetaDataString(module, "cepheid")])
    kind = module.add_metadata([ir.MetaDataString(module, name), root, zero])
    instruction.set_metadata("tbaa", module.add_metadata([kind, kind, zero]))
    return instruction


def _item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """`view[place]`."""
    type_, kind = signature.args
    view = context.make_array(type_)(context, builder, arguments[0])
    place = _place(context, builder, view, kind, arguments[1])
    return _marked(builder, builder.load(place), "item")


def _set_item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """`view[place] = value`."""
    type_, kind, value = signature.args
    view = context.make_array(type_)(context, builder, arguments[0])
    place = _place(context, builder, view, kind, arguments[1])
    given = context.cast(builder, arguments[2], value, type_.dtype)
    _marked(builder, builder.store(given, place), "item")
    return context.get_dummy_value()


def _slice(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """`view[begin:end]`, without a step: an array that ends where the view does, at the latest."""
    type_, kind = signature.args
    if kind.has_step:
        message = "a slice of a view has no step"
        raise NotImplementedError(message)
    view = context.make_array(type_)(context, builder, arguments[0])
    given = context.make_helper(builder, kind, arguments[1])
    length = builder.extract_value(view.shape, 0)
    end = builder.select(builder.icmp_signed("<", given.stop, length), given.stop, length)
    count = builder.sub(end, given.start)
    data = builder.gep(view.data, [given.start], inbounds=True)
    found = _array(context, builder, signature.return_type, data, count)
    return _borrowed(context, builder, signature.return_type, found)


def _make_pointer(_context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(address), generate


def _make_reallocated(_context: Any, address: Any, size: Any) -> Any:
    """The address of a block after it was given another size, by Python's allocator."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        kind = ir.FunctionType(pointer, [pointer, word])
        allocate = builder.module.globals.get("PyMem_RawRealloc") or ir.Function(
            builder.module, kind, "PyMem_RawRealloc"
        )
        block = builder.inttoptr(arguments[0], pointer)
        return builder.ptrtoint(builder.call(allocate, [block, arguments[1]]), word)

    return types.int64(types.int64, types.int64), generate


def _make_word(_context: Any, _address: Any, _place: Any) -> Any:
    """The word at a place after an address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _marked(builder, builder.load(_word_at(builder, arguments)), "word")

    return types.int64(types.int64, types.int64), generate


def _make_write(_context: Any, _address: Any, _place: Any, _value: Any) -> Any:
    """Write a word at a place after an address."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _marked(builder, builder.store(arguments[2], _word_at(builder, arguments)), "word")
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _word_at(builder: Any, arguments: Any) -> Any:
    words = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
    return builder.gep(words, [arguments[1]])


_model(View)(_Model)
_lower(operator.getitem, View, types.Integer)(_item)
_lower(operator.setitem, View, types.Integer, types.Any)(_set_item)
_lower(operator.getitem, View, types.SliceType)(_slice)
as_ints, as_shorts, as_tags, as_floats = map(
    _make, (types.int64, types.int32, types.uint8, types.float64)
)
"""Views of so many items at an address."""
word: Any = _intrinsic(_make_word)
write: Any = _intrinsic(_make_write)
pointer: Any = _intrinsic(_make_pointer)
reallocated: Any = _intrinsic(_make_reallocated)
