"""`pomdplite compare`: several planners on the same episodes."""

import json
from typing import Annotated

import typer
from rich.markup import escape

from pomdplite.cli.choosing import choose_planners, split_names
from pomdplite.cli.console import err, out
from pomdplite.cli.evaluation import evaluate_with_progress, print_warnings, summary
from pomdplite.cli.options import (
    ClockOption,
    JsonOption,
    ProblemArgument,
    SeedOption,
    SimsOption,
    TimeOption,
    WorkersOption,
    WorldOption,
)
from pomdplite.experiments import Evaluation
from pomdplite.experiments.episodes.players import CANNOT_PLAN
from pomdplite.experiments.statistics import Difference
from pomdplite.views import text
from pomdplite.views.terminal import print_in_full
from pomdplite.views.text import Comparison
from pomdplite.worlds import Scenario


def compare(
    problem: ProblemArgument,
    planners: Annotated[str, typer.Option(help="comma-separated names, or auto; the others are compared to the first")],
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=2, help="number of episodes")] = 100,
    seed: SeedOption = 0,
    time: TimeOption = None,
    sims: SimsOption = None,
    clock: ClockOption = "wall",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="a planner's parameter: planner.name=value; repeatable")
    ] = None,
    world: WorldOption = "model",
    workers: WorkersOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Compare planners on the same episodes, with paired differences."""
    model = Scenario(problem, world).planning_model()
    results: list[Evaluation] = []
    reasons: dict[str, str] = {}
    interrupted = False
    chosen = choose_planners(split_names(planners), model, option, {"time": time, "sims": sims}, clock)
    for planner, _ in chosen:
        try:
            result, interrupted = evaluate_with_progress(problem, planner, episodes, seed, workers, world)
        except KeyboardInterrupt:  # before its first episode
            interrupted = True
        except CANNOT_PLAN as error:
            reasons[planner.title] = str(error)
            continue
        else:
            results.append(result)
        if interrupted:
            break
    rows = [Comparison(r, _difference(r, results[0]) if r is not results[0] else None) for r in results]
    if as_json:
        compared = [summary(e) | {"difference": None if d is None else (d.mean, d.stderr)} for e, d in rows]
        print(json.dumps({"planners": compared, "cannot": reasons}))
    elif rows:
        print_in_full(out, text.comparison_table(rows))
        for _, plan in chosen:
            if plan is not None:
                out.print(f"[dim]auto: {escape(plan.facts.line)}[/dim]", highlight=False, soft_wrap=True)
    for result in results:
        print_warnings(result, model, f"{result.planner}: ")
    for name, reason in reasons.items():
        err.print(f"{name}: – {escape(reason)}", highlight=False, soft_wrap=True)
    if interrupted:
        err.print("interrupted; the last planner may have fewer episodes")
        raise typer.Exit(130)
    if not results:
        raise typer.Exit(1)


def _difference(mine: Evaluation, other: Evaluation) -> Difference | None:
    """The paired difference; None if one of them was interrupted."""
    return mine.difference(other) if len(mine.episodes) == len(other.episodes) else None
