"""What a coarse grid is worth as the value of a search's leaves: POMDP-lite with UCT, with it and with rollouts.

    python benchmarks/leaf_grid.py cart,wind 20 15 0.02

names of models, episodes, seed, and seconds of processor time per step. docs/decisions/0015 has the results.
"""

import math
import sys
from pathlib import Path

import numpy as np

import pomdplite as pl
from pomdplite.experiments.statistics import Difference

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from push_box import PushBox


class Cart(pl.Model):
    """Push a cart of unknown mass to the mark at 0 and stop it there."""

    state = pl.State(position=float, speed=float)
    hidden = pl.Hidden(mass=(0.5, 1.0, 2.0))
    actions = ("-2", "-1", "0", "+1", "+2")
    noise = pl.Gaussian(position=0.01, speed=0.05)
    grid = pl.Grid(position=(-3.0, 3.0, 41), speed=(-3.0, 3.0, 41))
    discount = 0.97
    horizon = 40
    beta = 0.1

    def start(self, x):
        x.position = 2.0

    def transition(m, x, theta, a, y):
        y.speed = x.speed + 0.2 * (a - 2.0) / theta.mass
        y.position = x.position + 0.2 * y.speed

    def reward(m, x, theta, a):
        return -0.2 * (x.position**2 + 0.1 * x.speed**2) - 0.002 * (a - 2.0) ** 2


class Wind(pl.Model):
    """Reach a goal in the plane, against an unknown wind and around a swamp."""

    state = pl.State(at=(float, 2))
    hidden = pl.Hidden(wind=(-0.3, 0.0, 0.3))
    actions = tuple(f"{45 * i}°" for i in range(8))
    noise = pl.Gaussian(at=(0.1, 0.1))
    grid = pl.Grid(at=(-4.0, 4.0, 41))
    discount = 0.95
    horizon = 40
    beta = 0.5

    def __init__(self):
        angle = np.arange(8) * math.pi / 4
        self.dx, self.dy = 0.6 * np.cos(angle), 0.6 * np.sin(angle)

    def start(self, x):
        x.at[0] = -3.0

    def transition(m, x, theta, a, y):
        y.at[0] = min(4.0, max(-4.0, x.at[0] + m.dx[a]))
        y.at[1] = min(4.0, max(-4.0, x.at[1] + m.dy[a] + theta.wind))

    def reward(m, x, theta, a, y):
        if (y.at[0] - 3.0) ** 2 + y.at[1] ** 2 < 0.36:
            return 10.0
        return -3.0 if abs(y.at[0]) < 0.8 and abs(y.at[1]) < 1.5 else -0.1

    def terminal(m, x):
        return (x.at[0] - 3.0) ** 2 + x.at[1] ** 2 < 0.36


class Push(PushBox):
    """The example, with a grid."""

    grid = pl.Grid(position=(0.0, 2.0, 41))
    beta = 0.5


class Swing(pl.Pendulum):
    """The pendulum, searched."""

    beta = 0.8


class Rollouts(pl.PomdpLite):
    """Leaves are valued by random rollouts."""

    def _leaf_values(self):
        return None


MODELS = {kind.__name__.lower(): kind for kind in (Cart, Wind, Push, Swing)}


def played(planner_kind, model_kind, episodes, seed, seconds):
    model = model_kind()
    planner = planner_kind(model, solver="uct", time=seconds)
    planner.use_clock("cpu")
    return pl.evaluate(model, planner, episodes=episodes, seed=seed)


def main(names: str, episodes: int, seed: int, seconds: float) -> None:
    for name in names.split(","):
        found = [played(kind, MODELS[name], episodes, seed, seconds) for kind in (pl.PomdpLite, Rollouts)]
        for label, result in zip(("grid", "rollouts"), found, strict=True):
            print(f"{name}, leaves by {label}: {result.mean:.2f} ± {result.stderr:.2f}", flush=True)
        difference = Difference.of(found[0].returns - found[1].returns)
        print(f"{name}: the grid earns {difference.mean:.2f} ± {difference.stderr:.2f} more", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
