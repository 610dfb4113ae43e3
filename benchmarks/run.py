"""Speed, as one table measured in one run: model calls, value iteration, and starts warm and cold.

    make bench

Seconds are of this machine and this moment; the ratios to the plain NumPy and Python versions, measured in the same
run, are what to look at.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import pomdplite as pl
from pomdplite.compile import abi
from pomdplite.compile.jit import kernel
from pomdplite.mdp.outcomes import allocate_outcomes, outcomes
from pomdplite.mdp.reachable import build
from pomdplite.mdp.value_iteration import ValueIteration

console = Console()

PEAK_MEMORY = """
import resource, sys
from pomdplite.cli.main import main
sys.argv[1:] = {arguments!r}
try:
    main()
except SystemExit:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

# Different in every run, so that its functions cannot be in the cache.
NEW_MODEL = """
import pomdplite as pl
PRIZE = {stamp}
class Robot(pl.Tiger):
    def reward(m, x, theta, a):
        return -1.0 if a == 0 else PRIZE * (a - 1 != theta.tiger)
"""


@kernel
def transitions(model, x, y, p, repeats):
    total = 0.0
    for i in range(repeats):
        abi.transition(model, x, 0, model.theta, i & 1, 1, y, p)
        total += p[0]
    return total


@kernel
def rewards(model, x, repeats):
    total = 0.0
    for i in range(repeats):
        total += abi.reward(model, x, 0, model.theta, i & 1, 2)
    return total


@kernel
def observations(model, x, z, repeats):
    total = 0.0
    for i in range(repeats):
        abi.observation(model, x, 0, model.theta, i & 1, 6, z)
        total += z[0]
    return total


@kernel
def expansions(model, x, out, repeats):
    total = 0
    for i in range(repeats):
        _, _, e = outcomes(model, x, 0, 5 + (i & 7), out)
        total += e
    return total


