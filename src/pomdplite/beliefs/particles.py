"""A population of hidden values (particles) for a θ that cannot be listed.

Every update weighs the particles by Bayes' rule, replaces those of little weight by copies of others (systematic
resampling) and then moves each by the model's Markov chain, which leaves the posterior as it is and so makes the copies
different again. If no particle is left the belief is recovered, first by moving the last ones, then by new draws from
the prior, keeping only what agrees with the whole history; and it says so in `notes`.
"""

from typing import Any

import numpy as np

from pomdplite import rng
from pomdplite.beliefs.exact import FactoredBelief, find_outcome
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, kernel
from pomdplite.errors import ImpossibleObservationError, ModelError, UsageError
from pomdplite.mdp.outcomes import Outcomes, history_log_probability, pick
from pomdplite.model.compiled import KernelView, draw_prior
from pomdplite.model.model import Model
from pomdplite.model.records import from_words

PARTICLES = 1000
_SWEEPS = 2  # moves of every particle after an update, more if many are copies of few
_MOST_SWEEPS = 12
_RECOVERY_ROUNDS = 60  # of moves, of the last particles and then of new draws, before the belief is given up


class ParticleBelief(FactoredBelief):
    """Equally or differently weighted draws of θ, kept on the posterior."""

    def __init__(self, model: Model | KernelView, particles: int = PARTICLES) -> None:
        view = model.compiled_form.kernel_view() if isinstance(model, Model) else model
        if particles < 2:
            raise UsageError(f"a particle belief needs at least 2 particles, not {particles}.")
        self.particles = particles
        self._theta = np.zeros((particles + 1, view.model.hidden.words), np.uint64)
        offsets = np.array([0, particles, particles + 1], np.int64)
        self._kernel_model = view.kernel_model._replace(theta=self._theta, offsets=offsets)
        # One population drawn from the prior, moved anew in every episode: as good as new draws, and faster.
        self._prior = self._theta.copy()
        if draw_prior(view.kernel_model, self._prior, particles + 1, rng.stream(0)) < 0:
            raise ModelError(f"{view.model.name}.prior raised an error; check_model says more.")
        super().__init__(view)

    @property
    def kernel_model(self) -> KernelModel:
        """The model with the particles as hidden values."""
        return self._kernel_model

    def reset(self, seed: int = 0) -> None:
        """Back to the prior; the seed names the random numbers of the episode."""
        self._stream = rng.stream(seed)
        self._theta[:] = self._prior
        self.probabilities: Floats = np.append(np.full(self.particles, 1.0 / self.particles), 1.0)
        self.maps = np.zeros(0, np.uint64)
        self._history: list[tuple[Words, int, Words, int]] = []
        self.notes: list[str] = []
        self.recoveries = 0
        self.effective = float(self.particles)  # effective sample size of the last weights, before resampling
        self.acceptance = 0.0  # share of the last moves that changed a particle
        self._move(self.view.root(), _SWEEPS)

    def copy(self) -> "ParticleBelief":
        """An independent belief with the same content."""
        twin = ParticleBelief(self.view, self.particles)
        twin._theta[:] = self._theta
        twin.probabilities, twin._history = self.probabilities.copy(), list(self._history)
        twin._stream = self._stream.copy()
        return twin

    # ------------------------------------------------------------------ Bayes' rule

    def advance(self, s: Words, a: int, y: Words, o: int) -> Words:
        """Condition on what happened, resample, move."""
        _, k, e = self._outcomes(s, a)
        j, pair = find_outcome(self._buffer, k, e, y, o)
        n = self.particles
        weights = self.probabilities[:n] * self._buffer.likelihood[pair, :n] if pair >= 0 else np.zeros(n)
        self._history.append((s, a, y, o))
        total = float(weights.sum())
        if total <= 0:
            self._recover(s, a, y, o, j)
            return y.copy()
        weights /= total
        self.effective = float(1.0 / (weights**2).sum())
        self.probabilities[:n] = weights
        if self.effective < n / 2 or weights.min() == 0:
            self._resample()
        self._move(y, min(_MOST_SWEEPS, round(_SWEEPS * n / self.effective)))
        return y.copy()

    def recover(self, y: Words) -> Words:
        """After something impossible: every other particle is drawn anew from the prior, and what was is forgotten."""
        self._resample()
        fresh = np.zeros_like(self._theta)
        if draw_prior(self.view.kernel_model, fresh, len(fresh), self._stream) < 0:
            raise ModelError(f"{self.view.model.name}.prior raised an error; check_model says more.")
        self._theta[::2] = fresh[::2]
        self._history.clear()
        return y.copy()

    def _resample(self) -> None:
        """Systematic resampling: copies in proportion to weight, from one random number."""
        n = self.particles
        marks = (np.arange(n) + rng.uniform(self._stream)) / n
        chosen = np.minimum(np.searchsorted(np.cumsum(self.probabilities[:n]), marks), n - 1)
        self._theta[:n] = self._theta[chosen]
        self.probabilities[:n] = 1.0 / n

    def _move(self, x: Words, sweeps: int) -> None:
        moved = move_all(self.kernel_model, x.reshape(1, -1), self._theta, self.particles, sweeps, self._stream)
        if moved < 0:
            raise ModelError(f"{self.view.model.name}.move raised an error at x = ({self.view.describe(x)}).")
        self.acceptance = moved / (self.particles * sweeps)

    def _recover(self, s: Words, a: int, y: Words, o: int, branch: int) -> None:
        """No particle agrees with what happened: look for ones that agree with the whole history."""
        n = self.particles
        for source in ("the last particles", "new draws from the prior"):
            if source != "the last particles" and draw_prior(self.kernel_model, self._theta, n, self._stream) < 0:
                raise ModelError(f"{self.view.model.name}.prior raised an error.")
            for _ in range(_RECOVERY_ROUNDS):
                self._move(y, _SWEEPS)
                weights = self._history_weights()
                if weights.sum() > 0:
                    self.probabilities[:n] = weights / weights.sum()
                    self.effective = float(1.0 / (self.probabilities[:n] ** 2).sum())
                    self._resample()
                    self._move(y, _MOST_SWEEPS)
                    self.recoveries += 1
                    self.notes.append(
                        f"no particle agreed after {len(self._history)} steps; {int((weights > 0).sum())} of {n} were "
                        f"recovered from {source}"
                    )
                    return
        where = self._impossible(s, a, y, o, branch)
        raise ImpossibleObservationError(
            f"{where} (None of {n} particles agrees, nor any found in {2 * _RECOVERY_ROUNDS} rounds of looking.)"
        )

    def _history_weights(self) -> Floats:
        s, y = (np.array([step[i] for step in self._history]) for i in (0, 2))
        a, o = (np.array([step[i] for step in self._history], np.int64) for i in (1, 3))
        weights = np.zeros(self.particles)
        weigh_history(self.kernel_model, s, a, y, o, len(a), self._theta, weights, self._buffer)
        return np.exp(weights)

    # ------------------------------------------------------------------ questions

    def sample(self, stream: Words) -> Any:
        """A record of θ drawn from the belief."""
        i = int(pick(self.probabilities, self.particles, rng.uniform(stream)))
        return from_words(self.view.model.hidden.dtype, self._theta[i])

    def entropy(self) -> float:
        """Entropy in nats of the distribution that the particles make, equal ones taken together."""
        _, group = np.unique(self._theta[: self.particles], axis=0, return_inverse=True)
        p = np.bincount(group.ravel(), self.probabilities[: self.particles])
        return float(max(0.0, -(p[p > 0] * np.log(p[p > 0])).sum()))

    def initial_marginals(self) -> list[Floats]:
        """The mean of the model's summary, if it has one."""
        size = self.view.model.summary_size
        if "summary" not in self.view.model.compiled_form.definition.functions or size == 0:
            return []
        mean = np.zeros(size)
        mean_summary(self.kernel_model, self._theta, self.probabilities[:-1], mean, np.zeros(size))
        return [mean]

    def marginals(self) -> list[Floats]:
        """The same: θ is constant."""
        return self.initial_marginals()


@kernel
def move_all(model: KernelModel, x: Words, theta: Words, count: int, sweeps: int, stream: Words) -> int:
    """Move every particle; how many moves changed one, -1 if the user's function raised."""
    changed = 0
    for _ in range(sweeps):
        for t in range(count):
            moved = abi.move(model, x, 0, theta, t, stream)
            if moved == abi.FAILED:
                return -1
            changed += moved
    return changed


@kernel
def mean_summary(model: KernelModel, theta: Words, weights: Floats, mean: Floats, f: Floats) -> None:
    """Add up the model's summary of the particles into mean."""
    for t in range(weights.shape[0]):
        for i in range(f.shape[0]):
            f[i] = 0.0
        abi.summary(model, theta, t, f)
        for i in range(f.shape[0]):
            mean[i] += weights[t] * f[i]


@kernel
def weigh_history(
    model: KernelModel, x: Words, a: Ints, y: Words, o: Ints, steps: int, theta: Words, logs: Floats, out: Outcomes
) -> None:
    """The logarithm of the probability of the whole history under each particle."""
    for t in range(logs.shape[0]):
        logs[t] = history_log_probability(model, x, a, y, o, steps, theta, t, out)
