"""How much planners lose on models that nobody tuned for: exact regret on random small models.

    python benchmarks/untuned.py [models] [seed] [--csv FILE]

Every model has a horizon of a few steps, so the value of a planner's policy is computed exactly, by following all that
can happen under it, and compared with the Bayes-optimal value. Regret is in per cent of the range of values: from the
worst policy's value to that of an agent that knows θ. Five families: information comes with every step, has to be
bought, has to be bought to stay out of traps, everything is drawn at random, or information is two steps away, the
decision is to be made where one started, and there are ten steps for that.

A planner decides anew at every state and belief, with a seed that these determine, and takes that action whenever it
comes there again: a planner that samples is judged by one such policy per model.
"""

import argparse
import csv
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import pomdplite as pl

STEPS, WIDTH = 4, 2  # of a model: layers of states, one per step
DETOUR, PLACES = 10, 3  # steps of a model in which information is fetched; its places: decide, halfway, look
OUT, BACK = 0, 1  # its moves; the other actions decide
FAMILIES = ("free", "costly", "traps", "random", "detour")
SIMS = 1000  # of planners that search, per step
SOLVE_TRIALS = 100  # of planners that solve before the first step
Maker = Callable[[pl.Model], pl.Planner]
History = tuple[tuple[int, int, int], ...]  # (action, next state, observation)


def planners() -> dict[str, Maker]:
    """The planners to compare."""
    return {
        "pomdp-lite, auto": lambda model: pl.PomdpLite(model, beta="auto", solver="exact"),
        "pomdp-lite, 5 %": lambda model: pl.PomdpLite(model, beta=five_per_cent(model), solver="exact"),
        "mean-mdp": lambda model: pl.MeanMdp(model, solver="exact"),
        "qmdp": pl.Qmdp,
        "despot": lambda model: pl.Despot(model, sims=100, scenarios=200),
        "pomcp": lambda model: pl.Pomcp(model, sims=SIMS),
        "sarsop": lambda model: pl.Sarsop(model, solve_trials=SOLVE_TRIALS),
        "pomdp-lite-plus": lambda model: pl.PomdpLitePlus(model, sims=SIMS, solve_trials=SOLVE_TRIALS),
    }


# ---------------------------------------------------------------------- models


def random_model(family: str, rng: np.random.Generator) -> pl.Model:
    """A model of the family."""
    return detour_model(rng) if family == "detour" else layered_model(family, rng)


def layered_model(family: str, rng: np.random.Generator) -> pl.Model:
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


def detour_model(rng: np.random.Generator) -> pl.Model:
    """Decide once, at place 0, where the agent starts; readings come at place 2, and every move may fail and costs.

    The last state is terminal, and so are all those of the step after the last.
    """
    thetas, seen = (int(rng.integers(2, 4)) for _ in range(2))
    actions, x = 2 + thetas, PLACES * (DETOUR + 1) + 1
    t, r = np.zeros((x, thetas, actions, x)), np.zeros((x, thetas, actions))
    slip, cost, prize, penalty = rng.uniform(0, 0.2), rng.uniform(0.02, 0.4), rng.uniform(2, 8), rng.uniform(1, 20)
    for step in range(DETOUR):
        for place in range(PLACES):
            here, later = PLACES * step + place, PLACES * (step + 1)
            for move, to in ((OUT, min(place + 1, PLACES - 1)), (BACK, max(place - 1, 0))):
                t[here, :, move, later + to] += 1 - slip
                t[here, :, move, later + place] += slip
            t[here, :, 2:, x - 1 if place == 0 else later + place] = 1.0
            r[here] = -cost
            if place == 0:
                r[here, :, 2:] = -penalty
                r[here, np.arange(thetas), 2 + np.arange(thetas)] = prize
    t[PLACES * DETOUR :, :, :, x - 1] = 1.0
    z = np.zeros((x, thetas, actions, seen))
    z[PLACES - 1 : x - 1 : PLACES] = rng.dirichlet(np.full(seen, 0.3), (1, thetas, 1))
    prior = rng.dirichlet(np.full(thetas, 3.0))
    return pl.tabular(t, r, z, discount=0.95, prior=prior, terminal=range(PLACES * DETOUR, x))


def five_per_cent(model: pl.Model) -> float:
    """5 % of the range of rewards."""
    rewards = model.gain[~np.asarray(model.ends, bool)]
    return 0.05 * float(rewards.max() - rewards.min())


# ---------------------------------------------------------------------- values


