"""The model as the world: hidden value and noise drawn from it, the same for every planner.

Episode i has its own two streams: one draws the hidden value, the other gives two numbers to each step, one for
the next state and one for the observation. So planners that are compared meet the same hidden values and noise.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.checking.faults import RAISED
from pomdplite.compile import abi
from pomdplite.errors import ModelError
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.sampling import pick, simulate
from pomdplite.model.compiled import draw_prior
from pomdplite.model.interface import defined
from pomdplite.model.model import Model
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Population
from pomdplite.worlds.base import Outcome, World


class ModelWorld(World):
    """A simulated world with a hidden value of its own."""

    is_model: ClassVar[bool] = True

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._view = model.compiled_form.kernel_view()
        self._buffer = allocate_outcomes(self._view.kernel_model, 1)

    def reset(self, seed: int, episode: int = 0) -> None:
        """Draw the hidden value and go to the first state."""
        hidden = self.model.hidden
        draw = rng.stream(seed, episode, rng.HIDDEN)
        if isinstance(hidden, Population):
            self._theta = np.zeros((1, hidden.words), np.uint64)
            draw_prior(self._view.kernel_model, self._theta, 1, draw)
        else:
            values = [int(pick(c.prior, len(c), rng.uniform(draw))) for c in hidden.components]
            self._theta = to_words(hidden.dtype, hidden.record(values)).reshape(1, -1)
        self._x = to_words(self.model.state.dtype, self.model.initial_state()).reshape(1, -1)
        self._noise = rng.stream(seed, episode, rng.WORLD)

    def step(self, a: int) -> Outcome:
        """Execute an action."""
        u, v = rng.uniform(self._noise), rng.uniform(self._noise)
        i, o, reward = simulate(self._view.kernel_model, self._x, self._theta, a, u, v, self._buffer)
        if i == RAISED or not np.isfinite(reward):
            where = f"x = ({self.model.describe_state(self.x)}), action {self.model.actions[a]!r}"
            raise ModelError(f"a function of {self.model.name} failed at {where}; check_model says more.")
        self._x = self._buffer.y[i : i + 1].copy()
        self._theta = self._buffer.theta.copy()
        return Outcome(self._x[0], int(o), float(reward), bool(abi.terminal(self._view.kernel_model, self._x, 0)))

    @property
    def x(self) -> Any:
        """The present observed state."""
        return from_words(self.model.state.dtype, self._x[0])

    @property
    def theta(self) -> Any:
        """The present hidden value, which no planner sees."""
        return from_words(self.model.hidden.dtype, self._theta[0])

    @property
    def success(self) -> bool | None:
        """Whether the model calls the present state a success; None if it does not say."""
        judge = defined(self.model, "success")
        return None if judge is None else bool(judge(self.model, self.x, self.theta))
