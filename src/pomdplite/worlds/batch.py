"""Many episodes of a model side by side: one call of a kernel takes a step in each of them.

An episode depends on its seed and number alone, so it is the one that `ModelWorld` plays: the same hidden value, and
for the same actions the same states, observations and rewards.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pomdplite import rng
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Words, inner, kernel
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.mdp.sampling import draw_hidden, outcome_row, simulate
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.hidden_table import hidden_table
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Population

_ALL_LEGAL = -1


class EpisodeRows(NamedTuple):
    """EpisodeRows that are played side by side, one in each row."""

    seed: Words  # [row]
    number: Words  # [row] of the episode
    x: Words  # [row, x_words + z_words] the state, and behind it the last reading
    o: Ints  # [row] the last observation; of a model with readings, 0
    theta: Words  # [row, theta_words] what is hidden now; if that is probabilities, the outcome of the last step
    distributions: Floats  # [row, outcome] the hidden probabilities, if they are what is hidden; else no columns
    prior: Words  # [row] the stream that draws what is hidden
    noise: Words  # [row] the stream of the steps
    steps: Ints  # [row] taken so far
    reward: Floats  # [row] of the last step
    terminated: Flags  # [row]
    truncated: Flags  # [row]
    legal: NDArray[np.int8]  # [row, action] 1 for the legal actions; none is legal in a terminal state


class Rules(NamedTuple):
    """What the steps of all episodes have in common."""

    start: Words  # [1, x_words] the initial state
    prior: Floats  # the prior of each component, one after the other; empty if hidden values are not listed
    horizon: int  # steps after which an episode is truncated
    illegal_reward: float  # for an illegal action, which changes nothing


class ModelBatch:
    """The model as the world of several episodes.

    illegal_reward: the reward for an illegal action, which then changes nothing but is a step. None: there must be no
    illegal actions.
    """

    def __init__(self, model: Model, count: int, illegal_reward: float | None = None) -> None:
        self.model = model
        self._view = model.compiled_form.kernel_view()
        kernel_model, prior = self._view.kernel_model, np.zeros(0)
        if self._view.listed and not self._view.counted:  # component by component, as ModelWorld draws them
            table = hidden_table(model.hidden, joint=False, evolves=False)
            kernel_model = kernel_model._replace(theta=table.theta, offsets=table.offsets, s_words=kernel_model.x_words)
            prior = table.prior
        self._kernel_model = kernel_model
        self._rules = Rules(
            start=to_words(model.state.dtype, model.initial_state()).reshape(1, -1),
            prior=prior,
            horizon=model.episode_horizon,
            illegal_reward=0.0 if illegal_reward is None else illegal_reward,
        )
        self._strict = illegal_reward is None
        self._buffer = allocate_outcomes(self._view.kernel_model, 1)
        self.episodes = EpisodeRows(
            seed=np.zeros(count, np.uint64),
            number=np.zeros(count, np.uint64),
            x=np.zeros((count, kernel_model.x_words + kernel_model.z_words), np.uint64),
            o=np.zeros(count, np.int64),
            theta=np.zeros((count, kernel_model.theta.shape[1]), np.uint64),
            distributions=np.zeros((count, len(model.hidden.counts) if isinstance(model.hidden, Dirichlet) else 0)),
            prior=np.zeros(count, np.uint64),
            noise=np.zeros(count, np.uint64),
            steps=np.zeros(count, np.int64),
            reward=np.zeros(count),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            legal=np.zeros((count, kernel_model.actions), np.int8),
        )

    def reset(self, rows: Flags) -> None:
        """Start the episodes of these rows, with their seeds and numbers."""
        _begin(self._kernel_model, self._rules, self.episodes, rows)
        hidden, episodes = self.model.hidden, self.episodes
        if isinstance(hidden, Population):
            for i in np.flatnonzero(rows):
                self._view.draw_prior(episodes.theta[i : i + 1], episodes.prior[i : i + 1])
        elif isinstance(hidden, Dirichlet):
            for i in np.flatnonzero(rows):
                episodes.distributions[i] = hidden.world(episodes.prior[i : i + 1])
        self._view.raise_fault()

    def step(self, actions: Ints, rows: Flags) -> int | None:
        """Take one step in each of these rows; in none, if one of the actions is illegal: the first such row."""
        if self._strict:
            wrong = int(_first_illegal(self.episodes, actions, rows))
            if wrong != _ALL_LEGAL:
                return wrong
        _step(self._kernel_model, self._rules, self.episodes, actions, rows, self._buffer)
        self._view.raise_fault()
        return None

    @property
    def x(self) -> Any:
        """[row] the states, as records."""
        return self._records(self.episodes.x[:, : self._kernel_model.x_words], self.model.state.dtype)

    @property
    def readings(self) -> Any:
        """[row] the last readings, as records; zeros before the first step."""
        assert self.model.reading is not None
        return self._records(self.episodes.x[:, self._kernel_model.x_words :], self.model.reading.dtype)

    @property
    def theta(self) -> Any:
        """[row] the present hidden values, as records."""
        return self._records(self.episodes.theta, self.model.hidden.dtype)

    @staticmethod
    def _records(words: Words, dtype: np.dtype[Any]) -> Any:
        return words.copy().view(dtype)[:, 0]


@kernel
def _begin(model: KernelModel, rules: Rules, episodes: EpisodeRows, rows: Flags) -> None:
    """Start the episodes of these rows; what is hidden is drawn if its values are listed."""
    for i in range(rows.shape[0]):
        if not rows[i]:
            continue
        seed, number = episodes.seed[i], episodes.number[i]
        episodes.prior[i] = rng.episode_stream(seed, number, rng.HIDDEN)
        episodes.noise[i] = rng.episode_stream(seed, number, rng.WORLD)
        if rules.prior.shape[0] > 0:
            draw_hidden(model, rules.start, rules.prior, episodes.theta, i, episodes.prior[i : i + 1])
        for w in range(episodes.x.shape[1]):
            episodes.x[i, w] = rules.start[0, w] if w < model.x_words else np.uint64(0)
        episodes.steps[i], episodes.reward[i] = 0, 0.0
        episodes.o[i] = model.observations
        episodes.terminated[i], episodes.truncated[i] = abi.terminal(model, episodes.x, i), False
        _mark_legal(model, episodes, i)


@inner
def _mark_legal(model: KernelModel, episodes: EpisodeRows, i: int) -> None:
    """Find the legal actions; a model need not define them in a terminal state."""
    for a in range(model.actions):
        allowed = not episodes.terminated[i] and abi.legal(model, episodes.x, i, a)
        episodes.legal[i, a] = 1 if allowed else 0


@kernel
def _first_illegal(episodes: EpisodeRows, actions: Ints, rows: Flags) -> int:
    """The first of these rows whose action is illegal."""
    for i in range(rows.shape[0]):
        if rows[i] and episodes.legal[i, actions[i]] == 0:
            return i
    return _ALL_LEGAL


@kernel
def _step(model: KernelModel, rules: Rules, episodes: EpisodeRows, actions: Ints, rows: Flags, out: Outcomes) -> None:
    """One step in each of these rows."""
    for i in range(rows.shape[0]):
        if not rows[i]:
            continue
        a = actions[i]
        if episodes.legal[i, a] == 1:
            noise = episodes.noise[i : i + 1]
            u, v = rng.uniform(noise), rng.uniform(noise)
            theta = episodes.theta[i : i + 1]
            if episodes.distributions.shape[1] > 0:
                row = outcome_row(model, episodes.distributions[i], episodes.x[i : i + 1], a, u)
                theta = model.theta[row : row + 1]
            j, o, reward = simulate(model, episodes.x[i : i + 1], theta, a, u, v, out)
            for w in range(episodes.x.shape[1]):
                episodes.x[i, w] = out.y[j, w]
            for w in range(episodes.theta.shape[1]):
                episodes.theta[i, w] = out.theta[0, w]
            episodes.o[i], episodes.reward[i] = o, reward
        else:
            for w in range(model.x_words, episodes.x.shape[1]):
                episodes.x[i, w] = np.uint64(0)
            episodes.o[i], episodes.reward[i] = model.observations, rules.illegal_reward
        episodes.steps[i] += 1
        episodes.terminated[i] = abi.terminal(model, episodes.x, i)
        episodes.truncated[i] = not episodes.terminated[i] and episodes.steps[i] >= rules.horizon
        _mark_legal(model, episodes, i)
        if abi.faulty(model):
            return
