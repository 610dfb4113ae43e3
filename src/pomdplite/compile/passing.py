"""How a wrapper passes each kind of argument to the user's function, and checks what the function wrote into it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.compile.definition import ACTIONS, READING_SPREAD, SPREAD, Definition, Sizes
from pomdplite.compile.faults import FaultKind
from pomdplite.model.functions import Kind, ModelFunction
from pomdplite.model.records import float_fields


@dataclass(frozen=True)
class Passing:
    """How a wrapper passes one argument to the user's function."""

    value: str | None  # an expression; None: not passed
    before: tuple[str, ...] = ()  # statements before the call
    check: tuple[str, ...] = ()  # statements after it that may set `kind` and `number`
    after: tuple[str, ...] = ()  # ... and then, if there was no fault
    harmless: tuple[str, ...] = ()  # ... or if there was one
    result: str | None = None  # what the wrapper then returns, where the user's function returns nothing


_INPUTS = {Kind.STATE: "STATE", Kind.HIDDEN: "THETA", Kind.MEMORY: "MEMORY", Kind.READING: "READING"}
_OUTPUTS = {Kind.DRAWN_HIDDEN: "THETA", Kind.MOVED_HIDDEN: "THETA", Kind.UPDATED_MEMORY: "MEMORY"}


def passing_of(definition: Definition, function: ModelFunction, name: str, kind: Kind) -> Passing:
    """Derived from the kind of the argument; variables in the wrapper carry the argument's name."""
    if kind is Kind.PARAMETERS:
        return Passing("parameters(m)")
    if kind in _INPUTS:
        return Passing(f"input_at({name}, {_INPUTS[kind]})")
    if kind in _OUTPUTS:
        return _record(definition, name, kind)
    if kind is Kind.STREAM:
        return Passing(f"array_at({name}, (1,), np.uint64)")
    if kind is Kind.NEXT_STATES:
        return _next_states(definition, name, _argument(function, Kind.STATE))
    if kind is Kind.NEXT_HIDDEN:
        return _next_hidden(definition, name, _argument(function, Kind.HIDDEN))
    if kind is Kind.ACTION and definition.actions is not None:
        offset = f"np.uint64({definition.actions.dtype.itemsize}) * np.uint64({name})"
        return Passing(f"input_at(address_at(m, {ACTIONS}) + {offset}, ACTION)")
    if kind is Kind.PROBABILITIES and definition.noise.count > 0:
        return _noise(definition, function, name)
    if kind is Kind.LIKELIHOODS and definition.reading is not None:
        return _next_reading(definition, function, name)
    if kind is Kind.OBSERVATION and definition.reading is not None:
        behind = _behind(_argument(function, Kind.STATE, last=True), definition.state)
        return Passing(f"input_at({name}_at, READING)", before=(f"{name}_at = {behind}",))
    if kind is Kind.PROBABILITIES:
        if definition.sizes.next_states == 1:
            return Passing(None, before=(f"put_float({name}, 0, 1.0)",))
        return Passing(
            f"{name}_values",
            before=(*_floats(name, "next_states"), f"{name}_values[:] = 0.0"),
            check=(f"kind, number = distribution_fault({name}_values)",),
            harmless=(f"{name}_values[:] = 0.0", f"{name}_values[0] = 1.0"),
        )
    if kind is Kind.LIKELIHOODS:
        return Passing(
            f"{name}_values[:{name}_count]",
            before=(*_floats(name, "observations", " + 1"), f"{name}_values[:] = 0.0"),
            check=(f"kind, number = likelihood_fault({name}_values)",),
            harmless=(f"{name}_values[:] = 0.0", f"{name}_values[{name}_count] = 1.0"),
        )
    if kind is Kind.SUMMARY:
        check = (f"for i in range({name}_count):", *not_finite(f"{name}_values[i]", FaultKind.RECORD, "    "))
        return Passing(f"{name}_values", _floats(name, "summary"), check, harmless=(f"{name}_values[:] = 0.0",))
    if kind is Kind.ACTION_FLAGS:
        before = (*_floats(name, "actions"), f"{name}_values[:] = 0.0", f"{name}_set = 0")
        after = (f"for i in range({name}_count):", f"    if {name}_values[i] > 0.0:", f"        {name}_set += 1")
        return Passing(
            f"{name}_values", before, after=after, harmless=(f"{name}_values[:] = 0.0",), result=f"{name}_set"
        )
    return Passing(name)  # a number


def _argument(function: ModelFunction, kind: Kind, *, last: bool = False) -> str:
    return [name for name, found in function.arguments.items() if found is kind][-1 if last else 0]


def _behind(address: str, dtype: np.dtype[Any]) -> str:
    """The address behind a record."""
    return f"{address} + np.uint64({dtype.itemsize})"


def _noise(definition: Definition, function: ModelFunction, name: str) -> Passing:
    """The numbers that decide a step: given to the user's function, or standard deviations that it may change."""
    count = definition.noise.count
    if definition.noise.form == "given":
        return Passing(f"input_array_at({name}, ({count},), np.float64)")
    before = (f"copy_words({name}, 0, address_at(m, {SPREAD}), {count})",)
    harmless = tuple(f"put_float({name}, {k}, 0.0)" for k in range(count))
    if function.name not in definition.extended:
        return Passing(None, before, harmless=harmless)
    return Passing(f"output_at({name}, STATE_SPREAD)", before, _check_spread(name, 0, count), harmless=harmless)


