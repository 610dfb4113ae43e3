"""`pomdplite solve`: compute a policy offline and save it."""

from pathlib import Path
from typing import Annotated

import typer

from pomdplite.cli.console import out
from pomdplite.cli.options import ProblemArgument
from pomdplite.cli.outputs import POLICY, check_output
from pomdplite.errors import UsageError
from pomdplite.planners import Sarsop
from pomdplite.planners.point_based.solver import SolveProgress
from pomdplite.problems import make_model
from pomdplite.views import text


def solve(
    problem: ProblemArgument,
    policy: Annotated[Path, typer.Option(help="file to write the policy to; an older policy is overwritten")],
    time: Annotated[float, typer.Option(help="time limit in seconds")] = 60.0,
    precision: Annotated[float, typer.Option(help="stop when the bounds are this close")] = 0.001,
) -> None:
    """Solve a problem offline with SARSOP, print bounds on its value, and save the policy."""
    check_output(policy, POLICY)
    planner = Sarsop(make_model(problem), solve_time=time, precision=precision)
    next_report = 0.0

    def report(progress: SolveProgress) -> None:
        nonlocal next_report
        if progress.seconds >= next_report:
            out.print(text.solving(progress), highlight=False)
            next_report = max(1.0, 1.25 * progress.seconds)

    planner.progress = report
    planner.prepare()
    try:
        planner.save(policy)
    except OSError as error:
        raise UsageError(f"cannot write {policy}: {error.strerror}.") from None
    low, high = planner.bounds
    out.print(
        f"value in [{low:.4f}, {high:.4f}], {len(planner.vectors):,} α-vectors, saved to {policy}", highlight=False
    )
    out.print(f"[dim]pomdplite run {problem} --planner sarsop -o policy={policy}[/dim]", highlight=False)
