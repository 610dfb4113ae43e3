"""A weighted particle filter, for a θ that cannot be listed.

Every update weighs the particles by Bayes' rule, resamples them if the weights have become uneven, and moves them all.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.beliefs.history import extended
from pomdplite.beliefs.numbers import Numbers, Particle
from pomdplite.beliefs.population import PopulationBelief, population_model
from pomdplite.beliefs.protocol import find_outcome, view_of
from pomdplite.beliefs.resampling import effective_size, entropy, resample
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.errors import UsageError
from pomdplite.mdp.sampling import distinct, pick
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model

PARTICLES = 1000
_SWEEPS = 2  # moves of every particle after an update; more if the weights were uneven
_MOST_SWEEPS = 12


class ParticleBelief(PopulationBelief):
    """Weighted draws of a constant θ."""

    _fewest: ClassVar[int] = 2
    _recovery_sweeps: ClassVar[int] = _SWEEPS
    _follows_change: ClassVar[bool] = False  # whether θ may change
    _moves_first: ClassVar[bool] = True  # a particle without weight cannot explain the history unless it moves

    def __init__(self, model: Model | KernelView, particles: int = PARTICLES) -> None:
        view = view_of(model)
        if view.kernel_model.evolves and not self._follows_change:
            raise UsageError(f"{view.model.name}: a particle belief needs a constant θ; use RejectionBelief.")
        super().__init__(view, particles)
        # Draw from the prior once, and move these draws in every episode: as good as new draws, and faster.
        self._prior = self._rows.copy()
        self._draw_prior(self._prior, rng.stream(0))
        self.reset()

    def _make_kernel_model(self, view: KernelView) -> KernelModel:
        return population_model(view, self._rows)

    @property
    def probabilities(self) -> Floats:
        """The weight of each particle; the last row, "no component", has 1."""
        return self._probabilities

    def reset(self, seed: int = 0) -> None:
        """Return to the prior; the seed determines the random numbers of the episode."""
        self._begin(seed)
        self._rows[:] = self._prior
        self._probabilities: Floats = np.append(np.full(self.count, 1.0 / self.count), 1.0)
        self._move(self.view.root(), _SWEEPS)

    def _advance(self, x: Words, a: int, y: Words, o: int) -> None:
        n = self.count
        weights = self._probabilities[:n] * self._likelihoods(x, a, y, o)
        history, total = extended(self._history, x, a, y, o), float(weights.sum())
        if total <= 0:
            self._recover_population(history, self._stream.copy())
            return
        self._history = history
        weights /= total
        self.effective = effective_size(weights)
        self._note_effective(self.effective)
        self._probabilities[:n] = weights
        if self.effective < n / 2 or weights.min() == 0:
            self._resample()
        self._move(y, min(_MOST_SWEEPS, round(_SWEEPS * n / self.effective)))

    def _likelihoods(self, x: Words, a: int, y: Words, o: int) -> Floats:
        """The likelihood of a step under each particle; with noise or readings, relative to the highest."""
        if self.view.real:
            logs = self._weigh(x, a, y, o)[1]
            return np.exp(logs - logs.max()) if logs.max() > -np.inf else np.zeros(self.count)
        _, k, e = self._outcomes(x, a)
        _, pair = find_outcome(self._buffer, k, e, y, o)
        return self._buffer.likelihood[pair, : self.count] if pair >= 0 else np.zeros(self.count)

    def _adopt(self, y: Words, weights: Floats) -> None:
        self._probabilities[: self.count] = weights
        self.effective = effective_size(weights)
        self._resample()
        self._move(y, _MOST_SWEEPS)

    def recover(self) -> None:
        """Continue after an impossible step: replace every other particle by a draw from the prior."""
        self._resample()
        self._mix_with_prior()
        halves = self._probabilities[: self.count]
        for half in (halves[::2], halves[1::2]):
            half[:] = 0.5 / len(half)

    def _resample(self) -> None:
        n = self.count
        self._theta[:] = self._theta[resample(self._probabilities[:n], self._stream)]
        self._probabilities[:n] = 1.0 / n

    def sample(self, stream: Words) -> Any:
        """A record of θ drawn from the belief."""
        return self._record(int(pick(self._probabilities, self.count, rng.uniform(stream))))

    def entropy(self) -> float:
        """Entropy in nats of the particles, with equal ones taken together."""
        return entropy(distinct(self._theta, self._probabilities[:-1])[1])

    @property
    def _now(self) -> Words:
        """The present value of each particle."""
        return self._theta

    def initial_marginals(self) -> list[Floats]:
        """P(θ₀ component = value) for each component; for a Population, the mean of its summary, or by field."""
        return self._marginals_of(self._theta)

    def marginals(self) -> list[Floats]:
        """The same for the present θ."""
        return self._marginals_of(self._now)

    def _marginals_of(self, theta: Words) -> list[Floats]:
        weights = self._probabilities[:-1]
        return self._mean(*(distinct(theta, weights) if self.view.listed else (theta, weights)))

    def particles(self) -> list[Particle]:
        """The different particles with their total weights, likeliest first."""
        return self._listing(self._now, self._probabilities[:-1])

    def _numbers(self) -> dict[str, Numbers]:
        return self._numbers_of(self._now, self._probabilities[:-1])
