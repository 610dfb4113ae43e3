"""Records as a table: one column for each number of a record."""

from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Words
from pomdplite.model.spaces import State


class RecordColumn(NamedTuple):
    """One number of a record."""

    field: str
    entry: int  # in the field, whose entries count as one row
    name: str  # `speed` or `heading[0]`
    real: bool  # a floating-point number
    angle: bool
    labels: tuple[str, ...]  # if its values have names


def columns_of(space: State) -> list[RecordColumn]:
    """The columns of a state or a reading."""
    found = []
    for field in space.dtype.names or ():
        kind, labels = space.dtype[field], space.labels.get(field, ())
        real, angle = kind.base.kind == "f", field in space.angles
        for entry in range(int(np.prod(kind.shape, dtype=int))):
            name = f"{field}[{entry}]" if kind.shape else field
            found.append(RecordColumn(field, entry, name, real, angle, labels))
    return found


def records(space: State, words: Words) -> Any:
    """The rows as records, which share their memory."""
    return words.view(space.dtype).reshape(len(words))


def numbers(space: State, columns: list[RecordColumn], words: Words) -> Floats:
    """The rows as numbers: [row, column]."""
    rows = records(space, words)
    return np.stack([rows[c.field].reshape(len(words), -1)[:, c.entry].astype(np.float64) for c in columns], axis=1)


def put(space: State, column: RecordColumn, words: Words, values: Floats) -> None:
    """Write numbers into one column of the rows."""
    rows = records(space, words)[column.field]
    rows.reshape(len(words), -1)[:, column.entry] = values


def bits(space: State, columns: list[RecordColumn], words: Words) -> Words:
    """The rows, exactly: [row, column]."""
    rows, found = records(space, words), []
    for c in columns:
        values = rows[c.field].reshape(len(words), -1)[:, c.entry]
        kind = np.float64 if c.real else np.uint64 if values.dtype == np.uint64 else np.int64
        found.append(values.astype(kind).view(np.uint64))
    return np.stack(found, axis=1)
