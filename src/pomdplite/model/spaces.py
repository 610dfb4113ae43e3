"""The spaces of a model: the observed state X, and the hidden parameter Θ with its prior."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import ModelError, shown
from pomdplite.model.distributions import Coordinate, Distribution, distribution_table
from pomdplite.model.records import empty_record, record_dtype


def _array_item(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Booleans in arrays are stored as 0 and 1: Numba does not support arrays of bool inside records."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def _is_name(values: Any) -> bool:
    return isinstance(values, str)


class Angle:
    """The type of a field that holds an angle in radians: after every step it is wrapped to [−π, π)."""


class State:
    """The layout of the observed state x.

    Each field is a type (`bool`, `int`, `float`, `Angle` or a NumPy type), a tuple of names (the field then holds
    the index of one of them), or `(type, shape)` for an array:

        State(row=int, col=int, door=("open", "shut"), seen=(bool, 4), heading=Angle)
    """

    def __init__(self, **fields: Any) -> None:
        if not fields:
            fields = {"_": int}  # a model that observes no state has a single one
        self.labels: dict[str, tuple[str, ...]] = {}
        self.angles = tuple(n for n, k in fields.items() if (k[0] if isinstance(k, tuple) and k else k) is Angle)
        self.flags: list[str] = []  # the arrays of booleans, which are stored as 0 and 1
        formats: dict[str, Any] = {}
        for name, kind in fields.items():
            if isinstance(kind, (tuple, list)) and kind and all(_is_name(v) for v in kind):
                self.labels[name] = tuple(kind)
                formats[name] = np.int64
            elif isinstance(kind, tuple):
                if len(kind) != 2:
                    raise ModelError(
                        f"State field {name!r}: expected a type, a tuple of names or (type, shape), got {kind!r}."
                    )
                item = self._scalar(name, kind[0])
                formats[name] = (_array_item(item), kind[1])
                self.flags += [name] * (item.kind == "b")
            else:
                formats[name] = self._scalar(name, kind)
        self.dtype = record_dtype(formats)
        self.words = self.dtype.itemsize // 8

    @staticmethod
    def _scalar(name: str, kind: Any) -> np.dtype[Any]:
        try:
            dtype = np.dtype(np.float64 if kind is Angle else kind)
        except TypeError:
            dtype = np.dtype(object)
        if dtype.kind not in "biuf":
            raise ModelError(
                f"State field {name!r}: {kind!r} is not a type that a state can hold; use bool, int, float, "
                "Angle, a NumPy number type, a tuple of names, or (type, shape) for an array."
            )
        return dtype

    def describe(self, x: Any) -> str:
        """A state as text: `row=3 door=open`."""
        return " ".join(f"{name}={value}" for name, value in self.values(x).items()) or "the only state"

    def values(self, x: Any) -> dict[str, Any]:
        """The value of each field: a number, a name, or a list; empty if the model observes no state."""
        found = {}
        for name in self.dtype.names or ():
            value = x[name]
            if name in self.labels and 0 <= int(value) < len(self.labels[name]):
                found[name] = self.labels[name][int(value)]
            elif np.ndim(value):
                found[name] = np.asarray(value).tolist()
            elif name != "_":
                found[name] = value.item() if hasattr(value, "item") else value
        return found


@dataclass(frozen=True)
class Component:
    """One independent hidden component: its values, their names and their prior."""

    name: str
    labels: tuple[str, ...]
    values: tuple[Any, ...]  # what theta.<field> holds: a number itself, or the index of a name
    prior: Floats

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Independent:
    """Independent components with the same values, as `independent` makes them."""

    count: int
    values: Any
    prior: Any = None


def independent(count: int, values: Any, prior: Any = None) -> Independent:
    """`count` independent components with the same values: `theta.<field>[i]` is the i-th.

    `values` as in `Hidden`; `prior` is one row for all components, or one row per component.
    """
    if not isinstance(count, (int, np.integer)) or count < 1:
        raise ModelError(f"independent(count, values): count must be a positive integer, not {count!r}.")
    return Independent(int(count), values, prior)


def _values_of(field: Any) -> Any:
    """What a component of Hidden may be, or each of several."""
    return field.values if isinstance(field, Independent) else field


class Hidden:
    """The hidden parameter θ: one or more independent components, each with a finite set of values.

    A component is a tuple of names or numbers (uniform prior), or a dictionary from value to probability;
    `independent(n, values)` is an array of n components:

        Hidden(tiger=("left", "right"))
        Hidden(mass={0.5: 0.7, 1.0: 0.2, 2.0: 0.1})
        Hidden(rocks=independent(8, ("bad", "good")))

    In the model's functions `theta.tiger` is the index of a name, and `theta.mass` the number itself.

    A component may also be a number with a distribution: Uniform, Normal, LogNormal, Beta or Gamma. The result is then
    a `Distributed`:

        Hidden(mass=Uniform(0.5, 2.0), kind=("cup", "bowl"))
    """

    def __new__(cls, **fields: Any) -> Any:
        """A Hidden, or a Distributed if a component has a distribution."""
        if any(isinstance(_values_of(field), Distribution) for field in fields.values()):
            return Distributed(**fields)
        return super().__new__(cls)

    def __init__(self, **fields: Any) -> None:
        if not fields:
            raise ModelError("Hidden needs at least one component, e.g. Hidden(tiger=('left', 'right')).")
        formats: dict[str, Any] = {}
        self.components: list[Component] = []
        self.places: list[tuple[str, int | None]] = []  # component -> (field, index in it)
        self.labels: dict[str, tuple[str, ...]] = {}  # the fields whose values have names
        for name, field in fields.items():
            if isinstance(field, Independent):
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
        self.places.append((field, index))
        if stored is not values:
            self.labels[field] = labels

    @staticmethod
    def _values(name: str, values: Any, prior: Any, count: int) -> tuple[tuple[Any, ...], Floats]:
        if isinstance(values, Mapping):
            if prior is not None:
                raise ModelError(
                    f"Hidden component {name!r} has two priors: give probabilities in the dictionary or as prior=, "
                    "not both."
                )
            prior, values = list(values.values()), tuple(values)
        if isinstance(values, type) and issubclass(values, Distribution):
            raise ModelError(f"Hidden component {name!r}: {values.__name__} needs its two parameters.")
        if not isinstance(values, Iterable) or isinstance(values, (str, set, frozenset)):
            raise ModelError(
                f"Hidden component {name!r}: expected a tuple of values such as ('left', 'right'), got {values!r}."
            )
        values = tuple(values)
        if not values:
            raise ModelError(f"Hidden component {name!r} has no values.")
        if len(set(values)) != len(values):
            raise ModelError(f"Hidden component {name!r} has duplicate values: {values!r}.")
        wrong = [v for v in values if not isinstance(v, (str, bool, int, float, np.number, np.bool_))]
        if wrong:
            raise ModelError(
                f"Hidden component {name!r}: values must be names or numbers, not {wrong[0]!r}; use indices, and "
                "keep what they stand for in an array of the model."
            )
        large = [v for v in values if isinstance(v, int) and not -(2**63) <= v < 2**63]
        if large:
            raise ModelError(f"Hidden component {name!r}: numbers must fit into 64 bits, unlike {shown(large[0])}.")
        named = [_is_name(v) for v in values]
        if any(named) and not all(named):
            raise ModelError(f"Hidden component {name!r} mixes names and numbers: {shown(values)}.")
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
                    f"Hidden component {name!r}: the prior {shown(row.tolist())} is not a probability distribution "
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
        """The record of θ in which each component c has its value number indices[c]."""
        theta = empty_record(self.dtype)
        for component, (field, place), i in zip(self.components, self.places, indices, strict=True):
            if place is None:
                theta[field] = component.values[i]
            else:
                theta[field][place] = component.values[i]
        return theta

    def indices(self, theta: Any) -> list[int | None]:
        """The number of each component's value in this record, None if it is not one of its values."""
        found: list[int | None] = []
        for component, (field, place) in zip(self.components, self.places, strict=True):
            value = theta[field] if place is None else theta[field][place]
            found.append(next((i for i, v in enumerate(component.values) if v == value), None))
        return found

    def describe(self, theta: Any) -> str:
        """A hidden value as text: `tiger=left`."""
        return " ".join(
            f"{c.name}={c.labels[i] if i is not None else '?'}"
            for c, i in zip(self.components, self.indices(theta), strict=True)
        )

    @property
    def size(self) -> int:
        """|Θ|, the number of joint values."""
        return math.prod(len(c) for c in self.components)


