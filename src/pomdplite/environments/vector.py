"""Many environments of one model, all of which take a step in one call of a kernel."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from pomdplite.compile.jit import Flags, Floats, Ints
from pomdplite.environments.play import HIDDEN, MASK, Play
from pomdplite.errors import UsageError, shown
from pomdplite.model.model import Model


class ModelVectorEnv(VectorEnv, EzPickle):  # type: ignore[misc]
    """A model as several environments; `to_gymnasium_vector` describes its arguments.

    reset(seed=s) gives environment i the seed s + i, and reset(seed=[…]) each its own.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, model: Model | str, num_envs: int, *, belief: bool = False, illegal_reward: float | None = None
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
            raise UsageError(f"num_envs must be an integer of at least 1, not {shown(num_envs)}.")
        EzPickle.__init__(self, model, num_envs, belief=belief, illegal_reward=illegal_reward)
        self.num_envs = int(num_envs)
        self._play = Play(model, self.num_envs, belief=belief, tracked=False, illegal_reward=illegal_reward)
        self.model = self._play.model
        self.single_observation_space = self._play.observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = spaces.Discrete(len(self.model.actions))
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._every = np.ones(self.num_envs, np.bool_)
        self._over = self._every  # the episodes that have ended, and are reset in the next step
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every environment."""
        if seed is None or isinstance(seed, (int, np.integer)):
            super().reset(seed=seed)
            seeds: list[int | None] = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise UsageError(f"reset needs one seed for each of {self.num_envs} environments, not {len(seeds)}.")
        for i, own in enumerate(seeds):
            self._play.name_episode(i, own, options, self.np_random)
        self._play.reset(self._every)
        self._over, self._begun = ~self._every, True
        return self._play.observations(), self._infos()

    def step(self, actions: Any) -> tuple[Any, Floats, Flags, Flags, dict[str, Any]]:
        """Take an action in every environment; one whose episode has ended is reset instead."""
        if not self._begun:
            raise UsageError("call reset() before the first step.")
        due, live = self._over, ~self._over
        self._play.step(self._checked(actions, live), live)
        if due.any():
            self._play.episodes.number[due] += np.uint64(1)
            self._play.reset(due)
        episodes = self._play.episodes
        terminated, truncated = episodes.terminated.copy(), episodes.truncated.copy()
        self._over = terminated | truncated
        return self._play.observations(), episodes.reward.copy(), terminated, truncated, self._infos()

    def _checked(self, actions: Any, live: Flags) -> Ints:
        """The numbers of the actions."""
        numbers = np.asarray(actions)
        if numbers.shape != (self.num_envs,) or numbers.dtype.kind not in "iu":
            raise UsageError(
                f"step needs an array with the numbers of {self.num_envs} actions, not one of type {numbers.dtype} and "
                f"shape {numbers.shape}."
            )
        numbers = np.where(live, numbers, 0).astype(np.int64)
        wrong = (numbers < 0) | (numbers >= len(self.model.actions))
        if wrong.any():
            self.model.action_index(int(numbers[wrong][0]))  # raises: it has no such action
        return numbers

    def _infos(self) -> dict[str, Any]:
        """As Gymnasium packs infos: beside each entry, which environments have it."""
        hidden = self._play.hidden()
        return {
            **self._marked({MASK: self._play.episodes.legal.copy()}),
            **self._marked({HIDDEN: self._marked(hidden)}),
        }

    def _marked(self, entries: dict[str, Any]) -> dict[str, Any]:
        return entries | {f"_{name}": self._every.copy() for name in entries}
