"""The beliefs of many episodes side by side.

Exact beliefs over a listed Θ are rows of one array, and one call of a kernel applies Bayes' rule to all of them. Others
are held one by one.
"""

from typing import NamedTuple, Protocol

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import Belief, initial_belief
from pomdplite.beliefs.exact import condition
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Words, kernel
from pomdplite.errors import ImpossibleObservationError
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes, present_row
from pomdplite.mdp.weighing import weigh_step
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import to_words

_NONE = -1


class BeliefBatch(Protocol):
    """One belief in each row."""

    def reset(self, rows: Flags, seed: Words, episode: Words) -> None:
        """Return to the prior in these rows; a row's seed and episode determine what its belief samples."""

    def update(self, rows: Flags, actions: Ints, y: Words, o: Ints) -> None:
        """Condition on a step in these rows: the action, and the state and observation or reading that followed."""

    def marginals(self) -> list[Floats]:
        """What `Belief.marginals` returns, with a row for each belief: arrays [row, number]."""


def belief_batch(model: Model, count: int) -> BeliefBatch:
    """Beliefs of the kind that `initial_belief` chooses."""
    view = model.compiled_form.kernel_view()
    return ExactBatch(view, count) if view.listed and not view.counted else SeparateBeliefs(view, count)


class BeliefRows(NamedTuple):
    """Exact beliefs, one in each row."""

    log_weights: Floats  # [row, value]
    probabilities: Floats  # [row, value] of the initial value
    present: Floats  # [row, value] of the present value
    s: Words  # [row, s_words] the state, with the maps from initial to present values


class ExactBatch:
    """Exact beliefs over a listed Θ."""

    def __init__(self, view: KernelView, count: int) -> None:
        self._view = view
        prior = view.table.prior
        with np.errstate(divide="ignore"):
            self._log_prior = np.log(prior)
        self._root = view.root()
        self._buffer = allocate_outcomes(view.kernel_model, 1)
        self._logs = np.zeros(len(self._buffer.reward))
        self._rows = BeliefRows(
            log_weights=np.tile(self._log_prior, (count, 1)),
            probabilities=np.tile(prior, (count, 1)),
            present=np.zeros((count, len(prior))),
            s=np.tile(self._root, (count, 1)),
        )

    def reset(self, rows: Flags, seed: Words, episode: Words) -> None:
        """Return to the prior in these rows."""
        self._rows.log_weights[rows] = self._log_prior
        self._rows.probabilities[rows] = self._view.table.prior
        self._rows.s[rows] = self._root

    def update(self, rows: Flags, actions: Ints, y: Words, o: Ints) -> None:
        """Apply Bayes' rule in these rows."""
        kernel_model = self._view.kernel_model
        wrong = _update(kernel_model, self._rows, rows, actions, y, o, self._logs, self._buffer)
        self._view.raise_fault()
        if wrong != _NONE:
            raise ImpossibleObservationError(
                f"{self._view.model.name}: a step with {self._view.model.actions[actions[wrong]]!r} that is impossible "
                "under every hidden value that was still possible."
            )

    def marginals(self) -> list[Floats]:
        """The probabilities of each component's present values."""
        _find_present(self._view.kernel_model, self._rows)
        return self._view.table.marginals(self._rows.present)


class SeparateBeliefs:
    """Beliefs that are no arrays of the same shape, such as particles."""

    def __init__(self, view: KernelView, count: int) -> None:
        self._beliefs: list[Belief] = [initial_belief(view) for _ in range(count)]
        self._start = to_words(view.model.state.dtype, view.model.initial_state())
        self._x = np.tile(self._start, (count, 1))

    def reset(self, rows: Flags, seed: Words, episode: Words) -> None:
        """Return to the prior in these rows."""
        self._x[rows] = self._start
        for i in np.flatnonzero(rows).tolist():
            self._beliefs[i].reset(int(rng.stream(int(seed[i]), int(episode[i]), rng.PLANNER)[0]))

    def update(self, rows: Flags, actions: Ints, y: Words, o: Ints) -> None:
        """Update the beliefs of these rows, one after the other."""
        for i in np.flatnonzero(rows).tolist():
            self._beliefs[i]._advance(self._x[i], int(actions[i]), y[i], int(o[i]))
        self._x[rows] = y[rows, : self._x.shape[1]]

    def marginals(self) -> list[Floats]:
        """The marginals of all beliefs, array by array."""
        return [np.stack(column) for column in zip(*(b.marginals() for b in self._beliefs), strict=True)]


@kernel
def _update(
    model: KernelModel, beliefs: BeliefRows, rows: Flags, actions: Ints, y: Words, o: Ints, logs: Floats, out: Outcomes
) -> int:
    """Apply Bayes' rule in these rows; the first in which no value remains possible, and which is the last updated."""
    for i in range(rows.shape[0]):
        if not rows[i]:
            continue
        s = beliefs.s[i : i + 1]
        component, _ = weigh_step(model, s, actions[i], y[i : i + 1], o[i], logs, out)
        first, last = model.offsets[component], model.offsets[component + 1]
        if not condition(beliefs.log_weights[i, first:last], logs, beliefs.probabilities[i, first:last]):
            return i
        for w in range(model.s_words):
            s[0, w] = out.next[0, w]
    return _NONE


@kernel
def _find_present(model: KernelModel, beliefs: BeliefRows) -> None:
    """The beliefs over present values."""
    for i in range(beliefs.s.shape[0]):
        for row in range(beliefs.present.shape[1]):
            beliefs.present[i, row] = 0.0
        for component in range(model.offsets.shape[0] - 1):
            for row in range(model.offsets[component], model.offsets[component + 1]):
                now = present_row(model, beliefs.s, i, component, row)
                beliefs.present[i, now] += beliefs.probabilities[i, row]
