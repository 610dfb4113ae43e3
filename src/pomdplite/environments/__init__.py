"""Models as Gymnasium environments (extra `gymnasium`): one at a time, many at once, and by name.

The other direction, a Gymnasium environment as the world of a model, is worlds/gymnasium.py.
"""

from typing import Any

from pomdplite.errors import PomdpLiteError
from pomdplite.model.model import Model

__all__ = ["register_envs", "to_gymnasium", "to_gymnasium_vector"]


def _require_gymnasium() -> None:
    try:
        import gymnasium  # noqa: F401
    except ImportError:
        raise PomdpLiteError("environments need gymnasium: pip install 'pomdplite[gymnasium]'.") from None


def to_gymnasium(
    model: Model | str,
    *,
    belief: bool = False,
    illegal_reward: float | None = None,
    render_mode: str | None = None,
) -> Any:
    """The model as a gymnasium.Env.

    model           a model, or the name of one as `make_model` takes it
    belief          whether observations include the belief about the hidden value
    illegal_reward  the reward for an illegal action, which then changes nothing; None: an illegal action is an error
    render_mode     "rgb_array" or "ansi", if `render` is to draw state and belief

    An observation is a dictionary: "state_<field>" for each field of the state, "observation" with the number of the
    last observation, or "reading_<field>" for each field of the last reading, and with belief=True "belief_<field>"
    for each field of the hidden value. Actions are numbers. info["action_mask"] marks the legal ones, and
    info["hidden"] holds the hidden value, for evaluation only.
    """
    _require_gymnasium()
    from pomdplite.environments.single import ModelEnv

    return ModelEnv(model, belief=belief, illegal_reward=illegal_reward, render_mode=render_mode)


def to_gymnasium_vector(
    model: Model | str, num_envs: int, *, belief: bool = False, illegal_reward: float | None = None
) -> Any:
    """The model as a gymnasium.vector.VectorEnv: one call of a kernel takes a step in each of `num_envs` environments.

    Everything else is as `to_gymnasium` has it: environment i with seed s plays the episodes that a single environment
    with seed s plays. An environment whose episode has ended is reset in the next step (AutoresetMode.NEXT_STEP).
    """
    _require_gymnasium()
    from pomdplite.environments.vector import ModelVectorEnv

    return ModelVectorEnv(model, num_envs, belief=belief, illegal_reward=illegal_reward)


def register_envs() -> list[str]:
    """Register every problem with Gymnasium: gymnasium.make("pomdplite/tiger-v0"). Returns the ids."""
    _require_gymnasium()
    from pomdplite.environments.registration import register

    return register()
