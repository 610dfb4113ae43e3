"""`pomdplite check`: look for mistakes in a model."""

import typer

from pomdplite.checking.model import check_model
from pomdplite.cli.console import out
from pomdplite.cli.options import ProblemArgument
from pomdplite.problems import make_model


def check(problem: ProblemArgument) -> None:
    """Check a model for mistakes."""
    report = check_model(make_model(problem))
    out.print(str(report), markup=False, highlight=False, soft_wrap=True)
    if not report.ok:
        raise typer.Exit(1)
