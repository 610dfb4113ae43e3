"""Records: the layout of the observed state X and of the hidden parameter Θ."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pomdplite.errors import ModelError
from pomdplite.jit import Floats, Ints, Words

JOINT_LIMIT = 65_536  # most values of θ that are listed one by one


def record_dtype(fields: Mapping[str, Any]) -> np.dtype[Any]:
    """An aligned record whose size is a whole number of 8-byte words."""
    for name in fields:
        if hasattr(np.record, name):
            raise ModelError(f"a field cannot be called {name!r}: NumPy's records use that name; choose another.")
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


def empty_record(dtype: np.dtype[Any]) -> Any:
    """A record of zeros whose fields are read and written as attributes."""
    return np.zeros(1, dtype).view(np.recarray)[0]


def to_words(dtype: np.dtype[Any], record: Any) -> Words:
    """A record as words, with padding zeroed and -0.0 made 0.0 so that equal records are equal words."""
    whole = np.zeros(1, dtype)
    for name in dtype.names or ():
        value = np.asarray(record[name])
        whole[0][name] = value + 0.0 if value.dtype.kind == "f" else value
    return whole.view(np.uint64)


def from_words(dtype: np.dtype[Any], words: Words) -> Any:
    """The record (a copy) that these words hold."""
    return np.array(words[: dtype.itemsize // 8]).view(dtype).view(np.recarray)[0]


def _array_item(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Truth values in arrays are kept as 0 and 1: Numba has no arrays of bool inside records."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def _is_name(values: Any) -> bool:
    return isinstance(values, str)


class State:
    """The layout of the observed state x.

    Each field is a type (`bool`, `int`, `float` or a NumPy type), a tuple of names (the field then holds
    the number of one of them), or `(type, shape)` for an array:

        State(row=int, col=int, door=("open", "shut"), seen=(bool, 4))
    """

    def __init__(self, **fields: Any) -> None:
        if not fields:
            fields = {"_": int}  # a model with nothing observed has one state
        self.labels: dict[str, tuple[str, ...]] = {}
        formats: dict[str, Any] = {}
        for name, kind in fields.items():
            if isinstance(kind, (tuple, list)) and kind and all(_is_name(v) for v in kind):
                self.labels[name] = tuple(kind)
                formats[name] = np.int64
            elif isinstance(kind, tuple):
                if len(kind) != 2:
                    raise ModelError(
                        f"State field {name!r}: give a type, a tuple of names or (type, shape), not {kind!r}."
                    )
                formats[name] = (_array_item(self._scalar(name, kind[0])), kind[1])
            else:
                formats[name] = self._scalar(name, kind)
        self.dtype = record_dtype(formats)
        self.words = self.dtype.itemsize // 8

    @staticmethod
    def _scalar(name: str, kind: Any) -> np.dtype[Any]:
        try:
            dtype = np.dtype(kind)
        except TypeError:
            dtype = np.dtype(object)
        if dtype.kind not in "biuf":
            raise ModelError(
                f"State field {name!r}: {kind!r} is not a type a state can hold; use bool, int, float, "
                "a NumPy number type, a tuple of names, or (type, shape) for an array."
            )
        return dtype

    def describe(self, x: Any) -> str:
        """A state in words: `row=3 door=open`."""
        parts = []
        for name in self.dtype.names or ():
            value = x[name]
            if name in self.labels and 0 <= int(value) < len(self.labels[name]):
                parts.append(f"{name}={self.labels[name][int(value)]}")
            elif np.ndim(value):
                parts.append(f"{name}={np.asarray(value).tolist()}")
            elif name != "_":
                parts.append(f"{name}={value.item() if hasattr(value, 'item') else value}")
        return " ".join(parts) or "the only state"


@dataclass(frozen=True)
class Component:
    """One independent hidden component: its values, their names and their prior."""

    name: str
    labels: tuple[str, ...]
    values: tuple[Any, ...]  # what theta.<field> holds: the number itself, or the index of a name
    prior: Floats

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class independent:
    """`count` independent components that share their values: theta.<field>[i] is the i-th.

    `values` as in `Hidden`; `prior` may be one row for all or one row per component.
    """

    count: int
    values: Any
    prior: Any = None


class Hidden:
    """The hidden parameter θ: one or more independent components, each with a finite set of values.

    A component is a tuple of names or numbers (uniform prior) or a dictionary from value to probability;
    `independent(n, values)` makes an array of n of them:

        Hidden(tiger=("left", "right"))
        Hidden(mass={0.5: 0.7, 1.0: 0.2, 2.0: 0.1})
        Hidden(rocks=independent(8, ("bad", "good")))

    In the model's functions theta.tiger is the index of a name, theta.mass the number itself.
    """

    def __init__(self, **fields: Any) -> None:
        if not fields:
            raise ModelError("Hidden needs at least one component, for example Hidden(tiger=('left', 'right')).")
        formats: dict[str, Any] = {}
        self.components: list[Component] = []
        self._places: list[tuple[str, int | None]] = []  # component -> (field, index in it)
        for name, field in fields.items():
            if isinstance(field, independent):
                values, prior = self._values(name, field.values, field.prior, field.count)
                formats[name] = (_array_item(self._kind(values)), (field.count,))
                for i in range(field.count):
                    self._add(f"{name}[{i}]", name, i, values, prior[i])
            else:
                values, prior = self._values(name, field, None, 1)
                formats[name] = self._kind(values)
                self._add(name, name, None, values, prior[0])
        self.dtype = record_dtype(formats)
        self.words = self.dtype.itemsize // 8

    def _add(self, title: str, field: str, index: int | None, values: tuple[Any, ...], prior: Floats) -> None:
        labels = tuple(str(v) for v in values)
        stored = tuple(range(len(values))) if any(_is_name(v) for v in values) else values
        self.components.append(Component(title, labels, stored, prior))
        self._places.append((field, index))

    @staticmethod
    def _values(name: str, values: Any, prior: Any, count: int) -> tuple[tuple[Any, ...], Floats]:
        if isinstance(values, Mapping):
            if prior is not None:
                raise ModelError(f"Hidden component {name!r}: the prior is given twice.")
            prior, values = list(values.values()), tuple(values)
        if not isinstance(values, Iterable) or isinstance(values, (str, set, frozenset)):
            raise ModelError(
                f"Hidden component {name!r}: give its values, for example ('left', 'right'), not {values!r}."
            )
        values = tuple(values)
        if not values:
            raise ModelError(f"Hidden component {name!r} has no values.")
        if len(set(values)) != len(values):
            raise ModelError(f"Hidden component {name!r} lists a value twice: {values!r}.")
        wrong = [v for v in values if not isinstance(v, (str, bool, int, float, np.number, np.bool_))]
        if wrong:
            raise ModelError(
                f"Hidden component {name!r}: a value is a name or a number, not {wrong[0]!r}; number the values and "
                "keep what they stand for in an array of the model."
            )
        named = [_is_name(v) for v in values]
        if any(named) and not all(named):
            raise ModelError(f"Hidden component {name!r} mixes names and numbers: {values!r}.")
        n = len(values)
        weights = np.full(n, 1.0 / n) if prior is None else np.asarray(prior, float)
        try:
            rows = np.broadcast_to(weights, (count, n))
        except ValueError:
            raise ModelError(
                f"Hidden component {name!r}: the prior has shape {weights.shape}; expected {n} numbers"
                + (f", or {count} rows of {n}." if count > 1 else ".")
            ) from None
        for row in rows:
            if not np.all(np.isfinite(row)) or np.any(row < 0) or abs(row.sum() - 1) > 1e-6:
                raise ModelError(
                    f"Hidden component {name!r}: the prior {row.tolist()} is not a probability distribution "
                    f"(it sums to {row.sum():g})."
                )
        return values, rows / rows.sum(axis=1, keepdims=True)

    @staticmethod
    def _kind(values: tuple[Any, ...]) -> np.dtype[Any]:
        if any(_is_name(v) for v in values):
            return np.dtype(np.int64)
        kind = np.asarray(values).dtype
        return np.dtype({"b": np.bool_, "f": np.float64}.get(kind.kind, np.int64))

    def record(self, indices: Sequence[int]) -> Any:
        """The record of θ in which component c has its value number indices[c]."""
        theta = empty_record(self.dtype)
        for component, (field, place), i in zip(self.components, self._places, indices, strict=True):
            if place is None:
                theta[field] = component.values[i]
            else:
                theta[field][place] = component.values[i]
        return theta

    def indices(self, theta: Any) -> list[int | None]:
        """For each component the number of its value in this record, None if it is not one of its values."""
        found: list[int | None] = []
        for component, (field, place) in zip(self.components, self._places, strict=True):
            value = theta[field] if place is None else theta[field][place]
            found.append(next((i for i, v in enumerate(component.values) if v == value), None))
        return found

    def describe(self, theta: Any) -> str:
        """A hidden value in words: `tiger=left`."""
        return " ".join(
            f"{c.name}={c.labels[i] if i is not None else '?'}"
            for c, i in zip(self.components, self.indices(theta), strict=True)
        )

    @property
    def size(self) -> int:
        """|Θ|, the number of joint values."""
        return math.prod(len(c) for c in self.components)


class Population:
    """A hidden parameter that cannot be listed: the layout of θ, fields as in `State`.

    The model draws it with prior(m, theta, random) and the belief is a population of such draws (particles).
    """

    components: tuple[Component, ...] = ()

    def __init__(self, **fields: Any) -> None:
        if not fields:
            raise ModelError("Population needs the fields of θ, for example Population(cells=(np.uint64, 2)).")
        layout = State(**fields)
        self.dtype, self.words, self.describe = layout.dtype, layout.words, layout.describe

    @property
    def size(self) -> None:
        """|Θ| is not known."""
        return None


@dataclass(frozen=True)
class HiddenTable:
    """Θ listed for kernels, block by block; the belief holds one number per row.

    Factored: one block per component. Joint: a single block with every combination.
    The last block stands for "depends on no component": one row, always of probability 1.
    """

    hidden: Any  # Hidden or Population
    joint: bool
    theta: Words  # [row, words]
    offsets: Ints  # [block + 1]
    prior: Floats  # [row]
    map_word: Ints  # [row]
    map_shift: Words  # [row]
    map_mask: Words  # [block]
    map_words: int
    identity: Words  # [map_words] the maps before anything has changed

    @property
    def blocks(self) -> int:
        """Number of components, "none" not counted."""
        return len(self.offsets) - 2

    def joint_indices(self, row: int) -> tuple[int, ...]:
        """In a joint table: the value number of each component in this row."""
        return tuple(int(i) for i in np.unravel_index(row, [len(c) for c in self.hidden.components]))

    def label(self, block: int, value: int) -> str:
        """A row in words."""
        if isinstance(self.hidden, Population):
            return f"draw {value} from the prior"
        if not self.joint:
            component = self.hidden.components[block]
            return f"{component.name}={component.labels[value]}"
        return " ".join(
            f"{c.name}={c.labels[i]}" for c, i in zip(self.hidden.components, self.joint_indices(value), strict=True)
        )

    def marginals(self, b: Floats) -> list[Floats]:
        """Per component of Hidden, the probabilities of its values under the block probabilities b."""
        if not self.joint:
            return [b[self.offsets[c] : self.offsets[c + 1]].copy() for c in range(self.blocks)]
        sizes = [len(c) for c in self.hidden.components]
        cube = b[: self.offsets[1]].reshape(sizes)
        axes = range(len(sizes))
        return [cube.sum(axis=tuple(k for k in axes if k != c)) for c in axes]


def hidden_table(hidden: Hidden, *, joint: bool, evolves: bool) -> HiddenTable:
    """List Θ as one block of joint values, or as one block per component."""
    components = hidden.components
    if joint and hidden.size > JOINT_LIMIT:
        raise ModelError(
            f"The hidden parameter has {hidden.size:,} joint values, more than the {JOINT_LIMIT:,} that are listed "
            "one by one; if each (x, a) depends on one component only, say which with depends(m, x, a)."
        )
    if joint:
        sizes = [hidden.size]
        combos: list[tuple[int, ...]] = list(product(*(range(len(c)) for c in components)))
        prior = np.array(
            [math.prod(float(c.prior[i]) for c, i in zip(components, combo, strict=True)) for combo in combos]
        )
    else:
        sizes = [len(c) for c in components]
        combos = [
            tuple(v if d == c else 0 for d in range(len(components)))
            for c, size in enumerate(sizes)
            for v in range(size)
        ]  # fmt: skip
        prior = np.concatenate([c.prior for c in components])
    combos.append(tuple(0 for _ in components))
    theta = np.concatenate([to_words(hidden.dtype, hidden.record(combo)) for combo in combos]).reshape(len(combos), -1)
    offsets = np.concatenate([[0], np.cumsum([*sizes, 1])]).astype(np.int64)
    layout = _map_layout(sizes) if evolves else _no_maps(len(combos), len(sizes))
    return HiddenTable(hidden, joint, theta, offsets, np.append(prior, 1.0), *layout)


def population_table(hidden: Population, theta: Words) -> HiddenTable:
    """A table of draws, equally likely."""
    count = len(theta) - 1
    prior = np.append(np.full(count, 1.0 / count), 1.0)
    offsets = np.array([0, count, count + 1], np.int64)
    return HiddenTable(hidden, True, theta, offsets, prior, *_no_maps(count + 1, 1))


def _no_maps(rows: int, blocks: int) -> tuple[Ints, Words, Words, int, Words]:
    zeros: NDArray[np.uint64] = np.zeros(rows, np.uint64)
    return np.zeros(rows, np.int64), zeros, np.zeros(blocks + 1, np.uint64), 0, np.zeros(0, np.uint64)


def _map_layout(sizes: Sequence[int]) -> tuple[Ints, Words, Words, int, Words]:
    """Where the map from initial to present value is kept, entry by entry, none across two words."""
    word, shift, mask, at = [], [], [], 0
    for size in sizes:
        width = max(1, (size - 1).bit_length())
        mask.append((1 << width) - 1)
        for _ in range(size):
            if at % 64 + width > 64:
                at += 64 - at % 64
            word.append(at // 64)
            shift.append(at % 64)
            at += width
    words = -(-at // 64)
    identity = [0] * words
    row = 0
    for size in sizes:
        for value in range(size):
            identity[word[row]] |= value << shift[row]
            row += 1
    return (
        np.array([*word, 0], np.int64),
        np.array([*shift, 0], np.uint64),
        np.array([*mask, 0], np.uint64),
        words,
        np.array(identity, np.uint64),
    )
