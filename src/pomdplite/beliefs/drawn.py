"""A particle filter for hidden numbers with distributions, whose updates cost the same at step 1,000 as at step 50, on
average.

Every particle carries log P(history | θ), so a new step costs one term per particle. Moves need the whole history, t
terms, since there are no sufficient statistics in general. But the posterior shrinks by a constant factor whenever t
doubles, so moves are needed per doubling, not per step: an update makes 50 n / t of them, which are 50 n terms, and
gives every particle 50 ln 2 ≈ 35 moves while t doubles, whatever t is.

A step that leaves fewer than n / 2 effective particles is taken in several (tempering: Neal 2001, Del Moral, Doucet and
Jasra 2006): its likelihood enters with a power that grows from 0 to 1, each time by as much as leaves n / 2 effective
particles, and the particles are resampled and moved in between. Such steps are rare, or else they tell little, so every
update saves 25 n terms for them. Without moves, all particles would end as copies of the few that fit best.

Moves are as wide as the particles are spread. If nearly all moves are accepted, the particles lie much closer together
than the posterior is wide, and the next moves are of every scale, up to that of the prior.
"""

from typing import ClassVar

import numpy as np

from pomdplite.beliefs.drawn_moves import Weighed, adapted_chain, collapsed, move_drawn
from pomdplite.beliefs.history import extended, last_evidence, last_step, weigh_history
from pomdplite.beliefs.particles import ParticleBelief
from pomdplite.beliefs.population import population_model
from pomdplite.beliefs.resampling import effective_size, resample
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.mdp.budget import Clock
from pomdplite.mdp.sampling import History, replay
from pomdplite.model.compiled import KernelView

_TERMS = 50  # log probabilities of steps, per particle, that the moves of one update may evaluate
_SAVED = 25  # of these terms that an update saves for steps that are taken in several
_MOST_MOVES = 2  # per particle and update
_BRIDGE_SWEEPS = 4  # moves of every particle at one power, while few are accepted
_FEW_ACCEPTED, _TOO_MANY_ACCEPTED = 0.3, 0.7  # of the moves; 0.44 or less if their scale is right
_SPREADING_SWEEPS = 12  # moves of every particle if all of them are copies of a few
_BISECTIONS = 60
_MOVING_SHARE = 0.5  # of an update's time


