"""The interface between a planner and whatever executes its actions.

A world uses the model's terms: actions and observations by number, states as the model's records. Sampling from the
model is one world (worlds/model.py). A simulator or a robot is another, and then what happens may be impossible
according to the model.
"""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

from pomdplite.model.model import Model
from pomdplite.model.spaces import Distributed, Hidden


class StepResult(NamedTuple):
    """The result of executing an action; `planner.update(a, result.y, result.o)` takes it as it is."""

    y: Any  # the next observed state, a record as `model.state_record` returns it
    o: Any  # the observation's number; len(observations) is the null observation. Or the reading, a record
    reward: float
    terminated: bool  # the episode has ended: y is terminal
    truncated: bool = False  # the world stops the episode early; the step limit is the caller's to enforce


class World(ABC):
    """Plays episodes one after the other; the same seed and episode number give the same episode."""

    is_model: ClassVar[bool] = False  # True if the world samples from the model, so nothing impossible can happen
    notes: tuple[str, ...] = ()  # remarks on the current episode for the user

    def __init__(self, model: Model) -> None:
        self.model = model

    @abstractmethod
    def reset(self, seed: int, episode: int = 0) -> None:
        """Start an episode: the seed and the episode's number determine what is hidden and all noise."""

    @abstractmethod
    def step(self, a: int) -> StepResult:
        """Execute an action."""

    @property
    @abstractmethod
    def x(self) -> Any:
        """The current observed state, a record."""

    @property
    def theta(self) -> Any:
        """The current hidden value in the model's terms, which no planner sees; None if there is no such value."""
        return None

    @property
    def truth(self) -> str:
        """A description of what was hidden, to print after the episode; empty for a Population."""
        hidden = self.model.hidden
        told = isinstance(hidden, (Hidden, Distributed)) and self.theta is not None
        return hidden.describe(self.theta) if told else ""

    @property
    def success(self) -> bool | None:
        """Whether the episode succeeded by the world's own measure; None if it has none."""
        return None

    def step_result(self, y: Any, o: Any, reward: float, *, truncated: bool = False) -> StepResult:
        """Build a result from the next state (record, dictionary or tuple) and the observation.

        An observation is a number or a name; a reading is a record, dictionary or tuple, or a number if it has one
        field.
        """
        state = self.model.state_record(y).copy()
        terminated = bool(self.model.compiled_form.interpreted.terminal(state))
        real = self.model.reading is not None
        seen = self.model.reading_record(o).copy() if real else self.model.observation_index(o)
        return StepResult(state, seen, float(reward), terminated, truncated)

    def constants(self) -> dict[str, str]:
        """What the world consists of, for reports: robot, simulator, dimensions."""
        return {}

    def picture(self) -> Any:
        """A camera image as bytes [height, width, 3]; None if there is no camera."""
        return None

    def close(self) -> None:  # noqa: B027  most worlds hold no resources
        """Release resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
