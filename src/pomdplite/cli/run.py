"""`pomdplite run`: a planner on a problem, so many episodes."""

import json
from typing import Annotated

import typer

from pomdplite.cli.console import err, out
from pomdplite.cli.evaluating import evaluated, summary, warn
from pomdplite.cli.options import (
    BetaOption,
    ClockOption,
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
from pomdplite.planners import make_planner
from pomdplite.views import text
from pomdplite.views.terminal import print_in_full
from pomdplite.worlds import planning_model


def run(
    problem: ProblemArgument,
    planner: PlannerOption = "pomdp-lite",
    beta: BetaOption = None,
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1)] = 100,
    seed: SeedOption = 0,
    solver: SolverOption = None,
    time: TimeOption = None,
    sims: SimsOption = None,
    clock: ClockOption = "wall",
    option: OtherOptions = None,
    world: WorldOption = "model",
    workers: WorkersOption = 1,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Evaluate a planner on a problem."""
    model = planning_model(problem, world)
    chosen = make_planner(planner, model, **given_options(option, beta=beta, solver=solver, time=time, sims=sims))
    chosen.use_clock(clock)
    result, interrupted = evaluated(problem, chosen, episodes, seed, workers, world)
    if as_json:
        typer.echo(json.dumps(summary(result)))
    else:
        print_in_full(out, text.evaluation_table([result]))
        out.print(f"[dim]prepared in {result.preparation_seconds:.2f} s[/dim]")
    warn(result, model)
    if interrupted:
        err.print(f"interrupted after {len(result.episodes)} of {episodes} episodes")
        raise typer.Exit(130)