class Population:
    """A hidden parameter with too many values to list: the layout of θ, with fields as in `State`.

    The model draws θ in prior(m, theta, random), and the belief is a population of such draws (particles). People see
    the mean of the model's summary(m, theta, f); without one, the probabilities of each field's names, or the mean of
    its number or numbers.
    """

    components: tuple[Component, ...] = ()

    def __init__(self, **fields: Any) -> None:
        if not fields:
            raise ModelError("Population needs the fields of θ, e.g. Population(cells=(np.uint64, 2)).")
        self.layout = State(**fields)
        self.dtype, self.words, self.labels = self.layout.dtype, self.layout.words, self.layout.labels

    def describe(self, theta: Any) -> str:
        """A hidden value as text."""
        return self.layout.describe(theta)

    @property
    def size(self) -> None:
        """|Θ| is unknown."""
        return None


class Distributed(Population):
    """A hidden parameter with numbers given by distribution, as `Hidden` makes it; other components are listed values.

    The library derives draws, densities and the belief, so the model defines neither `prior` nor `move`. Every number
    or index of a name fills one word.
    """

    def __init__(self, **fields: Any) -> None:
        self.parts: dict[str, Component | None] = {}  # each number of θ, word by word; None if it is continuous
        self.priors: dict[str, str] = {}  # of each field, for people
        self.supports: dict[str, tuple[float, float]] = {}  # of each field that has a distribution
        self.labels: dict[str, tuple[str, ...]] = {}
        formats: dict[str, Any] = {}
        coordinates: list[Coordinate] = []
        for name, field in fields.items():
            values, several = _values_of(field), isinstance(field, Independent)
            titles = [f"{name}[{i}]" for i in range(field.count)] if several else [name]
            kind: Any = np.float64
            if isinstance(values, Distribution):
                if several and field.prior is not None:
                    raise ModelError(f"Hidden component {name!r} has two priors: {values} and prior=.")
                self.parts |= dict.fromkeys(titles)
                coordinates += [Coordinate(values, np.zeros(0, np.uint64), np.zeros(0)) for _ in titles]
                prior, self.supports[name] = str(values), values.support
            else:
                listing = Hidden(**{name: field})
                first = listing.components[0]
                kind = np.float64 if np.asarray(first.values).dtype.kind == "f" else np.int64
                stored = np.array(first.values, kind).view(np.uint64)
                self.labels |= listing.labels
                self.parts |= {c.name: c for c in listing.components}
                coordinates += [Coordinate(None, stored, c.prior) for c in listing.components]
                prior = " or ".join(first.labels)
            formats[name] = (kind, (len(titles),)) if several else kind
            self.priors[name] = f"{len(titles)} × {prior}" if several else prior
        self.dtype = record_dtype(formats)
        self.words = self.dtype.itemsize // 8
        self.table = distribution_table(coordinates)

    def describe(self, theta: Any) -> str:
        """A hidden value as text: `mass=1.31 kind=cup`."""
        parts = []
        for name in self.dtype.names or ():
            names = self.labels.get(name)
            texts = [f"{v:.6g}" if names is None else names[v] for v in np.ravel(theta[name]).tolist()]
            parts.append(f"{name}={texts[0] if np.ndim(theta[name]) == 0 else '[' + ', '.join(texts) + ']'}")
        return " ".join(parts)

    def continuous(self, field: str) -> bool:
        """Whether a field has a distribution."""
        return self.parts.get(field, self.parts.get(f"{field}[0]")) is None

    @property
    def identity(self) -> str:
        """Everything that the prior depends on, as text."""
        return repr([self.priors, *(numbers.tolist() for numbers in self.table[1:])])
