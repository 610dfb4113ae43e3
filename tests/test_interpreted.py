"""Models that Python runs: the same numbers as compiled ones, and everything steppable with NUMBA_DISABLE_JIT=1."""

import os
import subprocess
import sys

import pomdplite as pl
from pomdplite.planners import PLANNERS

# The conformance suite over every planner and every kind of model, with budgets small enough for plain Python; then
# the returns that each planner gets.
CONFORMANCE = """
import sys
import pomdplite as pl
from pomdplite.planners import PLANNERS
from pomdplite.planners.unknown.base import CountsPlanner
from pomdplite.testing import planner_conforms, problem_conforms

BUDGETS = {
    "pomcp": {"sims": 80, "particles": 8}, "pomcp-exact": {"sims": 80}, "despot": {"sims": 2, "scenarios": 4},
    "pomcpow": {"sims": 80}, "pft-dpw": {"sims": 80},
    "sarsop": {"solve_trials": 2}, "pomdp-lite-plus": {"sims": 3, "solve_trials": 3},
    "bayes-optimal": {"search_depth": 2},
}
def small(make):
    model = make()
    model.horizon = 2
    return model

problem_conforms(small(lambda: pl.Battleship(3, 1)), episodes=1)  # a Population
COUNTING = [name for name, kind in PLANNERS.items() if issubclass(kind, CountsPlanner)]
LISTED = [name for name in PLANNERS if name not in COUNTING]
for problem, make, planners in (
    ("tiger", pl.Tiger, LISTED), ("rocksample", lambda: pl.RockSample(2, [(0, 1)]), LISTED),
    ("chain", lambda: pl.SlipperyChain("semi-tied"), [*COUNTING, "pomdp-lite", "mean-mdp"]),
):
    problem_conforms(small(make), episodes=1)
    for name in planners:
        def planner(model):
            return pl.make_planner(name, model, **BUDGETS.get(name, {}))
        planner_conforms(planner, small(make), episodes=1)
        model = small(make)
        episode = pl.run_episode(planner(model), pl.ModelWorld(model), 1, 0)
        print(problem, name, repr(episode.discounted), episode.steps)
"""


def conformance(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONFORMANCE], capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_planner_and_problem_conforms_without_the_compiler_and_gives_the_same_numbers():
    interpreted = conformance(NUMBA_DISABLE_JIT="1")
    assert {line.split()[1] for line in interpreted if line.startswith(("tiger", "chain"))} == set(PLANNERS)
    assert interpreted == conformance()


def test_an_interpreted_model_may_call_anything():
    calls = []

    class Simulated(pl.Tiger):
        compiled = False

        def reward(m, x, theta, a):
            calls.append((int(x.opened), int(theta.tiger), a))
            return {0: -1.0}.get(a, 10.0 if a - 1 != theta.tiger else -100.0)

    result = pl.evaluate(Simulated(), "pomdp-lite", episodes=20, seed=1, beta=30.0)
    expected = pl.evaluate(pl.Tiger(), "pomdp-lite", episodes=20, seed=1, beta=30.0)
    assert result.returns.tolist() == expected.returns.tolist()
    assert calls
