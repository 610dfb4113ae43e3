"""Many episodes, alone or on worker processes, with the same result to the last byte."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.parallel import play
from pomdplite.model.model import Model
from pomdplite.planners import make_planner
from pomdplite.planners.base import Planner
from pomdplite.worlds import WorldMaker, planning_model

Z95 = 1.959963984540054  # normal quantile of a 95 % interval


@dataclass(frozen=True)
class Evaluation:
    """Returns over episodes, and what they cost."""

    problem: str
    planner: str
    parameters: dict[str, Any]
    seed: int
    episodes: tuple[Episode, ...]
    preparation_seconds: float

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
        """95 % interval of the mean."""
        return self.mean - Z95 * self.stderr, self.mean + Z95 * self.stderr

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
        """Simulations per step; 0 where the planner does not search."""
        return sum(e.simulations for e in self.episodes) / max(1, sum(e.steps for e in self.episodes))

    @property
    def success_rate(self) -> float | None:
        """Share of successful episodes, where the problem defines success."""
        known = [e.success for e in self.episodes if e.success is not None]
        return float(np.mean(known)) if known else None

    @property
    def cut(self) -> int:
        """Episodes that the step limit ended."""
        return sum(e.cut for e in self.episodes)

    @property
    def notes(self) -> dict[str, int]:
        """What planners had to say, and in how many episodes; numbers in it are those of the first."""
        heard: dict[str, tuple[str, int]] = {}
        for episode in self.episodes:
            for note in {re.sub(r"[\d.e-]+", "#", n): n for n in reversed(episode.notes)}.items():
                first, count = heard.get(note[0], (note[1], 0))
                heard[note[0]] = (first, count + 1)
        return dict(heard.values())

    def difference(self, other: "Evaluation") -> tuple[float, float]:
        """Mean paired difference of returns to another planner on the same episodes, and its standard error."""
        mine, theirs = ({e.index: e.discounted for e in ev.episodes} for ev in (self, other))
        if self.seed != other.seed or self.problem != other.problem or set(mine) != set(theirs):
            raise UsageError(
                "only evaluations of one problem, with the same seed and episodes, can be compared in pairs."
            )
        gaps = np.array([mine[i] - theirs[i] for i in sorted(mine)])
        return float(gaps.mean()), standard_error(gaps)


def played_in(problem: str, world: WorldMaker) -> str:
    """A problem's name in tables, with the world if it is not the model: results of two worlds are two things."""
    name = world if isinstance(world, str) else getattr(world, "__name__", "a world")
    return problem if name == "model" else f"{problem} in {name}"


def standard_error(values: Floats) -> float:
    """Standard error of the mean."""
    if len(values) < 2:
        return float("inf")
    return float(values.std(ddof=1) / np.sqrt(len(values))) if np.ptp(values) > 0 else 0.0  # no rounding of equals


def evaluate(
    problem: str | Model,
    planner: str | Planner = "pomdp-lite",
    episodes: int = 100,
    seed: int = 0,
    *,
    workers: int = 1,
    world: WorldMaker = "model",
    on_episode: Callable[[Episode], None] | None = None,
    **parameters: Any,
) -> Evaluation:
    """Play episodes 0 … n−1 of a seed. Episode i meets the same hidden value and noise under every planner.

    `planner` is a name, with its parameters as keywords, or a planner object. Episodes are handed to `on_episode`
    as they finish, in any order; the result holds them in order. `world` is what actions are executed in,
    by name or by what makes it from the model; a problem given by name is planned with what was fitted to that world.
    """
    if episodes < 1 or workers < 1:
        raise UsageError(f"episodes and workers must be at least 1, not {episodes} and {workers}.")
    model = planning_model(problem, world) if isinstance(problem, str) else problem
    if not isinstance(model, Model):
        raise UsageError(f"evaluate needs a problem's name or a model object, not {problem!r}.")
    if isinstance(planner, str):
        planner = make_planner(planner, model, **parameters)
    elif not isinstance(planner, Planner):
        raise UsageError(f"evaluate needs a planner's name or a planner object, not {planner!r}.")
    elif parameters:
        raise UsageError(f"parameters {', '.join(parameters)} are for planners given by name.")
    elif planner.model is not model and isinstance(problem, Model):
        raise UsageError("the planner was made for another model object than the one to evaluate on.")
    planner.prepare()
    finished: list[Episode] = []
    for batch in play(planner, seed, range(episodes), min(workers, episodes), world):
        finished += batch
        if on_episode is not None:
            for episode in batch:
                on_episode(episode)
    finished.sort(key=lambda e: e.index)
    name = played_in(problem if isinstance(problem, str) else model.name, world)
    return Evaluation(name, planner.title, planner.parameters, seed, tuple(finished), planner.preparation_seconds)
