"""Evaluating a planner over many episodes, alone or on worker processes, with bit-identical results."""

import re
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pomdplite import rng
from pomdplite.compile.jit import Floats
from pomdplite.display import ShownInNotebooks
from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.players import LocalPlayers, prepare
from pomdplite.experiments.episodes.progress import ProgressListener
from pomdplite.experiments.statistics import Difference, paired_differences, standard_error, t_interval
from pomdplite.model.model import Model
from pomdplite.planners import make_planner
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import NOT_CLOSED
from pomdplite.worlds import Scenario, WorldMaker


@dataclass(frozen=True)
class Evaluation(ShownInNotebooks):
    """Returns over episodes, and what they cost."""

    cell: Cell
    seed: int
    episodes: tuple[Episode, ...]  # in order of their index; fewer than `cell.episodes` if interrupted
    preparation_seconds: float

    @property
    def problem(self) -> str:
        """The problem, and the world if it is not the model."""
        return self.cell.problem

    @property
    def planner(self) -> str:
        """The planner's name."""
        return self.cell.planner

    @property
    def parameters(self) -> dict[str, Any]:
        """The planner's parameters."""
        return self.cell.parameters

    @property
    def returns(self) -> Floats:
        """The discounted return of each episode."""
        return np.array([e.discounted for e in self.episodes])

    @property
    def mean(self) -> float:
        """Mean discounted return."""
        return float(self.returns.mean())

    @property
    def stderr(self) -> float:
        """Standard error of the mean; infinite for a single episode."""
        return standard_error(self.returns)

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of the mean (Student's t)."""
        return t_interval(self.mean, self.stderr, len(self.episodes))

    @property
    def steps_mean(self) -> float:
        """Mean number of steps."""
        return float(np.mean([e.steps for e in self.episodes]))

    @property
    def seconds_per_step(self) -> float:
        """Planning time per step: deciding and updating the belief."""
        return sum(e.seconds for e in self.episodes) / max(1, sum(e.steps for e in self.episodes))

    @property
    def simulations_per_step(self) -> float:
        """Simulations per step; 0 for planners that do not search."""
        return sum(e.simulations for e in self.episodes) / max(1, sum(e.steps for e in self.episodes))

    @property
    def success_rate(self) -> float | None:
        """Fraction of successful episodes; None if the problem does not define success."""
        known = [e.success for e in self.episodes if e.success is not None]
        return float(np.mean(known)) if known else None

    @property
    def cut(self) -> int:
        """Number of truncated episodes."""
        return sum(e.cut for e in self.episodes)

    @property
    def notes(self) -> dict[str, int]:
        """The episodes' notes, and in how many episodes each occurred; numbers in a note are those of the first."""
        counted: dict[str, tuple[str, int]] = {}
        for episode in self.episodes:
            for pattern, note in {re.sub(r"[\d.e-]+", "#", n): n for n in reversed(episode.notes)}.items():
                first, count = counted.get(pattern, (note, 0))
                counted[pattern] = (first, count + 1)
        return dict(counted.values())

    @property
    def not_closed(self) -> int:
        """Number of episodes in which an optimal planner's search did not close, so that it may have been worse."""
        return sum(any(note.startswith(NOT_CLOSED) for note in e.notes) for e in self.episodes)

    def difference(self, other: "Evaluation") -> Difference:
        """Mean paired difference of returns to another planner on the same episodes."""
        same = {e.index for e in self.episodes} == {e.index for e in other.episodes}
        if self.seed != other.seed or self.problem != other.problem or not same:
            raise UsageError(
                "only evaluations of one problem, with the same seed and episodes, can be compared in pairs."
            )
        return Difference.of(paired_differences(self.episodes, other.episodes))


class EvaluationInterrupted(KeyboardInterrupt):
    """Ctrl-C during `evaluate`; `evaluation` holds the episodes that had finished by then."""

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__(f"interrupted after {len(evaluation.episodes)} of {evaluation.cell.episodes} episodes")
        self.evaluation = evaluation


def evaluate(
    problem: str | Model,
    planner: str | Planner = "pomdp-lite",
    episodes: int = 100,
    seed: int = 0,
    *,
    workers: int = 1,
    world: WorldMaker = "model",
    listener: ProgressListener | None = None,
    **parameters: Any,
) -> Evaluation:
    """Play episodes 0 … n−1 of a seed. Episode i has the same hidden value and noise under every planner.

    `planner` is a name, with its parameters as keywords, or a planner object. `world` is where actions are executed: a
    name, or a callable that makes the world from the model. A problem given by name is planned with the model that was
    fitted to that world. The listener receives episodes as they finish, in any order; the result holds them in order.
    Ctrl-C raises EvaluationInterrupted, a KeyboardInterrupt that carries the episodes finished so far.
    """
    if episodes < 1 or workers < 1:
        raise UsageError(f"episodes and workers must be at least 1, not {episodes} and {workers}.")
    seed = rng.checked_seed(seed)
    chosen = planner_for(problem, model_of(problem, world), planner, parameters)
    scenario = Scenario(problem if isinstance(problem, str) else problem.name, world)
    cell = Cell(scenario, chosen.title, chosen.parameters, episodes)
    listener = listener or ProgressListener()
    prepare(chosen, cell, listener)
    listener.playing(cell, ())
    finished: list[Episode] = []

    def evaluation() -> Evaluation:
        in_order = tuple(sorted(finished, key=lambda e: e.index))
        used = replace(cell, parameters=chosen.parameters)  # with the β that was chosen
        return Evaluation(used, seed, in_order, chosen.preparation_seconds)

    try:
        with closing(LocalPlayers(workers, listener).play(cell, chosen, seed, range(episodes))) as batches:
            for batch in batches:
                finished += batch
                listener.played(cell, batch)
    except KeyboardInterrupt:
        if finished:
            raise EvaluationInterrupted(evaluation()) from None
        raise
    listener.finished(cell)
    return evaluation()


def model_of(problem: str | Model, world: WorldMaker) -> Model:
    """The model to plan with in a world: a problem's by name, fitted to that world, or the given object."""
    if not isinstance(problem, (str, Model)):
        raise UsageError(f"give a problem's name or a model object, not {problem!r}.")
    return Scenario(problem, world).planning_model() if isinstance(problem, str) else problem


def planner_for(problem: str | Model, model: Model, planner: str | Planner, parameters: dict[str, Any]) -> Planner:
    """The planner to play with: made by name, or the given object if it fits the problem."""
    if isinstance(planner, str):
        return make_planner(planner, model, **parameters)
    if not isinstance(planner, Planner):
        raise UsageError(f"give a planner's name or a planner object, not {planner!r}.")
    if parameters:
        raise UsageError(f"parameters are for planners given by name; got {', '.join(parameters)}.")
    if isinstance(problem, Model) and planner.model is not problem:
        raise UsageError("the planner was made for a different model object than the one to play on.")
    if planner.model.name != model.name:
        raise UsageError(f"the planner was made for {planner.model.name}, not for {problem}.")
    return planner
