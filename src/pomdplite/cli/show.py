"""`pomdplite list`, `show` and `check`: what there is, what a problem is, and whether it is right."""

import inspect
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from pomdplite.beliefs import initial_belief
from pomdplite.checking.model import check_model
from pomdplite.cli.console import err, out
from pomdplite.cli.options import ProblemArgument
from pomdplite.errors import TooLargeError
from pomdplite.mdp.reachable import build
from pomdplite.model.model import Model
from pomdplite.planners import PLANNERS
from pomdplite.problems import PROBLEMS, make_model
from pomdplite.views import text
from pomdplite.views.terminal import print_in_full
from pomdplite.worlds import WORLDS

_COUNTED_STATES = 300_000  # `show` counts reachable states up to here


def list_() -> None:
    """Problems and planners."""
    table = Table("problem", "what it is", box=None, padding=(0, 2, 0, 0))
    for name, problem in PROBLEMS.items():
        table.add_row(name, escape(problem.about))
    out.print(table)
    out.print()
    table = Table("planner", "what it is", box=None, padding=(0, 2, 0, 0))
    for name, kind in PLANNERS.items():
        table.add_row(name, escape(inspect.getdoc(kind) or "").splitlines()[0])
    out.print(table)
    out.print()
    table = Table("world", "what it is", box=None, padding=(0, 2, 0, 0))
    for name, world in WORLDS.items():
        table.add_row(name, escape(world.about))
    out.print(table)


def show(problem: ProblemArgument) -> None:
    """What a problem is, its sizes, and a drawing of its start."""
    model = make_model(problem)
    out.print(
        f"[bold]{escape(problem)}[/bold]  {escape(inspect.cleandoc(type(model).__doc__ or ''))}\n", highlight=False
    )
    table = Table.grid(padding=(0, 2))
    for symbol, meaning, size in (
        ("|X|", "observed states, reachable", _state_count(model)),
        ("|Θ|", "hidden values", "not listed" if model.hidden.size is None else f"{model.hidden.size:,}"),
        ("|A|", "actions", f"{len(model.actions)}: {_shortened(model.actions)}"),
        ("|O|", "observations", f"{len(model.observations)}: {_shortened(model.observations)}"),
        ("γ", "discount", f"{model.discount:g}"),
        ("β", "the problem's own", "–" if model.beta is None else f"{model.beta:g}"),
        ("", "episode limit", f"{model.episode_horizon:,} steps"),
    ):
        table.add_row(symbol, meaning, escape(size))
    out.print(table, highlight=False)
    out.print()
    print_in_full(out, text.drawing(model, model.initial_state(), initial_belief(model).marginals()))


def _state_count(model: Model) -> str:
    view = model.compiled_form.kernel_view()
    if not view.listed:
        return "not counted: the hidden values are not listed"
    note = ", with what has become of the hidden value" if model.compiled_form.evolves else ""
    try:
        with err.status("counting reachable states"):
            count = build(view, view.root(), limit=_COUNTED_STATES).states
            return f"{count:,} (all terminal ones counted as one){note}"
    except TooLargeError:
        return f"more than {_COUNTED_STATES:,}{note}"


def _shortened(names: Any, most: int = 12) -> str:
    listed = [str(n) for n in names]
    return ", ".join(listed) if len(listed) <= most else ", ".join([*listed[: most - 1], "…", listed[-1]])


def check(problem: ProblemArgument) -> None:
    """Look for mistakes in a model."""
    report = check_model(make_model(problem))
    out.print(str(report), markup=False, highlight=False, soft_wrap=True)
    if not report.ok:
        raise typer.Exit(1)
