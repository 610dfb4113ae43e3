"""The acrobot of Gymnasium's Acrobot-v1 (Towers et al. 2024) with links of unknown mass.

The mean of the next state is one step of the equations in dynamics.py. Gymnasium's steps have no noise; the model
declares some, so that every step has a density under every pair of masses and the belief narrows step by step.
"""

import math
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.distributions import Uniform
from pomdplite.model.model import Model
from pomdplite.model.readings import Gaussian
from pomdplite.model.spaces import Angle, Component, Hidden, State
from pomdplite.problems.acrobot.drawing import drawn, painted
from pomdplite.problems.acrobot.dynamics import GOAL, after_step, height

LIGHTEST, HEAVIEST = 0.4, 1.8  # where Acrobot-v1 has 1
LISTED = tuple(round(LIGHTEST + 0.2 * i, 1) for i in range(8))  # 0.4, 0.6 … 1.8
TORQUES = (-1.0, 0.0, 1.0)
INTERVAL = (0.025, 0.975)  # the quantiles that show a mass to people

Mass = float | tuple[float, ...] | None


class Acrobot(Model):
    """Swing the tip of two links above a line by a torque at the joint between them, in as few steps as possible.

    mass_1, mass_2  of the links: a number if it is known, several numbers if it is one of them, with equal
                    probability; by default anything between 0.4 and 1.8

    A step of 0.2 s costs 1. The episode ends when the tip is more than the length of a link above the fixed joint, or
    after 500 steps. The torque is too weak to lift the links; it has to swing them up.
    """

    state = State(angle_1=Angle, angle_2=Angle, speed_1=float, speed_2=float)
    hidden = Hidden(mass_1=Uniform(LIGHTEST, HEAVIEST), mass_2=Uniform(LIGHTEST, HEAVIEST))
    actions = tuple(f"{torque:+g}" for torque in TORQUES)
    noise = Gaussian(angle_1=0.0002, angle_2=0.0002, speed_1=0.001, speed_2=0.001)
    discount = 1.0
    horizon = 500
    beta = 0.05
    exploration = 10.0
    return_range = 20.0

    def __init__(self, mass_1: Mass = None, mass_2: Mass = None) -> None:
        if mass_1 is not None or mass_2 is not None:
            self.hidden = Hidden(mass_1=_prior(mass_1), mass_2=_prior(mass_2))
        self.torque = np.array(TORQUES)

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        q = (x.angle_1, x.angle_2, x.speed_1, x.speed_2)
        y.angle_1, y.angle_2, y.speed_1, y.speed_2 = after_step(q, m.torque[a], theta.mass_1, theta.mass_2)

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        return -1.0

    def terminal(m: Any, x: Any) -> bool:
        return height(x.angle_1, x.angle_2) > GOAL

    def policy(m: Any, x: Any, u: float) -> int:
        """A torque adds energy at the rate torque · speed_2, so it goes with that speed."""
        return 2 if x.speed_2 > 0.0 else 0

    def success(self, x: Any, theta: Any) -> bool:
        """The tip is above the line."""
        return bool(height(x.angle_1, x.angle_2) > GOAL)

    def constants(self) -> dict[str, str]:
        """The task, for reports."""
        masses = (f"{LIGHTEST} to {HEAVIEST}" if c is None else " or ".join(c.labels) for c in self._parts())
        return {"masses": "; ".join(masses), "moments of inertia": "1, whatever the masses"}

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the links and the line, with what is believed about their masses."""
        return drawn(x, self._masses(marginals))

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the links and the line, and below them the mean and the 95 % interval of each mass."""
        painted(axes, x, self._masses(marginals), (LIGHTEST, HEAVIEST))

    def _masses(self, marginals: list[Floats]) -> list[tuple[float, float, float]]:
        """Mean and 95 % interval of each mass; of a listed one, from its values and their probabilities."""
        found = []
        for part, marginal in zip(self._parts(), marginals, strict=True):
            mean, low, high = marginal if part is None else _interval(np.array(part.values, float), marginal)
            found.append((float(mean), float(low), float(high)))
        return found

    def _parts(self) -> list[Component | None]:
        """The listed values of each mass; None if it has a distribution."""
        return list(self.hidden.components if isinstance(self.hidden, Hidden) else self.hidden.parts.values())


def _prior(mass: Mass) -> Any:
    """What `Hidden` takes for a mass."""
    if mass is None:
        return Uniform(LIGHTEST, HEAVIEST)
    values = tuple(map(float, mass if isinstance(mass, tuple) else (mass,)))
    if not values or not all(0 < value < math.inf for value in values):
        raise UsageError(f"the mass of a link of the acrobot must be a positive number, or several, not {mass!r}.")
    return values


def _interval(values: Floats, p: Floats) -> Floats:
    """The mean of listed values, and the lowest and highest that 2.5 % do not lie below or above."""
    at = np.minimum(np.searchsorted(np.cumsum(p), INTERVAL), len(values) - 1)
    return np.array([values @ p, *values[at]])
