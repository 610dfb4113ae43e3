"""The model as the world: hidden value and noise are sampled from it, identically for every planner.

Each episode has two random streams. One draws the hidden value; the other supplies two numbers per step, one for the
next state and one for the observation. Planners that are compared therefore face the same hidden values and noise.
"""

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.compile import abi
from pomdplite.compile.jit import Floats, Words
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.sampling import outcome_row, pick, simulate
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.interface import defined
from pomdplite.model.model import Model
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Population
from pomdplite.worlds.base import StepResult, World

_CACHED_VALUES = 4096  # hidden values whose words are kept


class ModelWorld(World):
    """A world that samples from the model."""

    is_model: ClassVar[bool] = True

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._view = model.compiled_form.kernel_view()
        self._buffer = allocate_outcomes(self._view.kernel_model, 1)
        self._start = to_words(model.state.dtype, model.initial_state()).reshape(1, -1)
        self._hidden_words = lru_cache(_CACHED_VALUES)(self._words_of)

    def reset(self, seed: int, episode: int = 0) -> None:
        """Draw the hidden value and return to the initial state."""
        hidden = self.model.hidden
        draw = rng.stream(seed, episode, rng.HIDDEN)
        if isinstance(hidden, Dirichlet):
            self._distributions = hidden.world(draw)
            self._theta = np.zeros((1, hidden.words), np.uint64)  # of the first outcome; `step` draws them
        elif isinstance(hidden, Population):
            self._theta = np.zeros((1, hidden.words), np.uint64)
            self._view.draw_prior(self._theta, draw)
        else:
            values = tuple(int(pick(c.prior, len(c), rng.uniform(draw))) for c in hidden.components)
            self._theta = self._hidden_words(values)
        self._x = self._start
        self._noise = rng.stream(seed, episode, rng.WORLD)

    def _words_of(self, values: tuple[int, ...]) -> Words:
        hidden = self.model.hidden
        assert not isinstance(hidden, Population)
        return to_words(hidden.dtype, hidden.record(values)).reshape(1, -1)

    def step(self, a: int) -> StepResult:
        """Sample the next state, the observation or reading, and the reward."""
        u, v = rng.uniform(self._noise), rng.uniform(self._noise)
        if self._view.counted:
            row = outcome_row(self._view.kernel_model, self._distributions, self._x, a, u)
            self._theta = self._view.kernel_model.theta[row : row + 1]
        i, o, reward = simulate(self._view.kernel_model, self._x, self._theta, a, u, v, self._buffer)
        y = self._buffer.y[i : i + 1].copy()
        terminated = bool(abi.terminal(self._view.kernel_model, y, 0))
        self._view.raise_fault()
        self._x, self._theta = y, self._buffer.theta.copy()
        reading = self.model.reading
        seen = int(o) if reading is None else from_words(reading.dtype, y[0, self._view.kernel_model.x_words :])
        return StepResult(self.x, seen, float(reward), terminated)

    @property
    def x(self) -> Any:
        """The current observed state."""
        return from_words(self.model.state.dtype, self._x[0])

    @property
    def theta(self) -> Any:
        """The current hidden value, which no planner sees."""
        return from_words(self.model.hidden.dtype, self._theta[0])

    @property
    def distributions(self) -> Floats:
        """The probabilities of all outcomes, if they are what is hidden, one distribution behind the other."""
        return self._distributions

    @property
    def truth(self) -> str:
        """A description of what was hidden, to print after the episode."""
        hidden = self.model.hidden
        return hidden.describe_probabilities(self._distributions) if isinstance(hidden, Dirichlet) else super().truth

    @property
    def success(self) -> bool | None:
        """Whether the model counts the current state as a success; None if it does not define success."""
        judge = defined(self.model, "success")
        return None if judge is None else bool(judge(self.model, self.x, self.theta))