def policy_value(planner: pl.Planner, model: pl.Model) -> float:
    """The exact value of acting on this planner: every next state and observation is followed."""
    known: dict[bytes, float] = {}

    def value(x: int, b: np.ndarray, history: History) -> float:
        key = bytes([x]) + np.round(b, 9).tobytes()
        if key not in known:
            planner.reset(zlib.crc32(key))
            for a, y, o in history:
                planner.update(a, {"state": y}, o)
            a = planner.decide().action
            total = float(b @ model.gain[x, :, a])
            for y, o, weights in outcomes(model, x, b, a):
                if not model.ends[y]:
                    p = float(weights.sum())
                    total += model.discount * p * value(y, weights / p, (*history, (a, y, o)))
            known[key] = total
        return known[key]

    return value(0, np.asarray(model.hidden.components[0].prior), ())


def outcomes(model: pl.Model, x: int, b: np.ndarray, a: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """Every (next state, observation) that can happen, with the probability of each θ and of that."""
    for y in np.unique(model.after[x, :, a]):
        chance = b * (model.chance[x, :, a] * (model.after[x, :, a] == y)).sum(axis=1)
        sight = model.sight[y, :, a]
        for o, likelihood in enumerate([*sight.T, sight.sum(axis=-1) == 0]):  # the last is no observation
            weights = chance * likelihood
            if weights.sum() > 1e-12:
                yield int(y), o, weights


def span(model: pl.Model) -> float:
    """From the value of the worst policy, under the prior, to that of an agent that knows θ."""
    best, worst = np.zeros(model.gain.shape[:2]), np.zeros(model.gain.shape[:2])
    for x in reversed(range(len(model.ends))):  # steps lead to states with larger numbers
        for v in range(model.gain.shape[1]):
            for values, choose in ((best, max), (worst, min)):
                q = [
                    model.gain[x, v, a] + model.discount * model.chance[x, v, a] @ values[model.after[x, v, a], v]
                    for a in range(model.gain.shape[2])
                ]
                values[x, v] = 0.0 if model.ends[x] else choose(q)
    prior = model.hidden.components[0].prior
    return float(prior @ (best[0] - worst[0]))


# ---------------------------------------------------------------------- the table


def measure(models: int, seed: int) -> Iterator[dict[str, object]]:
    """One record for every model and planner."""
    makers = planners()
    for i in range(models):
        family = FAMILIES[i % len(FAMILIES)]
        model = random_model(family, np.random.default_rng([seed, i]))
        optimal = pl.BayesOptimal(model)
        optimal.reset()
        decision = optimal.decide()
        if decision.bounds is not None and decision.bounds[1] - decision.bounds[0] > 1e-6:
            raise RuntimeError(f"model {i}: the Bayes-optimal value is known only to be in {decision.bounds}.")
        best, scale = decision.value, span(model)
        for name, make in makers.items():
            began = time.process_time()
            value = policy_value(make(model), model)
            regret = 100 * (best - value) / scale
            if regret < -1e-6:
                raise RuntimeError(f"model {i}: {name} earns {value}, more than the optimal {best}.")
            yield {
                "model": i, "family": family, "planner": name, "regret": max(0.0, regret), "value": value,
                "optimal": best, "range": scale, "seconds": time.process_time() - began,
            }  # fmt: skip


def show(records: list[dict[str, object]], models: int, seed: int) -> None:
    """Print mean and largest regret, by family and in all, and the processor time of a planner on all models."""
    print(f"regret in % of the range of values, {models} models, seed {seed}: mean (largest)")
    print(f"{'':18}" + "".join(f"{family:>15}" for family in (*FAMILIES, "all")) + f"{'CPU':>8}")
    for name in dict.fromkeys(r["planner"] for r in records):
        own = [r for r in records if r["planner"] == name]
        columns = [[r["regret"] for r in own if r["family"] == family] for family in FAMILIES]
        columns.append([r["regret"] for r in own])
        texts = (f"{np.mean(c):7.2f} ({max(c):5.1f})" if c else f"{'–':>15}" for c in columns)
        print(f"{name:18}" + "".join(texts) + f"{sum(r['seconds'] for r in own):6.0f} s")


def main() -> None:
    """Measure, with progress on stderr, and print the table."""
    parser = argparse.ArgumentParser(description="Exact regret of untuned planners on random small models.")
    parser.add_argument("models", nargs="?", type=int, default=40)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--csv", type=Path, help="file for one line per model and planner, written as they are played")
    given = parser.parse_args()
    if given.models < 1:
        parser.error("measure at least one model.")
    began, records = time.perf_counter(), []
    target = given.csv.open("w", newline="") if given.csv else None
    for record in measure(given.models, given.seed):
        if target is not None:
            writer = csv.DictWriter(target, list(record), lineterminator="\n")
            if not records:
                writer.writeheader()
            writer.writerow(record)
            target.flush()
        if records and record["model"] != records[-1]["model"]:
            print(f"{record['model']} of {given.models} models, {time.perf_counter() - began:.0f} s", file=sys.stderr)
        records.append(record)
    if target is not None:
        target.close()
    show(records, given.models, given.seed)


if __name__ == "__main__":
    main()
