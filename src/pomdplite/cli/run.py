"""`pomdplite run`: evaluate a planner on a problem."""

import json

import typer
from rich.markup import escape

from pomdplite.cli.console import err, out
from pomdplite.cli.evaluation import evaluate_with_progress, print_warnings, summary
from pomdplite.cli.options import (
    BetaOption,
    ClockOption,
    EpisodesOption,
    JsonOption,
    OtherOptions,
    PlannerOption,
    ProblemArgument,
    SeedOption,
    SimsOption,
    SolverOption,
    TimeOption,
    WorkersOption,
    WorldOption,
    given_options,
)
from pomdplite.mdp import memory
from pomdplite.planners import make_planner
from pomdplite.views import text
from pomdplite.views.terminal import print_in_full
from pomdplite.worlds import Scenario


def run(
    problem: ProblemArgument,
    planner: PlannerOption = "pomdp-lite",
    beta: BetaOption = None,
    episodes: EpisodesOption = 100,
    seed: SeedOption = 0,
    solver: SolverOption = None,
    time: TimeOption = None,
    sims: SimsOption = None,
    clock: ClockOption = "wall",
    option: OtherOptions = None,
    world: WorldOption = "model",
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a planner on a problem."""
    model = Scenario(problem, world).planning_model()
    chosen = make_planner(planner, model, **given_options(option, beta=beta, solver=solver, time=time, sims=sims))
    chosen.use_clock(clock)
    result, interrupted = evaluate_with_progress(problem, chosen, episodes, seed, workers, world)
    if as_json:
        print(json.dumps(summary(result)))
    else:
        print_in_full(out, text.evaluation_table([result]))
        limit = f"memory limit {memory.text(memory.limit())} ({memory.VARIABLE})"
        used = "; ".join([f"prepared in {result.preparation_seconds:.2f} s", *chosen.choices, limit])
        out.print(f"[dim]{escape(used)}[/dim]", highlight=False, soft_wrap=True)
    print_warnings(result, model)
    if interrupted:
        err.print(f"interrupted after {len(result.episodes)} of {episodes} episodes")
        raise typer.Exit(130)
