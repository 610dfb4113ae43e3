"""A belief for people: what its marginals are about, number by number, and where the truth lies in them."""

import math
from typing import Any, NamedTuple

import numpy as np

from pomdplite.beliefs.population import drawn_marginals
from pomdplite.compile.jit import Floats
from pomdplite.model.interface import defined
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Distributed, Hidden, Population


class BeliefPart(NamedTuple):
    """What one array of a belief's marginals is about."""

    name: str
    labels: tuple[str, ...]  # the values that its numbers are the probabilities of; empty: the numbers are means
    interval: bool = False  # whether it holds a mean and the ends of the 95 % interval around it


def belief_parts(model: Model) -> list[BeliefPart]:
    """The arrays that `belief.marginals()` returns for this model."""
    hidden = model.hidden
    summarised = defined(model, "summary") is not None and model.summary_size
    if isinstance(hidden, Distributed) and not summarised:
        return [BeliefPart(n, () if part is None else part.labels, part is None) for n, part in hidden.parts.items()]
    if not isinstance(hidden, Population):
        return [BeliefPart(c.name, c.labels) for c in hidden.components]
    if summarised:
        return [BeliefPart("summary", ())]
    return [BeliefPart(field, hidden.labels.get(field, ())) for field in hidden.dtype.names or ()]


class BeliefLine(NamedTuple):
    """One number of a belief."""

    name: str
    label: str | None  # the value that the number is the probability of; None: the number is a mean
    number: float
    interval: tuple[float, float] | None = None  # which holds the hidden number with probability 95 %

    @property
    def mean(self) -> str:
        """A mean as text; with an interval, to two or three digits of its width: `1.31 (1.22 … 1.40)`."""
        if self.interval is None:
            return f"{self.number:.4g}"
        low, high = self.interval
        if not 1e-9 < high - low < 1e9:
            return f"{self.number:.4g} ({low:.4g} … {high:.4g})"
        digits = max(0, math.ceil(1.2 - math.log10(high - low)))
        return f"{self.number:.{digits}f} ({low:.{digits}f} … {high:.{digits}f})"


def belief_lines(model: Model, marginals: list[Floats]) -> list[BeliefLine]:
    """A belief, number by number: probabilities, and for a Population also means."""
    lines = []
    for part, numbers in zip(belief_parts(model), marginals, strict=True):
        if part.interval:
            mean, low, high = map(float, numbers)
            lines.append(BeliefLine(part.name, None, mean, (low, high)))
            continue
        for i, number in enumerate(numbers):
            entry = part.name if part.labels or len(numbers) == 1 else f"{part.name}[{i}]"
            lines.append(BeliefLine(entry, part.labels[i] if part.labels else None, float(number)))
    return lines


def true_values(model: Model, theta: Any) -> list[int | list[float] | None]:
    """Where a hidden value lies in each array of the marginals.

    It is the number of the true value among the labels (None if it is not one of them), or the true numbers themselves.
    """
    hidden = model.hidden
    if isinstance(hidden, Hidden):
        return list(hidden.indices(theta))
    parts = belief_parts(model)
    if isinstance(hidden, Distributed) and len(parts) == len(hidden.parts):
        values = [value for field in hidden.dtype.names or () for value in np.ravel(theta[field]).tolist()]
        return [
            [float(value)] if part is None else part.values.index(value) if value in part.values else None
            for part, value in zip(hidden.parts.values(), values, strict=True)
        ]
    view = model.compiled_form.kernel_view()
    certain = drawn_marginals(view, to_words(hidden.dtype, theta).reshape(1, -1), np.ones(1))
    return [
        int(np.argmax(numbers)) if part.labels else [float(number) for number in numbers]
        for part, numbers in zip(parts, certain, strict=True)
    ]
