"""Gymnasium's Acrobot-v1 as the world of the acrobot: the environment as it is, with other masses in every episode."""

import math
from typing import Any

from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.problems import Acrobot
from pomdplite.worlds.gymnasium import GymnasiumWorld


def require_acrobot(model: Model) -> Acrobot:
    """The model, if it is an acrobot; UsageError otherwise."""
    if not isinstance(model, Acrobot):
        raise UsageError(f"this world is Gymnasium's Acrobot-v1, for acrobot, not for {model.name}.")
    return model


def _state(seen: Any) -> tuple[float, float, float, float]:
    """Angles from their cosines and sines, and speeds."""
    cos_1, sin_1, cos_2, sin_2, speed_1, speed_2 = map(float, seen)
    return math.atan2(sin_1, cos_1), math.atan2(sin_2, cos_2), speed_1, speed_2


def _put_masses(env: Any, theta: Any) -> None:
    """Moments of inertia stay at 1, as the model has them."""
    env.unwrapped.LINK_MASS_1, env.unwrapped.LINK_MASS_2 = float(theta.mass_1), float(theta.mass_2)


AcrobotWorld = GymnasiumWorld("Acrobot-v1", state=_state, hidden=_put_masses, name="acrobot")
