"""Swing up a pendulum of unknown mass, with the dynamics of Gymnasium's Pendulum-v1 (Towers et al. 2024).

A rod of length l = 1 under g = 10, an angle that is 0 at the top, and a torque u of at most 2:

    ω' = ω + (3 g / (2 l) sin(angle) + 3 u / (m l²)) dt,   |ω'| ≤ 8,      angle' = angle + ω' dt,      dt = 0.05

Here angle' and ω' are means of normal distributions, and the mass m is hidden: uniform between 0.5 and 2, where
Pendulum-v1 has 1. Gravity pulls the same whatever the mass, and the torque counts in inverse proportion to it. The
largest torque balances gravity up to 53° from the vertical if m = 0.5, up to 24° if m = 1, and up to 12° if m = 2: a
light pendulum is all but lifted, a heavy one has to swing up in ever wider arcs, and torque that suits one makes
another overshoot the top or fall short of it.
"""

import math
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.distributions import Uniform
from pomdplite.model.grid import Grid
from pomdplite.model.model import Model
from pomdplite.model.readings import Gaussian
from pomdplite.model.spaces import Angle, Hidden, State

LIGHTEST, HEAVIEST = 0.5, 2.0
TORQUES = (-2.0, -1.0, 0.0, 1.0, 2.0)
STEP, FASTEST = 0.05, 8.0  # seconds, radians per second
GRAVITY, LEVER = 15.0, 3.0  # 3 g / (2 l) and 3 / l²
UPRIGHT, SLOW = 0.3, 1.0  # radians, and radians per second: what counts as swung up at the end
_HIGH, _WIDE = 4, 9  # characters: the length of the rod in a drawing
_BLUE, _DARK = "#1f5fbf", "#454b57"


class Pendulum(Model):
    """Swing up a pendulum of unknown mass and hold it there, by one of five torques every 0.05 s.

    mass  if it is known

    A step costs angle² + 0.1 speed² + 0.001 torque². An episode is a success if the pendulum is upright and slow when
    it ends, after 10 s.
    """

    state = State(angle=Angle, speed=float)
    hidden = Hidden(mass=Uniform(LIGHTEST, HEAVIEST))
    actions = tuple(f"{torque:+g}" for torque in TORQUES)
    noise = Gaussian(angle=0.01, speed=0.05)
    discount = 0.99
    horizon = 200
    grid = Grid(angle=(-math.pi, math.pi, 41), speed=(-FASTEST, FASTEST, 41))

    def __init__(self, mass: float | None = None) -> None:
        if mass is not None:
            if not 0 < mass < math.inf:
                raise UsageError(f"the mass of a pendulum must be a positive number, not {mass!r}.")
            self.hidden = Hidden(mass=(float(mass),))
        self.torque = np.array(TORQUES)

    def start(self, x: Any) -> None:
        """It hangs."""
        x.angle = -math.pi

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        pull = GRAVITY * math.sin(x.angle) + LEVER * m.torque[a] / theta.mass
        y.speed = min(FASTEST, max(-FASTEST, x.speed + STEP * pull))
        y.angle = x.angle + STEP * y.speed

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        return -(x.angle**2 + 0.1 * x.speed**2 + 0.001 * m.torque[a] ** 2)

    def success(self, x: Any, theta: Any) -> bool:
        """It is upright and slow."""
        return bool(abs(x.angle) < UPRIGHT and abs(x.speed) < SLOW)

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the pendulum, with its state and what is believed about its mass."""
        canvas = [[" "] * (2 * _WIDE + 1) for _ in range(2 * _HIGH + 1)]
        for share in np.linspace(0.0, 1.0, 3 * _WIDE):
            row, column = (round(share * part) for part in (-_HIGH * math.cos(x.angle), -_WIDE * math.sin(x.angle)))
            canvas[_HIGH + row][_WIDE + column] = "●" if share == 1.0 else "·"
        canvas[_HIGH][_WIDE] = "+"
        where = f"angle {x.angle:+.2f}, speed {x.speed:+.2f}"
        return "\n".join([*("".join(row).rstrip() for row in canvas), where, self._mass_text(marginals)])

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the pendulum, and below it the mean and the 95 % interval of its mass."""
        across, up = -math.sin(x.angle), math.cos(x.angle)
        axes.plot([0.0, across], [0.0, up], color=_DARK, lw=6, solid_capstyle="round")
        axes.plot(across, up, "o", color=_BLUE, ms=20)
        axes.plot(0.0, 0.0, "o", color="black", ms=6)
        axes.set(xlim=(-1.3, 1.3), ylim=(-1.9, 1.3), aspect="equal")
        axes.axis("off")
        axes.set_title(f"angle {x.angle:+.2f}, speed {x.speed:+.2f}", fontsize=9)
        scale = axes.inset_axes((0.15, 0.09, 0.7, 0.05))
        mean, low, high = self._mass(marginals)
        scale.plot([low, high], [0.0, 0.0], color=_BLUE, lw=4, solid_capstyle="butt")
        scale.plot(mean, 0.0, "o", color="black", ms=4)
        scale.set(xlim=(min(LIGHTEST, low), max(HEAVIEST, high)), yticks=(), xlabel=self._mass_text(marginals))

    def _mass(self, marginals: list[Floats]) -> tuple[float, float, float]:
        """Mean and quantiles of the mass."""
        if isinstance(self.hidden, Hidden):
            known = float(self.hidden.components[0].values[0])
            return known, known, known
        mean, low, high = map(float, marginals[0])
        return mean, low, high

    def _mass_text(self, marginals: list[Floats]) -> str:
        mean, low, high = self._mass(marginals)
        return f"mass {mean:.3g}" if low == high else f"mass {mean:.2f}, from {low:.2f} to {high:.2f} with 95 %"
