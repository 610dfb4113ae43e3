"""Measure speed in one run and print one table: model calls, graphs, searches, memory and start-up.

    make bench
    python benchmarks/run.py                # everything, about five minutes
    python benchmarks/run.py graph uct      # some parts: calls, real, graph, uct, actions, memory, starts

Absolute times belong to one machine at one moment. Compare tables from the same machine, or the ratios to plain NumPy
and Python, which are measured in the same run. Every part compiles its kernels before it measures; where that time is
of interest it has its own row.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

import pomdplite as pl
from pomdplite.compile import abi
from pomdplite.mdp.distinct_steps import ALL, allocate_step_values, evaluate_steps
from pomdplite.mdp.outcomes import allocate_outcomes, outcomes
from pomdplite.mdp.reachable import build
from pomdplite.mdp.sampling import simulate
from pomdplite.mdp.value_iteration import ValueIteration

WHAT, MEASURED = 38, 16  # column widths; 23 of 80 columns are left for the comparison

PEAK_MEMORY = """
import re, sys
from pathlib import Path
from pomdplite.cli.main import main
sys.argv[1:] = {arguments!r}
try:
    main()
except SystemExit:  # getrusage would count the memory of the benchmark that started this process
    print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""

# Different in every run, so that its functions are never in the cache.
NEW_MODEL = """
import pomdplite as pl
PRIZE = {stamp}
class Robot(pl.Tiger):
    def reward(m, x, theta, a):
        return -1.0 if a == 0 else PRIZE * (a - 1 != theta.tiger)
"""


def row(what: str, measured: str = "", compared: str = "") -> None:
    """Print one row of the table as soon as it is measured."""
    print(f"{what:<{WHAT}} {measured:>{MEASURED}}  {compared}".rstrip(), flush=True)