def _check_spread(name: str, first: int, count: int) -> tuple[str, ...]:
    """Statements that find a standard deviation that is none."""
    return (
        f"for i in range({first}, {first + count}):",
        f"    if not (np.isfinite(float_at({name}, i)) and float_at({name}, i) >= 0.0):",
        f"        kind, number = {int(FaultKind.SPREAD)}, float_at({name}, i)",
    )


def _next_reading(definition: Definition, function: ModelFunction, name: str) -> Passing:
    """The reading, or its mean; behind it its noise, or standard deviations that the user's function may write."""
    dtype, noise = definition.reading, definition.reading_noise
    assert dtype is not None
    words, record = dtype.itemsize // 8, f"{name}_record"
    before = [*(f"put_int({name}, {w}, 0)" for w in range(words)), f"{record} = output_at({name}, READING)"]
    value, check = record, _check_record(dtype, record)
    if noise.form == "given":
        value += f", input_array_at({_behind(name, dtype)}, ({noise.count},), np.float64)"
    elif noise.count:
        before.append(f"copy_words({name}, {words}, address_at(m, {READING_SPREAD}), {noise.count})")
    if function.name in definition.extended:
        value += f", output_at({_behind(name, dtype)}, READING_SPREAD)"
        check += _check_spread(name, words, noise.count)
    after = (*_wrap(definition, "reading", record), *_clear_negative_zeros(dtype, record))
    written = words + (noise.count if noise.form == "gaussian" else 0)
    harmless = tuple(f"put_int({name}, {w}, 0)" for w in range(written))
    return Passing(value, tuple(before), tuple(check), after, harmless)


def _wrap(definition: Definition, layout: str, record: str) -> list[str]:
    """Statements that wrap the angles of a record."""
    lines = []
    for field in definition.angles[layout]:
        if definition.layouts[layout][field].ndim == 0:
            lines.append(f"{record}.{field} = wrapped({record}.{field})")
        else:
            place = f"{record}.{field}.flat[k]"
            lines += [f"for k in range({record}.{field}.size):", f"    {place} = wrapped({place})"]
    return lines


def _floats(name: str, size: str, more: str = "") -> tuple[str, ...]:
    """Statements that make an array of one of the model's sizes."""
    return f"{name}_count = {size_of(size)}", f"{name}_values = array_at({name}, ({name}_count{more},), np.float64)"


def size_of(name: str) -> str:
    """One of the model's sizes, in its block."""
    return f"int_at(m, {Sizes._fields.index(name)})"


def _record(definition: Definition, name: str, kind: Kind) -> Passing:
    dtype = definition.memory if kind is Kind.UPDATED_MEMORY else definition.theta
    record = f"output_at({name}, {_OUTPUTS[kind]})"
    harmless: tuple[str, ...] = ()
    if kind is Kind.DRAWN_HIDDEN:
        harmless = tuple(f"put_int({name}, {w}, 0)" for w in range(dtype.itemsize // 8))
    return Passing(record, check=tuple(_check_record(dtype, record)), harmless=harmless)


def _next_states(definition: Definition, name: str, source: str) -> Passing:
    words, dtype = definition.state.itemsize // 8, definition.state
    several = definition.sizes.next_states > 1
    copy: tuple[str, ...] = (f"copy_words({name}, 0, {source}, {words})",)
    if several:
        copy = (f"for i in range({name}_count):", f"    copy_words({name}, {words} * i, {source}, {words})")
    before = (
        f"{name}_count = {size_of('next_states')}" if several else f"{name}_count = 1",
        *copy,
        f"{name}_records = outputs_at({name}, ({name}_count,), STATE)"
        if several
        else f"{name}_record = output_at({name}, STATE)",
    )
    record = f"{name}_records[i]" if several else f"{name}_record"
    loop, indent = ([f"for i in range({name}_count):"], "    ") if several else ([], "")
    check = [indent + line for line in _check_record(dtype, record)]
    tidy = (*_wrap(definition, "state", record), *_clear_negative_zeros(dtype, record))
    clear = [indent + line for line in tidy]
    value = f"{name}_records" if several else f"{name}_record"
    return Passing(
        value, before, tuple(loop + check if check else []), tuple(loop + clear if clear else []), copy,
        f"{name}_count",
    )  # fmt: skip


def _next_hidden(definition: Definition, name: str, source: str) -> Passing:
    words, record = definition.theta.itemsize // 8, f"{name}_record"
    copy = (f"copy_words({name}, 0, {source}, {words})",)
    before = (*copy, f"{record} = output_at({name}, THETA)")
    check, clear = _check_record(definition.theta, record), _clear_negative_zeros(definition.theta, record)
    return Passing(record, before, tuple(check), tuple(clear), copy)


def _check_record(dtype: np.dtype[Any], record: str) -> list[str]:
    """Statements that find a number in a record that is not finite."""
    lines = []
    for field in float_fields(dtype):
        if dtype[field].ndim == 0:
            lines += not_finite(f"{record}.{field}", FaultKind.RECORD)
        else:
            lines += [f"for v in {record}.{field}.flat:", *not_finite("v", FaultKind.RECORD, "    ")]
    return lines


def not_finite(value: str, kind: FaultKind, indent: str = "") -> list[str]:
    """Statements that note a number that is not finite."""
    return [f"{indent}if not np.isfinite({value}):", f"{indent}    kind, number = {int(kind)}, np.float64({value})"]


def _clear_negative_zeros(dtype: np.dtype[Any], record: str) -> list[str]:
    return [
        f"{record}.{field} = {record}.{field} + 0.0" if dtype[field].ndim == 0 else f"{record}.{field}[:] += 0.0"
        for field in float_fields(dtype)
    ]
