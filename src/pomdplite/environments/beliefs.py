"""The belief in the observations of an environment: which numbers there are, and their bounds."""

from dataclasses import dataclass

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.model import Model
from pomdplite.model.spaces import Component, Distributed, Population

_NUMBERS = 3  # about a number of θ that has a distribution: mean, 2.5 % and 97.5 % quantile


@dataclass(frozen=True)
class BeliefField:
    """The numbers about one field of θ: some of the arrays that `Belief.marginals` returns."""

    name: str
    first: int  # of those arrays
    count: int | None  # of those arrays, one for each entry of the field; None: the field is no array
    size: int  # of each of them
    low: float
    high: float
    joined: bool = False  # whether all arrays from the first on are put one behind the other; they may differ in size

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return (self.size,) if self.count is None else (self.count, self.size)

    def numbers(self, marginals: list[Floats]) -> Floats:
        """[row] the numbers, given the marginals of several beliefs; sums of probabilities may exceed 1 by rounding."""
        if self.joined:
            return np.clip(np.concatenate(marginals[self.first :], axis=1), self.low, self.high)
        if self.count is None:
            return np.clip(marginals[self.first], self.low, self.high)
        own = marginals[self.first : self.first + self.count]
        return np.clip(np.stack(own, axis=1), self.low, self.high)


def belief_fields(model: Model) -> list[BeliefField]:
    """The numbers of a belief about the model's θ: probabilities of listed values, else means, with quantiles if θ
    has distributions; the mean probabilities if they are what is hidden; or the model's `summary`."""
    hidden, form = model.hidden, model.compiled_form
    if isinstance(hidden, Dirichlet):
        return [BeliefField("probabilities", 0, None, len(hidden.counts), 0.0, 1.0, joined=True)]
    if isinstance(hidden, Population) and "summary" in form.definition.functions and model.summary_size:
        return [BeliefField("summary", 0, None, model.summary_size, -np.inf, np.inf)]
    found: list[BeliefField] = []
    for name in hidden.dtype.names or ():
        first, count = sum(field.count or 1 for field in found), (hidden.dtype[name].shape or (None,))[0]
        if isinstance(hidden, Distributed):
            listed = list(hidden.parts.values())[first]
            if listed is not None:
                found.append(BeliefField(name, first, count, len(listed), 0.0, 1.0))
            else:
                low, high = (-np.inf, np.inf) if form.evolves else hidden.supports[name]
                found.append(BeliefField(name, first, count, _NUMBERS, low, high))
        elif isinstance(hidden, Population):
            found.append(_population_field(hidden, name, first))
        else:
            found += _listed_fields(name, hidden.components[first : first + (count or 1)], first, count)
    return found


def _listed_fields(name: str, own: list[Component], first: int, count: int | None) -> list[BeliefField]:
    """One array for all entries of a field, unless they have different numbers of values, as in model files."""
    sizes = {len(component) for component in own}
    if len(sizes) == 1:
        return [BeliefField(name, first, count, sizes.pop(), 0.0, 1.0)]
    return [BeliefField(c.name, first + i, None, len(c), 0.0, 1.0) for i, c in enumerate(own)]


def _population_field(hidden: Population, name: str, first: int) -> BeliefField:
    """One array for each field: the probabilities of its names, or the means of its numbers."""
    if name in hidden.labels:
        return BeliefField(name, first, None, len(hidden.labels[name]), 0.0, 1.0)
    base, size = hidden.dtype[name].base, int(np.prod(hidden.dtype[name].shape, dtype=int))
    if base.kind == "b" or name in hidden.layout.flags:
        return BeliefField(name, first, None, size, 0.0, 1.0)
    if base.kind == "f":
        return BeliefField(name, first, None, size, -np.inf, np.inf)
    return BeliefField(name, first, None, size, float(np.iinfo(base).min), float(np.iinfo(base).max))
