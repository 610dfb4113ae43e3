"""`pomdplite watch`: one episode, step by step, as text, pictures, a video or a page."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from pomdplite.cli.choosing import ChosenPlanner, choose_planner, choose_planners, split_names
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
from pomdplite.cli.outputs import PAGE, PICTURE, VIDEO, check_output
from pomdplite.errors import UsageError
from pomdplite.experiments import Step
from pomdplite.views import jinja, text
from pomdplite.views import pictures as drawings
from pomdplite.views.mpl import require_matplotlib
from pomdplite.views.replay.page import Replay
from pomdplite.views.replay.playing import episode_text, play_all, record
from pomdplite.views.replay.recording import Recording
from pomdplite.views.terminal import print_in_full
from pomdplite.views.video import Video
from pomdplite.worlds import Scenario, World, make_world

_INTERRUPTED = 130  # exit code
_DEFAULT = "pomdp-lite"


def watch(
    problem: ProblemArgument,
    planner: PlannerOption = _DEFAULT,
    beta: BetaOption = None,
    seed: SeedOption = 0,
    solver: SolverOption = None,
    time: TimeOption = None,
    sims: SimsOption = None,
    option: OtherOptions = None,
    world: WorldOption = "model",
    episode: Annotated[int, typer.Option(min=0, help="number of the episode")] = 0,
    planners: Annotated[
        str | None,
        typer.Option(
            help="several planners on the same hidden value and noise, as comma-separated names; then --option takes "
            "planner.name=value"
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(help="folder to write one picture per step to; older pictures of steps are overwritten"),
    ] = None,
    video: Annotated[
        Path | None, typer.Option(help="video file to write, .gif or .mp4; an older video is overwritten")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="write a page to step through the episode to this file; an older page is overwritten"),
    ] = None,
) -> None:
    """Play one episode step by step: state, belief, action values, observations."""
    if planners is not None and (planner != _DEFAULT or pictures is not None or video is not None):
        raise UsageError("--planners goes with --html; --planner, --pictures and --video are for a single planner.")
    model = Scenario(problem, world).planning_model()
    parameters = {"beta": beta, "solver": solver, "time": time, "sims": sims}
    film = Video(video) if video is not None else None
    if video is not None:
        check_output(video, VIDEO)
    if html is not None:
        check_output(html, PAGE)
        jinja.require()
    if pictures is not None or film is not None:
        require_matplotlib()
    place = make_world(world, model)
    if planners is None:
        chosen = [choose_planner(planner, model, given_options(option, **parameters))]
    else:
        chosen = choose_planners(split_names(planners), model, option, parameters)
    if pictures is not None:
        _make_folder(pictures)

    def show_step(step: Step) -> None:
        text.print_step(out, model, step)
        if pictures is not None or film is not None:
            figure = drawings.step_figure(model, step, place.picture())
            if pictures is not None:
                figure.savefig(pictures / f"step-{step.t + 1:03d}.png", dpi=110)
            if film is not None:
                film.add(drawings.pixels(figure))

    def play(one: ChosenPlanner) -> Recording:
        _announce(one, problem, several=len(chosen) > 1)
        recording = record(one.planner, place, seed, episode, show_step, camera=html is not None)
        _print_end(recording, place)
        return recording

    recordings: list[Recording] = []
    with place:
        finished = play_all((partial(play, one) for one in chosen), recordings)
    if pictures is not None:
        out.print(f"{len(recordings[0].steps)} pictures in {pictures}", highlight=False)
    if film is not None:
        film.save()
        out.print(f"video in {film.path}", highlight=False)
    if html is not None:
        replay = Replay(*recordings, title=Scenario(problem, world).title, about=episode_text(seed, episode))
        with err.status(f"drawing the steps for {html}"):
            replay.save(html)
        out.print(" ".join(filter(None, (f"page in {html}.", replay.cut))), highlight=False)
    if not finished:
        raise typer.Exit(_INTERRUPTED)


def _announce(chosen: ChosenPlanner, problem: str, *, several: bool) -> None:
    """Prepare a planner, and say what was chosen."""
    with err.status(f"preparing {chosen.planner.title} for {problem}"):
        chosen.planner.prepare()
    if several:
        out.rule(f"[bold]{escape(chosen.planner.title)}[/bold]")
    if chosen.plan is not None:
        out.print(f"[dim]auto: {escape(chosen.plan.facts.line)}[/dim]", highlight=False, soft_wrap=True)


def _make_folder(pictures: Path) -> None:
    try:
        pictures.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write pictures to {pictures}: {error.strerror}.") from None
    for old in pictures.glob("step-*.png"):
        check_output(old, PICTURE)


def _print_end(recording: Recording, place: World) -> None:
    """The state in which the episode ended, and what it earned."""
    last, count = recording.steps[-1], len(recording.steps)
    ended = f"interrupted after {count} steps" if recording.interrupted else f"truncated after {count} steps"
    out.rule(align="left", title="end" if last.terminated else ended)
    print_in_full(out, text.drawing(recording.planner.model, last.y, last.marginals_after))
    success = "" if recording.success is None else f", {'success' if recording.success else 'no success'}"
    earned = sum(step.reward for step in recording.steps)
    out.print(
        f"\nreturn {recording.returns[-1]:.3f} (undiscounted {earned:g}) in {count} steps{success}"
        + (f"; the hidden value is now {escape(place.truth)}" if place.truth else ""),
        highlight=False,
    )
    for note in recording.notes:
        out.print(f"[yellow]{escape(note)}[/yellow]", highlight=False)
