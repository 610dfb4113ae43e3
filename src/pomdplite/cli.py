"""The command line: arguments in, calls out."""

import inspect
import json
import logging
import math
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import pomdplite
from pomdplite.beliefs import initial_belief
from pomdplite.checking import check_model
from pomdplite.commands.bench import bench
from pomdplite.commands.options import (
    ClockOption,
    OtherOptions,
    PlannerOption,
    ProblemArgument,
    SeedOption,
    SimsOption,
    TimeOption,
    WorkersOption,
    WorldOption,
    given_options,
)
from pomdplite.commands.report import report
from pomdplite.commands.tune import tune
from pomdplite.errors import NotConverging, PomdpLiteError, TooLarge, UsageError
from pomdplite.experiments import Episode, Evaluation, Step, evaluate, run_episode
from pomdplite.experiments.evaluate import played_in, standard_error
from pomdplite.mdp.reachable import build
from pomdplite.model import Model
from pomdplite.planners import PLANNERS, Planner, Sarsop, make_planner
from pomdplite.planners.sarsop import Progress as SarsopProgress
from pomdplite.problems import PROBLEMS, make
from pomdplite.views import plots, text
from pomdplite.views.film import Film
from pomdplite.views.text import Comparison
from pomdplite.worlds import WORLDS, make_world, planning_problem

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich",
                  help="Plan when something is hidden but does not change by chance.")  # fmt: skip
out = Console()
err = Console(stderr=True)

_COUNTED_STATES = 300_000  # `show` counts reachable states up to here

BetaOption = Annotated[float | None, typer.Option(help="weight of exploration; left out, the problem's own")]
SolverOption = Annotated[str | None, typer.Option(help="auto (left out), exact, uct or uct-tree")]

app.command()(bench)
app.command()(tune)


@app.command("list")
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


@app.command()
def run(
    problem: ProblemArgument,
    planner: PlannerOption = "pomdp-lite",
    beta: BetaOption = None,
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1)] = 100,
    seed: SeedOption = 0,
    solver: SolverOption = None,
    time: TimeOption = None,
    sims: SimsOption = None,
    clock: ClockOption = "wall",
    option: OtherOptions = None,
    world: WorldOption = "model",
    workers: WorkersOption = 1,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Evaluate a planner on a problem."""
    model = make(planning_problem(problem, world))
    chosen = make_planner(planner, model, **given_options(option, beta=beta, solver=solver, time=time, sims=sims))
    chosen.use_clock(clock)
    result, interrupted = _evaluated(problem, chosen, episodes, seed, workers, world)
    if as_json:
        typer.echo(json.dumps(summary(result)))
    else:
        out.print(text.evaluation_table([result]))
        out.print(f"[dim]prepared in {result.preparation_seconds:.2f} s[/dim]")
    _warn(result, model)
    if interrupted:
        err.print(f"interrupted after {len(result.episodes)} of {episodes} episodes")
        raise typer.Exit(130)


@app.command()
def compare(
    problem: ProblemArgument,
    planners: Annotated[str, typer.Option(help="names, with commas between; the first is what others are compared to")],
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=2)] = 100,
    seed: SeedOption = 0,
    time: TimeOption = None,
    sims: SimsOption = None,
    clock: ClockOption = "wall",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="a parameter of one planner: planner.name=value")
    ] = None,
    world: WorldOption = "model",
    workers: WorkersOption = 1,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Planners side by side on the same episodes, with paired differences."""
    model = make(planning_problem(problem, world))
    names = [name.strip() for name in planners.split(",") if name.strip()]
    chosen = _planners(names, model, option, time, sims)
    results: list[Evaluation] = []
    reasons: dict[str, str] = {}
    interrupted = False
    for planner in chosen:
        planner.use_clock(clock)
        try:
            result, interrupted = _evaluated(problem, planner, episodes, seed, workers, world)
        except KeyboardInterrupt:
            interrupted = True
        except (TooLarge, NotConverging, UsageError) as error:
            reasons[planner.title] = str(error)
            continue
        else:
            results.append(result)
        if interrupted:
            break
    rows = [Comparison(r, _difference(r, results[0]) if r is not results[0] else None) for r in results]
    if as_json:
        compared = [summary(r.evaluation) | {"difference": r.difference} for r in rows]
        typer.echo(json.dumps({"planners": compared, "cannot": reasons}))
    elif rows:
        out.print(text.comparison_table(rows))
    for result in results:
        _warn(result, model, f"{result.planner}: ")
    for name, reason in reasons.items():
        err.print(f"{name}: – {escape(reason)}", highlight=False, soft_wrap=True)
    if interrupted:
        err.print("interrupted; a planner that was not finished has fewer episodes")
        raise typer.Exit(130)
    if not results:
        raise typer.Exit(1)


