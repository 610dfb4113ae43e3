"""`pomdplite show`: what a problem is."""

import inspect
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from pomdplite.beliefs import initial_belief
from pomdplite.cli.console import err, out
from pomdplite.cli.options import ProblemArgument
from pomdplite.errors import TooLargeError
from pomdplite.experiments.episodes.players import CANNOT_PLAN
from pomdplite.formats.file_model import FileModel
from pomdplite.mdp import memory
from pomdplite.mdp.budget import DEFAULT_SECONDS, SOLVE_SECONDS
from pomdplite.mdp.reachable import build
from pomdplite.model.actions import Action
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.model import Model
from pomdplite.model.spaces import Distributed
from pomdplite.planners.pomdp_lite import PomdpLite
from pomdplite.problems import make_model
from pomdplite.views import text
from pomdplite.views.terminal import print_in_full

_MAX_COUNTED_STATES = 300_000


def show(problem: ProblemArgument) -> None:
    """Show a problem: description, sizes, and a drawing of its initial state."""
    model = make_model(problem)
    description = escape(inspect.cleandoc(type(model).__doc__ or ""))
    out.print(f"[bold]{escape(problem)}[/bold]  {description}\n", highlight=False)
    table = Table.grid(padding=(0, 2))
    if isinstance(model, FileModel):
        table.add_row("", "found in the file", escape(model.structure))
    for symbol, meaning, size in (
        ("|X|", "reachable observed states", _state_count(model)),
        ("|Θ|", "hidden values", _hidden_count(model)),
        ("|A|", "actions", f"{len(model.actions):,}: {_actions(model)}"),
        ("|O|", "observations", _observations(model)),
        ("γ", "discount", f"{model.discount:g}"),
        ("β", "exploration weight by default", _default_beta(model)),
        ("", "episode limit", f"{model.episode_horizon:,} steps"),
        ("", "default time budget", f"{DEFAULT_SECONDS:g} s per step (--time), {SOLVE_SECONDS:g} s to prepare"),
        ("", "memory limit", f"{memory.text(memory.limit())} ({memory.VARIABLE})"),
    ):
        table.add_row(symbol, meaning, escape(size))
    out.print(table, highlight=False)
    out.print()
    print_in_full(out, text.drawing(model, model.initial_state(), initial_belief(model).marginals()))


def _hidden_count(model: Model) -> str:
    if isinstance(model.hidden, Dirichlet):
        distributions, outcomes = len(model.hidden.components), len(model.hidden.counts)
        several = "s" if distributions > 1 else ""
        return f"unknown probabilities: {distributions:,} distribution{several} with {outcomes:,} outcomes in all"
    if isinstance(model.hidden, Distributed):
        return "; ".join(f"{name} {prior}" for name, prior in model.hidden.priors.items())
    return "not listed" if model.hidden.size is None else f"{model.hidden.size:,}"


def _default_beta(model: Model) -> str:
    planner = PomdpLite(model)
    if planner.beta is None:
        try:
            with err.status("choosing β"):
                planner.prepare()
        except CANNOT_PLAN as error:
            return f"none: {error}"
    return str(planner.chosen_beta)


def _state_count(model: Model) -> str:
    view = model.compiled_form.kernel_view()
    if view.kernel_model.noise.numbers > 0:
        return "not counted: a step leads to any of infinitely many"
    if model.reading is not None:
        return "not counted: observations are readings"
    if not view.listed:
        return "not counted: the hidden values are not listed"
    note = ", including how the hidden value has changed" if model.compiled_form.evolves else ""
    try:
        with err.status("counting reachable states"):
            found = build(view.unobserved(), view.root(), limit=_MAX_COUNTED_STATES)
            if 0 in found.graph.next:  # END
                return f"{found.states:,} (all terminal states counted as one){note}"
            return f"{found.states - 1:,}{note}"
    except TooLargeError:
        return f"more than {_MAX_COUNTED_STATES:,}{note}"


def _actions(model: Model) -> str:
    return model.actions.describe() if isinstance(model.actions, Action) else _shortened(model.actions)


def _observations(model: Model) -> str:
    if model.reading is not None:
        return f"a reading: {', '.join(model.reading.dtype.names or ())}"
    return f"{len(model.observations)}: {_shortened(model.observations)}" if model.observations else "none"


def _shortened(names: Sequence[object], most: int = 12) -> str:
    listed = [str(n) for n in names]
    return ", ".join(listed) if len(listed) <= most else ", ".join([*listed[: most - 1], "…", listed[-1]])
