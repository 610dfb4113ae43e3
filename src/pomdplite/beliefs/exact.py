"""Exact belief over independent hidden components: one probability vector per component.

The belief is about the initial value θ₀; where θ changes, `maps` carries the initial to the present values.
Each (x, a) tells of at most one component, so Bayes' rule touches that component alone and independence is kept.
Weights are kept as logarithms: thousands of observations for one value, then thousands for another, end right.
"""

from typing import Any

import numpy as np

from pomdplite import rng
from pomdplite.checking import faults
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.errors import ImpossibleObservationError, UsageError
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.outcomes import FULL, Outcomes, allocate_outcomes, outcomes, pick
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import to_words


class FactoredBelief:
    """Independent components, each with an exact probability vector."""

    def __init__(self, model: Model | KernelView) -> None:
        self.view = model.compiled_form.kernel_view() if isinstance(model, Model) else model
        self._buffer = allocate_outcomes(self.kernel_model, max(4, self.kernel_model.next_states))
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Back to the prior. The seed is for beliefs that sample."""
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(self.view.table.prior)
        self.probabilities: Floats = self.view.table.prior.copy()  # [row], block by block, "none" last
        self.maps: Words = self.view.table.identity.copy()

    def copy(self) -> "FactoredBelief":
        """An independent belief with the same content."""
        twin = type(self)(self.view)
        twin.log_weights, twin.probabilities = self.log_weights.copy(), self.probabilities.copy()
        twin.maps = self.maps.copy()
        return twin

    @property
    def kernel_model(self) -> KernelModel:
        """The model with the hidden values that the probabilities are for."""
        return self.view.kernel_model

    # ------------------------------------------------------------------ Bayes' rule

    def update(self, x: Any, a: int | str, y: Any, o: int | str | None) -> None:
        """Condition on having done a in x, arrived in y and observed o."""
        model = self.view.model
        s = self.view.words(model.state_record(x), self.maps)
        after = to_words(model.state.dtype, model.state_record(y))
        self.advance(s, model.action_index(a), after, model.observation_index(o))

    def advance(self, s: Words, a: int, y: Words, o: int) -> Words:
        """The same on words; the next s. s must hold this belief's maps."""
        component, k, e = self._outcomes(s, a)
        j, pair = find_outcome(self._buffer, k, e, y, o)
        first, last = self.kernel_model.offsets[component : component + 2]
        if pair < 0 or not _condition(
            self.log_weights[first:last], self._buffer.likelihood[pair], self.probabilities[first:last]
        ):
            raise self._impossible(s, a, y, o, j)
        after = self._buffer.next[j].copy()
        self.maps = self.view.maps(after)
        return after

    def recover(self, y: Words) -> Words:
        """After something impossible: half of the belief as it was, half the prior; the next s, in state y."""
        self.probabilities = (self.probabilities + self.view.table.prior) / 2
        with np.errstate(divide="ignore"):
            self.log_weights = np.log(self.probabilities)
        return np.concatenate([y, self.maps])

    def _outcomes(self, s: Words, a: int) -> tuple[int, int, int]:
        while True:
            component, k, e = outcomes(self.kernel_model, s.reshape(1, -1), 0, a, self._buffer)
            if k != FULL:
                break
            self._buffer = allocate_outcomes(self.kernel_model, 2 * self._buffer.next.shape[0])
        if k < 0:
            raise faults.model_error(self.view, s, a, component, k, e)
        return component, k, e

    def _impossible(self, s: Words, a: int, y: Words, o: int, branch: int) -> ImpossibleObservationError:
        model = self.view.model
        where = f"after {model.actions[a]!r} in x = ({self.view.describe(s)})"
        arrived = f"x' = ({model.describe_state(self.view.record(y))})"
        if branch < 0:
            return ImpossibleObservationError(
                f"the next state {arrived} is impossible {where}, under every hidden value."
            )
        return ImpossibleObservationError(
            f"observing {model.observation_name(o)!r} is impossible {where}, arriving in {arrived}, under every "
            "hidden value that was still possible."
        )

    # ------------------------------------------------------------------ questions

    def sample(self, stream: Words) -> Any:
        """A record of θ₀ drawn from the belief."""
        table = self.view.table
        values = []
        for block in range(table.blocks):
            b = self.probabilities[table.offsets[block] : table.offsets[block + 1]]
            values.append(int(pick(b, len(b), rng.uniform(stream))))
        return table.hidden.record(table.joint_indices(values[0]) if table.joint else values)

    def entropy(self) -> float:
        """Entropy of the belief in nats."""
        p = self.probabilities[self.probabilities > 0]
        return float(max(0.0, -(p * np.log(p)).sum()))

    def initial_marginals(self) -> list[Floats]:
        """P(θ₀ component = value), per component."""
        return self.view.table.marginals(self.probabilities)

    def marginals(self) -> list[Floats]:
        """The same for the present values."""
        s = self.view.words(self.view.model.initial_state(), self.maps)
        return self.view.table.marginals(self.view.present(self.probabilities, s))

    def expected_change(self, x: Any, a: int | str) -> float:
        """E‖b′ − b‖₁ for (x, a): Definition 1 with β = 1."""
        b, _, e = self._at(x, a)
        return float(expected_l1_change(b, self._buffer.likelihood[:e, : len(b)]))

    def mean_reward(self, x: Any, a: int | str) -> float:
        """R(b, x, a) = Σ b(θ) R(x, θ, a)."""
        b, _, _ = self._at(x, a)
        return float(b @ self._buffer.reward[: len(b)])

    def mean_transition(self, x: Any, a: int | str) -> list[tuple[Any, float]]:
        """P(x' | b, x, a), as (x', probability) pairs."""
        b, k, _ = self._at(x, a)
        chances = self._buffer.chance[:k, : len(b)] @ b
        return [(self.view.record(self._buffer.next[j]), float(p)) for j, p in enumerate(chances) if p > 0]

    def _at(self, x: Any, a: int | str) -> tuple[Floats, int, int]:
        model = self.view.model
        component, k, e = self._outcomes(
            self.view.words(model.state_record(x), self.maps), model.action_index(a)
        )  # fmt: skip
        first, last = self.kernel_model.offsets[component : component + 2]
        return self.probabilities[first:last], k, e


