"""Actions that are numbers: the fields of an action, and the values that planners choose among.

Planners choose from a list, so each range stands for equally spaced values, ends included, and the actions are all
their combinations. The list goes from coarse to fine: a range is halved again and again, and an action is as fine as
its finest field. A search that looks at the first n actions of the list has thus looked everywhere, at about the
resolution that n actions can have. Within one level, the order is that of the van der Corput sequence, whose every
beginning is spread evenly.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats, Ints
from pomdplite.compile.nearest import nearest_point
from pomdplite.errors import ModelError, UsageError, shown
from pomdplite.model.records import record_dtype

_COUNTS = {1: 65, 2: 17, 3: 7, 4: 5}  # values of a range by default, by the number of ranges: a few hundred actions
_FEWEST = 3
MOST_ACTIONS = 100_000
_DIGITS = 12  # of a value, relative to its range: 0.3 instead of 0.30000000000000004


class Action(Sequence[str]):
    """Actions with fields that are numbers, each from a range:

        Action(force=(-1.0, 1.0))
        Action(force=(-1.0, 1.0, 21), turn=(-0.5, 0.5), grip=("open", "closed"))

    (low, high) or (low, high, count): the planner chooses among `count` equally spaced values, low and high included.
    By default there are 65 for one range, 17 for each of two, 7 of three, 5 of four and 3 of more. A tuple of names is
    a field that holds the index of one of them. The actions are all combinations, at most 100,000.

    The model's functions read `a.force`. It is also the sequence of the actions' names, such as "force=0.25", from
    coarse to fine: the centre, the ends, then ever finer steps.
    """

    def __init__(self, **fields: Any) -> None:
        if not fields:
            raise ModelError("Action needs at least one field, e.g. Action(force=(-1.0, 1.0)).")
        ranges = sum(not _is_names(given) for given in fields.values())
        self.labels: dict[str, tuple[str, ...]] = {}
        columns: dict[str, Floats] = {}
        for name, given in fields.items():
            if _is_names(given):
                self.labels[name] = _names(name, given)
                columns[name] = np.arange(len(given), dtype=np.float64)
            else:
                columns[name] = _values(name, given, _COUNTS.get(ranges, _FEWEST))
        total = math.prod(map(len, columns.values()))
        if total > MOST_ACTIONS:
            raise ModelError(
                f"Action lists {total:,} combinations of its fields, and the limit is {MOST_ACTIONS:,}; give a range "
                "fewer values, as in force=(-1.0, 1.0, 11)."
            )
        self.columns = columns
        self.dtype = record_dtype({name: np.int64 if name in self.labels else np.float64 for name in fields})
        self.records = self._records()
        self.points = self._points()
        self._names = self._named()

    def _records(self) -> Any:
        """[action] the values of every action, in the order of the list."""
        names = sorted(self.columns, key=lambda name: name not in self.labels)  # what comes first alternates most
        level = np.zeros([len(self.columns[name]) for name in names], np.int64)
        for i, name in enumerate(names):
            own = np.zeros(level.shape[i], np.int64) if name in self.labels else _levels(level.shape[i])
            level = np.maximum(level, own.reshape([-1 if k == i else 1 for k in range(len(names))]))
        order = _spread(level.ravel())
        records = np.zeros(len(order), self.dtype)
        for name, at in zip(names, np.unravel_index(order, level.shape), strict=True):
            records[name] = self.columns[name][at]
        records.flags.writeable = False
        return records

    def _points(self) -> Floats:
        """[1 + action, field] in the first row a scale for each field, then every action's values times the scale.

        Distances between them say which action is nearest: ranges count alike, and names differ more than anything.
        """
        fields = len(self.columns)
        scale = [10.0 * fields if n in self.labels else 1.0 / (c[-1] - c[0]) for n, c in self.columns.items()]
        rows = np.stack([self.records[name].astype(np.float64) for name in self.columns], axis=1)
        points: Floats = np.concatenate([np.array([scale]), rows * scale])
        points.flags.writeable = False
        return points

    def _named(self) -> tuple[str, ...]:
        for digits in (6, 17):
            parts = [
                [self.labels[name][int(v)] for v in self.records[name]]
                if name in self.labels
                else [f"{v:.{digits}g}" for v in self.records[name].tolist()]
                for name in self.columns
            ]
            named = [
                " ".join(f"{name}={text}" for name, text in zip(self.columns, texts, strict=True))
                for texts in zip(*parts, strict=True)
            ]
            if len(set(named)) == len(named):
                break
        return tuple(named)

    # ------------------------------------------------------------------ a sequence of names

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: Any) -> Any:
        return self._names[index]

    def __repr__(self) -> str:
        fields = (
            f"{name}={self.labels[name]!r}" if name in self.labels else
            f"{name}=({column[0].item()!r}, {column[-1].item()!r}, {len(column)})"
            for name, column in self.columns.items()
        )  # fmt: skip
        return f"Action({', '.join(fields)})"

    def describe(self) -> str:
        """The ranges and their resolution in words."""
        parts = []
        for name, column in self.columns.items():
            if name in self.labels:
                parts.append(f"{name} {' or '.join(self.labels[name])}")
            else:
                step = (column[-1] - column[0]) / (len(column) - 1)
                parts.append(f"{name} from {column[0]:g} to {column[-1]:g} in steps of {step:.4g}")
        return ", ".join(parts)

    # ------------------------------------------------------------------ values and numbers

    def values(self, a: int) -> dict[str, Any]:
        """The values of action number a; a name for a field of names."""
        record = self.records[a]
        return {
            name: self.labels[name][int(record[name])] if name in self.labels else float(record[name])
            for name in self.columns
        }

    def nearest(self, given: Any) -> int:
        """The number of the action nearest to these values: a dictionary, or a tuple in the order of the fields."""
        names = list(self.columns)
        whole = isinstance(given, (tuple, list)) and len(given) == len(names)
        values = dict(zip(names, given, strict=True)) if whole else given
        if not isinstance(values, Mapping) or set(values) != set(names):
            raise UsageError(f"an action has the fields {', '.join(names)}; got {shown(given)}.")
        return nearest_point(self.points, tuple(self._number(name, values[name]) for name in names))

    def returned(self, values: Any) -> int:
        """The number of the action nearest to what a function returned; -1 if that is not finite."""
        numbers = tuple(float(v) for v in (values if isinstance(values, tuple) else (values,)))
        if len(numbers) != len(self.columns):
            raise ModelError(f"an action has the fields {', '.join(self.columns)}; got {shown(values)}.")
        return nearest_point(self.points, numbers)

    def _number(self, name: str, value: Any) -> float:
        """A field's value as a number in its range."""
        labels, column = self.labels.get(name, ()), self.columns[name]
        if value in labels:
            return float(labels.index(value))
        number = math.nan
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            number = float(value)
        if labels and number not in range(len(labels)):
            raise UsageError(f"the action's field {name} is one of {', '.join(labels)}; got {shown(value)}.")
        if not column[0] <= number <= column[-1]:
            raise UsageError(
                f"the action's field {name} goes from {column[0]:g} to {column[-1]:g}; got {shown(value)}."
            )
        return number


