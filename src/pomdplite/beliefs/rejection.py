"""The particle belief of POMCP (Silver and Veness 2010): equally likely draws of θ, kept by simulation.

The particles of the next belief are those whose simulations of the action taken showed what was then seen, drawn again
to the full number. Copies are made different (reinvigorated) by a Markov chain that leaves the posterior as it is: the
model's own move, or a new value of one component from its prior, taken or left by how likely it makes the history
(Metropolis and Hastings).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pomdplite import rng
from pomdplite.beliefs.particles import mean_summary, move_all, weigh_history
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, kernel
from pomdplite.errors import ImpossibleObservationError, ModelError
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes, history_log_probability, pick, simulate
from pomdplite.model.compiled import KernelView, draw_prior
from pomdplite.model.records import from_words

NONE = np.zeros(0, np.int32)
_RECOVERY_ROUNDS = 60  # of moves, of the last particles and then of new draws, before the belief is given up


class UnweightedParticles:
    """Draws of θ: as it was at first, and as it is now."""

    def __init__(self, view: KernelView, particles: int) -> None:
        self.view, self.particles = view.present_form(), particles
        words = view.table.theta.shape[1]
        self.initial = np.zeros((particles, words), np.uint64)
        self.present = np.zeros((particles, words), np.uint64)
        self._buffer = allocate_outcomes(self.view.kernel_model, max(4, self.view.kernel_model.next_states))
        limit = view.model.episode_horizon
        self._x, self._y = (np.zeros((limit, view.kernel_model.x_words), np.uint64) for _ in range(2))
        self._a, self._o = np.zeros(limit, np.int64), np.zeros(limit, np.int64)
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Draws from the prior; the seed names the random numbers of the episode."""
        self._stream = rng.stream(seed)
        self._steps = 0
        self.notes: list[str] = []
        self._draw()

    def _draw(self) -> None:
        if not self.view.listed:
            if draw_prior(self.view.kernel_model, self.initial, self.particles, self._stream) < 0:
                raise ModelError(f"{self.view.model.name}.prior raised an error; check_model says more.")
        else:
            _draw_listed(self.view.kernel_model, self.view.table.prior, self.initial, self._stream)
        self._replay()

    def advance(self, x: Words, a: int, y: Words, o: int, survivors: Small = NONE) -> Words:
        """Take in a step; survivors are the particles, as often as they were simulated, that showed (y, o) after a.

        A search tries many actions: what its simulations of this one show is too little, so all particles take the step
        once more.
        """
        if self._steps == len(self._a):  # a world may go on for longer than the model's episodes
            self._x, self._y = np.repeat(self._x, 2, axis=0), np.repeat(self._y, 2, axis=0)
            self._a, self._o = np.repeat(self._a, 2), np.repeat(self._o, 2)
        self._x[self._steps], self._y[self._steps] = x, y
        self._a[self._steps], self._o[self._steps] = a, o
        self._steps += 1
        model, agree = self.view.kernel_model, np.zeros(self.particles, np.bool_)
        _try_all(model, x.reshape(1, -1), a, y.reshape(1, -1), o, self.present, agree, self._stream, self._buffer)
        survivors = np.concatenate([survivors, np.flatnonzero(agree).astype(np.int32)])
        if len(survivors) == 0:
            self._recover(x, a, y, o)
            return y.copy()
        marks = ((np.arange(self.particles) + rng.uniform(self._stream)) * len(survivors) / self.particles).astype(int)
        self.initial[:] = self.initial[survivors[marks]]
        self._move(y, 1)
        self._replay()
        return y.copy()

    def recover(self, y: Words) -> Words:
        """After something impossible: new draws from the prior, and what was is forgotten."""
        self._steps = 0
        self._draw()
        return y.copy()

    def _history(self) -> tuple[Words, Ints, Words, Ints, int]:
        return self._x, self._a, self._y, self._o, self._steps

    def _replay(self) -> None:
        self.present[:] = self.initial
        if self.view.kernel_model.evolves:
            _replay(self.view.kernel_model, *self._history(), self.present, self._buffer)

    def _move(self, x: Words, sweeps: int) -> None:
        model, here = self.view.kernel_model, x.reshape(1, -1)
        if self.view.listed:
            _move_listed(
                model, *self._history(), self.view.table.prior, self.initial, sweeps, self._stream, self._buffer
            )
        elif move_all(model, here, self.initial, self.particles, sweeps, self._stream) < 0:
            raise ModelError(f"{self.view.model.name}.move raised an error at x = ({self.view.describe(x)}).")

    def _recover(self, x: Words, a: int, y: Words, o: int) -> None:
        """No simulation showed what happened: look for particles that explain the whole history."""
        logs = np.zeros(self.particles)
        for source in ("the last particles", "new draws from the prior"):
            if source != "the last particles":
                self._draw()
            for _ in range(_RECOVERY_ROUNDS):
                weigh_history(self.view.kernel_model, *self._history(), self.initial, logs, self._buffer)
                if logs.max() > -np.inf:
                    weights = np.exp(logs - logs.max())
                    marks = (np.arange(self.particles) + rng.uniform(self._stream)) / self.particles
                    chosen = np.searchsorted(np.cumsum(weights / weights.sum()), marks)
                    self.initial[:] = self.initial[np.minimum(chosen, self.particles - 1)]
                    self._move(y, 3)
                    self._replay()
                    self.notes.append(f"no particle was left after {self._steps} steps; recovered from {source}")
                    return
                self._move(y, 3)
        model = self.view.model
        raise ImpossibleObservationError(
            f"{model.name}: none of {self.particles} particles explains observing {model.observation_name(o)!r} after "
            f"{model.actions[a]!r} in x = ({self.view.describe(x)}), arriving in x' = ({self.view.describe(y)})."
        )

    # ------------------------------------------------------------------ questions

    @property
    def kernel_model(self) -> KernelModel:
        """The model in present form."""
        return self.view.kernel_model

    def sample(self, stream: Words) -> Any:
        """A record of the present θ."""
        i = min(int(rng.uniform(stream) * self.particles), self.particles - 1)
        return from_words(self.view.model.hidden.dtype, self.present[i])

    def marginals(self) -> list[Floats]:
        """P(component = value) of the present θ; the mean of the model's summary where θ cannot be listed."""
        hidden, model = self.view.model.hidden, self.view.model
        rows, counts = np.unique(self.present, axis=0, return_counts=True)
        if not self.view.listed:
            size = model.summary_size
            if "summary" not in model.compiled_form.definition.functions or size == 0:
                return []
            mean = np.zeros(size)
            mean_summary(self.view.kernel_model, rows, counts / self.particles, mean, np.zeros(size))
            return [mean]
        found = [np.zeros(len(c)) for c in hidden.components]
        for row, count in zip(rows, counts, strict=True):
            for marginal, i in zip(found, hidden.indices(from_words(hidden.dtype, row)), strict=True):
                marginal[i] += count / self.particles
        return found


