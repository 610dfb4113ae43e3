"""A Gymnasium environment (Towers et al. 2024) as the world: three short functions translate between it and the model.

    x = state(seen),   o = observation(seen),   env.step(action(a))

where `seen` is what the environment returns as its observation. Rewards and the end of an episode are the environment's
own; to change them, wrap the environment as usual with Gymnasium's wrappers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite import rng
from pomdplite.errors import PomdpLiteError, UsageError, WorldError, shown
from pomdplite.model.interface import defined
from pomdplite.model.model import Model
from pomdplite.worlds.base import StepResult, World
from pomdplite.worlds.model import ModelWorld

_EXTRA = ("gymnasium", "highway_env", "pygame")  # packages that pip install 'pomdplite[gymnasium]' installs
_PIXELS = "rgb_array"
_NAMELESS = "<lambda>"


@dataclass(frozen=True)
class GymnasiumWorld:
    """How to play a model's episodes in a Gymnasium environment: `GymnasiumWorld(...)(model)` is the world.

    make_env     a function without arguments that makes the environment, or the id of one: "Acrobot-v1"
    state        from what the environment returns to the model's state, a record, dictionary or tuple
    action       from the number of the model's action to the environment's action; the same number by default
    observation  from what the environment returns to the model's observation, a number, name or None, or to its reading
    hidden       hidden(env, theta) puts a hidden value, drawn from the model's prior, into the environment before each
                 episode; without it, the environment decides what is hidden
    success      whether an episode that ends with what the environment returned last has succeeded; by default the
                 model decides, if the hidden value is known
    name         in tables and messages; by default the environment's id, in messages its class if it has none

    It goes wherever the name of a world goes: evaluate("my.py:Model", "pomdp-lite", world=GymnasiumWorld(...)), or
    `--world my.py:name` if it is a variable of the file. Every process makes an environment of its own.
    """

    make_env: str | Callable[[], Any]
    state: Callable[[Any], Any]
    action: Callable[[int], Any] | None = None
    observation: Callable[[Any], Any] | None = None
    hidden: Callable[[Any, Any], None] | None = None
    success: Callable[[Any], bool] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not (isinstance(self.make_env, str) or callable(self.make_env)):
            raise UsageError(
                f"GymnasiumWorld: make_env must be a function that makes an environment, or the id of one, not "
                f"{shown(self.make_env)}."
            )

    def __call__(self, model: Model) -> World:
        """Make the world for a model."""
        return _Environment(model, self)

    @property
    def __name__(self) -> str:
        """The name of the world in tables."""
        own = self.make_env if isinstance(self.make_env, str) else getattr(self.make_env, "__name__", _NAMELESS)
        return self.name or ("an environment" if own == _NAMELESS else own)


class _Environment(World):
    """The world: an environment, made when it is first needed."""

    def __init__(self, model: Model, recipe: GymnasiumWorld) -> None:
        super().__init__(model)
        self._recipe = recipe
        self._env: Any = None
        self._prior = ModelWorld(model) if recipe.hidden is not None else None

    # ------------------------------------------------------------------ episodes

    def reset(self, seed: int, episode: int = 0) -> None:
        """Start an episode; if the environment keeps to its contract, seed and episode determine all of it."""
        first = self._env is None
        if first:
            self._env = self._made()
        self._seed = int(rng.stream(seed, episode, rng.WORLD)[0] >> np.uint64(1))
        if self._prior is not None:
            self._prior.reset(seed, episode)
        self._notes: dict[str, None] = {}
        self._see(self._fresh())
        if first and not _same(self._seen, self._fresh()):
            self._notes[f"{self._name} starts differently when it is reset with the same seed"] = None
        self._x = self._translated_state()

    def _fresh(self) -> Any:
        """What the environment shows after a reset with the episode's seed."""
        hidden = self._recipe.hidden
        if hidden is not None and self._prior is not None:
            self._call("hidden", hidden, self._env, self._prior.theta)
        returned = self._call("reset", self._env.reset, seed=self._seed)
        if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], dict)):
            raise self._broken(f"reset returned {shown(returned)} instead of an observation and a dictionary")
        return returned[0]

    def step(self, a: int) -> StepResult:
        """Execute an action in the environment."""
        action = a if self._recipe.action is None else self._call("action", self._recipe.action, a)
        returned = self._call("step", self._env.step, action)
        if not (isinstance(returned, tuple) and len(returned) == 5 and isinstance(returned[4], dict)):
            raise self._broken(
                f"step({shown(action)}) returned {shown(returned)} instead of observation, reward, terminated, "
                "truncated and a dictionary"
            )
        seen, reward, terminated, truncated, _ = returned
        if not _is_finite(reward):
            raise self._broken(f"step({shown(action)}) returned the reward {shown(reward)}, which is no finite number")
        for what, end in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(end, (bool, np.bool_)):
                raise self._broken(f"step({shown(action)}) returned {what} = {shown(end)}, neither True nor False")
        self._see(seen)
        self._x = self._translated_state()
        try:
            result = self.step_result(self._x, self._translated_observation(), reward, truncated=bool(truncated))
        except UsageError as error:
            raise self._broken(f"what observation returns is none of the model's: {str(error).rstrip('.')}") from None
        return result._replace(terminated=result.terminated or bool(terminated))

    def _see(self, seen: Any) -> None:
        self._seen = seen
        if not self._call("observation_space", self._env.observation_space.contains, seen):
            self._notes[f"{self._name} returned an observation outside of its observation_space"] = None

    def _translated_state(self) -> Any:
        given = self._call("state", self._recipe.state, self._seen)
        try:
            x = self.model.state_record(given).copy()
        except UsageError as error:
            raise self._broken(f"what state returns is no state of the model: {str(error).rstrip('.')}") from None
        for field in x.dtype.names:
            if x.dtype[field].base.kind == "f" and not np.isfinite(x[field]).all():
                raise self._broken(f"what state returns is no state to plan for: {field} = {x[field]}")
        return x

    def _translated_observation(self) -> Any:
        observation = self._recipe.observation
        return None if observation is None else self._call("observation", observation, self._seen)

    # ------------------------------------------------------------------ what there is to know

    @property
    def x(self) -> Any:
        """The current state in the model's terms."""
        return self._x

    @property
    def theta(self) -> Any:
        """The hidden value that was put into the environment; None if that is the environment's own affair."""
        return None if self._prior is None else self._prior.theta

    @property
    def success(self) -> bool | None:
        """Whether the episode has succeeded; None if neither the world nor the model defines it."""
        if self._recipe.success is not None:
            return bool(self._call("success", self._recipe.success, self._seen))
        judge = defined(self.model, "success")
        return None if judge is None or self.theta is None else bool(judge(self.model, self._x, self.theta))

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """How the environment has broken its contract in this episode."""
        return tuple(self._notes)

    def constants(self) -> dict[str, str]:
        """The environment and the package that it comes with."""
        env = self._env = self._env if self._env is not None else self._made()
        module = type(getattr(env, "unwrapped", env)).__module__.partition(".")[0]
        return {"environment": f"{self._name} of {module}"}

    def picture(self) -> Any:
        """The environment's own rendering, if it was made with render_mode "rgb_array"; otherwise None."""
        if self._env is None or getattr(self._env, "render_mode", None) != _PIXELS:
            return None
        pixels = np.asarray(self._call("render", self._env.render))
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype.kind not in "iu":
            raise self._broken(
                f"render returned an array of shape {pixels.shape} and type {pixels.dtype}, which is no picture"
            )
        return pixels.astype(np.uint8, copy=False)

    def close(self) -> None:
        """Close the environment; another one is made if there is another episode."""
        if self._env is not None:
            try:
                self._call("close", self._env.close)
            finally:
                self._env = None

    # ------------------------------------------------------------------ the environment and its mistakes

    def _made(self) -> Any:
        make = self._recipe.make_env
        env = self._call("make_env", _registered, make) if isinstance(make, str) else self._call("make_env", make)
        lacking = [name for name in ("reset", "step", "observation_space") if getattr(env, name, None) is None]
        if lacking:
            raise WorldError(f"{self._name}: make_env returned {shown(env)}, which has no {' and no '.join(lacking)}.")
        return env

    @property
    def _name(self) -> str:
        if self._recipe.name or self._env is None:
            return self._recipe.__name__
        spec = getattr(self._env, "spec", None)
        return spec.id if spec is not None else type(getattr(self._env, "unwrapped", self._env)).__name__

    def _call(self, what: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call one of the environment's or the user's functions; whatever it raises is reported under its name."""
        try:
            return function(*arguments, **named)
        except PomdpLiteError:
            raise
        except ModuleNotFoundError as error:
            how = "pip install 'pomdplite[gymnasium]'" if error.name in _EXTRA else "it is not installed"
            raise WorldError(f"{self._name}: {what} needs the package {error.name}; {how}.") from None
        except Exception as error:  # an environment may raise anything
            raised = f"{type(error).__name__}: {error}".rstrip(": ")
            raise WorldError(f"{self._name}: {what} raised {raised}") from error

    def _broken(self, how: str) -> WorldError:
        return WorldError(f"{self._name}: {how}.")


def _registered(name: str) -> Any:
    """An environment of Gymnasium's registry, with a camera if it can have one."""
    import gymnasium

    point = gymnasium.spec(name).entry_point
    kind = gymnasium.envs.registration.load_env_creator(point) if isinstance(point, str) else point
    modes = (getattr(kind, "metadata", None) or {}).get("render_modes", ())
    return gymnasium.make(name, render_mode=_PIXELS if _PIXELS in modes else None, disable_env_checker=True)


def _is_finite(reward: Any) -> bool:
    try:
        return not isinstance(reward, str) and math.isfinite(float(reward))
    except (TypeError, ValueError):
        return False


def _same(one: Any, other: Any) -> bool:
    """Whether two observations are equal: arrays, numbers, or dictionaries and tuples of them."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(_same, one, other))
    return bool(np.array_equal(one, other))
