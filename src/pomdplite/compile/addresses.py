"""Addresses: the only module that turns them into memory or calls, and memory into addresses.

Kernels call a model's functions by address (`call`) and pass rows of words by address (`address`). The generated
wrappers (wrappers.py) turn the addresses back into the records and arrays that the user's functions read and write.
What they use for that are intrinsics, which Numba writes out in place: a compiled helper would be compiled again for
every new model. `memory` does the same for interpreted functions.

With NUMBA_DISABLE_JIT=1 calls go through ctypes, so a debugger can step through everything.
"""

import ctypes
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from pomdplite.compile.jit import Words
from pomdplite.compile.record_types import InputRecord, OutputRecord
from pomdplite.model.functions import FUNCTIONS, ModelFunction

# Slots of a model's table of addresses.
PARAMETERS = 0  # the block of the model's parameters
SLOTS = {function.name: slot for slot, function in enumerate(FUNCTIONS, start=1)}

# ---------------------------------------------------------------------- memory, as Python sees it


def data_address(array: Any) -> int:
    """The address of an array's data."""
    return int(array.ctypes.data)


def memory(address: int, dtype: np.dtype[Any], count: int) -> Any:
    """The array of `count` items at an address, as a view."""
    buffer: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(buffer, dtype, count) if count else np.zeros(0, dtype)


_CTYPES: dict[str, Any] = {"uint64": ctypes.c_uint64, "int64": ctypes.c_int64, "float64": ctypes.c_double}


def _c_type(function: ModelFunction) -> Any:
    return ctypes.CFUNCTYPE(_CTYPES[function.return_type], *(_CTYPES[t] for t in function.argument_types))


def callback(function: ModelFunction, python: Callable[..., Any]) -> tuple[int, Any]:
    """The address at which kernels can call a Python function, and the object to keep for as long as they do."""
    pointer = _c_type(function)(python)
    return int(ctypes.cast(pointer, ctypes.c_void_p).value or 0), pointer


# ---------------------------------------------------------------------- calls by address

# call.<function>(functions, …) calls the model function at its slot with the model's parameters and the arguments
# that follow m. A module, because kernels resolve the attributes of modules when they are compiled.
call: Any = ModuleType("call")

if numba.config.DISABLE_JIT:

    def address(table: Any, i: int) -> int:
        """The address of row i of an array."""
        return data_address(table) + int(i) * int(table.strides[0])  # i may be a narrow integer

    def _caller(function: ModelFunction) -> Any:
        c_type, kinds = _c_type(function), function.argument_types[1:]

        def caller(functions: Words, *arguments: Any) -> Any:
            plain = [float(v) if kind == "float64" else int(v) for v, kind in zip(arguments, kinds, strict=True)]
            return c_type(int(functions[SLOTS[function.name]]))(int(functions[PARAMETERS]), *plain)

        return caller

else:

    @intrinsic
    def address(typing_context, table, i):  # type: ignore[no-untyped-def]
        """The address of row i of an array, without touching its reference count."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            array = context.make_array(signature.args[0])(context, builder, args[0])
            base = builder.ptrtoint(array.data, context.get_value_type(types.uint64))
            stride = builder.extract_value(array.strides, 0)
            return builder.add(base, builder.mul(args[1], stride))

        return types.uint64(table, types.int64), codegen

    def _caller(function: ModelFunction) -> Any:
        """The intrinsic that calls a model function; Numba reads its arity from its signature."""
        returned = getattr(types, function.return_type)
        taken = [getattr(types, name) for name in function.argument_types[1:]]
        slot = SLOTS[function.name]

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            word = context.get_value_type(types.uint64)
            table = context.make_array(signature.args[0])(context, builder, args[0]).data
            code, parameters = (
                builder.load(builder.gep(table, [context.get_constant(types.intp, at)])) for at in (slot, PARAMETERS)
            )
            function_type = ir.FunctionType(
                context.get_value_type(signature.return_type), [word, *(argument.type for argument in args[1:])]
            )
            return builder.call(builder.inttoptr(code, function_type.as_pointer()), [parameters, *args[1:]])

        def definition(typing_context, functions, *arguments):  # type: ignore[no-untyped-def]
            return returned(functions, *taken), codegen

        names = ["typing_context", "functions", *list(function.arguments)[1:]]
        definition.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        )
        definition.__name__ = f"call_{function.name}"
        return intrinsic(definition)

    # For the generated wrappers: addresses back to what the user's functions see.

    def _pointer(context: Any, builder: Any, address: Any, item: Any) -> Any:
        return builder.inttoptr(address, context.get_data_type(item).as_pointer())

    def _record_at(kind: Any) -> Any:
        """The intrinsic that makes an address a record of one kind (record_types.py)."""

        def record_at(typing_context, address, dtype):  # type: ignore[no-untyped-def]
            record = kind(dtype.dtype)

            def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
                return builder.inttoptr(args[0], context.get_value_type(record))

            return record(types.uint64, dtype), codegen

        return intrinsic(record_at)

    def _array_at(change: Any) -> Any:
        """The intrinsic that makes an address an array; `change` gives its type."""

        def array_at(typing_context, address, shape, dtype):  # type: ignore[no-untyped-def]
            array = change(types.Array(dtype.dtype, len(shape), "C"))

            def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
                made = arrayobj.make_array(array)(context, builder)
                sizes = cgutils.unpack_tuple(builder, args[1])
                item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array.dtype)))
                strides = [item]
                for size in sizes[:0:-1]:
                    strides.insert(0, builder.mul(strides[0], size))
                arrayobj.populate_array(
                    made, data=_pointer(context, builder, args[0], array.dtype), shape=sizes, strides=strides,
                    itemsize=item, meminfo=None,
                )  # fmt: skip
                return made._getvalue()

            return array(types.uint64, types.UniTuple(types.intp, len(shape)), dtype), codegen

        return intrinsic(array_at)

    input_at, output_at = _record_at(InputRecord), _record_at(OutputRecord)
    array_at = _array_at(lambda array: array)
    input_array_at = _array_at(lambda array: array.copy(readonly=True))
    outputs_at = _array_at(lambda array: array.copy(dtype=OutputRecord(array.dtype)))  # of records

    def _word_at(item: Any) -> Any:
        """The intrinsic that reads word number i at an address."""

        def word_at(typing_context, address, i):  # type: ignore[no-untyped-def]
            def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
                return builder.load(builder.gep(_pointer(context, builder, args[0], item), [args[1]]))

            return item(types.uint64, types.intp), codegen

        return intrinsic(word_at)

    int_at, float_at, address_at = (_word_at(item) for item in (types.int64, types.float64, types.uint64))

    def _put(item: Any) -> Any:
        """The intrinsic that writes word number i at an address."""

        def put(typing_context, address, i, value):  # type: ignore[no-untyped-def]
            def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
                builder.store(args[2], builder.gep(_pointer(context, builder, args[0], item), [args[1]]))
                return context.get_dummy_value()

            return types.none(types.uint64, types.intp, item), codegen

        return intrinsic(put)

    put_int, put_float = _put(types.int64), _put(types.float64)

    @intrinsic
    def copy_words(typing_context, target, i, source, count):  # type: ignore[no-untyped-def]
        """Copy `count` words from an address to word i and following at another."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            into, given = (_pointer(context, builder, args[at], types.uint64) for at in (0, 2))
            cgutils.memcpy(builder, builder.gep(into, [args[1]]), given, args[3])
            return context.get_dummy_value()

        return types.none(types.uint64, types.intp, types.uint64, types.intp), codegen


for _function in FUNCTIONS:
    setattr(call, _function.name, _caller(_function))
