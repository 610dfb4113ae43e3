"""A planner evaluated with progress on the screen: what `run` and `compare` share."""

import math
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import pomdplite
from pomdplite.cli.console import err, running_mean
from pomdplite.errors import PomdpLiteError
from pomdplite.experiments import Episode, Evaluation, evaluate
from pomdplite.experiments.episodes.evaluate import played_in
from pomdplite.model.model import Model
from pomdplite.planners import Planner, Sarsop
from pomdplite.views import text


def evaluated(
    problem: str, planner: Planner, episodes: int, seed: int, workers: int, world: str
) -> tuple[Evaluation, bool]:
    """Prepare and evaluate with progress on the screen; whether it was interrupted, with what was finished by then."""
    problem = played_in(problem, world)
    with err.status(f"preparing {planner.title} for {problem}") as status:
        if isinstance(planner, Sarsop):
            planner.progress = lambda p: status.update(f"sarsop for {problem}: {text.solving(p)}")
        planner.prepare()
    finished: list[Episode] = []
    returns: list[float] = []
    interrupted = False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, auto_refresh=False) as progress:
        task = progress.add_task(problem, total=episodes)

        def on_episode(episode: Episode) -> None:
            finished.append(episode)
            returns.append(episode.discounted)
            if len(finished) % max(1, episodes // 200) == 0:
                title = f"{problem} {planner.title}  mean {running_mean(returns)}"
                progress.update(task, completed=len(finished), description=title)
                progress.refresh()

        try:
            evaluate(planner.model, planner, episodes, seed, workers=workers, world=world, on_episode=on_episode)
        except KeyboardInterrupt:
            interrupted = True
        except PomdpLiteError:
            if finished:
                err.print(f"stopped after {len(finished)} episodes: mean {running_mean(returns)}")
            raise
    if not finished:
        raise KeyboardInterrupt
    finished.sort(key=lambda e: e.index)
    result = Evaluation(problem, planner.title, planner.parameters, seed, tuple(finished), planner.preparation_seconds)
    return result, interrupted


def warn(result: Evaluation, model: Model, prefix: str = "") -> None:
    """What the user should know of an evaluation before trusting it."""
    for warning in text.warnings(result, model.episode_horizon):
        err.print(prefix + warning, highlight=False, soft_wrap=True)


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
