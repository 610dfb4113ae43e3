"""The Numba types of what a user's functions see: inputs that cannot be written, outputs that hold what is written.

Numba's own records may be written anywhere, and a number that does not fit into a narrow field loses its upper bits.
Here a write to an input does not compile, and a number that does not fit raises an OverflowError, as in Python.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.errors import NumbaTypeError
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.templates import infer_getattr as typed_attributes
from numba.extending import lower_builtin, register_model
from numba.np import arrayobj

WRITES_INPUT = "writes to an input"  # how compile/errors.py knows the cause


class InputArray(types.NestedArray):  # type: ignore[misc]
    """An array inside a record that must not be written."""

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        super().__init__(dtype, shape)
        self.mutable = False
        self.name: str = f"input nestedarray({dtype}, {shape})"

    @property
    def key(self) -> Any:
        """Apart from a NestedArray of the same layout."""
        return "input", self.dtype, self.shape


class OutputArray(types.NestedArray):  # type: ignore[misc]
    """An array inside a record that is an output."""

    def __init__(self, dtype: Any, shape: tuple[int, ...]) -> None:
        super().__init__(dtype, shape)
        self.name: str = f"output nestedarray({dtype}, {shape})"

    @property
    def key(self) -> Any:
        """Apart from a NestedArray of the same layout."""
        return "output", self.dtype, self.shape


class _ViewedRecord(types.Record):  # type: ignore[misc]
    """A record with its own types of arrays inside it."""

    array: Any
    word: str

    def __init__(self, record: Any) -> None:
        fields = []
        for name, field in record.fields.items():
            inner = field.type
            if isinstance(inner, types.NestedArray):
                inner = self.array(inner.dtype, inner.shape)
            fields.append((name, {"type": inner, "offset": field.offset, "alignment": field.alignment}))
        self._plain = record
        super().__init__(fields, record.size, record.aligned)
        self.name: str = f"{self.word} {record.name}"

    @property
    def dtype(self) -> Any:
        """The NumPy dtype of this layout."""
        return self._plain.dtype


class InputRecord(_ViewedRecord):
    """A record that must not be written: x, θ, h."""

    array, word, mutable = InputArray, "input", False


class OutputRecord(_ViewedRecord):
    """A record to be written: y, θ', h."""

    array, word = OutputArray, "output"


@typed_attributes
class _OutputAttributes(AttributeTemplate):  # type: ignore[misc]
    """Narrow integers count as 64-bit ones, so that a number that does not fit arrives whole at the field."""

    key = OutputRecord

    def generic_resolve(self, record: Any, name: str) -> Any:
        """The type that an expression y.<name> has."""
        return _seen(record.typeof(name)) if name in record.fields else None


def _seen(field: Any) -> Any:
    """The type in which a field is read and written."""
    return types.int64 if isinstance(field, types.Integer) and field.bitwidth < 64 else field


for _record in (InputRecord, OutputRecord):
    register_model(_record)(models.RecordModel)
for _array in (InputArray, OutputArray):
    register_model(_array)(models.NestedArrayModel)


@lower_setattr_generic(InputRecord)
def _set_input(context, builder, sig, args, attr):  # type: ignore[no-untyped-def]
    raise NumbaTypeError(f"{WRITES_INPUT}: field '{attr}'")


@lower_getattr_generic(OutputRecord)
def _get_output(context, builder, record, value, attr):  # type: ignore[no-untyped-def]
    field, found = record.typeof(attr), arrayobj.record_getattr(context, builder, record, value, attr)
    return context.cast(builder, found, field, _seen(field))


@lower_setattr_generic(OutputRecord)
def _set_output(context, builder, sig, args, attr):  # type: ignore[no-untyped-def]
    record, given = sig.args
    field = record.typeof(attr)
    if isinstance(field, types.NestedArray):
        raise NumbaTypeError(f"assigns to the array '{attr}' as a whole")
    _refuse_overflow(context, builder, given, field, args[1])
    return arrayobj.record_setattr(context, builder, sig, args, attr)


@lower_builtin(operator.setitem, OutputArray, types.Any, types.Number)
def _set_item(context, builder, sig, args):  # type: ignore[no-untyped-def]
    array, _, given = sig.args
    _refuse_overflow(context, builder, given, array.dtype, args[2])
    return arrayobj.setitem_array(context, builder, sig, args)


def _refuse_overflow(context: Any, builder: Any, given: Any, field: Any, value: Any) -> None:
    """Raise an OverflowError where a number does not fit into a narrow integer field."""
    if not isinstance(field, types.Integer) or field.bitwidth == 64 or isinstance(given, types.Boolean):
        return
    wide = context.cast(builder, value, given, types.int64)
    bounds = (("<", field.minval), (">", field.maxval))
    low, high = (builder.icmp_signed(sign, wide, ir.Constant(wide.type, bound)) for sign, bound in bounds)
    with builder.if_then(builder.or_(low, high), likely=False):
        context.call_conv.return_user_exc(builder, OverflowError, (f"a number does not fit into {field}",))
