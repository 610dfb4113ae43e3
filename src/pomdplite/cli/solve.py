"""`pomdplite solve`: compute or choose a planner offline and save it."""

from pathlib import Path
from typing import Annotated

import typer

from pomdplite.cli.choosing import AUTO, choose_planner
from pomdplite.cli.console import err, out
from pomdplite.cli.options import OtherOptions, ProblemArgument, given_options
from pomdplite.cli.outputs import APPL_POLICY, POLICY, check_output
from pomdplite.errors import UsageError
from pomdplite.model.policy_files import is_policy_file
from pomdplite.planners import Sarsop, accepted
from pomdplite.planners.point_based.solver import SolveProgress
from pomdplite.problems import make_model
from pomdplite.views import text


def solve(
    problem: ProblemArgument,
    policy: Annotated[
        Path,
        typer.Option(
            help="file to write the planner to; an older planner is overwritten. A name that ends in .policy gets "
            "α-vectors for pomdpsim and pomdpeval"
        ),
    ],
    planner: Annotated[
        str, typer.Option("--planner", "-p", help="planner to prepare and save, or auto to have one chosen")
    ] = Sarsop.title,
    time: Annotated[float, typer.Option(help="time limit in seconds")] = 60.0,
    precision: Annotated[float, typer.Option(help="sarsop: stop when the bounds are this close")] = 0.001,
    option: OtherOptions = None,
) -> None:
    """Solve a problem offline, by default with SARSOP, and save the planner with what it has computed."""
    check_output(policy, APPL_POLICY if is_policy_file(policy) else POLICY)
    limits = {"seconds": time} if planner == AUTO else accepted(planner, solve_time=time, precision=precision)
    chosen, plan = choose_planner(planner, make_model(problem), given_options(option, **limits))
    chosen.require_savable(policy)
    if isinstance(chosen, Sarsop) and plan is None:
        chosen.progress = _Reports()
        chosen.prepare()
    else:
        with err.status(f"preparing {chosen.title} for {problem}"):
            chosen.prepare()
    try:
        chosen.save(policy)
    except OSError as error:
        raise UsageError(f"cannot write {policy}: {error.strerror}.") from None
    if plan is not None:
        out.print(str(plan), highlight=False, markup=False, soft_wrap=True)
    if isinstance(chosen, Sarsop):
        low, high = chosen.bounds
        found = f"value in [{low:.4f}, {high:.4f}], {len(chosen.vectors):,} α-vectors"
    else:
        found = "; ".join([chosen.title, *chosen.choices])
    out.print(f"{found}, saved to {policy}", highlight=False, markup=False)
    out.print(f"[dim]pomdplite run {problem} --planner {policy}[/dim]", highlight=False, soft_wrap=True)


class _Reports:
    """Prints the progress of SARSOP, less and less often."""

    next_report = 0.0

    def __call__(self, progress: SolveProgress) -> None:
        if progress.seconds >= self.next_report:
            out.print(text.solving(progress), highlight=False)
            self.next_report = max(1.0, 1.25 * progress.seconds)
