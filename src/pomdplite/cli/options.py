"""Arguments that several commands take."""

import json
from typing import Annotated, Any

import typer

from pomdplite.errors import UsageError

ProblemArgument = Annotated[str, typer.Argument(help="a problem's name, or path.py:Model")]
PlannerOption = Annotated[str, typer.Option("--planner", "-p", help="see `pomdplite list`")]
BetaOption = Annotated[float | None, typer.Option(help="weight of exploration; left out, the problem's own")]
SolverOption = Annotated[str | None, typer.Option(help="auto (left out), exact, uct or uct-tree")]
TimeOption = Annotated[float | None, typer.Option(help="seconds of search per step; left out, 0.1")]
SimsOption = Annotated[int | None, typer.Option(help="simulations per step, instead of --time")]
OtherOptions = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="any other parameter of the planner, name=value")
]
ClockOption = Annotated[
    str, typer.Option(help="what seconds mean: wall, or cpu (processor time, for comparing on a shared machine)")
]
WorldOption = Annotated[str, typer.Option(help="what actions are executed in: see `pomdplite list`")]
SeedOption = Annotated[
    int, typer.Option(min=-(2**63), max=2**63 - 1, help="names the hidden values and noise of all episodes")
]
WorkersOption = Annotated[int, typer.Option("--workers", "-w", min=1, help="processes; the result is the same")]


def given_options(others: list[str] | None, **options: Any) -> dict[str, Any]:
    """The options that were given."""
    given = {name: value for name, value in options.items() if value is not None}
    for other in others or ():
        name, _, value = other.partition("=")
        if not name or not value:
            raise UsageError(f"--option {other}: give name=value, for example --option nodes=50000.")
        if name in given:
            raise UsageError(f"{name} is given twice: --option {other}, and {name} = {given[name]}.")
        try:
            given[name] = json.loads(value)
        except json.JSONDecodeError:
            given[name] = value
    return given
