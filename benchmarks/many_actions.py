"""What widening over actions is worth: POMDP-lite with UCT, with it and without, on the same episodes.

    python benchmarks/many_actions.py plane,toll 40 15 0.05

names of models, episodes, seed, and seconds of processor time per step. docs/decisions/0017 has the results.
"""

import sys

import numpy as np

import pomdplite as pl
from pomdplite.mdp.search import solver as search_solver

ALL = 10**9  # so many actions are never too many


class Cart(pl.Model):
    """Push a cart of unknown mass to the mark at 0 and stop it there: 1,001 forces."""

    state = pl.State(position=float, speed=float)
    hidden = pl.Hidden(mass=(0.5, 1.0, 2.0, 4.0))
    actions = pl.Action(force=(-5.0, 5.0, 1001))
    discount = 0.95
    horizon = 30
    beta = 0.5

    def start(self, x):
        x.position = 2.0

    def transition(m, x, theta, a, y):
        y.speed = x.speed + 0.2 * a.force / theta.mass
        y.position = x.position + 0.2 * y.speed

    def reward(m, x, theta, a):
        return -0.2 * (x.position**2 + 0.1 * x.speed**2) - 0.001 * a.force**2


class Plane(pl.Model):
    """Find one of 5 × 5 goals by displacements, 33 × 33 of them; a sensor tells its quadrant, right 7 times of 10."""

    state = pl.State(at=(float, 2), found=bool)
    hidden = pl.Hidden(goal=tuple(range(25)))
    actions = pl.Action(dx=(-1.0, 1.0, 33), dy=(-1.0, 1.0, 33))
    observations = ("++", "+-", "-+", "--")
    discount = 0.95
    horizon = 30
    beta = 1.0
    radius = 0.2

    def __init__(self):
        line = np.linspace(-1.73, 1.73, 5)  # no goal is a round number of displacements away
        self.goal_x, self.goal_y = (side.ravel().copy() for side in np.meshgrid(line, line))

    def transition(m, x, theta, a, y):
        y.at[0] = min(3.0, max(-3.0, x.at[0] + a.dx))
        y.at[1] = min(3.0, max(-3.0, x.at[1] + a.dy))
        dx, dy = y.at[0] - m.goal_x[theta.goal], y.at[1] - m.goal_y[theta.goal]
        y.found = dx * dx + dy * dy < m.radius * m.radius

    def observation(m, y, theta, a, z):
        right = 0 if m.goal_x[theta.goal] >= y.at[0] else 2
        right += 0 if m.goal_y[theta.goal] >= y.at[1] else 1
        for o in range(4):
            z[o] = 0.7 if o == right else 0.1

    def reward(m, x, theta, a, y):
        return 10.0 if y.found else -0.5

    def terminal(m, x):
        return x.found


class Blind(Plane):
    """The same by touch alone."""

    observations = ("nothing",)

    def observation(m, y, theta, a, z):
        z[0] = 1.0


class Distance(Plane):
    """The same with a sensor of the distance, in rings of 0.5, right 8 times of 10."""

    observations = tuple(map(str, range(12)))

    def observation(m, y, theta, a, z):
        dx, dy = y.at[0] - m.goal_x[theta.goal], y.at[1] - m.goal_y[theta.goal]
        for o in range(12):
            z[o] = 0.2 / 11
        z[min(11, int((dx * dx + dy * dy) ** 0.5 / 0.5))] = 0.8


class Toll(Plane):
    """Smaller goals, and displacements that cost their length."""

    radius = 0.1

    def reward(m, x, theta, a, y):
        return (10.0 if y.found else 0.0) - (a.dx**2 + a.dy**2) ** 0.5


MODELS = {kind.__name__.lower(): kind for kind in (Cart, Plane, Blind, Distance, Toll)}


def played(kind: type[pl.Model], episodes: int, seed: int, seconds: float, many: int) -> pl.Evaluation:
    search_solver.MANY = many
    model = kind()
    planner = pl.PomdpLite(model, solver="uct", time=seconds)
    planner.use_clock("cpu")
    return pl.evaluate(model, planner, episodes=episodes, seed=seed)


def main(names: str, episodes: int, seed: int, seconds: float) -> None:
    usual = search_solver.MANY
    for name in names.split(","):
        found = [played(MODELS[name], episodes, seed, seconds, many) for many in (usual, ALL)]
        for label, result in zip(("widening", "all"), found, strict=True):
            sims = f"{result.simulations_per_step:,.0f} simulations a step"
            print(f"{name}, {label}: {result.mean:.2f} ± {result.stderr:.2f}, {sims}", flush=True)
        difference = found[0].difference(found[1])
        print(f"{name}: widening earns {difference.mean:.2f} ± {difference.stderr:.2f} more", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
