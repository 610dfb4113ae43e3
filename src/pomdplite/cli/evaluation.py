"""What `run` and `compare` share: an evaluation with progress on the terminal, and its summary."""

import math
from typing import Any

import pomdplite
from pomdplite.cli.console import err, running_mean
from pomdplite.cli.progress import ProgressDisplay
from pomdplite.errors import PomdpLiteError
from pomdplite.experiments import Evaluation, EvaluationInterrupted, evaluate
from pomdplite.model.model import Model
from pomdplite.planners import Planner
from pomdplite.views import text


def evaluate_with_progress(
    problem: str, planner: Planner, episodes: int, seed: int, workers: int, world: str
) -> tuple[Evaluation, bool]:
    """The evaluation, and whether it was interrupted; it then holds the episodes finished by that time."""
    display = ProgressDisplay(lines=False)
    try:
        with display.bars:
            result = evaluate(problem, planner, episodes, seed, workers=workers, world=world, listener=display)
            return result, False
    except EvaluationInterrupted as interruption:
        return interruption.evaluation, True
    except PomdpLiteError:
        if display.returns:
            err.print(f"stopped after {len(display.returns)} episodes: mean {running_mean(display.returns)}")
        raise


def print_warnings(result: Evaluation, model: Model, prefix: str = "") -> None:
    """What the user should know before trusting an evaluation."""
    for warning in text.warnings(result, model):
        err.print(prefix + warning, highlight=False, soft_wrap=True)


def summary(result: Evaluation) -> dict[str, Any]:
    """An evaluation as a JSON object."""
    return {
        "problem": result.problem,
        "planner": result.planner,
        "parameters": result.parameters,
        "seed": result.seed,
        "episodes": len(result.episodes),
        "mean": result.mean,
        "stderr": finite(result.stderr),
        "ci95": [finite(v) for v in result.ci95],
        "steps_mean": result.steps_mean,
        "seconds_per_step": result.seconds_per_step,
        "success_rate": result.success_rate,
        "cut": result.cut,
        "notes": result.notes,
        "preparation_seconds": result.preparation_seconds,
        "version": pomdplite.__version__,
    }


def finite(value: float) -> float | None:
    """A number as JSON can hold it."""
    return value if math.isfinite(value) else None
