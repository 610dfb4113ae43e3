"""A belief in numbers: means and quantiles of those fields of θ that hold numbers rather than names."""

from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Words
from pomdplite.errors import UsageError
from pomdplite.model.spaces import Component, Distributed, Hidden, Population

INTERVAL = (0.025, 0.975)  # the quantiles that show a number to people
_ROUNDING = 1e-9  # of a sum of probabilities


class Particle(NamedTuple):
    """A hidden value and its probability."""

    theta: Any  # a record: particle.theta.mass
    probability: float


class Numbers(NamedTuple):
    """The distribution of each entry of one field of θ; a field that is not an array has one entry."""

    values: Floats  # [entry, n]
    weights: Floats  # [entry, n]
    shape: tuple[int, ...]  # of the field
    smooth: bool = False  # whether the values stand for the numbers around them, too

    def mean(self) -> Any:
        """The mean: a number, or an array for a field that is one."""
        return self._shaped((self.values * self.weights).sum(axis=1))

    def quantile(self, q: float) -> Any:
        """The smallest value that is not exceeded with probability q: a number, or an array for a field that is one.

        Smooth values are interpolated.
        """
        if not 0 <= q <= 1:
            raise UsageError(f"a quantile needs a probability from 0 to 1, not {q!r}.")
        found = np.zeros(len(self.values))
        for entry, (values, weights) in enumerate(zip(self.values, self.weights, strict=True)):
            values, weights = values[weights > 0], weights[weights > 0]
            if self.smooth:
                values, group = np.unique(values, return_inverse=True)
                weights = np.bincount(group, weights)
                found[entry] = np.interp(q, np.cumsum(weights) - weights / 2, values)
                continue
            order = np.argsort(values, kind="stable")
            at = int(np.searchsorted(np.cumsum(weights[order]), q - _ROUNDING))
            found[entry] = values[order][min(at, len(order) - 1)]
        return self._shaped(found)

    def _shaped(self, entries: Floats) -> Any:
        return entries.reshape(self.shape) if self.shape else float(entries[0])


def listed_numbers(hidden: Hidden, marginals: list[Floats]) -> dict[str, Numbers]:
    """The fields of a listed Θ whose components have these probabilities."""
    found = {}
    for field in hidden.dtype.names or ():
        own = [c for c, place in enumerate(hidden.places) if place[0] == field]
        if field not in hidden.labels:
            values = np.array([hidden.components[c].values for c in own], float)
            found[field] = Numbers(values, np.array([marginals[c] for c in own]), hidden.dtype[field].shape)
    return found


def drawn_numbers(hidden: Population, theta: Words, weights: Floats, *, smooth: bool = False) -> dict[str, Numbers]:
    """The fields of a Population with these draws; smooth: they are nodes of a grid over its continuous numbers."""
    found = {}
    for field in hidden.dtype.names or ():
        if field not in hidden.labels:
            values = _column(hidden, theta, field)
            between = smooth and isinstance(hidden, Distributed) and hidden.continuous(field)
            found[field] = Numbers(values, np.broadcast_to(weights, values.shape), hidden.dtype[field].shape, between)
    return found


def field_marginals(hidden: Population, theta: Words, weights: Floats, *, smooth: bool = False) -> list[Floats]:
    """For each field of a Population: the probabilities of its names, or the mean of its number or numbers.

    If it has distributions, for each number of θ: the probabilities of its listed values, or mean and 95 % interval.
    """
    if isinstance(hidden, Distributed):
        return [
            _part_marginal(part, theta[:, word], weights, smooth) for word, part in enumerate(hidden.parts.values())
        ]
    numbers, found = drawn_numbers(hidden, theta, weights), []
    for field in hidden.dtype.names or ():
        if field in numbers:
            found.append(np.ravel(numbers[field].mean()))
        else:
            names = len(hidden.labels[field])
            indices = _column(hidden, theta, field)[0].astype(np.int64)
            found.append(np.bincount(indices, weights, minlength=names).astype(np.float64))
    return found


def _part_marginal(part: Component | None, words: Words, weights: Floats, smooth: bool) -> Floats:
    """The probabilities of a component's values; if it is continuous, its mean, 2.5 % and 97.5 % quantiles."""
    if part is None:
        numbers = Numbers(words.view(np.float64)[None], weights[None], (), smooth)
        return np.array([numbers.mean(), *(numbers.quantile(q) for q in INTERVAL)])
    kind = np.asarray(part.values).dtype.kind
    values = words.view(np.float64) if kind == "f" else words.view(np.int64)
    return np.array([weights[values == value].sum() for value in part.values])


def _column(hidden: Population, theta: Words, field: str) -> Floats:
    """The entries of a field in every draw: [entry, draw]."""
    rows = np.ascontiguousarray(theta).view(hidden.dtype).reshape(len(theta))
    return np.ascontiguousarray(rows[field].reshape(len(theta), -1).T.astype(np.float64))
