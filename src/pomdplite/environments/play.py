"""What an environment plays and shows: episodes side by side, and the observations of their agents."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from pomdplite.beliefs.batch import belief_batch
from pomdplite.compile.jit import Flags, Floats, Ints
from pomdplite.environments.beliefs import belief_fields
from pomdplite.environments.spaces import column, field_space, fields_of
from pomdplite.errors import UsageError, shown
from pomdplite.mdp.observed_states import observed_states
from pomdplite.model.model import Model
from pomdplite.model.spaces import State
from pomdplite.problems import make_model
from pomdplite.rng import checked_seed
from pomdplite.worlds.batch import ModelBatch

MASK, HIDDEN = "action_mask", "hidden"
_STATE, _OBSERVATION, _READING, _BELIEF = "state_", "observation", "reading_", "belief_"
_EPISODE = "episode"  # the option of reset


class Play:
    """Episodes of a model, one in each row, and what agents see of them."""

    def __init__(
        self, model: Model | str, count: int, *, belief: bool, tracked: bool, illegal_reward: float | None
    ) -> None:
        self.model = _checked_model(model)
        number = isinstance(illegal_reward, (int, float, np.number)) and not isinstance(illegal_reward, bool)
        if illegal_reward is not None and not (number and math.isfinite(illegal_reward)):
            raise UsageError(f"illegal_reward must be a finite number, not {shown(illegal_reward)}.")
        self._batch = ModelBatch(self.model, count, illegal_reward)
        self.episodes = self._batch.episodes
        self._rows = np.ones(count, np.bool_)
        self._seeded = np.zeros(count, np.bool_)
        self._batch.reset(self._rows)
        if self.episodes.terminated[0]:
            raise UsageError(f"{self.model.name}: the initial state is terminal, so there is nothing to do.")
        self._beliefs = belief_batch(self.model, count) if belief or tracked else None
        self._belief_fields = belief_fields(self.model) if belief else []
        self._spaces = self._layout()
        self.observation_space = spaces.Dict(self._spaces)

    def _layout(self) -> dict[str, Any]:
        """The space of every part of an observation."""
        model, found = self.model, dict[str, Any]()
        words = observed_states(model.compiled_form.kernel_view())
        known = None if words is None else words.view(model.state.dtype)[:, 0]
        for name in fields_of(model.state):
            found[_STATE + name] = field_space(model.state, name, known)
        if model.reading is None:
            found[_OBSERVATION] = spaces.Discrete(len(model.observations) + 1)
        else:
            for name in fields_of(model.reading.space):
                found[_READING + name] = field_space(model.reading.space, name)
        for field in self._belief_fields:
            found[_BELIEF + field.name] = spaces.Box(field.low, field.high, field.shape, np.float64)
        return found

    # ------------------------------------------------------------------ episodes

    def name_episode(self, row: int, seed: int | None, options: Any, random: np.random.Generator) -> None:
        """Choose the next episode of a row: the first of a seed, or the one after the last.

        Without any seed so far, `random` draws one.
        """
        episodes = self.episodes
        unknown = sorted(map(str, set(options or {}) - {_EPISODE}))
        if unknown:
            raise UsageError(f"reset has no option {unknown[0]!r}; its one option is {_EPISODE!r}, a number.")
        if seed is not None or not self._seeded[row]:
            drawn = int(random.integers(2**63)) if seed is None else checked_seed(seed)
            episodes.seed[row], episodes.number[row] = drawn & 0xFFFFFFFFFFFFFFFF, 0
            self._seeded[row] = True
        else:
            episodes.number[row] += np.uint64(1)
        if options:
            number = options[_EPISODE]
            if not isinstance(number, (int, np.integer)) or number < 0:
                raise UsageError(f"the number of an episode must be an integer of at least 0, not {shown(number)}.")
            episodes.number[row] = number

    def reset(self, rows: Flags) -> None:
        """Start the episodes of these rows."""
        self._batch.reset(rows)
        if self._beliefs is not None:
            self._beliefs.reset(rows, self.episodes.seed, self.episodes.number)

    def step(self, actions: Ints, rows: Flags) -> None:
        """Take a step in each of these rows."""
        if self._beliefs is None:
            self._take(actions, rows)
            return
        episodes = self.episodes
        informed = rows & (episodes.legal[np.arange(len(actions)), actions] == 1)  # an illegal action tells nothing
        self._take(actions, rows)
        self._beliefs.update(informed, actions, episodes.x, episodes.o)

    def _take(self, actions: Ints, rows: Flags) -> None:
        wrong = self._batch.step(actions, rows)
        if wrong is not None:
            raise self._illegal(wrong, int(actions[wrong]))

    def _illegal(self, row: int, a: int) -> UsageError:
        where = f" of environment {row}" if len(self._rows) > 1 else ""
        return UsageError(
            f"{self.model.name}: action {self.model.actions[a]!r}{where} is illegal in x = "
            f"({self.model.describe_state(self._batch.x[row])}); info[{MASK!r}] marks the legal ones. With "
            "illegal_reward=…, an illegal action changes nothing and has that reward."
        )

    # ------------------------------------------------------------------ what agents see

    def observations(self) -> dict[str, Any]:
        """[row] of every part of an observation."""
        model, found = self.model, dict[str, Any]()
        self._add_columns(found, _STATE, model.state, self._batch.x)
        if model.reading is None:
            found[_OBSERVATION] = self.episodes.o.copy()
        else:
            self._add_columns(found, _READING, model.reading.space, self._batch.readings)
        if self._belief_fields and self._beliefs is not None:
            marginals = self._beliefs.marginals()
            found |= {_BELIEF + field.name: field.numbers(marginals) for field in self._belief_fields}
        return found

    def _add_columns(self, found: dict[str, Any], prefix: str, layout: State, records: Any) -> None:
        for name in fields_of(layout):
            found[prefix + name] = column(self._spaces[prefix + name], records, name)

    def hidden(self) -> dict[str, Any]:
        """[row] of every field of the present hidden value, or the hidden probabilities."""
        if self.episodes.distributions.shape[1] > 0:
            return {"probabilities": self.episodes.distributions.copy()}
        theta = self._batch.theta
        return {name: theta[name].copy() for name in theta.dtype.names}

    def state(self, row: int) -> Any:
        """The state of a row, as a record."""
        return self._batch.x.view(np.recarray)[row]

    def marginals(self, row: int) -> list[Floats]:
        """The belief of a row."""
        assert self._beliefs is not None
        return [numbers[row] for numbers in self._beliefs.marginals()]


def _checked_model(model: Any) -> Model:
    if isinstance(model, str):
        return make_model(model)
    if not isinstance(model, Model):
        raise UsageError(
            f"an environment needs a model object or the name of a problem, not {shown(model)}; create one with "
            "make_model(...) or MyModel()."
        )
    return model
