"""Playing an episode and keeping its steps."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from pomdplite import rng
from pomdplite.errors import UsageError
from pomdplite.experiments import Step, run_episode
from pomdplite.experiments.episodes.evaluate import model_of, planner_for
from pomdplite.experiments.episodes.players import interrupts_restored
from pomdplite.model.model import Model
from pomdplite.planners import Planner, accepted
from pomdplite.views.replay.page import Replay
from pomdplite.views.replay.recording import Recording
from pomdplite.worlds import Scenario, World, WorldMaker, make_world


class ReplayInterrupted(KeyboardInterrupt):
    """Ctrl-C during `replay`; the attribute `replay` holds the steps that had been taken by then."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(f"interrupted after {len(replay.recordings[-1].steps)} steps")
        self.replay = replay


def replay(
    problem: str | Model,
    planner: str | Planner | Sequence[str | Planner] = "pomdp-lite",
    seed: int = 0,
    episode: int = 0,
    *,
    world: WorldMaker = "model",
    **parameters: Any,
) -> Replay:
    """Play an episode of a seed, to be shown as a page: `replay("tiger").save("tiger.html")`.

    `planner` is a name, with its parameters as keywords, or a planner object; of several, each plays the same episode,
    with the same hidden value and noise, and those that are given by name take those of the parameters that they have.
    Ctrl-C raises ReplayInterrupted, a KeyboardInterrupt that carries the steps taken so far.
    """
    model = model_of(problem, world)
    if isinstance(planner, (str, Planner)):
        chosen = [planner_for(problem, model, planner, parameters)]
    else:
        taken = [accepted(one, **parameters) if isinstance(one, str) else {} for one in planner]
        if unknown := set(parameters).difference(*taken):
            raise UsageError(f"none of the planners has a parameter {', '.join(sorted(unknown))}.")
        chosen = [planner_for(problem, model, one, own) for one, own in zip(planner, taken, strict=True)]
    recordings: list[Recording] = []
    with make_world(world, model) as place:
        interrupted = not play_all((partial(record, one, place, seed, episode) for one in chosen), recordings)
    title = Scenario(problem if isinstance(problem, str) else problem.name, world).title
    found = Replay(*recordings, title=title, about=episode_text(seed, episode))
    if interrupted:
        raise ReplayInterrupted(found)
    return found


def play_all(episodes: Iterable[Callable[[], Recording]], recordings: list[Recording]) -> bool:
    """Play episodes one after the other, and append their recordings; False if Ctrl-C has ended this early.

    Without a single step to show, Ctrl-C raises KeyboardInterrupt.
    """
    try:
        with interrupts_restored():
            for play in episodes:
                recordings.append(play())
                if recordings[-1].interrupted:
                    return False
    except KeyboardInterrupt:
        if not recordings:
            raise
        return False
    return True


def record(
    planner: Planner, world: World, seed: int, episode: int, on_step: Callable[[Step], None] | None = None, *,
    camera: bool = True,
) -> Recording:  # fmt: skip
    """Play an episode and keep its steps, with the images of the world's camera if there is one.

    Ctrl-C ends the episode early; before its first step it raises KeyboardInterrupt.
    """
    started: list[Recording] = []

    def begin() -> None:
        started.append(Recording(planner, picture=world.picture() if camera else None))

    def take(step: Step) -> None:
        started[0].add_step(step, world.picture() if camera else None)
        if on_step is not None:
            on_step(step)

    try:
        with interrupts_restored():
            result = run_episode(planner, world, rng.checked_seed(seed), episode, take, begin)
    except KeyboardInterrupt:
        if not (started and started[0].steps):
            raise
        started[0].interrupted = True
    else:
        started[0].success, started[0].notes = result.success, result.notes
    return started[0]


def episode_text(seed: int, episode: int) -> str:
    """Which episode a replay shows."""
    return f"seed {seed}, episode {episode}"
