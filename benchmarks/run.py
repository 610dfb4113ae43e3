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
from pomdplite import erased
from pomdplite.dynamics import outcomes, room
from pomdplite.jit import kernel
from pomdplite.mdp.reachable import build
from pomdplite.mdp.value_iteration import ValueIteration

console = Console()

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
        erased.transition(model, x, 0, model.theta, i & 1, 1, y, p)
        total += p[0]
    return total


@kernel
def rewards(model, x, repeats):
    total = 0.0
    for i in range(repeats):
        total += erased.reward(model, x, 0, model.theta, i & 1, 2)
    return total


@kernel
def observations(model, x, z, repeats):
    total = 0.0
    for i in range(repeats):
        erased.observation(model, x, 0, model.theta, i & 1, 6, z)
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
    model = pl.make("rocksample-7-8")
    view = model.kernel_view()
    x, n = view.root().reshape(1, -1), 2_000_000
    y, p, z = np.zeros((1, 1), np.uint64), np.zeros(1), np.zeros(3)
    record, theta = model.initial_state(), model.hidden.record([1] * 8)
    out = room(view.erased, 4)
    cases = (
        (
            "transition",
            lambda k: transitions(view.erased, x, y, p, k),
            lambda: model.plain.transition(record, theta, 1),
        ),
        ("reward", lambda k: rewards(view.erased, x, k), lambda: model.plain.reward(record, theta, 2)),
        (
            "observation",
            lambda k: observations(view.erased, x, z, k),
            lambda: model.plain.observation(record, theta, 6),
        ),
    )
    for name, compiled, interpreted in cases:
        compiled(10)
        fast = best_of(3, lambda compiled=compiled: compiled(n)) / n
        slow = best_of(3, lambda interpreted=interpreted: [interpreted() for _ in range(500)]) / 500
        table.add_row(f"{name} from a kernel", f"{1 / fast / 1e6:.0f} million/s", f"{slow / fast:,.0f} × interpreted")
    expansions(view.erased, x, out, 10)
    fast = best_of(3, lambda: expansions(view.erased, x, out, n // 4)) / (n // 4)
    table.add_row("outcomes of a state-action", f"{1 / fast / 1e6:.1f} million/s", "T, Z, R, φ under both values")


def plain_sweep(view, graph, rows, values, v, gamma):
    """One sweep in vectorised NumPy, for comparison: every action of RockSample has one next state."""
    q = values.internal[graph.row] + gamma * v[graph.next]
    v[1:] = np.maximum.reduceat(q, graph.first[1:-1])
    return v


def solver(table: Table, name: str) -> None:
    """Building the graph once, solving it cold, and solving it again after an observation."""
    model = pl.make(name)
    view = model.kernel_view()
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
    sweep = best_of(3, lambda: plain_sweep(view, reachable.graph, reachable.rows, values, v, 0.95))
    table.add_row(
        f"{name}: one sweep in NumPy", f"{1e3 * sweep:.1f} ms", f"a whole cold solve is {cold / sweep:.2f} of it"
    )


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
    with console.status("measuring starts (a minute: one of them compiles everything)"):
        starts(table)
    console.print(table)


if __name__ == "__main__":
    main()