def best_of(times: int, function: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several runs."""
    return min(seconds_of(function) for _ in range(times))


def seconds_of(function: Callable[[], object]) -> float:
    """Return the seconds of one run."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


# ---------------------------------------------------------------------- calls


@njit(error_model="numpy", _nrt=False)  # as kernels are, but not cached: a script's functions have no module
def transitions(model, x, y, p, repeats):
    total = 0.0
    for i in range(repeats):
        abi.transition(model, x, 0, model.theta, i & 1, 1, y, p)
        total += p[0]
    return total


@njit(error_model="numpy", _nrt=False)
def rewards(model, x, repeats):
    total = 0.0
    for i in range(repeats):
        total += abi.reward(model, x, 0, model.theta, i & 1, 2)
    return total


@njit(error_model="numpy", _nrt=False)
def observations(model, x, z, repeats):
    total = 0.0
    for i in range(repeats):
        abi.observation(model, x, 0, model.theta, i & 1, 6, z, 0)
        total += z[0]
    return total


@njit(error_model="numpy", _nrt=False)
def expansions(model, x, out, repeats):
    total = 0
    for i in range(repeats):
        _, _, e = outcomes(model, x, 0, 5 + (i & 7), out)
        total += e
    return total


class Cart(pl.Model):
    """A cart whose speed and position have noise, with a sensor for the position."""

    state = pl.State(position=float, speed=float)
    hidden = pl.Hidden(mass=(0.5, 2.0))
    actions = ("left", "wait", "right")
    noise = pl.Gaussian(position=0.01, speed=0.1)
    observations = pl.Reading(position=float, noise=pl.Gaussian(position=0.5))
    discount = 0.95

    def transition(m, x, theta, a, y):
        y.speed = 0.9 * x.speed + (a - 1) / theta.mass
        y.position = x.position + 0.1 * x.speed

    def observation(m, y, theta, a, z):
        z.position = y.position

    def reward(m, x, theta, a):
        return -abs(x.position)


@njit(error_model="numpy", _nrt=False)
def samples(model, x, u, out, repeats):
    total = 0.0
    for i in range(repeats):
        u += 0.6180339887498949
        u -= np.floor(u)
        _, _, reward = simulate(model, x, model.theta[i & 1 : (i & 1) + 1], 2, u, 1.0 - u, out)
        total += reward
    return total


@njit(error_model="numpy", _nrt=False)
def densities(model, x, y, repeats):
    total = 0.0
    for i in range(repeats):
        total += abi.transition_log_density(model, x, 0, model.theta, i & 1, 2, y, 0)
        total += abi.reading_log_density(model, y, 0, model.theta, i & 1, 2)
    return total


def real_numbers() -> None:
    """Steps of a model with noise and readings."""
    kernel_model = (view := Cart().compiled_form.kernel_view()).kernel_model
    x, out, repeats = view.root().reshape(1, -1), allocate_outcomes(kernel_model, 1), 1_000_000
    samples(kernel_model, x, 0.5, out, 10)
    fast = best_of(3, lambda: samples(kernel_model, x, 0.5, out, repeats)) / repeats
    row("steps with noise and readings", f"{1 / fast / 1e6:.1f} million/s", "drawn: T with two numbers, Z and R")
    densities(kernel_model, x, out.y, 10)
    fast = best_of(3, lambda: densities(kernel_model, x, out.y, repeats)) / repeats
    row("their densities", f"{1 / fast / 1e6:.1f} million/s", "of T and Z")


def calls() -> None:
    """Model functions of RockSample(7,8) called from a kernel, compared with the same functions run by Python."""
    model = pl.make_model("rocksample-7-8")
    view, plain = model.compiled_form.kernel_view(), model.compiled_form.interpreted
    kernel_model = view.kernel_model
    x, repeats = view.root().reshape(1, -1), 2_000_000
    y, p, z = np.zeros((1, 1), np.uint64), np.zeros(1), np.zeros(3)
    record, theta = model.initial_state(), model.hidden.record([1] * 8)
    out = allocate_outcomes(kernel_model, 4)
    cases: tuple[tuple[str, Callable[[int], Any], Callable[[], Any]], ...] = (
        ("transition", lambda n: transitions(kernel_model, x, y, p, n), lambda: plain.transition(record, theta, 1)),
        ("reward", lambda n: rewards(kernel_model, x, n), lambda: plain.reward(record, theta, 2)),
        ("observation", lambda n: observations(kernel_model, x, z, n), lambda: plain.observation(record, theta, 6)),
    )
    for name, compiled, interpreted in cases:
        compiled(10)
        fast = best_of(3, lambda compiled=compiled: compiled(repeats)) / repeats
        slow = best_of(3, lambda interpreted=interpreted: [interpreted() for _ in range(500)]) / 500
        row(f"{name} from a kernel", f"{1 / fast / 1e6:.0f} million/s", f"{slow / fast:,.0f} × Python")
    expansions(kernel_model, x, out, 10)
    fast = best_of(3, lambda: expansions(kernel_model, x, out, repeats // 4)) / (repeats // 4)
    row("outcomes of (x, a) under both values", f"{1 / fast / 1e6:.1f} million/s", "T, Z, R and φ")


# ---------------------------------------------------------------------- graph


def graph() -> None:
    """The graph of reachable states: compiling, building, solving from scratch and solving again."""
    row("compile or load graph and solver", f"{seconds_of(_warm_up_graph):.1f} s", "once per process")
    for name in ("rocksample-7-8", "rocksample-11-11"):
        graph_of(name)


def _warm_up_graph() -> None:
    """Compile, on a small map, everything that the rows below call."""
    view = pl.make_model("rocksample-4-4").compiled_form.kernel_view()
    reachable = build(view, view.root())
    solver = ValueIteration(reachable, 0.95, 0.8)
    root, b = reachable.find(view.root()), view.table.prior.copy()
    solver.solve_at(root, b)
    b[:2] = 0.1, 0.9
    solver.solve_at(root, b)


def graph_of(name: str) -> None:
    """Measure one RockSample map of at least eight rocks."""
    view = pl.make_model(name).compiled_form.kernel_view()
    started = time.perf_counter()
    reachable = build(view, view.root())
    seconds = time.perf_counter() - started
    pairs = reachable.state_actions
    row(f"{name}: build", f"{seconds:.2f} s", f"{pairs / seconds / 1e6:.1f} M pairs (x, a)/s")
    root, prior = reachable.find(view.root()), view.table.prior
    cold = best_of(3, lambda: ValueIteration(reachable, 0.95, 0.8).solve_at(root, prior))
    row(f"{name}: solve", f"{1e3 * cold:.1f} ms", f"{pairs / cold / 1e6:.0f} M pairs/s")
    solver, times = ValueIteration(reachable, 0.95, 0.8), []
    for i in range(10):
        solver.reset(prior)
        b = prior.copy()
        b[2 * (i % 8) : 2 * (i % 8) + 2] = 0.1, 0.9
        times.append(seconds_of(lambda b=b: solver.solve_at(root, b)))
    warm = float(np.median(times))
    row(f"{name}: solve after a check", f"{1e3 * warm:.1f} ms", f"{cold / warm:.1f} × faster")
    values, v = allocate_step_values(reachable.distinct), np.zeros(reachable.states)
    evaluate_steps(view.kernel_model, reachable.distinct, prior, 0.8, values, ALL)
    sweep = best_of(3, lambda: _plain_sweep(reachable.graph, values.internal, v, 0.95))
    row(f"{name}: a NumPy sweep", f"{1e3 * sweep:.1f} ms", f"a solve: {cold / sweep:.2f} of it")


def _plain_sweep(graph, internal_rewards, v, gamma):
    """One sweep in vectorised NumPy. Every action of RockSample has one next state."""
    q = internal_rewards[graph.step] + gamma * v[graph.next]
    v[1:] = np.maximum.reduceat(q, graph.first[1:-1])
    return v


# ---------------------------------------------------------------------- uct


def uct() -> None:
    """UCT on every problem, compared with pomdp_py's POMCP; how its cost grows; how well it keeps time budgets."""
    _searches()
    _growth()
    _budgets()


def _search_speed(name: str, **parameters: object) -> tuple[float, float]:
    """Return the simulations and model steps per second of UCT in the first decisions of an episode."""
    planner = pl.PomdpLite(pl.make_model(name), solver="uct", **parameters)
    world = pl.ModelWorld(planner.model)
    world.reset(1)
    planner.reset(1)
    planner.decide()
    planner.reset(1)
    simulations = steps = seconds = 0.0
    for _ in range(5):
        decision = planner.decide()
        simulations += decision.solution.simulations
        steps += decision.solution.steps
        seconds += decision.seconds
        result = world.step(decision.action)
        planner.update(decision.action, result.y, result.o)
    return simulations / seconds, steps / seconds


def _searches() -> None:
    ours = 0.0
    maps = [f"rocksample-{size}" for size in ("7-8", "11-11", "15-15", "20-20")]
    for name in (*maps, "battleship-10-5", "battleship-15-7"):
        simulations, steps = _search_speed(name, time=0.2)
        ours = ours or simulations
        row(f"UCT on {name}", f"{simulations:,.0f} sims/s", f"{steps / 1e6:.2f} million steps/s")
    theirs = _pomdp_py_speed()
    if theirs is None:
        row("pomdp_py's POMCP on RockSample(7,8)", "not installed", "pip install '.[bench]'")
    else:
        row("pomdp_py's POMCP on RockSample(7,8)", f"{theirs:,.0f} sims/s", f"ours: {ours / theirs:,.0f} ×")


def _pomdp_py_speed() -> float | None:
    """Return the simulations per second of pomdp_py's POMCP on its Python model of RockSample(7,8), 90 steps deep."""
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


def _growth() -> None:
    """How the cost of a step grows with the number of rocks and with the number of particles."""
    for rocks in (4, 8, 16, 32):
        simulations, _ = _search_speed(f"rocksample-10-{rocks}-1", sims=2000)
        row(f"simulation, {rocks} rocks on 10 × 10", f"{1e6 / simulations:.0f} µs", f"2^{rocks} hidden values")
    for particles in (250, 500, 1000, 2000):
        planner = pl.PomdpLite(pl.make_model("battleship-10-5"), sims=1, particles=particles)
        world = pl.ModelWorld(planner.model)
        world.reset(1)
        planner.reset(1)
        planner.decide()
        started = time.perf_counter()
        for _ in range(10):
            action = planner.decide().action
            result = world.step(action)
            planner.update(action, result.y, result.o)
        seconds = (time.perf_counter() - started) / 10
        row(f"Battleship(10,5), {particles} particles", f"{1e3 * seconds:.0f} ms/step", "one simulation")


def _budgets() -> None:
    """How well a time budget is kept: the longest of twenty decisions (five of the longest budget)."""
    model = pl.make_model("rocksample-11-11")
    for seconds in (0.01, 0.1, 0.5):
        planner = pl.PomdpLite(model, solver="uct", time=seconds)
        planner.reset(1)
        planner.decide()
        longest = max(planner.decide().seconds for _ in range(20 if seconds < 0.5 else 5))
        row(f"longest decision, {1e3 * seconds:.0f} ms budget", f"{1e3 * longest:.0f} ms", "RockSample(11,11)")
    for name in ("pomcp", "pomcp-exact", "despot"):
        for seconds in (0.02, 0.1):
            planner = pl.make_planner(name, pl.make_model("rocksample-7-8"), time=seconds)
            planner.reset(1)
            planner.decide()
            longest = max(planner.decide().seconds for _ in range(20))
            row(f"{name}: longest, {1e3 * seconds:.0f} ms budget", f"{1e3 * longest:.0f} ms", "RockSample(7,8)")


# ---------------------------------------------------------------------- many actions


class Glide(pl.Model):
    """Three pushes of a glider with unknown drag to a mark at 1; what a force costs in the end is known (`regret`)."""

    state = pl.State(at=float, pushes=int)
    hidden = pl.Hidden(drag=(0.0, 0.2, 0.4, 0.6))
    discount = 1.0
    beta = 0.0

    def __init__(self, forces: int, start: float) -> None:
        self.actions, self.begin = pl.Action(force=(-2.0, 2.0, forces)), start

    def start(self, x):
        x.at = self.begin

    def transition(m, x, theta, a, y):
        y.at = x.at + a.force * (1.0 - theta.drag)
        y.pushes = x.pushes + 1

    def reward(m, x, theta, a):
        rest = x.at + a.force * (1.0 - theta.drag) - 1.0
        return -rest * rest

    def terminal(m, x):
        return x.pushes == 3

    def regret(self, force: float) -> float:
        """What the first force costs more than the best real number, with the belief frozen (Riccati recursion)."""
        push = 1.0 - np.array([0.0, 0.2, 0.4, 0.6])
        m1, m2, w = push.mean(), (push**2).mean(), 0.0
        for _ in range(2):
            w = (1.0 + w) * (1.0 - m1 * m1 / m2)
        return float((1.0 + w) * m2 * (force + m1 / m2 * (self.begin - 1.0)) ** 2)


def actions() -> None:
    """How fast the search is with many actions, and what its decisions cost."""
    for forces in (10, 100, 1000):
        speeds, regrets = [], []
        for start in np.linspace(-0.4, 0.5, 10):
            model = Glide(forces, float(start))
            planner = pl.PomdpLite(model, solver="uct", time=0.1)
            planner.use_clock("cpu")
            planner.reset(1)
            decision = planner.decide()
            speeds.append(decision.solution.simulations / decision.seconds)
            regrets.append(model.regret(model.action_values(decision.action)["force"]))
        row(f"uct, {forces:,} actions: simulations/s", f"{np.mean(speeds) / 1e3:.0f} k")
        row(f"uct, {forces:,} actions: regret in 0.1 s", f"{np.mean(regrets):.4f}", "without a push: 3")


# ---------------------------------------------------------------------- memory and starts


def memory() -> None:
    """Peak memory of a run, in its own process."""
    for arguments in (["rocksample-11-11", "-n", "2"], ["rocksample-20-20", "-n", "1", "--time", "0.05"]):
        code = PEAK_MEMORY.format(arguments=["run", *arguments, "--json"])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        row(f"run {' '.join(arguments)}", f"{int(done.stdout.split()[-1]) / 1024:.0f} MB", "peak memory")


def starts() -> None:
    """From the shell to the result: warm, cold, and with a model that was never compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        robot, cache = os.path.join(folder, "robot.py"), os.path.join(folder, "cache")
        command = [sys.executable, "-m", "pomdplite.cli", "run"]

        def seconds(*arguments: str) -> float:
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            return seconds_of(
                lambda: subprocess.run([*command, *arguments], check=True, capture_output=True, env=environment)
            )

        cold = seconds("tiger", "--episodes", "10")
        warm = min(seconds("tiger", "--episodes", "10") for _ in range(3))
        with open(robot, "w") as file:
            file.write(NEW_MODEL.format(stamp=time.time()))
        new = seconds(f"{robot}:Robot", "--episodes", "10")
    row("run tiger -n 10, warm", f"{warm:.2f} s", "nothing to compile")
    row("run -n 10 with a new model", f"{new:.2f} s", "compiles its functions")
    row("run tiger -n 10, cold", f"{cold:.1f} s", f"compiles all: {cold / warm:.0f} × warm")


PARTS: dict[str, Callable[[], None]] = {
    "calls": calls, "real": real_numbers, "graph": graph, "uct": uct, "actions": actions, "memory": memory,
    "starts": starts,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the speed of pomdplite on one core.")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; all of them by default")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    row("WHAT", "MEASURED", "COMPARED")
    for part in parts:
        row(f"-- {part}")
        PARTS[part]()


if __name__ == "__main__":
    main()
