"""`--planner` and `--planners`: names of planners, `auto`, or planner files."""

import os
from typing import Any, NamedTuple

from rich.progress import Progress as ProgressBars
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from pomdplite.cli.console import err
from pomdplite.cli.options import given_options
from pomdplite.errors import UsageError, shown
from pomdplite.experiments import Plan, plan
from pomdplite.experiments.portfolio.plan import SECONDS
from pomdplite.model.model import Model
from pomdplite.planners import Planner, accepted, load_planner, make_planner

AUTO = "auto"
_TAKEN = ("seconds", "time", "sims")  # what `auto` lets the user choose


class ChosenPlanner(NamedTuple):
    """A planner, and how `auto` came to choose it."""

    planner: Planner
    plan: Plan | None  # None if the user named the planner


def choose_planner(name: str, model: Model, given: dict[str, Any], clock: str = "wall") -> ChosenPlanner:
    """The planner that the user asks for, with the parameters given."""
    if name == AUTO:
        found = _race(model, given, clock)
        return ChosenPlanner(found.planner, found)
    if "." in name or os.sep in name:  # as no planner's name has
        if given:
            raise UsageError(f"{name} holds a planner with its parameters; {', '.join(given)} cannot be changed.")
        return ChosenPlanner(load_planner(name, model, clock), None)
    planner = make_planner(name, model, **given)
    planner.use_clock(clock)
    return ChosenPlanner(planner, None)


def choose_planners(
    names: list[str], model: Model, options: list[str] | None, given: dict[str, Any], clock: str = "wall"
) -> list[ChosenPlanner]:
    """Several planners, each with its own options (planner.name=value), and with those of the parameters it takes."""
    if not names:
        raise UsageError("--planners: give at least one name, for example --planners pomdp-lite,pomcp.")
    own: dict[str, list[str]] = {}
    for option in options or ():
        name, dot, rest = option.partition(".")
        if not dot or name not in names:
            raise UsageError(f"--option {option}: give planner.name=value for one of {', '.join(names)}.")
        own.setdefault(name, []).append(rest)
    return [
        choose_planner(name, model, given_options(own.get(name), **accepted(name, **given)), clock) for name in names
    ]


def split_names(planners: str) -> list[str]:
    """The names in a comma-separated list."""
    return [name.strip() for name in planners.split(",") if name.strip()]


def default_planner(own: bool, given: dict[str, Any]) -> str:
    """The planner of a user who names none: `auto` for a model of their own, unless other parameters are given."""
    return AUTO if own and set(given) <= set(_TAKEN) else "pomdp-lite"


def _race(model: Model, given: dict[str, Any], clock: str) -> Plan:
    for name, value in given.items():
        if name not in _TAKEN:
            raise UsageError(
                f"--planner {AUTO} chooses a planner together with its parameters, so {name} cannot be given; it takes "
                f"--time, --sims and --option seconds={SECONDS:g}."
            )
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(f"--planner {AUTO}: {name} must be a number, not {shown(value)}.")
    seconds = given.get("seconds", SECONDS)
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("of {task.total:g} s  {task.description}")
    with ProgressBars(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        task = bars.add_task("choosing a planner", total=seconds)

        def report(words: str) -> None:
            bars.update(task, description=f"{words} (Ctrl-C ends it)")

        return plan(model, clock=clock, report=report, **given)
