"""What it costs to stop updating the belief for known state-actions, PomdpLite(known=ε): exact values.

    python benchmarks/known.py [models]

The value of acting on the planner from the start is computed by following every outcome, with and without `known`, on
Tiger, RockSample(4,4), the maze and random small models (those of untuned.py). Losses are in per cent of the range of
rewards.
"""

import sys

import numpy as np
import untuned

import pomdplite as pl
from pomdplite.analysis.policy_values import PolicyNode, PolicyValues
from pomdplite.mdp.reward_range import reward_scale

EPSILONS = (0.01, 0.03, 0.1, 0.3, 0.9)


def value(model: pl.Model, beta: float | None, known: float | None) -> tuple[float, float]:
    """The value of acting on the planner, and the range of rewards."""
    planner = pl.PomdpLite(model, beta, solver="exact", known=known)
    planner.reset()
    reachable, b = planner.solver.reachable, planner.belief.probabilities
    root = PolicyNode(reachable.find(planner.s), b, b)
    low, high = PolicyValues(planner, [root]).bounds(root)
    unit = reward_scale(reachable).unit
    if high - low > 1e-3 * unit:
        raise RuntimeError(f"{model.name}, known={known}: its value is known only to be in [{low}, {high}].")
    return low, unit


def losses(model: pl.Model, beta: float | None = None) -> list[float]:
    """The loss for each ε."""
    full, unit = value(model, beta, None)
    return [100 * (full - value(model, beta, epsilon)[0]) / unit for epsilon in EPSILONS]


def main(models: int) -> None:
    """Print the table."""
    print(f"{'loss, % of the range of rewards; ε =':44}" + "".join(f"{epsilon:>10g}" for epsilon in EPSILONS))
    for name in ("tiger", "rocksample-4-4", "maze"):
        print(f"{name:44}" + "".join(f"{loss:10.2f}" for loss in losses(pl.make_model(name))))
    for share in (0.05, 1.0):
        found = []
        for i in range(models):
            model = untuned.random_model(untuned.FAMILIES[i % len(untuned.FAMILIES)], np.random.default_rng([1, i]))
            found.append(losses(model, share * untuned.five_per_cent(model) / 0.05))
        table = np.array(found)
        name = f"{models} random models, β = {100 * share:g} % of the range"
        print(f"{name + ', mean':44}" + "".join(f"{loss:10.2f}" for loss in table.mean(axis=0)))
        print(f"{name + ', largest':44}" + "".join(f"{loss:10.2f}" for loss in table.max(axis=0)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
