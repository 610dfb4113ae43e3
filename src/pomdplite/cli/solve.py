"""`pomdplite solve`: a policy, offline, into a file."""

from pathlib import Path
from typing import Annotated

import typer

from pomdplite.cli.console import out
from pomdplite.cli.options import ProblemArgument
from pomdplite.errors import UsageError
from pomdplite.planners import Sarsop
from pomdplite.planners.sarsop.solver import SarsopProgress
from pomdplite.problems import make_model
from pomdplite.views import text


def solve(
    problem: ProblemArgument,
    policy: Annotated[Path, typer.Option(help="the file to write")],
    time: Annotated[float, typer.Option(help="seconds to solve")] = 60.0,
    precision: Annotated[float, typer.Option(help="stop when the bounds are this close")] = 0.001,
) -> None:
    """Solve a problem offline with SARSOP, show the bounds on the way, and keep the policy in a file."""
    planner = Sarsop(make_model(problem), solve_time=time, precision=precision)
    if not policy.parent.is_dir():
        raise UsageError(f"cannot write {policy}: there is no folder {policy.parent}.")
    due = 0.0

    def report(progress: SarsopProgress) -> None:
        nonlocal due
        if progress.seconds >= due:
            out.print(text.solving(progress), highlight=False)
            due = max(1.0, 1.25 * progress.seconds)

    planner.progress = report
    planner.prepare()
    try:
        planner.save(policy)
    except OSError as error:
        raise UsageError(f"cannot write {policy}: {error.strerror}.") from None
    low, high = planner.bounds
    out.print(
        f"value in [{low:.4f}, {high:.4f}], {len(planner.vectors):,} α-vectors, kept in {policy}", highlight=False
    )
    out.print(f"[dim]pomdplite run {problem} --planner sarsop -o policy={policy}[/dim]", highlight=False)
