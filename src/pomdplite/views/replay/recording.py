"""The record of one episode, step by step: of a run in a world, or of a loop of your own."""

from dataclasses import dataclass, field
from typing import Any

from pomdplite.errors import UsageError
from pomdplite.experiments import Step
from pomdplite.planners import Decision, Planner
from pomdplite.views.replay.images import camera_image
from pomdplite.worlds import StepResult


@dataclass
class Recording:
    """The steps of an episode, to be shown by a `Replay`. In a loop of your own:

        planner.reset()
        recording = Recording(planner)
        while not over:
            decision = planner.decide()
            result = world.step(decision.action)  # a StepResult
            planner.update(decision.action, result.y, result.o)
            recording.add(decision, result)

    theta    the hidden value at the start, a record, if it is known: `world.theta`
    picture  a camera image at the start, bytes [height, width, 3], if there is a camera
    """

    planner: Planner
    theta: Any = None
    picture: Any = None
    steps: list[Step] = field(default_factory=list, init=False)
    pictures: list[str | None] = field(default_factory=list, init=False)  # data URIs: at the start, after each step
    success: bool | None = field(default=None, init=False)
    notes: tuple[str, ...] = field(default=(), init=False)
    interrupted: bool = field(default=False, init=False)  # by Ctrl-C

    def __post_init__(self) -> None:
        if not isinstance(self.planner, Planner):
            raise UsageError(f"a Recording needs a planner, not {self.planner!r}.")
        self._before = self.planner.state, self.planner.belief.marginals(), self.theta
        self.pictures.append(_encoded(self.picture))
        self.picture = None

    def add(self, decision: Decision, result: StepResult, *, theta: Any = None, picture: Any = None) -> None:
        """Record a step, after `planner.update`: what was decided, and what came of it.

        theta and picture: the hidden value and the camera image after the step. Without theta, it is the same as
        before.
        """
        x, before, known = self._before
        y, after = self.planner.state, self.planner.belief.marginals()
        theta = known if theta is None else theta
        self._before = y, after, theta
        seen = self.planner.model.observation_name(result.o)
        self.add_step(Step(len(self.steps), x, before, decision, float(result.reward), seen, y, after,
                           result.terminated, result.truncated, known, theta), picture)  # fmt: skip

    def add_step(self, step: Step, picture: Any = None) -> None:
        """Record a step as `run_episode` reports it, with a camera image after it."""
        self.steps.append(step)
        self.pictures.append(_encoded(picture))

    @property
    def returns(self) -> list[float]:
        """The discounted return after each step."""
        total, weight, found = 0.0, 1.0, []
        for step in self.steps:
            total += weight * step.reward
            weight *= self.planner.model.discount
            found.append(total)
        return found

    @property
    def ending(self) -> str:
        """How the episode ended, in words."""
        count = f"{len(self.steps):,} step{'s' if len(self.steps) != 1 else ''}"
        if self.interrupted:
            return f"Interrupted after {count}."
        if self.steps and self.steps[-1].terminated:
            return f"The episode has ended, after {count}."
        return f"Truncated after {count}." if self.steps and self.steps[-1].truncated else f"Stopped after {count}."


def _encoded(picture: Any) -> str | None:
    return None if picture is None else camera_image(picture)