@kernel
def _try_all(
    model: KernelModel, x: Words, a: int, y: Words, o: int, theta: Words, agree: NDArray[np.bool_],
    stream: Words, out: Outcomes,
) -> None:  # fmt: skip
    """Let every particle take the step once: which of them show what was seen."""
    for t in range(theta.shape[0]):
        i, seen, _ = simulate(model, x, theta[t : t + 1], a, rng.uniform(stream), rng.uniform(stream), out)
        agree[t] = i >= 0 and seen == o
        for w in range(y.shape[1]):
            agree[t] = agree[t] and out.y[i, w] == y[0, w]


@kernel
def _draw_listed(model: KernelModel, prior: Floats, theta: Words, stream: Words) -> None:
    """Independent draws of every component from its prior."""
    none = model.offsets.shape[0] - 2
    for t in range(theta.shape[0]):
        for w in range(theta.shape[1]):
            theta[t, w] = model.theta[model.offsets[none], w]
        for c in range(none):
            _redraw(model, prior, c, theta, t, stream)


@kernel
def _redraw(model: KernelModel, prior: Floats, c: int, theta: Words, t: int, stream: Words) -> None:
    """Put a value drawn from the prior into component c of theta[t], in place of the one that is there."""
    first, last = model.offsets[c], model.offsets[c + 1]
    none = model.theta[model.offsets[model.offsets.shape[0] - 2]]
    row = first + pick(prior[first:last], last - first, rng.uniform(stream))
    for w in range(theta.shape[1]):
        mask = np.uint64(0)  # the bits in which the values of this component differ
        for other in range(first, last):
            mask |= model.theta[other, w] ^ none[w]
        theta[t, w] = (theta[t, w] & ~mask) | (model.theta[row, w] & mask)


@kernel
def _move_listed(
    model: KernelModel, x: Words, a: Ints, y: Words, o: Ints, steps: int, prior: Floats, theta: Words, sweeps: int,
    stream: Words, out: Outcomes,
) -> None:  # fmt: skip
    """Propose a value of one component from its prior; take it as the history's likelihood says."""
    components = model.offsets.shape[0] - 2
    for t in range(theta.shape[0]):
        before = history_log_probability(model, x, a, y, o, steps, theta, t, out)
        for _ in range(sweeps):
            for w in range(theta.shape[1]):
                out.other[0, w] = theta[t, w]
            _redraw(model, prior, int(rng.uniform(stream) * components), theta, t, stream)
            same = True
            for w in range(theta.shape[1]):
                same = same and out.other[0, w] == theta[t, w]
            if same:
                continue
            after = history_log_probability(model, x, a, y, o, steps, theta, t, out)
            u = rng.uniform(stream)
            if (after == -np.inf and before == -np.inf) or (after > -np.inf and np.log(u) < after - before):
                before = after
            else:
                for w in range(theta.shape[1]):
                    theta[t, w] = out.other[0, w]


@kernel
def _replay(model: KernelModel, x: Words, a: Ints, y: Words, o: Ints, steps: int, theta: Words, out: Outcomes) -> None:
    """Let every θ change as the history's actions changed it."""
    for t in range(theta.shape[0]):
        for i in range(steps):
            abi.evolve(model, x, i, theta, t, a[i], out.theta)
            for w in range(theta.shape[1]):
                theta[t, w] = out.theta[0, w]
