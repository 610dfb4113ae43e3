"""Records: the memory layout of states and hidden values, and their form as the 8-byte words that kernels see."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from pomdplite.compile.jit import Words
from pomdplite.errors import ModelError


def record_dtype(fields: Mapping[str, Any]) -> np.dtype[Any]:
    """An aligned record whose size is a whole number of 8-byte words."""
    for name in fields:
        if hasattr(np.record, name):
            raise ModelError(f"a field cannot be called {name!r}, because NumPy's records use that name.")
    plain = np.dtype([(name, *kind) if isinstance(kind, tuple) else (name, kind) for name, kind in fields.items()],
                     align=True)  # fmt: skip
    names = list(plain.names or ())
    assert plain.fields is not None
    return np.dtype(
        {
            "names": names,
            "formats": [plain.fields[n][0] for n in names],
            "offsets": [plain.fields[n][1] for n in names],
            "itemsize": max(8, -(-plain.itemsize // 8) * 8),
        },
        align=True,
    )


def float_fields(dtype: np.dtype[Any]) -> list[str]:
    """The fields that hold floating-point numbers."""
    return [name for name in dtype.names or () if dtype[name].base.kind == "f"]


def empty_record(dtype: np.dtype[Any]) -> Any:
    """A record of zeros whose fields are read and written as attributes."""
    return np.zeros(1, dtype).view(np.recarray)[0]


def to_words(dtype: np.dtype[Any], record: Any) -> Words:
    """A record as words, with padding zeroed and -0.0 made into 0.0, so that equal records are equal words."""
    layout = _layout(dtype)
    if layout is not None and isinstance(record, np.void) and record.dtype == dtype:
        used, doubles = layout
        words = np.frombuffer(record, np.uint64) & used
        if len(doubles):
            words.view(np.float64)[doubles] += 0.0
        return words
    whole = np.zeros(1, dtype)
    for name in dtype.names or ():
        value = np.asarray(record[name])
        whole[0][name] = value + 0.0 if value.dtype.kind == "f" else value
    return whole.view(np.uint64)


def from_words(dtype: np.dtype[Any], words: Words) -> Any:
    """A copy of the record that these words hold."""
    return words[: dtype.itemsize // 8].copy().view(_attribute_dtype(dtype))[0]


@cache
def _layout(dtype: np.dtype[Any]) -> tuple[Words, Any] | None:
    """The bits of a record that are not padding, and which words are doubles; None if there are shorter floats."""
    used, doubles = np.zeros(1, dtype), np.zeros(1, dtype)
    for name in dtype.names or ():
        field = dtype[name].base
        if field.kind == "f" and field.itemsize != 8:
            return None
        ones = True if field.kind == "b" else np.frombuffer(b"\xff" * field.itemsize, field)[0]
        used[name] = ones
        if field.kind == "f":
            doubles[name] = ones
    return used.view(np.uint64), np.flatnonzero(doubles.view(np.uint64))


@cache
def _attribute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same layout, with fields that are read and written as attributes."""
    return np.dtype((np.record, dtype))
