"""What both particle filters share: the particles, their history, resampling, moves, and recovery.

Resampling copies particles. Moves then make the copies differ again: steps of a Markov chain that leaves the posterior
unchanged. For a Population the chain is the model's own `move`, or else one that proposes new draws from the prior
(prior_moves.py), or that of drawn_moves.py if it has distributions; for a listed Θ it proposes a new value of one
component from its prior and accepts it according to the likelihood of the history (Metropolis–Hastings).

If no particle explains a step, the filter moves the previous particles, and then new draws from the prior, until some
explain the whole history. It reports this in `notes`. If it finds none, the belief stays as it was.

Where an update may take only so long (`update_budget`), moves and recovery end early: particles that were not moved in
time stay as they are, and a belief that was not recovered in time stays as it was, with a note.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.beliefs.drawn_moves import Weighed, adapted_chain, move_drawn
from pomdplite.beliefs.history import empty_history, weigh_history
from pomdplite.beliefs.listed_moves import draw_listed, move_listed
from pomdplite.beliefs.numbers import Numbers, Particle, drawn_numbers, field_marginals, listed_numbers
from pomdplite.beliefs.prior_moves import move_from_prior
from pomdplite.beliefs.protocol import Belief, StepNote
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.errors import ImpossibleObservationError, UsageError
from pomdplite.mdp.budget import Clock
from pomdplite.mdp.sampling import History, distinct
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import from_words
from pomdplite.model.spaces import Distributed, Population

_FEW = 0.02  # share of the particles that is too small for a belief to rest on
_MOVING_SHARE = 0.5  # of an update's time
RECOVERY_ROUNDS = 60  # of moving and weighing, for each source of particles, before recovery gives up
_SOURCES = ("the previous particles", "new draws from the prior")


class PopulationBelief(Belief):
    """Draws of θ₀, and the history that they have to explain."""

    _fewest: ClassVar[int]  # particles
    _recovery_sweeps: ClassVar[int]  # moves of every particle per round of recovery
    _moves_first: ClassVar[bool]  # whether recovery moves the previous particles before it weighs them

    def __init__(self, view: KernelView, particles: int) -> None:
        if particles < self._fewest:
            raise UsageError(f"{type(self).__name__}: particles must be at least {self._fewest}, not {particles}.")
        self.count = particles  # how many there are
        self._rows = np.zeros((particles + 1, view.model.hidden.words), np.uint64)  # the last is "no component"
        self._kernel_model = self._make_kernel_model(view)
        super().__init__(view)

    @abstractmethod
    def _make_kernel_model(self, view: KernelView) -> KernelModel:
        """The model with the hypotheses that `probabilities` is about."""

    @property
    def kernel_model(self) -> KernelModel:
        """The model with the hypotheses about θ as its rows: particles, or the values of a listed Θ."""
        return self._kernel_model

    @property
    def _theta(self) -> Words:
        """The initial value θ₀ of each particle."""
        return self._rows[: self.count]

    def _begin(self, seed: int) -> None:
        """Forget the last episode; the seed determines the random numbers of this one."""
        self._stream = rng.stream(seed)
        self._history = empty_history(self.view)
        self._notes: list[str] = []
        self._fewest_effective: tuple[float, int] | None = None  # if it was few: how many, and at which step
        self.effective = float(self.count)  # effective sample size of the last weights, before resampling
        self.acceptance = 0.0  # share of the last moves that changed a particle

    @property
    def notes(self) -> tuple[str, ...]:
        """The recoveries of this episode, the step at which the belief rested on the fewest particles, if few, and how
        good the last update was.
        """
        notes = [*self._notes]
        if self._fewest_effective is not None:
            effective, step = self._fewest_effective
            notes.append(f"step {step} left {effective:.0f} effective particles of {self.count}; use more particles")
        if self._history.steps and moves_from_prior(self.view.model):
            notes.append(
                "particles are renewed by draws from the prior alone; define move, or use Hidden with distributions"
            )
        if self._history.steps:
            moved = f"{self.acceptance:.0%} of moves accepted"
            notes.append(StepNote(f"{self.effective:.0f} effective particles of {self.count}, {moved}"))
        return tuple(notes)

    def _note_effective(self, effective: float) -> None:
        """Keep the step that left the fewest effective particles, if these are few."""
        fewest = self._fewest_effective
        if effective < _FEW * self.count and (fewest is None or effective < fewest[0]):
            self._fewest_effective = (effective, self._history.steps)

    # ------------------------------------------------------------------ draws and moves

    def _draw_prior(self, theta: Words, stream: Words) -> None:
        """Fill all rows with draws from the prior."""
        model = self.view.kernel_model
        if self.view.listed:
            draw_listed(model, self.view.table.prior, theta, stream)
        else:
            self.view.draw_prior(theta, stream)

    def _part_of_update(self, share: float) -> Clock:
        """A clock for this share of an update's time."""
        seconds = self.update_budget.seconds
        return replace(self.update_budget, seconds=None if seconds is None else share * seconds).start()

    def _in_time(self, clock: Clock) -> Iterator[slice]:
        """All particles, in slices for as long as there is time."""
        if clock.budget.seconds is None:
            yield slice(0, self.count)
            return
        done = 0
        while done < self.count and (count := clock.portion(done)) > 0:
            yield slice(done, min(done + count, self.count))
            done += count

    def _move(self, x: Words, sweeps: int) -> None:
        """Move every particle this many times, or as many of them as there is time for."""
        model, theta, clock = self.view.kernel_model, self._theta, self._part_of_update(_MOVING_SHARE)
        changed = tried = 0
        if self.view.listed:
            prior = self.view.table.prior
            for part in self._in_time(clock):
                changed += move_listed(model, self._history, prior, theta[part], sweeps, self._stream, self._buffer)
                tried += sweeps * len(theta[part])
        elif isinstance(self.view.model.hidden, Distributed):
            for part in self._in_time(clock):
                changed += self._move_distributed(theta[part], sweeps)
                tried += sweeps * len(theta[part])
        elif moves_from_prior(self.view.model):
            for part in self._in_time(clock):
                changed += move_from_prior(model, self._history, theta[part], sweeps, self._stream, self._buffer)
                tried += sweeps * len(theta[part])
        else:
            for part in (part for _ in range(sweeps) for part in self._in_time(clock)):
                changed += _move_all(model, x.reshape(1, -1), theta[part], self._stream)
                tried += len(theta[part])
        self.view.raise_fault()
        self.acceptance = changed / max(1, tried)

    def _move_distributed(self, theta: Words, sweeps: int) -> int:
        """Move these particles this many times; the number of changes."""
        model, stream = self.view.kernel_model, self._stream
        equal, history = np.full(self.count, 1.0 / self.count), self._history
        chain = adapted_chain(self.view, self._theta, equal, history, history._replace(steps=0))
        particles = Weighed(theta, np.zeros(len(theta)), np.zeros(len(theta)))
        weigh_history(model, self._history, theta, particles.earlier, self._buffer)
        return move_drawn(model, chain, particles, sweeps, stream, self._buffer)

    # ------------------------------------------------------------------ recovery

    def _recover_population(self, history: History, stream: Words) -> None:
        """Find particles that explain a history whose last step none explains.

        If there are none, the belief stays as it was before that step; the random numbers then were at `stream`.
        """
        before, y = self.copy(), history.y[history.steps - 1]
        self._history = history
        try:
            found, source = self._search_population(y)
        except BaseException:
            self.__dict__.update(before.__dict__)
            self._stream = stream
            raise
        if found == 0:
            self.__dict__.update(before.__dict__)
            self._keep(history)
            return
        self._notes.append(
            f"no particle matched step {history.steps}; {found} of {self.count} were recovered from {source}"
        )

    def _keep(self, history: History) -> None:
        """Go on with the particles as they are: there was no time to find any that explain the last step."""
        self._history = history
        self._notes.append(
            f"no particle matched step {history.steps} within the time of an update; the belief stays as it was"
        )

    def _search_population(self, y: Words) -> tuple[int, str]:
        """Move and weigh until some particles explain the history; return how many do, and where they came from.

        None do if the time is up.
        """
        clock = self._part_of_update(1.0)
        for source in _SOURCES:
            if source != _SOURCES[0]:
                self._draw_prior(self._theta, self._stream)
            for _ in range(RECOVERY_ROUNDS):
                if self._moves_first:
                    self._move(y, self._recovery_sweeps)
                logs = np.full(self.count, -np.inf)
                for part in self._in_time(self._part_of_update(_MOVING_SHARE)):
                    weigh_history(self.view.kernel_model, self._history, self._theta[part], logs[part], self._buffer)
                self.view.raise_fault()
                if logs.max() > -np.inf:
                    weights = np.exp(logs - logs.max())
                    self._adopt(y, weights / weights.sum())
                    return int(np.isfinite(logs).sum()), source
                if clock.left <= 0:
                    return 0, source
                if not self._moves_first:
                    self._move(y, self._recovery_sweeps)
        raise self._unexplained()

    def _mix_with_prior(self) -> None:
        """Replace every other particle by a draw from the prior; the steps so far no longer count as evidence."""
        fresh = np.zeros_like(self._theta)
        self._draw_prior(fresh, self._stream)
        self._theta[::2] = fresh[::2]
        self._history = self._history._replace(forgotten=self._history.steps)

    @abstractmethod
    def _adopt(self, y: Words, weights: Floats) -> None:
        """Continue in y with the particles in proportion to these weights."""

    def _unexplained(self) -> ImpossibleObservationError:
        model, history, last = self.view.model, self._history, self._history.steps - 1
        x, y = (self.view.describe(words[last]) for words in (history.x, history.y))
        seen = self.view.seen(history.y[last], int(history.o[last]))
        return ImpossibleObservationError(
            f"none of {self.count} particles explains observing {seen!r} "
            f"after {model.actions[history.a[last]]!r} in x = ({x}), arriving in x' = ({y}), and "
            f"{len(_SOURCES) * RECOVERY_ROUNDS} rounds of recovery found none that does.{self._advice}"
        )

    # ------------------------------------------------------------------ questions

    def _record(self, particle: int) -> Any:
        """A particle's θ₀ as a record."""
        return from_words(self.view.model.hidden.dtype, self._rows[particle])

    def _listing(self, theta: Words, weights: Floats) -> list[Particle]:
        """The different values with their total weights, likeliest first."""
        rows, totals = distinct(theta, weights)
        order = [i for i in np.argsort(-totals, kind="stable") if totals[i] > 0]
        return [Particle(from_words(self.view.model.hidden.dtype, rows[i]), float(totals[i])) for i in order]

    def _numbers_of(self, theta: Words, weights: Floats) -> dict[str, Numbers]:
        """The distributions of the numeric fields of θ."""
        hidden = self.view.model.hidden
        return listed_numbers(hidden, self.marginals()) if self.view.listed else drawn_numbers(hidden, theta, weights)

    def _mean(self, theta: Words, weights: Floats) -> list[Floats]:
        """P(component = value) for each component; for a Population, the mean of the model's summary, or by field."""
        hidden = self.view.model.hidden
        if not self.view.listed:
            return drawn_marginals(self.view, theta, weights)
        marginals = [np.zeros(len(component)) for component in hidden.components]
        for row, weight in zip(theta, weights, strict=True):
            for marginal, i in zip(marginals, hidden.indices(from_words(hidden.dtype, row)), strict=True):
                marginal[i] += weight
        return marginals


