"""`pomdplite tune`: find the parameters with which a planner earns most, on held-out episodes."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from pomdplite.cli.console import err, out
from pomdplite.cli.options import (
    ClockOption,
    OtherOptions,
    PlannerOption,
    ProblemArgument,
    SimsOption,
    TimeOption,
    WorkersOption,
    WorldOption,
    given_options,
)
from pomdplite.cli.outputs import PICTURE, check_output
from pomdplite.cli.progress import ProgressDisplay
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments import TuningResult
from pomdplite.experiments.tuning import search
from pomdplite.experiments.tuning.space import parse_parameter
from pomdplite.views import text
from pomdplite.views.mpl import check_format
from pomdplite.views.plots import plot as draw
from pomdplite.views.terminal import print_in_full


def tune(
    problem: ProblemArgument,
    param: Annotated[
        list[str],
        typer.Option("--param", help="what to tune: name=low:high, name=low:high:log or name=choice,choice"),
    ],
    planner: PlannerOption = "pomdp-lite",
    trials: Annotated[int, typer.Option(min=1, help="number of trials, including those in the file")] = search.TRIALS,
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=2, help="episodes per trial")] = search.EPISODES,
    seed: Annotated[int, typer.Option(help="determines the trials and their held-out episodes")] = 0,
    time: TimeOption = None,
    sims: SimsOption = None,
    clock: ClockOption = "wall",
    option: OtherOptions = None,
    world: WorldOption = "model",
    workers: WorkersOption = 1,
    file: Annotated[
        Path | None,
        typer.Option("--out", help="file for the trials, resumed if it exists; default: tune-PROBLEM-PLANNER.db"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="picture to write, or to write anew; default: next to the file")
    ] = None,
) -> None:
    """Tune a planner's parameters on held-out episodes; can be interrupted and resumed."""
    path = file or search.default_file(problem, planner, world)
    picture = plot or path.with_suffix(".png")
    if picture.absolute() == path.absolute():
        raise UsageError(f"{picture} cannot be both the picture and the file; give --out or --plot another name.")
    check_output(picture, PICTURE)
    check_format(picture)
    display = ProgressDisplay(lines=True)
    try:
        with display.bars:
            result = search.tune(
                problem, planner, [parse_parameter(p) for p in param], trials, path, episodes=episodes, seed=seed,
                time=time, sims=sims, clock=clock, options=given_options(option), world=world, workers=workers,
                listener=display,
            )  # fmt: skip
    except KeyboardInterrupt:
        if display.total is None:  # it had not started
            raise
        _stopped("interrupted", path)
        raise typer.Exit(130) from None
    except PomdpLiteError:
        if display.total is not None:
            _stopped("stopped by an error", path)
        raise
    _print(result)
    out.print("line for the [[cells]] of a study:", highlight=False, markup=False)
    out.print(result.line, highlight=False, markup=False, soft_wrap=True)
    _draw(result, picture)


def _print(result: TuningResult) -> None:
    print_in_full(out, text.tuning_table(result))
    for line in text.tuning_summary(result):
        out.print(line, highlight=False, soft_wrap=True, markup=False)


def _draw(result: TuningResult, picture: Path) -> None:
    """Write the picture, if matplotlib is installed."""
    try:
        draw(result).savefig(picture, dpi=110)
    except OSError as error:
        raise UsageError(f"cannot write {picture}: {error.strerror}.") from None
    except PomdpLiteError as error:
        err.print(f"no plot: {error}", highlight=False, soft_wrap=True, markup=False)
    else:
        err.print(f"plot in {picture}", highlight=False, soft_wrap=True, markup=False)


def _stopped(why: str, path: Path) -> None:
    """Print the results so far, and how to resume."""
    result = TuningResult.read(path)
    _print(result)
    settled = sum(t.finished or t.pruned for t in result.trials)
    err.print(f"{why}; trials in {path}: {settled}. To resume:", highlight=False, soft_wrap=True)
    err.print(f"  {shlex.join(['pomdplite', *sys.argv[1:]])}", highlight=False, soft_wrap=True, markup=False)
