"""What every belief answers, and the answers that all beliefs derive in the same way.

A belief is about the initial value θ₀. Where θ changes, the belief also holds the maps from initial to present values,
the second part of s = (x, maps) in Theorem 1. Kernels see a belief as `kernel_model`, whose rows of θ are its
hypotheses, and `probabilities`, one number per row.
"""

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from pomdplite.beliefs.numbers import Numbers, Particle
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.errors import ImpossibleObservationError
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.outcomes import FULL, Outcomes, allocate_outcomes, outcomes
from pomdplite.mdp.real.estimates import StepEstimate, estimated_step
from pomdplite.mdp.weighing import weigh_step
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import float_fields, to_words
from pomdplite.model.spaces import Distributed
from pomdplite.rng import stream


class StepNote(str):
    """A note on a single decision: the notes of an episode leave it out."""

    __slots__ = ()


class Belief(ABC):
    """A distribution over the hidden parameter.

    States are given as records, dictionaries or tuples, actions and observations by number or name.
    """

    update_budget = Budget(None)  # what one update may take, for beliefs that can end it early; by default no limit

    def __init__(self, view: KernelView) -> None:
        self.view = view
        self._buffer = allocate_outcomes(self.kernel_model, max(4, self.kernel_model.next_states))

    # ------------------------------------------------------------------ as kernels see it

    @property
    @abstractmethod
    def kernel_model(self) -> KernelModel:
        """The model with the hypotheses about θ as its rows."""

    @property
    @abstractmethod
    def probabilities(self) -> Floats:
        """The probability of each row of `kernel_model.theta`, block by block; the row of "no component" has 1."""

    @property
    def maps(self) -> Words:
        """The maps from initial to present values, as the words that s holds after x; none unless θ changes."""
        return self.view.table.identity

    def key(self) -> bytes | None:
        """The same bytes for the same belief, so that a decision can be kept; None if the belief depends on chance."""
        return None

    # ------------------------------------------------------------------ life

    @abstractmethod
    def reset(self, seed: int = 0) -> None:
        """Return to the prior. The seed determines the random numbers of beliefs that sample."""

    def copy(self) -> Self:
        """An independent belief with the same content."""
        shared = (self.view, self.view.kernel_model)
        return copy.deepcopy(self, {id(part): part for part in shared})

    def update(self, x: Any, a: Any, y: Any, o: Any) -> None:
        """Condition on having taken action a in x, arrived in y and observed o, an observation or a reading.

        Raises ImpossibleObservationError, and leaves the belief as it was, if no hypothesis explains the step.
        """
        model = self.view.model
        before = to_words(model.state.dtype, model.state_record(x))
        self._advance(before, model.action_index(a), *model.seen_words(y, o))

    @abstractmethod
    def _advance(self, x: Words, a: int, y: Words, o: int) -> None:
        """Update on words and numbers, as planners do."""

    @abstractmethod
    def recover(self) -> None:
        """Continue after an impossible step: mix the belief half and half with the prior."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about this belief: how it was approximated or had to be repaired."""
        return ()

    # ------------------------------------------------------------------ about θ

    @abstractmethod
    def sample(self, stream: Words) -> Any:
        """A record of θ₀ drawn from the belief."""

    def likely_theta(self, x: Any, a: int) -> Any:
        """A record of θ₀ under which (x, a) may lead to what the belief considers possible."""
        return self.sample(stream(0))

    @abstractmethod
    def entropy(self) -> float:
        """Entropy of the belief about θ₀, in nats."""

    @abstractmethod
    def initial_marginals(self) -> list[Floats]:
        """P(θ₀ component = value) for each component.

        For a Population, the mean of the model's `summary`. Without one, an array for each field of θ: the
        probabilities of its names, or the mean of its number or numbers. Where `Hidden` has distributions, an array for
        each number of θ: the probabilities of its listed values, or its mean and 2.5 % and 97.5 % quantiles.
        """

    @abstractmethod
    def marginals(self) -> list[Floats]:
        """The same for the present θ."""

    @abstractmethod
    def particles(self) -> list[Particle]:
        """The possible values of the present θ with their probabilities, likeliest first."""

    @abstractmethod
    def _numbers(self) -> dict[str, Numbers]:
        """The distributions of the fields of the present θ that hold numbers."""

    def mean(self) -> dict[str, Any]:
        """The mean of each field of the present θ that holds numbers: {"mass": 1.3}."""
        return {field: numbers.mean() for field, numbers in self._numbers().items()}

    def quantile(self, q: float) -> dict[str, Any]:
        """For each field of the present θ that holds numbers, the smallest value not exceeded with probability q."""
        return {field: numbers.quantile(q) for field, numbers in self._numbers().items()}

    # ------------------------------------------------------------------ about (x, a)

    def mean_reward(self, x: Any, a: Any) -> float:
        """R(b, x, a) = Σ b(θ) R(x, θ, a); with noise in steps and very many hypotheses, over a sample of them."""
        if self._has_drawn_states:
            return self._estimated(x, a).reward
        _, b, _, _ = self._outcomes_under_belief(x, a)
        return float(b @ self._buffer.reward[: len(b)])

    def mean_transition(self, x: Any, a: Any) -> list[tuple[Any, float]]:
        """P(x' | b, x, a) = Σ b(θ) T(x, θ, a, x'), as pairs (x', probability); with noise in steps, 1,024 draws."""
        if self._has_drawn_states:
            found = self._estimated(x, a)
            return [(self.view.record(y), float(p)) for y, p in zip(found.next, found.chance, strict=True)]
        _, b, k, _ = self._outcomes_under_belief(x, a)
        chances = self._buffer.chance[:k, : len(b)] @ b
        return [(self.view.record(self._buffer.next[j]), float(p)) for j, p in enumerate(chances) if p > 0]

    def expected_change(self, x: Any, a: Any) -> float:
        """E‖b′ − b‖₁ for (x, a): Definition 1 with β = 1; with noise or readings, an estimate from 1,024 outcomes."""
        if self.view.real or self._has_drawn_states:
            return self._estimated(x, a).change
        component, b, _, e = self._outcomes_under_belief(x, a)
        change = expected_l1_change(b, self._buffer.likelihood, e)
        return float(self.kernel_model.bonus_scale[component] * change)

    @property
    def _has_drawn_states(self) -> bool:
        """Whether next states, or the later values of θ in them, cannot be listed."""
        return self.kernel_model.noise.numbers > 0 or self.view.has_changing_numbers

    def _estimated(self, x: Any, a: Any) -> StepEstimate:
        """The step (x, a), estimated from draws."""
        model = self.view.model
        s = self._state(to_words(model.state.dtype, model.state_record(x)))
        return estimated_step(self.view, self.kernel_model, self.probabilities, s, model.action_index(a))

    def _outcomes_under_belief(self, x: Any, a: Any) -> tuple[int, Floats, int, int]:
        """Fill the buffer for (x, a): the component it depends on, the belief about it, and the numbers k and e."""
        model = self.view.model
        words = to_words(model.state.dtype, model.state_record(x))
        component, k, e = self._outcomes(self._state(words), model.action_index(a))
        first, last = self.kernel_model.offsets[component : component + 2]
        return component, self.probabilities[first:last], k, e

    def _state(self, x: Words) -> Words:
        """The words of s = (x, maps)."""
        return np.concatenate([x, self.maps])

    def _outcomes(self, s: Words, a: int) -> tuple[int, int, int]:
        """Fill the buffer for (s, a): component, number of next states, number of (next state, observation) pairs."""
        while True:
            component, k, e = outcomes(self.kernel_model, s.reshape(1, -1), 0, a, self._buffer)
            if k != FULL:
                break
            self._buffer = allocate_outcomes(self.kernel_model, 2 * self._buffer.next.shape[0])
        self.view.raise_fault()
        return component, k, e

    def _weigh(self, x: Words, a: int, y: Words, o: int) -> tuple[int, Floats, bool]:
        """In a model with noise or readings: the component that (x, a) depends on, the log density of (y, o) under
        each of its values, and whether some value leads to y; the buffer's first next state then is s after the step.
        """
        logs = np.full(len(self._buffer.reward), -np.inf)
        state, seen = self._state(x).reshape(1, -1), y.reshape(1, -1)
        component, arrived = weigh_step(self.kernel_model, state, a, seen, o, logs, self._buffer)
        self.view.raise_fault()
        first, last = self.kernel_model.offsets[component : component + 2]
        return component, logs[: last - first], arrived

    def _impossible(self, x: Words, a: int, y: Words, o: int, *, arrived: bool) -> ImpossibleObservationError:
        """The error for a step that no hypothesis explains; arrived: some hypothesis explains at least y."""
        model = self.view.model
        where = f"after {model.actions[a]!r} in x = ({self.view.describe(self._state(x))})"
        there = f"x' = ({model.describe_state(self.view.record(y))})"
        if not arrived:
            return ImpossibleObservationError(
                f"the next state {there} is impossible {where}, under every hidden value.{self._advice}"
            )
        return ImpossibleObservationError(
            f"observing {self.view.seen(y, o)!r} is impossible {where}, arriving in {there}, under every hidden "
            f"value that was still possible.{self._advice}"
        )

    @property
    def _advice(self) -> str:
        """What may be missing where no hidden number explains a step: noise, without which at most one number does."""
        model = self.view.model
        parts = [*self._exact_numbers] + ["a reading"] * (model.reading is not None)
        if not parts or not isinstance(model.hidden, Distributed):
            return ""
        return (
            f" If {' or '.join(parts)} follows from a hidden number without noise, no draw of it fits exactly: give "
            "it noise, however little (noise = Gaussian(...), or sd of a reading)."
        )

    @property
    def _exact_numbers(self) -> list[str]:
        """The parts of x that have no noise, as far as the model declares it."""
        model = self.view.model
        noise = model.compiled_form.definition.noise
        if noise.count == 0:
            return ["x"]
        if noise.spread is None:  # the model's own function decides
            return []
        return [f"x.{field}" for field in float_fields(model.state.dtype) if field not in (noise.spread.names or ())]


def view_of(model: Model | KernelView, *, joint: bool | None = None) -> KernelView:
    """The model as kernels see it."""
    return model.compiled_form.kernel_view(joint=joint) if isinstance(model, Model) else model


@kernel
def find_outcome(out: Outcomes, k: int, e: int, y: Words, o: int) -> tuple[int, int]:
    """The number of the next state y and of the pair (y, o) among the outcomes; -1 if there is none."""
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
