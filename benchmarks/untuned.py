"""How much planners lose on models that nobody tuned for: exact regret on random small models.

    python benchmarks/untuned.py [models] [seed]

Every model has a horizon of a few steps, so the value of a planner's policy is computed exactly, by following all that
can happen under it, and compared with the Bayes-optimal value. Regret is in per cent of the range of values: from the
worst policy's value to that of an agent that knows θ. Four families: information comes with every step, has to be
bought, has to be bought to stay out of traps, or everything is drawn at random.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import pomdplite as pl

STEPS, WIDTH = 4, 2  # of a model: layers of states, one per step
FAMILIES = ("free", "costly", "traps", "random")
PLANNERS: dict[str, Callable[[pl.Model], pl.Planner]] = {
    "pomdp-lite, auto": lambda model: pl.PomdpLite(model, beta="auto", solver="exact"),
    "pomdp-lite, 5 %": lambda model: pl.PomdpLite(model, beta=five_per_cent(model), solver="exact"),
    "mean-mdp": pl.MeanMdp,
    "qmdp": pl.Qmdp,
    "despot": lambda model: pl.Despot(model, sims=100, scenarios=200),
}


def random_model(family: str, rng: np.random.Generator) -> pl.Model:
    """Layered states; the last layer is terminal. Action 0 looks, where information has to be bought."""
    thetas, actions, seen = (int(rng.integers(2, 5)) for _ in range(3))
    x = WIDTH * (STEPS + 1)
    t, r = np.zeros((x, thetas, actions, x)), np.zeros((x, thetas, actions))
    for layer in range(STEPS):
        here, there = (slice(WIDTH * k, WIDTH * (k + 1)) for k in (layer, layer + 1))
        shape = (WIDTH, thetas if family == "random" else 1, actions, WIDTH)
        t[here, :, :, there] = rng.dirichlet(np.ones(WIDTH), shape[:3])
        r[here] = rng.normal(0, 1, (WIDTH, thetas, actions))
    t[WIDTH * STEPS :, :, :, 0] = 1.0
    z = np.zeros((x, thetas, actions, seen))
    right = rng.dirichlet(np.full(seen, 0.3), (1, thetas, 1))
    if family == "free":
        z[:] = right
    elif family == "random":
        z[:] = rng.dirichlet(np.full(seen, 0.5), (x, thetas, actions))
    else:  # one action is right, the others are wrong, and looking costs
        z[:, :, :1] = right
        worst = 20.0 if family == "traps" else 3.0
        r[: WIDTH * STEPS] = -rng.uniform(0.25 * worst, worst, (thetas, actions))
        r[: WIDTH * STEPS, np.arange(thetas), rng.integers(1, actions, thetas)] = rng.uniform(1, 3)
        r[: WIDTH * STEPS, :, 0] = -rng.uniform(0.02, 0.3)
    return pl.tabular(
        t, r, z, discount=0.95, prior=rng.dirichlet(np.full(thetas, 3.0)), terminal=range(WIDTH * STEPS, x)
    )


def five_per_cent(model: pl.Model) -> float:
    """5 % of the range of rewards."""
    rewards = model.gain[: WIDTH * STEPS]
    return 0.05 * float(rewards.max() - rewards.min())


def policy_value(planner: pl.Planner, model: pl.Model) -> float:
    """The exact value of acting on this planner: every next state and observation is followed."""
    planner.reset(0)

    def value() -> float:
        x, a = planner.state, planner.decide().action
        total = planner.belief.mean_reward(x, a)
        belief, words = planner.belief, planner._x
        for y, o, p in outcomes(belief, model, x, a):
            if not model.ends[y]:
                planner.belief = belief.copy()
                planner.update(a, {"state": y}, o)
                total += model.discount * p * value()
            planner.belief, planner._x = belief, words
        return total

    return value()


def outcomes(belief: pl.Belief, model: pl.Model, x: object, a: int) -> list[tuple[int, int, float]]:
    """Every (next state, observation) with its probability under the belief."""
    b, place = belief.probabilities[:-1], int(x.state)
    found = []
    for y in range(len(model.ends)):
        chance = np.array([model.chance[place, v, a][model.after[place, v, a] == y].sum() for v in range(len(b))])
        for o in range(model.sight.shape[-1]):
            p = float((b * chance * model.sight[y, :, a, o]).sum())
            if p > 1e-12:
                found.append((y, o, p))
        silent = model.sight[y, :, a].sum(axis=-1) == 0
        p = float((b * chance * silent).sum())
        if p > 1e-12:
            found.append((y, model.sight.shape[-1], p))
    return found


def span(model: pl.Model) -> float:
    """From the value of the worst policy, under the prior, to that of an agent that knows θ."""
    best, worst = np.zeros(model.gain.shape[:2]), np.zeros(model.gain.shape[:2])
    for x in range(WIDTH * STEPS - 1, -1, -1):
        for v in range(model.gain.shape[1]):
            for values, choose in ((best, max), (worst, min)):
                q = [
                    model.gain[x, v, a] + model.discount * model.chance[x, v, a] @ values[model.after[x, v, a], v]
                    for a in range(model.gain.shape[2])
                ]
                values[x, v] = choose(q)
    prior = model.hidden.components[0].prior
    return float(prior @ (best[0] - worst[0]))


def main(models: int, seed: int) -> None:
    """Print mean and largest regret, by family and in all."""
    regrets = {name: {family: [] for family in FAMILIES} for name in PLANNERS}
    for i in range(models):
        family = FAMILIES[i % len(FAMILIES)]
        model = random_model(family, np.random.default_rng([seed, i]))
        optimal = pl.BayesOptimal(model)
        optimal.reset()
        best = optimal.decide().value
        for name, make in PLANNERS.items():
            regrets[name][family].append(100 * (best - policy_value(make(model), model)) / span(model))
    print(f"regret in % of the range of values, {models} models, seed {seed}: mean (largest)")
    print(f"{'':18}" + "".join(f"{family:>16}" for family in (*FAMILIES, "all")))
    for name, by_family in regrets.items():
        columns = [*by_family.values(), [r for several in by_family.values() for r in several]]
        print(f"{name:18}" + "".join(f"{np.mean(c):8.2f} ({max(c):5.1f})" for c in columns))


if __name__ == "__main__":
    began = time.perf_counter()
    given = [int(number) for number in sys.argv[1:]]
    main(*(given + [40, 1][len(given) :]))
    print(f"{time.perf_counter() - began:.0f} s")
