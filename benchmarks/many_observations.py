"""Many observations × hidden values: a robot looks for a source in one of 1,000 places with a sensor of 500 values.

    python benchmarks/many_observations.py average               numbers averaged over a belief per second, beside NumPy
    python benchmarks/many_observations.py episodes EPISODES [SEED] [SECONDS]    the same episodes with every solver

"thinned" is the search that POMDP-lite takes where such a model cannot be solved exactly (mdp/search/drawn/), "graph"
the one for fewer observations (mdp/search/listed/). Processor time per step.
"""

import sys
import time
from math import erf, sqrt

import numpy as np

import pomdplite as pl
from pomdplite.mdp.distinct_steps import ALL, POOL, allocate_step_values, evaluate_steps
from pomdplite.mdp.reachable import build

SIDE, COLUMNS, ROWS, READINGS = 10, 40, 25, 500
BETA = 5.0  # 5 % of the range of rewards, the default


class Source(pl.Model):
    """Say in which quarter the source is. The sensor reads its strength, which falls with the distance."""

    state = pl.State(east=int, north=int, done=bool)
    hidden = pl.Hidden(place=tuple(range(COLUMNS * ROWS)))
    actions = ("west", "east", "south", "north", "say-0", "say-1", "say-2", "say-3")
    observations = tuple(map(str, range(READINGS)))
    discount = 0.95
    horizon = 60

    def transition(m, x, theta, a, y):
        if a == 0:
            y.east = max(0, x.east - 1)
        elif a == 1:
            y.east = min(SIDE - 1, x.east + 1)
        elif a == 2:
            y.north = max(0, x.north - 1)
        elif a == 3:
            y.north = min(SIDE - 1, x.north + 1)
        else:
            y.done = True

    def observation(m, y, theta, a, z):
        if a < 4:
            east, north = theta.place % COLUMNS / COLUMNS * SIDE, theta.place // COLUMNS / ROWS * SIDE
            distance, below = sqrt((east - y.east) ** 2 + (north - y.north) ** 2), 0.0
            for o in range(READINGS):
                deviation = (o + 0.5 - READINGS / (1 + distance)) / (5 + 3 * distance)
                above = 1.0 if o == READINGS - 1 else 0.5 * (1 + erf(deviation / sqrt(2)))
                z[o] = above - below
                below = above

    def reward(m, x, theta, a):
        if a < 4:
            return -1.0
        quarter = (theta.place % COLUMNS >= COLUMNS // 2) + 2 * (theta.place // COLUMNS >= ROWS // 2)
        return 50.0 if quarter == a - 4 else -50.0

    def terminal(m, x):
        return x.done


def average():
    """How fast the likelihoods of all steps are averaged over a belief: bonuses, Definition 1."""
    view = Source().compiled_form.kernel_view()
    reachable = build(view, view.root())
    distinct, values = reachable.distinct, allocate_step_values(reachable.distinct)
    b = view.table.prior.copy()
    b[:-1] = np.random.default_rng(0).dirichlet(np.ones(len(b) - 1))
    steps = [reachable.likelihood(r)[1] for r in range(reachable.distinct_count)]

    def plain():
        return [float((b[:-1] * np.abs(rows - (rows @ b[:-1])[:, None])).sum()) for rows in steps]

    def ours():
        evaluate_steps(view.kernel_model, distinct, b, 1.0, values, ALL)

    times = {}
    for name, function in (("ours", ours), ("NumPy", plain)):
        function()
        times[name] = min(_seconds(function) for _ in range(5))
        print(f"{name:6} {distinct.counts[POOL] / times[name] / 1e9:.2f} billion numbers a second")
    print(f"NumPy takes {times['NumPy'] / times['ours']:.1f} times as long; the largest difference is "
          f"{np.abs(values.bonus[: len(steps)] - plain()).max():.1e}")  # fmt: skip


def _seconds(function):
    started = time.process_time()
    function()
    return time.process_time() - started


class OnGraph(pl.PomdpLite):
    """POMDP-lite with UCT on a graph, which compares all observations with all values."""

    def _search(self, beta):
        return self._uct_solver(beta)


def episodes(count, seed=15, seconds=0.1):
    """Play the same episodes with every solver."""
    world, returns = pl.ModelWorld(Source()), {}
    for name, kind, solver in (("exact", pl.PomdpLite, "exact"), ("thinned", pl.PomdpLite, "uct"),
                               ("graph", OnGraph, "uct")):  # fmt: skip
        planner, decisions = kind(Source(), BETA, solver=solver, time=float(seconds)), []
        planner.use_clock("cpu")
        played = [
            pl.run_episode(planner, world, int(seed), e, on_step=lambda s: decisions.append(s.decision))  # noqa: B023
            for e in range(count)
        ]
        returns[name] = np.array([episode.discounted for episode in played])
        error, less = 1 / sqrt(count), returns[name] - returns["exact"]
        print(f"{name:8} return {returns[name].mean():.2f} ± {returns[name].std(ddof=1) * error:.2f}, difference to "
              f"exact {less.mean():.2f} ± {less.std(ddof=1) * error:.2f}, "
              f"{np.median([d.solution.simulations for d in decisions]):,.0f} simulations, "
              f"{1e3 * np.mean([d.seconds for d in decisions]):.0f} ms a decision, at most "
              f"{1e3 * max(d.seconds for d in decisions):.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    {"average": average, "episodes": episodes}[what](*(int(n) for n in numbers[:2]), *numbers[2:])
