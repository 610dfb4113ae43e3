"""`pomdplite list`: the problems, planners and worlds that come with the library."""

import inspect
from collections.abc import Mapping

from rich.markup import escape
from rich.table import Table

from pomdplite.cli.choosing import AUTO
from pomdplite.cli.console import out
from pomdplite.planners import PLANNERS
from pomdplite.problems import PROBLEMS
from pomdplite.worlds import WORLDS


def list_() -> None:
    """List problems, planners and worlds."""
    _print("problem", {name: problem.about for name, problem in PROBLEMS.items()})
    out.print()
    planners = {name: (inspect.getdoc(kind) or "").splitlines()[0] for name, kind in PLANNERS.items()}
    _print("planner", planners | {AUTO: "One of these, chosen for the model by a race on simulated episodes."})
    out.print()
    _print("world", {name: world.about for name, world in WORLDS.items()})


def _print(kind: str, descriptions: Mapping[str, str]) -> None:
    table = Table(kind, "description", box=None, padding=(0, 2, 0, 0))
    for name, description in descriptions.items():
        table.add_row(name, escape(description))
    out.print(table)