def _is_names(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and len(given) > 0 and all(isinstance(name, str) for name in given)


def _names(field: str, given: Sequence[str]) -> tuple[str, ...]:
    if len(set(given)) != len(given):
        raise ModelError(f"Action: the names of {field} must be distinct, not {shown(given)}.")
    return tuple(given)


def _values(field: str, given: Any, count: int) -> Floats:
    """The equally spaced values of a range."""
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise ModelError(f"Action: {field} must be (low, high), (low, high, count) or names, not {shown(given)}.")
    if len(given) == 3:
        count = given[2]
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 2:
        raise ModelError(f"Action: the number of values of {field} must be an integer of at least 2, not "
                         f"{shown(count)}.")  # fmt: skip
    if count > MOST_ACTIONS:
        raise ModelError(f"Action: {field} has {count:,} values, and the limit is {MOST_ACTIONS:,} actions.")
    for end in given[:2]:
        if isinstance(end, bool) or not isinstance(end, (int, float, np.number)) or not math.isfinite(end):
            raise ModelError(f"Action: {field} must go from one finite number to another, not {shown(given)}.")
    low, high = float(given[0]), float(given[1])
    if not low < high:
        raise ModelError(f"Action: {field} goes from {low:g} to {high:g}; the first must be below the second.")
    if not math.isfinite(high - low):
        raise ModelError(f"Action: the range of {field} is too large, from {low:g} to {high:g}.")
    digits = _DIGITS - math.ceil(math.log10(high - low))
    values = np.array([round(low + (high - low) * i / (count - 1), digits) + 0.0 for i in range(count)])
    values[0], values[-1] = low, high
    if np.any(np.diff(values) <= 0):
        raise ModelError(f"Action: there are no {count} different numbers between {low!r} and {high!r} for {field}.")
    return values


def _levels(count: int) -> Ints:
    """[value] how often a range must be halved to come to each of its values: 0 the middle, 1 the ends."""
    level = np.zeros(count, np.int64)
    middle = (count - 1) // 2
    known = sorted({0, middle, count - 1})
    level[[i for i in known if i != middle]] = 1
    depth = 2
    while len(known) < count:
        halves = [(i + j) // 2 for i, j in pairwise(known) if j > i + 1]
        level[halves] = depth
        known, depth = sorted(known + halves), depth + 1
    return level


def _spread(level: Ints) -> Ints:
    """The indices ordered by level, and evenly spread within each: bits of their places in the level reversed."""
    order = []
    for depth in range(int(level.max()) + 1):
        members = np.flatnonzero(level == depth)
        bits = max(1, (len(members) - 1).bit_length())
        places = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(1 << bits)]
        order.append(members[[i for i in places if i < len(members)]])
    return np.concatenate(order)