class CategoricalBelief(FactoredBelief):
    """A belief with a single block; every (x, a) may tell of it."""

    def __init__(self, model: Model | KernelView) -> None:
        view = model.compiled_form.kernel_view(joint=True) if isinstance(model, Model) else model
        if view.table.blocks != 1:
            raise UsageError(
                "a categorical belief needs Θ listed as a whole: use model.compiled_form.kernel_view(joint=True)."
            )
        super().__init__(view)

    @property
    def vector(self) -> Floats:
        """P(θ₀ = v) for every joint value v."""
        return self.probabilities[:-1].copy()

    def probability(self, theta: Any) -> float:
        """P(θ₀ = theta) for a record of θ."""
        for row, p in enumerate(self.vector):
            if self.view.table.joint_indices(row) == tuple(self.view.model.hidden.indices(theta)):
                return float(p)
        return 0.0


@kernel
def find_outcome(out: Outcomes, k: int, e: int, y: Words, o: int) -> tuple[int, int]:
    """Which next state y is, and which (next state, observation) pair (y, o); -1 if none."""
    for j in range(k):
        same = True
        for w in range(y.shape[0]):
            if out.next[j, w] != y[w]:
                same = False
        if same:
            for pair in range(e):
                if out.branch[pair] == j and out.seen[pair] == o:
                    return j, pair
            return j, -1
    return -1, -1


@kernel
def _condition(log_weights: Floats, likelihood: Floats, b: Floats) -> bool:
    """Bayes' rule on one block; False, and nothing changed, if no value is left."""
    highest = -np.inf
    for v in range(b.shape[0]):
        if likelihood[v] > 0.0:
            highest = max(highest, log_weights[v] + np.log(likelihood[v]))
    if highest == -np.inf:
        return False
    total = 0.0
    for v in range(b.shape[0]):
        if likelihood[v] > 0.0:
            log_weights[v] += np.log(likelihood[v]) - highest
        else:
            log_weights[v] = -np.inf
        b[v] = np.exp(log_weights[v])
        total += b[v]
    for v in range(b.shape[0]):
        b[v] /= total
    return True
