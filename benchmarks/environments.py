"""Measure how many steps per second models take as Gymnasium environments, and print one table.

    python benchmarks/environments.py                   # RockSample(7,8)
    python benchmarks/environments.py tiger acrobot     # other problems

Actions are random legal ones, drawn outside of what is measured. Times are CPU time of this one process, so that they
mean something on a shared machine; the ratios are measured in one run. Everything is compiled before.
"""

import argparse
import time
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import SyncVectorEnv

import pomdplite as pl

SECONDS = 1.0  # measured for each row
COUNTS = (1, 10, 100, 1000, 10_000)


def steps_per_second(envs: Any) -> float:
    """Step environments with random legal actions; one whose episode is over is reset, which is no step."""
    random, spent, steps = np.random.default_rng(0), 0.0, 0
    _, infos = envs.reset(seed=0)
    warm, rounds = 3, 0
    while spent < SECONDS:
        masks = infos["action_mask"]
        actions = (random.random(masks.shape) * masks).argmax(axis=1)
        live = int(masks.any(axis=1).sum())
        started = time.process_time()
        *_, infos = envs.step(actions)
        rounds += 1
        if rounds > warm:
            spent, steps = spent + time.process_time() - started, steps + live
    return steps / spent


def single_steps_per_second(env: Any) -> float:
    """The same for a single environment, whose resets count as time but not as steps."""
    random, spent, steps = np.random.default_rng(0), 0.0, 0
    _, info = env.reset(seed=0)
    while spent < SECONDS:
        mask = info["action_mask"]
        action = int((random.random(len(mask)) * mask).argmax())
        started = time.process_time()
        *_, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()
        spent, steps = spent + time.process_time() - started, steps + 1
    return steps / spent


def table(name: str) -> None:
    """One problem, without and with the belief in its observations."""
    model = pl.make_model(name)
    for belief in (False, True):
        single = single_steps_per_second(pl.to_gymnasium(model, belief=belief))
        title = f"{name}, belief" if belief else name
        print(f"{title:30} {'one environment':20} {single:>12,.0f} steps/s")
        rows = [("SyncVectorEnv of 100", SyncVectorEnv([partial(pl.to_gymnasium, model, belief=belief)] * 100))]
        rows += [(f"{n:,} at once", pl.to_gymnasium_vector(model, n, belief=belief)) for n in COUNTS]
        for what, envs in rows:
            found = steps_per_second(envs)
            print(f"{title:30} {what:20} {found:>12,.0f} steps/s {found / single:>8.1f} × one", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure models as Gymnasium environments on one core.")
    parser.add_argument("problems", nargs="*", default=["rocksample-7-8"], help="names of problems")
    for problem in parser.parse_args().problems:
        table(problem)
