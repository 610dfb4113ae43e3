"""The belief about unknown distributions with independent Dirichlet priors: their counts.

A step whose outcome is k adds one to α_k of its distribution. Where what is seen leaves several outcomes possible, as
tied distributions may, the one is shared among them in proportion to their probabilities:

    α_k ← α_k + α_k L_k / Σ_j α_j L_j        L_k = P(next state, observation | outcome k)

The mean of the Dirichlet with the new counts is then that of the exact posterior, which is a mixture of Dirichlets;
if the outcome is seen, the new counts are the exact posterior itself.

The change of the mean, α/α₀, that a step is expected to make is 2 Σ_k α_k (α₀ − α_k) / (α₀² (α₀ + 1)), the bonus of the
paper's Lemma "Independent Dirichlet Prior". That is Definition 1 with the outcome in the place of θ, times 1/(α₀ + 1).
"""

from itertools import pairwise
from typing import Any

import numpy as np

from pomdplite.beliefs.numbers import Numbers, Particle
from pomdplite.beliefs.protocol import Belief, find_outcome, view_of
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.errors import UnsuitableError, UsageError
from pomdplite.model.compiled import KernelView
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.model import Model


class CountsBelief(Belief):
    """A Dirichlet for every unknown distribution of a model whose hidden parameter is a `Dirichlet`."""

    def __init__(self, model: Model | KernelView) -> None:
        view = view_of(model)
        if not view.counted:
            raise UnsuitableError(
                f"{view.model.name}: only unknown probabilities, hidden = Dirichlet(...), have counts."
            )
        self._hidden: Dirichlet = view.model.hidden
        self.use_counts(self._hidden.counts)
        super().__init__(view)

    def reset(self, seed: int = 0) -> None:
        """Return to the prior counts."""
        self.use_counts(self._hidden.counts)

    def use_counts(self, counts: Floats) -> None:
        """Continue with these counts, all distributions one behind the other."""
        self.counts: Floats = counts.astype(float)  # [outcome] α, a copy
        self.totals: Floats = np.add.reduceat(self.counts, self._hidden.offsets[:-1])  # [distribution] α₀
        mean = self.counts / np.repeat(self.totals, np.diff(self._hidden.offsets))
        self._probabilities: Floats = np.append(mean, 1.0)
        self._scale: Floats = np.append(1.0 / (1.0 + self.totals), 1.0)

    @property
    def kernel_model(self) -> KernelModel:
        """The model with outcomes as its rows, and bonuses that shrink as counts grow."""
        return self.view.kernel_model._replace(bonus_scale=self._scale)

    @property
    def probabilities(self) -> Floats:
        """The mean probability of each outcome, distribution by distribution; the last row has 1."""
        return self._probabilities

    def _advance(self, x: Words, a: int, y: Words, o: int) -> None:
        component, k, e = self._outcomes(x, a)
        j, pair = find_outcome(self._buffer, k, e, y, o)
        if pair < 0:
            raise self._impossible(x, a, y, o, arrived=j >= 0)
        if component == len(self.totals):
            return
        first, last = self._hidden.offsets[component : component + 2]
        weights = self.counts[first:last] * self._buffer.likelihood[pair, : last - first]
        self.counts[first:last] += weights / weights.sum()
        total = self.totals[component] = self.counts[first:last].sum()
        self._probabilities[first:last] = self.counts[first:last] / total
        self._scale[component] = 1.0 / (1.0 + total)

    def recover(self) -> None:
        """Continue after an impossible step: mix the counts half and half with those of the prior."""
        self.use_counts((self.counts + self._hidden.counts) / 2)

    def sample(self, stream: Words) -> Any:
        """The probabilities of all outcomes, one distribution behind the other, drawn from the belief."""
        return self._hidden.draw(stream, self.counts)

    def likely_theta(self, x: Any, a: int) -> Any:
        """The record of the likeliest outcome of (x, a)."""
        component, b, _, _ = self._outcomes_under_belief(x, a)
        known = component == len(self.totals)
        return self._hidden.some_outcome(0.0) if known else self._hidden.outcome_record(component, int(np.argmax(b)))

    def entropy(self) -> float:
        """Differential entropy of the Dirichlets, in nats; it may be negative."""
        from scipy.special import digamma, gammaln

        total = 0.0
        for first, last, whole in zip(self._hidden.offsets, self._hidden.offsets[1:], self.totals, strict=False):
            own = self.counts[first:last]
            if len(own) > 1:
                total += float(gammaln(own).sum() - gammaln(whole) + (whole - len(own)) * digamma(whole))
                total -= float(((own - 1) * digamma(own)).sum())
        return total

    def initial_marginals(self) -> list[Floats]:
        """The mean probabilities of the outcomes of each distribution."""
        return [self._probabilities[first:last].copy() for first, last in pairwise(self._hidden.offsets)]

    def marginals(self) -> list[Floats]:
        """The same: the distributions are constant."""
        return self.initial_marginals()

    def particles(self) -> list[Particle]:
        """Refused: there are infinitely many distributions."""
        raise UsageError(
            f"{self.view.model.name}: unknown probabilities have infinitely many values; use sample() or marginals()."
        )

    def mean(self) -> dict[str, Any]:
        """The mean of each distribution, by its name."""
        return {c.name: mean for c, mean in zip(self._hidden.components, self.initial_marginals(), strict=True)}

    def quantile(self, q: float) -> dict[str, Any]:
        """For each distribution, the probabilities of its outcomes that are not exceeded with probability q."""
        from scipy.special import betaincinv

        if not 0 <= q <= 1:
            raise UsageError(f"a quantile needs a probability from 0 to 1, not {q!r}.")
        found = {}
        for number, component in enumerate(self._hidden.components):
            own = self.counts[self._hidden.offsets[number] : self._hidden.offsets[number + 1]]
            others = self.totals[number] - own
            found[component.name] = betaincinv(own, others, q) if len(own) > 1 else np.ones(1)
        return found

    def _numbers(self) -> dict[str, Numbers]:
        return {}