def best_of(times: int, function: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def model_calls(table: Table) -> None:
    """Model functions of RockSample(7,8) called from a kernel, beside the same functions run by Python."""
    model = pl.make_model("rocksample-7-8")
    view = model.compiled_form.kernel_view()
    x, n = view.root().reshape(1, -1), 2_000_000
    y, p, z = np.zeros((1, 1), np.uint64), np.zeros(1), np.zeros(3)
    record, theta = model.initial_state(), model.hidden.record([1] * 8)
    out = allocate_outcomes(view.kernel_model, 4)
    cases = (
        (
            "transition",
            lambda k: transitions(view.kernel_model, x, y, p, k),
            lambda: model.compiled_form.interpreted.transition(record, theta, 1),
        ),
        (
            "reward",
            lambda k: rewards(view.kernel_model, x, k),
            lambda: model.compiled_form.interpreted.reward(record, theta, 2),
        ),
        (
            "observation",
            lambda k: observations(view.kernel_model, x, z, k),
            lambda: model.compiled_form.interpreted.observation(record, theta, 6),
        ),
    )
    for name, compiled, interpreted in cases:
        compiled(10)
        fast = best_of(3, lambda compiled=compiled: compiled(n)) / n
        slow = best_of(3, lambda interpreted=interpreted: [interpreted() for _ in range(500)]) / 500
        table.add_row(f"{name} from a kernel", f"{1 / fast / 1e6:.0f} million/s", f"{slow / fast:,.0f} × interpreted")
    expansions(view.kernel_model, x, out, 10)
    fast = best_of(3, lambda: expansions(view.kernel_model, x, out, n // 4)) / (n // 4)
    table.add_row("outcomes of a state-action", f"{1 / fast / 1e6:.1f} million/s", "T, Z, R, φ under both values")


def plain_sweep(view, graph, rows, values, v, gamma):
    """One sweep in vectorised NumPy, for comparison: every action of RockSample has one next state."""
    q = values.internal[graph.step] + gamma * v[graph.next]
    v[1:] = np.maximum.reduceat(q, graph.first[1:-1])
    return v


def solver(table: Table, name: str) -> None:
    """Building the graph once, solving it cold, and solving it again after an observation."""
    model = pl.make_model(name)
    view = model.compiled_form.kernel_view()
    started = time.perf_counter()
    reachable = build(view, view.root())
    seconds = time.perf_counter() - started
    pairs = reachable.state_actions
    table.add_row(
        f"{name}: build the graph", f"{seconds:.2f} s", f"{pairs / seconds / 1e6:.1f} million state-actions/s"
    )
    root = reachable.find(view.root())
    cold = best_of(3, lambda: ValueIteration(reachable, 0.95, 0.8).solve_at(root, view.table.prior))
    table.add_row(f"{name}: solve cold", f"{1e3 * cold:.1f} ms", f"{pairs / cold / 1e6:.0f} million state-actions/s")
    warm_solver = ValueIteration(reachable, 0.95, 0.8)
    times = []
    for i in range(10):
        warm_solver.reset(view.table.prior)
        b = view.table.prior.copy()
        b[2 * (i % 8) : 2 * (i % 8) + 2] = 0.1, 0.9
        started = time.perf_counter()
        warm_solver.solve_at(root, b)
        times.append(time.perf_counter() - started)
    warm = float(np.median(times))
    table.add_row(f"{name}: solve after a look", f"{1e3 * warm:.1f} ms", f"{cold / warm:.1f} × faster than cold")
    values, v = warm_solver._rows, np.zeros(reachable.states)
    sweep = best_of(3, lambda: plain_sweep(view, reachable.graph, reachable.distinct, values, v, 0.95))
    table.add_row(
        f"{name}: one sweep in NumPy", f"{1e3 * sweep:.1f} ms", f"a whole cold solve is {cold / sweep:.2f} of it"
    )


def search_speed(name: str, **parameters: object) -> tuple[float, float, float]:
    """(simulations, model steps, nodes) per second of UCT in the first decisions of an episode."""
    planner = pl.PomdpLite(pl.make_model(name), solver="uct", **parameters)
    world = pl.ModelWorld(planner.model)
    world.reset(1)
    planner.reset(1)
    planner.decide()
    planner.reset(1)
    simulations = steps = seconds = states = 0.0
    for _ in range(5):
        decision = planner.decide()
        simulations, steps, seconds = (
            simulations + decision.simulations,
            steps + decision.steps,
            seconds + decision.seconds,
        )
        states = decision.states
        outcome = world.step(decision.action)
        planner.advance(decision.action, outcome.y, outcome.o)
    return simulations / seconds, steps / seconds, states


def searches(table: Table) -> None:
    """UCT on every problem, beside pomdp_py's POMCP on RockSample(7,8) where it is installed."""
    ours = 0.0
    for name in (
        "rocksample-7-8",
        "rocksample-11-11",
        "rocksample-15-15",
        "rocksample-20-20",
        "battleship-10-5",
        "battleship-15-7",
    ):
        simulations, steps, _ = search_speed(name, time=0.2)
        ours = ours or simulations
        table.add_row(f"UCT on {name}", f"{simulations:,.0f} simulations/s", f"{steps / 1e6:.2f} million steps/s")
    theirs = pomdp_py_speed()
    if theirs is None:
        table.add_row("pomdp_py's POMCP on RockSample(7,8)", "not installed", "pip install '.[bench]'")
    else:
        table.add_row(
            "pomdp_py's POMCP on RockSample(7,8)", f"{theirs:,.0f} simulations/s", f"ours: {ours / theirs:,.0f} ×"
        )


def pomdp_py_speed() -> float | None:
    """Simulations per second of pomdp_py's POMCP with its Python model of RockSample(7,8), 90 steps deep as ours."""
    try:
        import pomdp_py
        from pomdp_py.problems.rocksample.rocksample_problem import RockSampleProblem, RockType, State
    except ImportError:
        return None
    rocks = {tuple(place): i for i, place in enumerate(pl.make_model("rocksample-7-8").rocks.tolist())}
    chance = np.random.default_rng(1)

    def state() -> State:
        return State((0, 3), tuple(RockType.GOOD if chance.random() < 0.5 else RockType.BAD for _ in range(8)), False)

    belief = pomdp_py.Particles([state() for _ in range(200)])
    problem = RockSampleProblem(7, 8, state(), rocks, belief)
    planner = pomdp_py.POMCP(max_depth=90, discount_factor=0.95, planning_time=3.0, exploration_const=20,
                             rollout_policy=problem.agent.policy_model, num_visits_init=1)  # fmt: skip
    planner.plan(problem.agent)
    return planner.last_num_sims / planner.last_planning_time


def growth(table: Table) -> None:
    """How the cost of a step grows with the number of rocks and with the number of particles."""
    costs = []
    for k in (4, 8, 16, 32):
        simulations, _, _ = search_speed(f"rocksample-10-{k}-1", sims=2000)
        costs.append(f"{k}: {1e6 / simulations:.0f}")
    table.add_row("µs per simulation against rocks, on a 10 × 10 grid", ", ".join(costs), "2^k hidden values")
    costs = []
    for particles in (250, 500, 1000, 2000):
        planner = pl.PomdpLite(pl.make_model("battleship-10-5"), sims=1, particles=particles)
        world = pl.ModelWorld(planner.model)
        world.reset(1)
        planner.reset(1)
        planner.decide()
        started = time.perf_counter()
        for _ in range(10):
            outcome = world.step(a := planner.decide().action)
            planner.advance(a, outcome.y, outcome.o)
        costs.append(f"{particles}: {1e3 * (time.perf_counter() - started) / 10:.0f}")
    table.add_row(
        "ms per step of Battleship(10,5) against particles", ", ".join(costs), "one simulation, belief included"
    )


def budgets(table: Table) -> None:
    """How well a time budget is kept: the longest of twenty decisions."""
    planner_model = pl.make_model("rocksample-11-11")
    kept = []
    for seconds in (0.01, 0.1, 0.5):
        planner = pl.PomdpLite(planner_model, solver="uct", time=seconds)
        planner.reset(1)
        planner.decide()
        longest = max(planner.decide().seconds for _ in range(20 if seconds < 0.5 else 5))
        kept.append(f"{1e3 * seconds:.0f}: {1e3 * longest:.0f}")
    table.add_row("longest decision against budget, ms", ", ".join(kept), "RockSample(11,11)")
    for name in ("pomcp", "pomcp-exact", "despot"):
        kept = []
        for seconds in (0.02, 0.1):
            planner = pl.make_planner(name, pl.make_model("rocksample-7-8"), time=seconds)
            planner.reset(1)
            planner.decide()
            kept.append(f"{1e3 * seconds:.0f}: {1e3 * max(planner.decide().seconds for _ in range(20)):.0f}")
        table.add_row(f"{name}: longest decision against budget, ms", ", ".join(kept), "RockSample(7,8)")


def memory(table: Table) -> None:
    """Peak memory of a run, in a process of its own."""
    for arguments in (["rocksample-11-11", "-n", "2"], ["rocksample-20-20", "-n", "1", "--time", "0.05"]):
        code = PEAK_MEMORY.format(arguments=["run", *arguments, "--json"])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        table.add_row(f"peak memory: run {' '.join(arguments)}", f"{int(done.stdout.split()[-1]) / 1024:.0f} MB", "")


def starts(table: Table) -> None:
    """From the shell to the result: warm, cold, and with a model that was never seen before."""
    with tempfile.TemporaryDirectory() as folder:
        robot = os.path.join(folder, "robot.py")
        run = [sys.executable, "-m", "pomdplite.cli", "run"]

        def seconds(arguments: list[str], cache: str | None) -> float:
            environment = dict(os.environ) if cache is None else {**os.environ, "NUMBA_CACHE_DIR": cache}
            started = time.perf_counter()
            subprocess.run(arguments, check=True, capture_output=True, env=environment)
            return time.perf_counter() - started

        tiger = [*run, "tiger", "--episodes", "10"]
        cold = seconds(tiger, os.path.join(folder, "cache"))
        warm = min(seconds(tiger, os.path.join(folder, "cache")) for _ in range(3))
        with open(robot, "w") as file:
            file.write(NEW_MODEL.format(stamp=time.time()))
        new = seconds([*run, f"{robot}:Robot", "--episodes", "10"], os.path.join(folder, "cache"))
    table.add_row("run tiger -n 10, warm", f"{warm:.2f} s", "nothing compiled")
    table.add_row("a new model like Tiger", f"{new:.2f} s", "its own functions compiled")
    table.add_row("run tiger -n 10, cold", f"{cold:.1f} s", f"everything compiled, {cold / warm:.0f} × warm")


def main() -> None:
    table = Table("what", "measured", "to compare with", title="pomdplite: speed on one core")
    with console.status("measuring model calls"):
        model_calls(table)
    for name in ("rocksample-7-8", "rocksample-11-11"):
        with console.status(f"measuring value iteration on {name}"):
            solver(table, name)
    with console.status("measuring searches (half a minute)"):
        searches(table)
        growth(table)
        budgets(table)
    with console.status("measuring memory"):
        memory(table)
    with console.status("measuring starts (a minute: one of them compiles everything)"):
        starts(table)
    console.print(table)


if __name__ == "__main__":
    main()