def _planners(
    names: list[str], model: Model, options: list[str] | None, time: float | None, sims: int | None
) -> list[Planner]:
    """The planners, each with the budget if it takes one and with its own options."""
    if not names:
        raise UsageError("--planners: give at least one name, for example --planners pomdp-lite,pomcp.")
    own: dict[str, list[str]] = {}
    for given in options or ():
        name, dot, rest = given.partition(".")
        if not dot or name not in names:
            raise UsageError(f"--option {given}: give planner.name=value with one of {', '.join(names)}.")
        own.setdefault(name, []).append(rest)
    made = []
    for name in names:
        taken = inspect.signature(PLANNERS[name]).parameters if name in PLANNERS else {}
        budget = {k: v for k, v in (("time", time), ("sims", sims)) if k in taken}
        made.append(make_planner(name, model, **given_options(own.get(name), **budget)))
    return made


def _difference(mine: Evaluation, other: Evaluation) -> tuple[float, float] | None:
    """Paired difference and its standard error; None if one of them was cut short."""
    return mine.difference(other) if len(mine.episodes) == len(other.episodes) else None


def _evaluated(
    problem: str, planner: Planner, episodes: int, seed: int, workers: int, world: str
) -> tuple[Evaluation, bool]:
    """Prepare and evaluate with progress on the screen; whether it was interrupted, with what was finished by then."""
    problem = played_in(problem, world)
    with err.status(f"preparing {planner.title} for {problem}") as status:
        if isinstance(planner, Sarsop):
            planner.progress = lambda p: status.update(f"sarsop for {problem}: {text.solving(p)}")
        planner.prepare()
    finished: list[Episode] = []
    interrupted = False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, auto_refresh=False) as progress:
        task = progress.add_task(problem, total=episodes)

        def on_episode(episode: Episode) -> None:
            finished.append(episode)
            if len(finished) % max(1, episodes // 200) == 0:
                title = f"{problem} {planner.title}  mean {_running(finished)}"
                progress.update(task, completed=len(finished), description=title)
                progress.refresh()

        try:
            evaluate(planner.model, planner, episodes, seed, workers=workers, world=world, on_episode=on_episode)
        except KeyboardInterrupt:
            interrupted = True
        except PomdpLiteError:
            if finished:
                err.print(f"stopped after {len(finished)} episodes: mean {_running(finished)}")
            raise
    if not finished:
        raise KeyboardInterrupt
    finished.sort(key=lambda e: e.index)
    result = Evaluation(problem, planner.title, planner.parameters, seed, tuple(finished), planner.preparation_seconds)
    return result, interrupted


def _warn(result: Evaluation, model: Model, prefix: str = "") -> None:
    for warning in text.warnings(result, model.episode_limit):
        err.print(prefix + warning, highlight=False, soft_wrap=True)


def _running(finished: list[Episode]) -> str:
    """Mean ± standard error so far."""
    returns = np.array([e.discounted for e in finished])
    error = standard_error(returns)
    return f"{returns.mean():.2f}" + (f" ± {error:.2f}" if math.isfinite(error) else "")


def summary(result: Evaluation) -> dict[str, Any]:
    """An evaluation as one JSON object."""

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "problem": result.problem,
        "planner": result.planner,
        "parameters": result.parameters,
        "seed": result.seed,
        "episodes": len(result.episodes),
        "mean": result.mean,
        "stderr": number(result.stderr),
        "ci95": [number(v) for v in result.ci95],
        "steps_mean": result.steps_mean,
        "seconds_per_step": result.seconds_per_step,
        "success_rate": result.success_rate,
        "cut": result.cut,
        "notes": result.notes,
        "preparation_seconds": result.preparation_seconds,
        "version": pomdplite.__version__,
    }


@app.command()
def solve(
    problem: ProblemArgument,
    policy: Annotated[Path, typer.Option(help="the file to write")],
    seconds: Annotated[float, typer.Option(help="how long to solve")] = 60.0,
    precision: Annotated[float, typer.Option(help="stop when the bounds are this close")] = 0.001,
) -> None:
    """Solve a problem offline with SARSOP, show the bounds on the way, and keep the policy in a file."""
    planner = Sarsop(make(problem), seconds=seconds, precision=precision)
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


@app.command()
def show(problem: ProblemArgument) -> None:
    """What a problem is, its sizes, and a drawing of its start."""
    model = make(problem)
    out.print(f"[bold]{escape(problem)}[/bold]  {escape(inspect.getdoc(type(model)) or '')}\n", highlight=False)
    table = Table.grid(padding=(0, 2))
    for symbol, meaning, size in (
        ("|X|", "observed states, reachable", _state_count(model)),
        ("|Θ|", "hidden values", "not listed" if model.hidden.size is None else f"{model.hidden.size:,}"),
        ("|A|", "actions", f"{len(model.actions)}: {_shortened(model.actions)}"),
        ("|O|", "observations", f"{len(model.observations)}: {_shortened(model.observations)}"),
        ("γ", "discount", f"{model.discount:g}"),
        ("β", "the problem's own", "–" if model.beta is None else f"{model.beta:g}"),
        ("", "episode limit", f"{model.episode_limit:,} steps"),
    ):
        table.add_row(symbol, meaning, escape(size))
    out.print(table, highlight=False)
    out.print()
    out.print(text.drawing(model, model.initial_state(), initial_belief(model).marginals()))


