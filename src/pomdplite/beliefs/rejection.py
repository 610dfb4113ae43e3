"""The particle belief of POMCP (Silver and Veness 2010): equally likely draws of θ, updated by rejection.

The next particles are drawn from those whose simulations of the action showed what then happened. Moves make the copies
differ again (the paper calls it reinvigoration). Where an update may take only so long, as many particles are simulated
and moved as there is time for.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.beliefs.history import extended, last_step
from pomdplite.beliefs.numbers import Numbers, Particle
from pomdplite.beliefs.particles import PARTICLES
from pomdplite.beliefs.population import PopulationBelief, population_model
from pomdplite.beliefs.protocol import view_of
from pomdplite.beliefs.resampling import effective_size, entropy, resample, resample_equal
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Small, Words, kernel
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.mdp.sampling import History, distinct, replay, simulate
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model

_SWEEPS = 1  # moves of every particle after an update
_RECOVERY_SWEEPS = 3
_SIMULATING_SHARE = 0.5  # of an update's time; the rest is for moves
_NONE = np.zeros(0, np.int32)
_ALL = slice(None)


class RejectionBelief(PopulationBelief):
    """Equally likely draws of θ, which may change: its initial and its present value."""

    _fewest: ClassVar[int] = 1
    _recovery_sweeps: ClassVar[int] = _RECOVERY_SWEEPS
    _moves_first: ClassVar[bool] = False  # a particle whose simulation failed may still explain the history

    def __init__(self, model: Model | KernelView, particles: int = PARTICLES) -> None:
        view = view_of(model).present_form()
        view.require_listed("a belief by rejection")
        self._present = np.zeros((particles + 1, view.model.hidden.words), np.uint64)  # the last is "no component"
        super().__init__(view, particles)
        self.reset()

    def _make_kernel_model(self, view: KernelView) -> KernelModel:
        return view.kernel_model if view.listed else population_model(view, self._present)

    @property
    def probabilities(self) -> Floats:
        """P(component = value) of the present θ, block by block; for a Population, the weight of each particle."""
        table = self.view.table
        if not self.view.listed:
            return np.append(np.full(self.count, 1.0 / self.count), 1.0)
        if not table.joint:
            return np.append(np.concatenate(self.marginals()), 1.0)
        b = np.append(np.zeros(table.offsets[1]), 1.0)
        number = {row.tobytes(): i for i, row in enumerate(table.theta[:-1])}
        for row, frequency in zip(*self._frequencies(self.draws), strict=True):
            b[number[row.tobytes()]] = frequency
        return b

    @property
    def draws(self) -> Words:
        """The present value of each particle, as kernels see it: [particle, words]."""
        return self._present[: self.count]

    def reset(self, seed: int = 0) -> None:
        """Draw particles from the prior; the seed determines the random numbers of the episode."""
        self._begin(seed)
        self._draw_prior(self._theta, self._stream)
        self._replay(_ALL)

    def _advance(self, x: Words, a: int, y: Words, o: int, survivors: Small = _NONE) -> None:
        """Condition on a step; survivors: the particle of every simulation in which a led from x to (y, o).

        A search tries many actions, so its simulations of this one leave too few survivors: the step is simulated once
        more for every particle.
        """
        stream, history = self._stream.copy(), extended(self._history, x, a, y, o)
        agrees, later, simulated = np.zeros(self.count, np.bool_), np.empty_like(self.draws), 0
        for part in self._in_time(self._part_of_update(_SIMULATING_SHARE)):
            _simulate_last_step(
                self.kernel_model, history, self.draws[part], agrees[part], later[part], self._stream, self._buffer
            )
            simulated = part.stop
        self.view.raise_fault()
        survivors = np.concatenate([survivors, np.flatnonzero(agrees).astype(np.int32)])
        if len(survivors) == 0:
            if simulated == self.count:
                self._recover_population(history, stream)
            else:
                self._keep(history)
            return
        self._history = history
        self.effective = float(len(np.unique(survivors)))
        self._note_effective(self.effective)
        chosen = survivors[resample_equal(len(survivors), self.count, self._stream)]
        unknown = np.setdiff1d(chosen, np.flatnonzero(agrees))
        later[unknown] = self._stepped(self.draws[unknown])
        self._theta[:], self.draws[:] = self._theta[chosen], later[chosen]
        self._move(y, _SWEEPS)

    def _move(self, x: Words, sweeps: int) -> None:
        before = self._theta.copy()
        super()._move(x, sweeps)
        self._replay(np.flatnonzero((self._theta != before).any(axis=1)))

    def _keep(self, history: History) -> None:
        super()._keep(history)
        self.draws[:] = self._stepped(self.draws)

    def _stepped(self, theta: Words) -> Words:
        """Present values before the history's last step as they are after it."""
        after, last = theta.copy(), last_step(self._history)
        if self.kernel_model.evolves:
            replay(self.kernel_model, last, after, self._buffer)
        return after

    def _adopt(self, y: Words, weights: Floats) -> None:
        self.effective = effective_size(weights)
        self._theta[:] = self._theta[resample(weights, self._stream)]
        super()._move(y, _RECOVERY_SWEEPS)
        self._replay(_ALL)

    def recover(self) -> None:
        """Continue after an impossible step: replace every other particle by a draw from the prior.

        Particles are equally likely, so an odd number of them is split as evenly as it can be.
        """
        self._mix_with_prior()
        self._replay(_ALL)

    def _replay(self, particles: Ints | slice) -> None:
        """Derive the present values of these particles from their initial ones."""
        present = self._theta[particles].copy()
        if self.kernel_model.evolves:
            replay(self.kernel_model, self._history, present, self._buffer)
            self.view.raise_fault()
        self.draws[particles] = present

    def sample(self, stream: Words) -> Any:
        """A record of θ₀ drawn from the belief."""
        return self._record(min(int(rng.uniform(stream) * self.count), self.count - 1))

    def entropy(self) -> float:
        """Entropy in nats of the particles' θ₀, with equal ones taken together."""
        return entropy(self._frequencies(self._theta)[1])

    def initial_marginals(self) -> list[Floats]:
        """P(θ₀ component = value) for each component; for a Population, the mean of its summary, or by field."""
        return self._mean(*self._frequencies(self._theta))

    def marginals(self) -> list[Floats]:
        """The same for the present θ."""
        return self._mean(*self._frequencies(self.draws))

    def particles(self) -> list[Particle]:
        """The different particles' present values with their frequencies, likeliest first."""
        return self._listing(self.draws, self._weights)

    def _numbers(self) -> dict[str, Numbers]:
        return self._numbers_of(self.draws, self._weights)

    @property
    def _weights(self) -> Floats:
        return np.full(self.count, 1.0 / self.count)

    def _frequencies(self, theta: Words) -> tuple[Words, Floats]:
        """The different values and how often they occur."""
        rows, counts = distinct(theta, np.ones(self.count))
        return rows, counts / self.count


@kernel
def _simulate_last_step(
    model: KernelModel, history: History, theta: Words, agrees: Flags, later: Words, stream: Words, out: Outcomes
) -> None:
    """Simulate the history's last step once for each particle: which of them show what happened, and θ after it."""
    last = history.steps - 1
    x, a, o = history.x[last : last + 1], history.a[last], history.o[last]
    for t in range(theta.shape[0]):
        i, seen, _ = simulate(model, x, theta[t : t + 1], a, rng.uniform(stream), rng.uniform(stream), out)
        agrees[t] = i >= 0 and seen == o
        for w in range(x.shape[1]):
            agrees[t] = agrees[t] and out.y[i, w] == history.y[last, w]
        for w in range(theta.shape[1]):
            later[t, w] = out.theta[0, w]
