"""Arguments and options that several commands share."""

import json
from typing import Annotated, Any

import typer

from pomdplite.errors import UsageError
from pomdplite.planners.beta import AUTO


def _beta(text: str) -> float | str:
    """The value of --beta."""
    try:
        return text if text == AUTO else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor {AUTO}.") from None


ProblemArgument = Annotated[str, typer.Argument(help="problem name, path.py:Model, or a .pomdp or .pomdpx file")]
_PLANNER = (
    "planner name (see `pomdplite list`), auto to have one chosen, or a file that `pomdplite solve` or SARSOP wrote"
)
PlannerOption = Annotated[str, typer.Option("--planner", "-p", help=_PLANNER)]
OptionalPlannerOption = Annotated[
    str | None,
    typer.Option("--planner", "-p", help=f"{_PLANNER}; default: pomdp-lite, or auto for a model of your own"),
]
BetaOption = Annotated[
    Any,
    typer.Option(
        parser=_beta, metavar="NUMBER|auto",
        help="exploration weight, or auto to choose it; default: the problem's own, otherwise auto",
    ),
]  # fmt: skip
SolverOption = Annotated[str | None, typer.Option(help="auto (default), exact, grid, uct or uct-tree")]
TimeOption = Annotated[float | None, typer.Option(help="search time per step in seconds; default: 0.1")]
SimsOption = Annotated[int | None, typer.Option(help="simulations per step, instead of --time")]
OtherOptions = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="another planner parameter, as name=value; repeatable")
]
ClockOption = Annotated[
    str, typer.Option(help="how time is measured: wall (wall-clock time) or cpu (processor time, for shared machines)")
]
WorldOption = Annotated[
    str, typer.Option(help="world in which actions are executed (see `pomdplite list`), or path.py:name")
]
SeedOption = Annotated[
    int, typer.Option(min=-(2**63), max=2**63 - 1, help="determines hidden values and noise of all episodes")
]
EpisodesOption = Annotated[int, typer.Option("--episodes", "-n", min=1, help="number of episodes")]
WorkersOption = Annotated[
    int, typer.Option("--workers", "-w", min=1, help="number of processes; does not change results")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print a single JSON object")]


def given_options(others: list[str] | None, **options: Any) -> dict[str, Any]:
    """The planner parameters given on the command line."""
    given = {name: value for name, value in options.items() if value is not None}
    for other in others or ():
        name, _, value = other.partition("=")
        if not name or not value:
            raise UsageError(f"--option {other}: give name=value, for example --option nodes=50000.")
        if name in given:
            raise UsageError(f"{name} is given twice: --option {other}, and {name} = {given[name]}.")
        try:
            given[name] = json.loads(value)
        except (ValueError, RecursionError):  # not JSON, or numbers and lists of sizes that no planner takes
            given[name] = value
    return given