def moves_from_prior(model: Model) -> bool:
    """Whether particles can only be renewed by whole draws from the prior: a Population without a `move`."""
    hidden = model.hidden
    own = isinstance(hidden, Population) and not isinstance(hidden, Distributed)
    return own and "move" not in model.compiled_form.definition.functions


def drawn_marginals(view: KernelView, theta: Words, weights: Floats, *, smooth: bool = False) -> list[Floats]:
    """The mean of the model's summary over weighted draws, or their marginals by field."""
    model = view.model
    size = model.summary_size
    if "summary" not in model.compiled_form.definition.functions or size == 0:
        return field_marginals(model.hidden, theta, weights, smooth=smooth)
    mean = np.zeros(size)
    _mean_summary(view.kernel_model, theta, weights, mean, np.zeros(size))
    view.raise_fault()
    return [mean]


def population_model(view: KernelView, rows: Words) -> KernelModel:
    """The model with particles as its rows of θ, in one block; the last row is "no component"."""
    return view.kernel_model._replace(theta=rows, offsets=np.array([0, len(rows) - 1, len(rows)], np.int64))


@kernel
def _move_all(model: KernelModel, x: Words, theta: Words, stream: Words) -> int:
    """Apply the model's `move` to every particle; the number of changes."""
    changed = 0
    for t in range(theta.shape[0]):
        changed += abi.move(model, x, 0, theta, t, stream)
    return changed


@kernel
def _mean_summary(model: KernelModel, theta: Words, weights: Floats, mean: Floats, f: Floats) -> None:
    """Add the weighted mean of the model's summary of the particles to `mean`."""
    for t in range(weights.shape[0]):
        for i in range(f.shape[0]):
            f[i] = 0.0
        abi.summary(model, theta, t, f)
        for i in range(f.shape[0]):
            mean[i] += weights[t] * f[i]
