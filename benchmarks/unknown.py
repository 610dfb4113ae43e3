"""Speed with unknown probabilities: an exact solution after every step, and episodes of the Chain.

    python benchmarks/unknown.py

Seconds are CPU time of one core.
"""

import time

import numpy as np

import pomdplite as pl
from pomdplite.mdp.counts.solver import CountsSolver

SIDE, STEPS, EPISODES = 32, 300, 10


def grid(side: int) -> pl.UnknownMdp:
    """A square of cells; every move may lead to any neighbour or stay."""
    outcomes = {}
    for s in range(side * side):
        r, c = divmod(s, side)
        ways = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
        near = [(r + i) * side + c + j for i, j in ways if 0 <= r + i < side and 0 <= c + j < side]
        outcomes |= {(s, a): near for a in range(4)}
    reward = np.zeros((side * side, 4))
    reward[-1] = 1.0
    return pl.UnknownMdp(side * side, 4, reward, discount=0.95, outcomes=outcomes, horizon=STEPS)


def scattered(states: int) -> pl.UnknownMdp:
    """Ten random next states for each of four actions."""
    draw = np.random.default_rng(0)
    outcomes = {(s, a): draw.choice(states, 10, replace=False).tolist() for s in range(states) for a in range(4)}
    return pl.UnknownMdp(states, 4, draw.random((states, 4)), discount=0.95, outcomes=outcomes, horizon=STEPS)


def every_step(title: str, model: pl.UnknownMdp) -> None:
    planner, world, took = pl.PomdpLite(model, beta=0.5), pl.ModelWorld(model), []
    planner.use_clock("cpu")
    planner.reset()
    world.reset(0)
    for _ in range(STEPS):
        decision = planner.decide()
        took.append(1000 * decision.seconds)
        result = world.step(decision.action)
        planner.update(decision.action, result.y, result.o)
    belief, view = planner.belief, planner.view
    started = time.thread_time()
    cold = CountsSolver(view, 0.95, 0.5)
    cold.solve(belief.kernel_model, view.root(), belief.probabilities)
    solved = 1000 * (time.thread_time() - started)
    print(f"{title}, exact after every step: mean {np.mean(took):.1f} ms, median {np.median(took):.1f}, ", end="")
    print(f"95 % below {np.quantile(took, 0.95):.1f}; from scratch {solved:.0f} ms")


def chain() -> None:
    model = pl.SlipperyChain()
    planner, world = pl.PomdpLite(model, beta=30.0), pl.ModelWorld(model)
    pl.run_episode(planner, world, 0, 0)
    started = time.thread_time()
    for episode in range(EPISODES):
        pl.run_episode(planner, world, 0, episode)
    each = (time.thread_time() - started) / EPISODES
    print(f"Chain, 1,000 steps: {each:.2f} s an episode, {50 * each:.0f} s for 100 episodes on two cores")


if __name__ == "__main__":
    every_step(f"grid of {SIDE * SIDE:,} states", grid(SIDE))
    every_step("1,000 states in no order", scattered(1000))
    chain()
