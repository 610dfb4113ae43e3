"""An exact belief about one or two hidden numbers with distributions, up to numerical integration.

For each combination of the listed values beside them, the numbers lie on an even grid in unconstrained form, and the
weight of a node is prior density · volume · P(history | θ): the trapezoidal rule, whose error vanishes exponentially
for smooth densities. A step adds one logarithm to each node, whatever its number.

When the posterior has become narrow for a grid, or has reached its border, the grid is laid anew over the posterior
along its principal axes, and the history is weighed at the new nodes. The posterior shrinks like 1/√t, so that happens
a few times each time t grows tenfold.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from pomdplite import rng
from pomdplite.beliefs.history import empty_history, extended, last_step, weigh_history
from pomdplite.beliefs.numbers import Numbers, Particle, drawn_numbers
from pomdplite.beliefs.population import drawn_marginals, population_model
from pomdplite.beliefs.protocol import Belief, view_of
from pomdplite.beliefs.resampling import entropy
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.errors import UnsuitableError
from pomdplite.mdp.sampling import History, pick, replay
from pomdplite.model.compiled import KernelView
from pomdplite.model.distributions import DistributionTable
from pomdplite.model.distributions_kernels import from_unconstrained, prior_log_densities, to_unconstrained
from pomdplite.model.model import Model
from pomdplite.model.records import from_words
from pomdplite.model.spaces import Distributed

MOST_NODES = 4096  # of all grids together


class _Fineness(NamedTuple):
    """How fine a grid is, by the number of its dimensions."""

    nodes: int  # per dimension; even, so that the two halves of a prior have half of the weight each
    reach: float  # of a new grid from the mean, in standard deviations
    fewest: float  # spacings that a standard deviation must span


_FINENESS = {1: _Fineness(200, 7.0, 4.0), 2: _Fineness(42, 6.0, 1.5)}
_PRIOR_DROP = 18.0  # the first grid ends where the logarithm of the prior density is lower than its highest by this
_BORDER_MASS = 1e-6  # more than this at the border of a grid moves it
_BEYOND = 0.5  # with more than this there, the posterior lies beyond the grid, and the next one is twice as large
_COVERED = 1e-9  # nodes with more than this share of a grid's mass lie inside the next one
_SMALLER = 0.8  # a new grid must have less than this share of the old one's volume, unless that was too small
_ROUNDS = 24  # of laying a grid anew after one step, at most; few steps need more than two
_SEARCHED = 100_000  # draws from the prior, if no node explains a step
_SEARCH_TERMS = 20_000_000  # the most log probabilities of steps for that
_FEWEST_SEARCHED = 2_000


def grids_fit(hidden: Any) -> bool:
    """Whether a hidden parameter has few enough numbers and listed values for grids."""
    if not isinstance(hidden, Distributed) or hidden.table.continuous not in _FINENESS:
        return False
    d = hidden.table.continuous
    return len(_combinations(hidden.table)) * _FINENESS[d].nodes ** d <= MOST_NODES


class QuadratureBelief(Belief):
    """Grids over one or two hidden numbers, one for each combination of the listed values beside them."""

    def __init__(self, model: Model | KernelView) -> None:
        view = view_of(model)
        hidden = view.model.hidden
        if not grids_fit(hidden):
            raise UnsuitableError(
                f"{view.model.name}: a quadrature belief needs one or two hidden numbers with distributions, and few "
                "combinations of listed values beside them; use ParticleBelief."
            )
        self._table: DistributionTable = hidden.table
        self._fineness = _FINENESS[self._table.continuous]
        ticks = np.linspace(-1.0, 1.0, self._fineness.nodes)
        self._unit: Floats = np.array(list(product(ticks, repeat=self._table.continuous)))  # [node, d] in [-1, 1]
        self._border = (np.abs(self._unit) == 1.0).any(axis=1)
        combinations = _combinations(self._table)
        blocks, nodes, d = len(combinations), *self._unit.shape
        self._log_weight = np.log([weight for _, weight in combinations])  # [block] of its combination
        self._rows = np.zeros((blocks * nodes + 1, hidden.words), np.uint64)  # the last is "no component"
        for block, (values, _) in enumerate(combinations):
            self._nodes_of(block)[:, self._table.word[d:]] = values
        self._rows[-1] = self._rows[0]
        self._centre, self._axes = np.zeros((blocks, d)), np.zeros((blocks, d, d))  # z = centre + axes · unit
        self._prior, self._logs = np.zeros((blocks, nodes)), np.zeros((blocks, nodes))
        self._present = self._rows.copy() if view.kernel_model.evolves else self._rows  # of the θ₀ in _rows
        self._kernel_model = population_model(view, self._present)
        super().__init__(view)
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Return to the prior."""
        self._history = empty_history(self.view)
        centre, axes = _prior_box(self._table)
        for block in range(len(self._logs)):
            self._lay(block, centre, axes)
        self._normalise()

    # ------------------------------------------------------------------ as kernels see it

    @property
    def kernel_model(self) -> KernelModel:
        """The model with the nodes as its rows of θ."""
        return self._kernel_model

    @property
    def probabilities(self) -> Floats:
        """The weight of each node; the last row, "no component", has 1."""
        return self._probabilities

    def key(self) -> bytes | None:
        """The nodes and their weights."""
        return self._present.tobytes() + self._probabilities.tobytes()

    # ------------------------------------------------------------------ life

    def _advance(self, x: Words, a: int, y: Words, o: int) -> None:
        history, last = extended(self._history, x, a, y, o), np.zeros(len(self._rows) - 1)
        weigh_history(self.view.kernel_model, last_step(history), self._present[:-1], last, self._buffer)
        self.view.raise_fault()
        logs = self._logs + last.reshape(self._logs.shape)
        if (self._prior + logs).max() == -np.inf:
            self._search(history, x, a, y, o)
        else:
            self._history, self._logs = history, logs
            self._replay(last_step(history), slice(0, len(self._rows)))
        self._refine()
        self._normalise()

    def _search(self, history: History, x: Words, a: int, y: Words, o: int) -> None:
        """Lay the grids over draws from the prior that explain the history, since no node does."""
        count = int(min(_SEARCHED, max(_FEWEST_SEARCHED, _SEARCH_TERMS // history.steps)))
        theta, logs = np.zeros((count, self._rows.shape[1]), np.uint64), np.zeros(count)
        self.view.draw_prior(theta, rng.stream(0, history.steps))
        weigh_history(self.view.kernel_model, history, theta, logs, self._buffer)
        self.view.raise_fault()
        if logs.max() == -np.inf:
            raise self._impossible(x, a, y, o, arrived=self._weigh(x, a, y, o)[2])
        self._history = history
        z = np.zeros((count, self._table.continuous))
        to_unconstrained(self._table, theta, z)
        listed = self._table.word[self._table.continuous :]
        for block in range(len(self._logs)):
            own = (theta[:, listed] == self._nodes_of(block)[0, listed]).all(axis=1) & (logs > -np.inf)
            if not own.any():
                self._logs[block] = -np.inf
                continue
            best = own & (logs > logs[own].max() - _PRIOR_DROP)
            spread = np.ptp(z[best], axis=0) + np.ptp(z, axis=0) / count ** (1 / z.shape[1])
            self._lay(block, (z[best].min(axis=0) + z[best].max(axis=0)) / 2, np.diag(spread))

    def recover(self) -> None:
        """Continue after an impossible step from the prior: half a narrow posterior would slip through its grid."""
        self.reset()

    # ------------------------------------------------------------------ grids

    def _nodes_of(self, block: int) -> Words:
        """The rows of a grid."""
        nodes = len(self._unit)
        return self._rows[block * nodes : (block + 1) * nodes]

    def _lay(self, block: int, centre: Floats, axes: Floats) -> None:
        """Lay a grid anew, and weigh the history at its nodes."""
        z, spacing = centre + self._unit @ axes.T, 2.0 / (self._fineness.nodes - 1)
        self._centre[block], self._axes[block] = centre, axes
        from_unconstrained(self._table, z, self._nodes_of(block))
        prior_log_densities(self._table, z, self._prior[block])
        nodes = slice(block * len(z), (block + 1) * len(z))
        self._present[nodes] = self._rows[nodes]
        self._replay(self._history, nodes)
        self._prior[block] += self._log_weight[block] + np.linalg.slogdet(axes * spacing)[1]
        weigh_history(self.view.kernel_model, self._history, self._nodes_of(block), self._logs[block], self._buffer)
        self.view.raise_fault()

    def _replay(self, history: History, nodes: slice) -> None:
        """Let the present values of these nodes change as in a history."""
        if self.view.kernel_model.evolves:
            replay(self.view.kernel_model, history, self._present[nodes], self._buffer)
            self.view.raise_fault()

    def _refine(self) -> None:
        """Lay those grids anew that have become too coarse or too small, until they fit."""
        for block in range(len(self._logs)):
            for _ in range(_ROUNDS):
                box = self._better_box(block)
                if box is None:
                    break
                before = self._centre[block].copy(), self._axes[block].copy()
                self._lay(block, *box)
                if (self._prior[block] + self._logs[block]).max() == -np.inf:  # only the old nodes explain the history
                    self._lay(block, *before)
                    break

    def _better_box(self, block: int) -> tuple[Floats, Floats] | None:
        """Centre and axes of a grid that fits the posterior better than this one; None if this one will do."""
        logs = self._prior[block] + self._logs[block]
        if logs.max() == -np.inf:
            return None
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        spacing = 2.0 / (self._fineness.nodes - 1)
        mean = weights @ self._unit
        off = self._unit - mean
        covariance = (off * weights[:, None]).T @ off
        crowded = np.sqrt(np.linalg.eigvalsh(covariance)[0].clip(0.0)) < self._fineness.fewest * spacing
        at_border = weights[self._border].sum()
        cut_off = at_border > _BORDER_MASS
        if not crowded and not cut_off:
            return None
        axes = self._axes[block]
        floor = (0.5 * spacing) ** 2  # a posterior between two nodes shows no spread at all
        variances, directions = np.linalg.eigh(axes @ (covariance + np.diag(np.full(len(mean), floor))) @ axes.T)
        reach = self._fineness.reach * np.sqrt(variances.clip(np.finfo(float).tiny))
        inside = np.abs((off[weights > _COVERED] @ axes.T) @ directions)
        reach = np.maximum(reach, inside.max(axis=0))
        if at_border > _BEYOND:
            reach = np.maximum(reach, np.abs(directions.T @ axes).sum(axis=1))
        if cut_off:
            reach *= 2.0
        if not cut_off and np.prod(reach) > _SMALLER * abs(np.linalg.det(axes)):
            return None
        return self._centre[block] + axes @ mean, directions * reach

    def _normalise(self) -> None:
        logs = self._prior + self._logs
        weights = np.exp(logs - logs.max()).ravel()
        self._probabilities: Floats = np.append(weights / weights.sum(), 1.0)

    # ------------------------------------------------------------------ about θ

    def sample(self, stream: Words) -> Any:
        """A node drawn from the belief, as a record."""
        row = int(pick(self._probabilities, len(self._rows) - 1, rng.uniform(stream)))
        return from_words(self.view.model.hidden.dtype, self._rows[row])

    def entropy(self) -> float:
        """Entropy of the nodes' weights, in nats."""
        return entropy(self._probabilities[:-1])

    def initial_marginals(self) -> list[Floats]:
        """The mean of the model's summary; without one, probabilities of listed values, means and intervals."""
        return drawn_marginals(self.view, self._rows[:-1], self._probabilities[:-1], smooth=True)

    def marginals(self) -> list[Floats]:
        """The same for the present θ."""
        return drawn_marginals(self.view, self._present[:-1], self._probabilities[:-1], smooth=True)

    def particles(self) -> list[Particle]:
        """The nodes with their weights, likeliest first."""
        b, dtype = self._probabilities[:-1], self.view.model.hidden.dtype
        return [
            Particle(from_words(dtype, self._present[i]), float(b[i]))
            for i in np.argsort(-b, kind="stable")
            if b[i] > 0
        ]

    def _numbers(self) -> dict[str, Numbers]:
        return drawn_numbers(self.view.model.hidden, self._present[:-1], self._probabilities[:-1], smooth=True)


def _combinations(table: DistributionTable) -> list[tuple[Words, float]]:
    """Every possible combination of the listed values, as words, with its prior probability."""
    listed = []
    for c in range(table.continuous, len(table.word)):
        own = range(table.first[c], table.first[c + 1])
        listed.append([(table.values[v], float(table.weights[v])) for v in own if table.weights[v] > 0.0])
    found = []
    for combination in product(*listed):
        values = np.array([value for value, _ in combination], np.uint64)
        found.append((values, float(np.prod([weight for _, weight in combination]))))
    return found


def _prior_box(table: DistributionTable) -> tuple[Floats, Floats]:
    """Centre and axes of a grid over all of the prior that matters."""
    ends = np.array([[_prior_end(table, c, sign) for sign in (-1.0, 1.0)] for c in range(table.continuous)])
    return ends.mean(axis=1), np.diag(np.ptp(ends, axis=1) / 2)


def _prior_end(table: DistributionTable, c: int, sign: float) -> float:
    """Where the prior density of a number, which falls to both sides of its mode, has fallen far enough."""
    z, found = np.repeat(table.mode[None, : table.continuous], 2, axis=0), np.zeros(2)

    def dropped(step: float) -> bool:
        z[1, c] = z[0, c] + sign * step
        prior_log_densities(table, z, found)
        return bool(found[1] < found[0] - _PRIOR_DROP)

    low, high = 0.0, 1.0
    while not dropped(high):
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if dropped(middle) else (middle, high)
    return float(z[0, c] + sign * high)
