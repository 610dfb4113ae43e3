"""A model as a Gymnasium environment (Towers et al. 2024)."""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle

from pomdplite.environments.play import HIDDEN, MASK, Play
from pomdplite.environments.spaces import LegalActions
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.views.mpl import new_figure, require_matplotlib
from pomdplite.views.pictures import paint, pixels
from pomdplite.views.terminal import plain_text
from pomdplite.views.text import drawing

_PICTURE, _TEXT = "rgb_array", "ansi"
_INCHES = (6.0, 5.0)


class ModelEnv(gymnasium.Env, EzPickle):  # type: ignore[misc]
    """A model as an environment; `to_gymnasium` describes its arguments.

    reset(seed=s) starts episode 0 of seed s, and each reset without a seed the next one: hidden values and noise are
    those of evaluate(…, seed=s). reset(options={"episode": k}) starts episode k.

    A copy or pickle is a new environment of the model, to be reset: compiled functions belong to one process.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [_PICTURE, _TEXT], "render_fps": 2}

    def __init__(
        self,
        model: Model | str,
        *,
        belief: bool = False,
        illegal_reward: float | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UsageError(f"no render_mode {render_mode!r}; there are {', '.join(self.metadata['render_modes'])}.")
        if render_mode == _PICTURE:
            require_matplotlib()
        EzPickle.__init__(self, model, belief=belief, illegal_reward=illegal_reward, render_mode=render_mode)
        self.render_mode = render_mode
        tracked = render_mode is not None
        self._play = Play(model, 1, belief=belief, tracked=tracked, illegal_reward=illegal_reward)
        self._every = np.ones(1, np.bool_)
        self._over = True
        self.model = self._play.model
        self.observation_space = self._play.observation_space
        self.action_space = LegalActions(self._play.episodes.legal[0])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed)
        self._play.name_episode(0, seed, options, self.np_random)
        self._play.reset(self._every)
        self._over = False
        return self._seen(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, given as `Model.action_index` takes it, or its fields' values as an array."""
        if self._over:
            raise UsageError("the episode is over: call reset() before the next step.")
        if isinstance(action, np.ndarray):
            action = action.item() if action.ndim == 0 else tuple(action.tolist())
        self._play.step(np.array([self.model.action_index(action)]), self._every)
        episodes = self._play.episodes
        terminated, truncated = bool(episodes.terminated[0]), bool(episodes.truncated[0])
        self._over = terminated or truncated
        return self._seen(), float(episodes.reward[0]), terminated, truncated, self._info()

    def render(self) -> Any:
        """The state and the belief: a picture as an array [height, width, 3] of bytes, or text."""
        if self.render_mode is None:
            raise UsageError('render needs a render_mode: to_gymnasium(model, render_mode="rgb_array") or "ansi".')
        x, marginals = self._play.state(0), self._play.marginals(0)
        if self.render_mode == _TEXT:
            return plain_text(drawing(self.model, x, marginals))
        figure = new_figure(*_INCHES)
        paint(self.model, figure.subplots(), x, marginals)
        return pixels(figure)

    def _seen(self) -> dict[str, Any]:
        """The observation of the one episode."""
        return {name: rows[0] for name, rows in self._play.observations().items()}

    def _info(self) -> dict[str, Any]:
        legal = self._play.episodes.legal[0].copy()
        self.action_space.legal = legal
        return {MASK: legal.copy(), HIDDEN: {name: rows[0] for name, rows in self._play.hidden().items()}}