class DrawnBelief(ParticleBelief):
    """Weighted draws of hidden numbers with distributions, and of the listed values beside them.

    θ may change. The draws are of θ₀, as in the paper; their present values are kept beside them.
    """

    _follows_change: ClassVar[bool] = True

    def _make_kernel_model(self, view: KernelView) -> KernelModel:
        self._present = self._rows.copy() if view.kernel_model.evolves else self._rows
        return population_model(view, self._present)

    @property
    def _now(self) -> Words:
        return self._present[: self.count]

    def reset(self, seed: int = 0) -> None:
        """Draw particles from the prior; the seed determines the random numbers of the episode."""
        self._begin(seed)
        self._draw_prior(self._theta, self._stream)
        self._present[:] = self._rows
        self._probabilities = np.append(np.full(self.count, 1.0 / self.count), 1.0)
        self._logs = np.zeros(self.count)  # log P(history | θ) of each particle
        self._next = 0  # the particle that is moved next
        self._saved = 0  # terms that earlier updates have saved
        self.terms = 0  # log probabilities of steps that the last update evaluated

    def _advance(self, x: Words, a: int, y: Words, o: int) -> None:
        n, history = self.count, extended(self._history, x, a, y, o)
        step, last = last_step(history), np.zeros(n)
        weigh_history(self.view.kernel_model, step, self._now, last, self._buffer)
        self.view.raise_fault()
        weights = _weighted(self._probabilities[:n], last, 1.0)
        if weights.sum() == 0.0:
            self._recover_population(history, self._stream.copy())
            return
        before, self._history = self._history, history
        self.terms = n
        self._saved += _SAVED * n
        self.effective = effective_size(weights)
        clock = self._part_of_update(_MOVING_SHARE)
        if self.effective < n / 2:
            evidence = last_evidence(history) if self.view.kernel_model.evolves else step
            last = self._bridge(before, evidence, last, clock)
        else:
            self._probabilities[:n] = weights
        self._logs += last
        if self.view.kernel_model.evolves:
            replay(self.view.kernel_model, step, self._now, self._buffer)
        moves = min(_MOST_MOVES * n, max(1, _TERMS * n // history.steps))
        none, particles = history._replace(steps=0), Weighed(self._theta, self._logs, np.zeros(n))
        self._move_next(history, none, particles, 1.0, moves, clock)

    def _bridge(self, before: History, step: History, last: Floats, clock: Clock) -> Floats:
        """Let the likelihood of the last step enter bit by bit; its logarithm for each particle."""
        n, power, left = self.count, 0.0, _TERMS * self.count + self._saved
        while True:
            weights = _weighted(self._probabilities[:n], last, 1.0 - power)
            if effective_size(weights) >= n / 2:
                self._probabilities[:n], self._saved = weights, min(left, self._saved)
                return last
            rise = self._rise(last, 1.0 - power)
            chosen = resample(_weighted(self._probabilities[:n], last, rise), self._stream)
            self._now[:], self._theta[:] = self._now[chosen], self._theta[chosen]
            self._logs, last = self._logs[chosen], last[chosen]
            self._probabilities[:n] = 1.0 / n
            power += rise
            few = collapsed(self.view.model.hidden, self._theta)
            for _ in range(_SPREADING_SWEEPS if few else _BRIDGE_SWEEPS):
                moves = min(n, left // (before.steps + 1))
                if moves == 0:
                    break
                left -= moves * (before.steps + 1)
                self._move_next(before, step, Weighed(self._theta, self._logs, last), power, moves, clock)
                if not few and _FEW_ACCEPTED < self.acceptance < _TOO_MANY_ACCEPTED:
                    break

    def _rise(self, last: Floats, most: float) -> float:
        """By how much the power may rise; 0 if the particles for which the step is possible are too few as it is."""
        low, high, n = 0.0, most, self.count
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            if effective_size(_weighted(self._probabilities[:n], last, middle)) >= n / 2:
                low = middle
            else:
                high = middle
        return low

    def _move_next(
        self, earlier: History, last: History, particles: Weighed, power: float, moves: int, clock: Clock
    ) -> None:
        """Move this many particles, in turn, or as many as there is time for."""
        n, changed, done = self.count, 0, 0
        narrow, weights = self.acceptance > _TOO_MANY_ACCEPTED, self._probabilities[:n]
        chain = adapted_chain(self.view, self._theta, weights, earlier, last, power, narrow=narrow)
        while done < moves:
            count = moves - done if clock.budget.seconds is None else clock.portion(done)
            if count == 0:
                break
            count = min(count, moves - done, n - self._next)
            part = slice(self._next, self._next + count)
            slices = Weighed(particles.theta[part], particles.earlier[part], particles.last[part])
            changed += move_drawn(self.view.kernel_model, chain, slices, 1, self._stream, self._buffer)
            self._replay(earlier, part)
            done, self._next = done + count, (self._next + count) % n
        self.view.raise_fault()
        self.terms += done * (earlier.steps + last.steps)
        if done > 0:
            self.acceptance = changed / done

    def _replay(self, history: History, part: slice) -> None:
        """Derive the present values of some particles from their initial ones."""
        if self.view.kernel_model.evolves:
            self._present[part] = self._theta[part]
            replay(self.view.kernel_model, history, self._present[part], self._buffer)

    def _adopt(self, y: Words, weights: Floats) -> None:
        super()._adopt(y, weights)
        self._move(y, _SPREADING_SWEEPS)  # once more, now that the spread of the particles says how far
        self._weigh_all()

    def recover(self) -> None:
        """Continue after an impossible step: replace every other particle by a draw from the prior."""
        super().recover()
        self._weigh_all()

    def _weigh_all(self) -> None:
        self._logs = np.zeros(self.count)
        weigh_history(self.view.kernel_model, self._history, self._theta, self._logs, self._buffer)
        self._replay(self._history, slice(0, self.count))
        self.view.raise_fault()


def _weighted(weights: Floats, last: Floats, power: float) -> Floats:
    """Weights times the likelihood to this power, normalised; zero where it is zero, even to the power of 0."""
    possible = (last > -np.inf) & (weights > 0.0)
    found = np.zeros_like(weights)
    if possible.any():
        logs = power * last[possible]
        found[possible] = weights[possible] * np.exp(logs - logs.max())
        found /= found.sum()
    return found
