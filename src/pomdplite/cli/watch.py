"""`pomdplite watch`: one episode, step by step, as text, pictures or a video."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from pomdplite.cli.choosing import choose_planner
from pomdplite.cli.console import err, out
from pomdplite.cli.options import (
    BetaOption,
    OtherOptions,
    PlannerOption,
    ProblemArgument,
    SeedOption,
    SimsOption,
    SolverOption,
    TimeOption,
    WorldOption,
    given_options,
)
from pomdplite.cli.outputs import PICTURE, VIDEO, check_output
from pomdplite.errors import UsageError
from pomdplite.experiments import Step, run_episode
from pomdplite.views import pictures as drawings
from pomdplite.views import text
from pomdplite.views.mpl import require_matplotlib
from pomdplite.views.terminal import print_in_full
from pomdplite.views.video import Video
from pomdplite.worlds import Scenario, make_world


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
    episode: Annotated[int, typer.Option(min=0, help="number of the episode")] = 0,
    pictures: Annotated[
        Path | None,
        typer.Option(help="folder to write one picture per step to; older pictures of steps are overwritten"),
    ] = None,
    video: Annotated[
        Path | None, typer.Option(help="video file to write, .gif or .mp4; an older video is overwritten")
    ] = None,
) -> None:
    """Play one episode step by step: state, belief, action values, observations."""
    model = Scenario(problem, world).planning_model()
    given = given_options(option, beta=beta, solver=solver, time=time, sims=sims)
    film = Video(video) if video is not None else None
    if video is not None:
        check_output(video, VIDEO)
    if pictures is not None or film is not None:
        require_matplotlib()
    place = make_world(world, model)
    chosen, plan = choose_planner(planner, model, given)
    with err.status(f"preparing {chosen.title} for {problem}"):
        chosen.prepare()
    if plan is not None:
        out.print(f"[dim]auto: {escape(plan.facts.line)}[/dim]", highlight=False, soft_wrap=True)
    if pictures is not None:
        try:
            pictures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write pictures to {pictures}: {error.strerror}.") from None
        for old in pictures.glob("step-*.png"):
            check_output(old, PICTURE)

    def show_step(step: Step) -> None:
        text.print_step(out, model, step)
        if pictures is not None or film is not None:
            figure = drawings.step_figure(model, step, place.picture())
            if pictures is not None:
                figure.savefig(pictures / f"step-{step.t + 1:03d}.png", dpi=110)
            if film is not None:
                film.add(drawings.pixels(figure))

    with place:
        result = run_episode(chosen, place, seed, episode, show_step)
    out.rule(align="left", title="end" if not result.cut else f"truncated after {result.steps} steps")
    print_in_full(out, text.drawing(model, chosen.state, chosen.belief.marginals()))
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
        out.print(f"video in {film.path}", highlight=False)
