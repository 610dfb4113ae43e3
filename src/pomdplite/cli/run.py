"""`pomdplite run`: evaluate a planner on a problem."""

import json

import typer
from rich.markup import escape

from pomdplite.cli.choosing import choose_planner, default_planner
from pomdplite.cli.console import err, out
from pomdplite.cli.evaluation import evaluate_with_progress, print_warnings, summary
from pomdplite.cli.options import (
    BetaOption,
    ClockOption,
    EpisodesOption,
    JsonOption,
    OptionalPlannerOption,
    OtherOptions,
    ProblemArgument,
    SeedOption,
    SimsOption,
    SolverOption,
    TimeOption,
    WorkersOption,
    WorldOption,
    given_options,
)
from pomdplite.experiments.portfolio.standings import tightened
from pomdplite.mdp import memory
from pomdplite.mdp.budget import Deadline
from pomdplite.mdp.yardsticks import Yardsticks, yardsticks
from pomdplite.planners import Planner
from pomdplite.problems import is_own
from pomdplite.views import text
from pomdplite.views.terminal import print_in_full
from pomdplite.worlds import Scenario

_BOUND_SECONDS = 2.0  # for the bound on what can be earned


def run(
    problem: ProblemArgument,
    planner: OptionalPlannerOption = None,
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
    given = given_options(option, beta=beta, solver=solver, time=time, sims=sims)
    chosen, plan = choose_planner(planner or default_planner(is_own(problem), given), model, given, clock)
    result, interrupted = evaluate_with_progress(problem, chosen, episodes, seed, workers, world)
    bounded = world == "model" and not interrupted  # another world may pay more than the model
    if as_json:
        yards = _yardsticks(chosen) if bounded else None
        bound = (
            {"upper_bound": yards.most, "gap": yards.gap(result.mean)} if yards else {"upper_bound": None, "gap": None}
        )
        print(json.dumps(summary(result) | {"choice": plan and plan.facts.line} | bound))
    else:
        print_in_full(out, text.evaluation_table([result]))
        if plan is not None:
            _print_dim(f"auto: {plan.facts.reasons}")
        limit = f"memory limit {memory.text(memory.limit())} ({memory.VARIABLE})"
        _print_dim("; ".join([f"prepared in {result.preparation_seconds:.2f} s", *chosen.choices, limit]))
        if bounded and (yards := _yardsticks(chosen)) is not None:
            _print_dim(yards.text(result.mean, result.stderr))
    print_warnings(result, model)
    if interrupted:
        err.print(f"interrupted after {len(result.episodes)} of {episodes} episodes")
        raise typer.Exit(130)


def _print_dim(line: str) -> None:
    out.print(f"[dim]{escape(line)}[/dim]", highlight=False, soft_wrap=True)


def _yardsticks(planner: Planner) -> Yardsticks | None:
    return tightened(yardsticks(planner.model, deadline=Deadline(_BOUND_SECONDS)), planner)