def _state_count(model: Model) -> str:
    view = model.kernel_view()
    if not view.listed:
        return "not counted: the hidden values are not listed"
    note = ", with what has become of the hidden value" if model.evolves else ""
    try:
        with err.status("counting reachable states"):
            count = build(view, view.root(), limit=_COUNTED_STATES).states
            return f"{count:,} (all terminal ones counted as one){note}"
    except TooLarge:
        return f"more than {_COUNTED_STATES:,}{note}"


def _shortened(names: Any, most: int = 12) -> str:
    listed = [str(n) for n in names]
    return ", ".join(listed) if len(listed) <= most else ", ".join([*listed[: most - 1], "…", listed[-1]])


@app.command()
def check(problem: ProblemArgument) -> None:
    """Look for mistakes in a model."""
    report = check_model(make(problem))
    out.print(str(report), markup=False, highlight=False, soft_wrap=True)
    if not report.ok:
        raise typer.Exit(1)


@app.command()
def watch(
    problem: ProblemArgument,
    planner: PlannerOption = "pomdp-lite",
    beta: BetaOption = None,
    seed: SeedOption = 0,
    solver: SolverOption = None,
    time: TimeOption = None,
    sims: SimsOption = None,
    option: OtherOptions = None,
    world: WorldOption = "model",
    episode: Annotated[int, typer.Option(min=0, help="which episode of the seed")] = 0,
    pictures: Annotated[Path | None, typer.Option(help="a folder for one picture per step")] = None,
    video: Annotated[Path | None, typer.Option(help="a film to write, .gif or .mp4")] = None,
) -> None:
    """Play one episode step by step: map, belief, why, what was observed."""
    model = make(planning_problem(problem, world))
    chosen = make_planner(planner, model, **given_options(option, beta=beta, solver=solver, time=time, sims=sims))
    film = Film(video) if video is not None else None
    if pictures is not None or film is not None:
        plots.drawn_with()
    place = make_world(world, model)
    with err.status(f"preparing {planner} for {problem}"):
        chosen.prepare()
    if pictures is not None:
        try:
            pictures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write pictures to {pictures}: {error.strerror}.") from None

    def look(step: Step) -> None:
        text.print_step(out, model, step)
        if pictures is not None or film is not None:
            figure = plots.step_figure(model, step, place.picture())
            if pictures is not None:
                figure.savefig(pictures / f"step-{step.t + 1:03d}.png", dpi=110)
            if film is not None:
                film.add(plots.pixels(figure))

    with place:
        result = run_episode(chosen, place, seed, episode, look)
    out.rule(align="left", title="end" if not result.cut else f"cut at {result.steps} steps")
    out.print(text.drawing(model, chosen.state, chosen.belief.marginals()))
    success = "" if result.success is None else f", {'success' if result.success else 'no success'}"
    out.print(
        f"\nreturn {result.discounted:.3f} (undiscounted {result.undiscounted:g}) in {result.steps} steps{success}"
        + (f"; the hidden value is now {escape(place.truth)}" if place.truth else ""),
        highlight=False,
    )
    for note in result.notes:
        out.print(f"[yellow]{escape(note)}[/yellow]", highlight=False)
    if pictures is not None:
        out.print(f"{result.steps} pictures in {pictures}", highlight=False)
    if film is not None:
        film.save()
        out.print(f"film in {film.path}", highlight=False)


app.command()(report)


def _version(value: bool) -> None:
    if value:
        typer.echo(pomdplite.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="and no more")] = False,
) -> None:
    """Plan when something is hidden but does not change by chance."""


# Typer carries its own copy of click, or uses the installed one; either way this is the base of its errors.
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main() -> None:
    """Run the command line: errors in one line, exit code 2 for bad arguments and 1 for a bad model."""
    _say_what_is_compiled()
    signal.signal(signal.SIGTERM, _interrupt)  # a batch system's way of saying Ctrl-C
    code = 0
    try:
        code = app(standalone_mode=False) or 0
    except _ClickException as error:
        _complain(error.format_message())
        code = 2
    except SystemError as error:  # how Ctrl-C comes out of a compiled function
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        _complain("interrupted")
        code = 130
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        code = 130
    except typer.Exit as stop:
        code = stop.exit_code
    except UsageError as error:
        _complain(str(error))
        code = 2
    except PomdpLiteError as error:
        _complain(str(error))
        code = 1
    sys.exit(code)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _complain(message: str) -> None:
    print(f"pomdplite: {' '.join(message.split())}", file=sys.stderr)


def _say_what_is_compiled() -> None:
    """Compiling takes seconds and happens once: say so while it does."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        said = False

        def on_start(self, occurrence: Any) -> None:
            if not self.said:
                err.print("[dim]compiling (the first time only; kept on disk for later runs)[/dim]")
                Listener.said = True

        def on_end(self, occurrence: Any) -> None:
            """Nothing to say."""

    event.register("numba:compile", Listener())
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("pomdplite: %(message)s"))
    logging.getLogger("pomdplite").addHandler(handler)
    logging.getLogger("pomdplite").setLevel(logging.INFO if err.is_terminal else logging.WARNING)


if __name__ == "__main__":
    main()
