"""Exact beliefs over a listed Θ: one probability vector over all of Θ, or one per independent component.

Each (x, a) informs about at most one component, so Bayes' rule changes that component alone and the components stay
independent. Weights are kept as logarithms: thousands of observations in favour of one value, followed by thousands in
favour of another, still give the right posterior.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pomdplite import rng
from pomdplite.beliefs.numbers import Numbers, Particle, listed_numbers
from pomdplite.beliefs.protocol import Belief, find_outcome, view_of
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.errors import UsageError
from pomdplite.mdp.sampling import pick
from pomdplite.model.compiled import KernelView
from pomdplite.model.hidden_table import JOINT_LIMIT
from pomdplite.model.model import Model


class ExactBelief(Belief):
    """Bayes' rule on the blocks of a listed Θ; what categorical and factored beliefs share."""

    def __init__(self, view: KernelView) -> None:
        super().__init__(view)
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Return to the prior."""
        self._probabilities: Floats = self.view.table.prior.copy()
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(self._probabilities)
        self._maps: Words = self.view.table.identity.copy()

    @property
    def kernel_model(self) -> KernelModel:
        """The model with the listed values of θ as its rows."""
        return self.view.kernel_model

    @property
    def probabilities(self) -> Floats:
        """P(θ₀ component = value), block by block; the last row, "no component", has 1."""
        return self._probabilities

    @property
    def maps(self) -> Words:
        """The maps from initial to present values after the steps so far."""
        return self._maps

    def key(self) -> bytes | None:
        """The probabilities and the maps."""
        return self._probabilities.tobytes() + self._maps.tobytes()

    def _advance(self, x: Words, a: int, y: Words, o: int) -> None:
        if self.view.real:
            component, logs, arrived = self._weigh(x, a, y, o)
            j = 0
        else:
            component, k, e = self._outcomes(self._state(x), a)
            j, pair = find_outcome(self._buffer, k, e, y, o)
            logs, arrived = np.full(len(self._buffer.reward), -np.inf), j >= 0
            if pair >= 0:
                _logarithms(self._buffer.likelihood[pair], logs)
        first, last = self.kernel_model.offsets[component : component + 2]
        if not condition(self._log_weights[first:last], logs, self._probabilities[first:last]):
            raise self._impossible(x, a, y, o, arrived=arrived)
        self._maps = self.view.maps(self._buffer.next[j])

    def _advance_maps(self, x: Words, a: int, y: Words, o: int) -> None:
        """The step without Bayes' rule: the maps move on, and the probabilities of θ₀ stay."""
        _, k, e = self._outcomes(self._state(x), a)
        j, _ = find_outcome(self._buffer, k, e, y, o)
        if j < 0:
            raise self._impossible(x, a, y, o, arrived=False)
        self._maps = self.view.maps(self._buffer.next[j])

    def recover(self) -> None:
        """Continue after an impossible step: mix each block half and half with its prior. The maps stay."""
        self._probabilities = (self._probabilities + self.view.table.prior) / 2
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(self._probabilities)

    def sample(self, stream: Words) -> Any:
        """A record of θ₀ drawn from the belief."""
        table = self.view.table
        values = []
        for block in range(table.blocks):
            b = self._probabilities[table.offsets[block] : table.offsets[block + 1]]
            values.append(int(pick(b, len(b), rng.uniform(stream))))
        return table.hidden.record(table.joint_indices(values[0]) if table.joint else values)

    def entropy(self) -> float:
        """Entropy of the belief about θ₀, in nats."""
        p = self._probabilities[self._probabilities > 0]
        return float(max(0.0, -(p * np.log(p)).sum()))

    def initial_marginals(self) -> list[Floats]:
        """P(θ₀ component = value) for each component."""
        return self.view.table.marginals(self._probabilities)

    def marginals(self) -> list[Floats]:
        """P(θ component = value) for each component of the present θ."""
        return self.view.table.marginals(self._present())

    def joint(self, components: Sequence[int] | None = None) -> Floats:
        """P(θ = v) for every joint value v of the present θ, or of some of its independent components."""
        return self.view.table.joint_distribution(self._present(), components)

    def particles(self) -> list[Particle]:
        """The possible values of the present θ with their probabilities, likeliest first."""
        hidden = self.view.model.hidden
        if hidden.size > JOINT_LIMIT:
            raise UsageError(
                f"{self.view.model.name}: the hidden parameter has {hidden.size:,} joint values, more than the "
                f"{JOINT_LIMIT:,} that are listed; use marginals()."
            )
        b, sizes = self.joint(), [len(c) for c in hidden.components]
        possible = [row for row in np.argsort(-b, kind="stable") if b[row] > 0]
        return [Particle(hidden.record(np.unravel_index(row, sizes)), float(b[row])) for row in possible]

    def _numbers(self) -> dict[str, Numbers]:
        return listed_numbers(self.view.model.hidden, self.marginals())

    def _present(self) -> Floats:
        """The probabilities of present values, row by row."""
        s = self.view.words(self.view.model.initial_state(), self._maps)
        return self.view.present(self._probabilities, s)


class CategoricalBelief(ExactBelief):
    """One probability for every joint value of θ."""

    def __init__(self, model: Model | KernelView) -> None:
        view = view_of(model, joint=True)
        if view.table.blocks != 1:
            raise UsageError(
                "a categorical belief needs Θ listed as a whole: use model.compiled_form.kernel_view(joint=True)."
            )
        super().__init__(view)

    @property
    def vector(self) -> Floats:
        """P(θ₀ = v) for every joint value v."""
        return self._probabilities[:-1].copy()

    def probability(self, theta: Any) -> float:
        """P(θ₀ = theta) for a record of θ; 0 if it is not a value of θ."""
        wanted = tuple(self.view.model.hidden.indices(theta))
        for row, p in enumerate(self.vector):
            if self.view.table.joint_indices(row) == wanted:
                return float(p)
        return 0.0


class FactoredBelief(ExactBelief):
    """One probability vector for each of several independent components of θ."""

    def __init__(self, model: Model | KernelView) -> None:
        view = view_of(model)
        if view.table.joint:
            raise UsageError(
                f"{view.model.name}: a factored belief needs several components of θ and depends(m, x, a), which says "
                "which one an action informs about; use CategoricalBelief."
            )
        super().__init__(view)


@kernel
def _logarithms(likelihood: Floats, logs: Floats) -> None:
    """The logarithms of likelihoods."""
    for v in range(logs.shape[0]):
        logs[v] = np.log(likelihood[v]) if likelihood[v] > 0.0 else -np.inf


@kernel
def condition(log_weights: Floats, logs: Floats, b: Floats) -> bool:
    """Apply Bayes' rule to one block; return False, and change nothing, if no value remains possible.

    logs: the log likelihood of each value.
    """
    highest = -np.inf
    for v in range(b.shape[0]):
        if logs[v] > -np.inf:
            highest = max(highest, log_weights[v] + logs[v])
    if highest == -np.inf:
        return False
    total = 0.0
    for v in range(b.shape[0]):
        if logs[v] > -np.inf:
            log_weights[v] += logs[v] - highest
        else:
            log_weights[v] = -np.inf
        b[v] = np.exp(log_weights[v])
        total += b[v]
    for v in range(b.shape[0]):
        b[v] /= total
    return True
