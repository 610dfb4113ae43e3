"""Hidden probabilities: θ is a set of independent distributions over outcomes, each with a Dirichlet prior.

A step of such a model has an outcome k = 0, 1, …, drawn anew every time from the unknown distribution that its (x, a)
belongs to, and T, Z and R are functions of (x, a, k). What is known about a distribution is its counts α: the prior's,
and one more for each outcome seen. Under them outcome k has probability α_k / α₀, with α₀ = Σ_k α_k.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Words, kernel
from pomdplite.errors import ModelError
from pomdplite.model.distributions_kernels import draw_log_gamma
from pomdplite.model.records import empty_record, record_dtype
from pomdplite.model.spaces import Component

_SUM_TOLERANCE = 1e-9


class Dirichlet:
    """Unknown distributions over outcomes, by name, each with the counts of its Dirichlet prior:

        Dirichlet({"forward": (1, 1), "back": {"goes back": 1, "slips": 1}})

    depends(m, x, a) is the number of the distribution that the outcome of (x, a) is drawn from. In the model's
    functions theta.outcome is the number of that outcome, and theta.distribution that of its distribution.

    truth  the distributions of the real world, in the same form. Planners do not know them. By default, every episode
           draws its own from the prior
    """

    labels: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, priors: Mapping[str, Any], truth: Mapping[str, Any] | None = None) -> None:
        if not isinstance(priors, Mapping) or not priors:
            raise ModelError("Dirichlet needs the prior counts of at least one distribution: {'slip': (1, 1)}.")
        rows: list[Floats] = []
        self.components: list[Component] = []
        for name, given in priors.items():
            counts = _numbers(given, f"the prior counts of {name!r}")
            if np.any(counts <= 0):
                raise ModelError(
                    f"the prior counts of {name!r} must be positive, unlike {counts[counts <= 0][0]:g}; leave out "
                    "outcomes that are impossible."
                )
            labels = tuple(map(str, given)) if isinstance(given, Mapping) else tuple(map(str, range(len(counts))))
            rows.append(counts)
            self.components.append(Component(str(name), labels, tuple(range(len(counts))), counts / counts.sum()))
        self.counts: Floats = np.concatenate(rows)
        self.offsets: Ints = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        self.truth: Floats | None = None if truth is None else self._checked_truth(truth, list(priors))
        self.dtype = record_dtype({"distribution": np.int64, "outcome": np.int64})
        self.words = self.dtype.itemsize // 8

    def _checked_truth(self, truth: Mapping[str, Any], names: list[str]) -> Floats:
        if not isinstance(truth, Mapping) or set(truth) != set(names):
            raise ModelError("the true probabilities must be given for the same distributions as the prior counts.")
        found = []
        for name, component in zip(names, self.components, strict=True):
            p = _numbers(truth[name], f"the true probabilities of {name!r}")
            if len(p) != len(component):
                raise ModelError(
                    f"{name!r} has {len(component)} outcomes with prior counts, but {len(p)} true probabilities."
                )
            if np.any(p < 0) or abs(p.sum() - 1) > _SUM_TOLERANCE:
                raise ModelError(f"the true probabilities of {name!r} must sum to 1, but sum to {p.sum():g}.")
            found.append(p / p.sum())
        return np.concatenate(found)

    @property
    def size(self) -> None:
        """There are infinitely many values of θ."""
        return None

    @property
    def identity(self) -> str:
        """Everything that the prior depends on, as text; the truth is not part of it."""
        return repr([[c.name for c in self.components], self.offsets.tolist(), self.counts.tolist()])

    def outcome_record(self, distribution: int, outcome: int) -> Any:
        """What the model's functions see of a step with this outcome."""
        theta = empty_record(self.dtype)
        theta.distribution, theta.outcome = distribution, outcome
        return theta

    def some_outcome(self, u: float) -> Any:
        """The record of an outcome that every distribution has, chosen by the uniform number u."""
        return self.outcome_record(0, int(u * int(np.diff(self.offsets).min())))

    def describe(self, theta: Any) -> str:
        """An outcome as text: `slip=goes back`."""
        component = self.components[int(theta["distribution"])]
        return f"{component.name}={component.labels[int(theta['outcome'])]}"

    def describe_probabilities(self, p: Floats) -> str:
        """The distributions as text: `slip: 0.80 0.20`."""
        parts = []
        for component, first, last in zip(self.components, self.offsets, self.offsets[1:], strict=False):
            parts.append(f"{component.name}: {' '.join(f'{q:.2f}' for q in p[first:last])}")
        return ", ".join(parts)

    def draw(self, stream: Words, counts: Floats | None = None) -> Floats:
        """Draw all distributions, one behind the other: from the prior, or given these counts."""
        found = np.zeros(len(self.counts))
        draw_probabilities(self.counts if counts is None else counts, self.offsets, found, stream)
        return found

    def world(self, stream: Words) -> Floats:
        """The distributions of a new episode: the true ones if they are given, else a draw from the prior."""
        return self.draw(stream) if self.truth is None else self.truth


def _numbers(given: Any, what: str) -> Floats:
    """Finite numbers, given as a dictionary or a sequence."""
    try:
        found = np.array(list(given.values()) if isinstance(given, Mapping) else given, float)
    except (TypeError, ValueError):
        found = np.zeros((0, 0))
    if found.ndim != 1 or found.size == 0 or not np.isfinite(found).all():
        raise ModelError(f"{what} must be numbers, one for each outcome, not {given!r}.")
    return found


@kernel
def draw_probabilities(counts: Floats, offsets: Ints, p: Floats, stream: Words) -> None:
    """Draw every distribution from its Dirichlet: gamma numbers over their sum, by logarithms against underflow."""
    for g in range(offsets.shape[0] - 1):
        first, last = offsets[g], offsets[g + 1]
        if last == first + 1:
            p[first] = 1.0
            continue
        highest = -np.inf
        for i in range(first, last):
            p[i] = draw_log_gamma(counts[i], stream)
            highest = max(highest, p[i])
        total = 0.0
        for i in range(first, last):
            p[i] = np.exp(p[i] - highest)
            total += p[i]
        for i in range(first, last):
            p[i] /= total
