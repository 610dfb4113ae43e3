"""What executes an action for real: the interface between a planner, who plans with a model, and whatever it acts in.

A world speaks the model's language: actions by number, the next observed state as the model's words, observations by
number. The model's own sampling is one world (worlds/model.py); a simulator or a robot is another, and then what
happens need not have been possible in the model.
"""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

from pomdplite.compile.jit import Words
from pomdplite.model.model import Model
from pomdplite.model.records import to_words


class Outcome(NamedTuple):
    """What came of an action, in words and numbers."""

    y: Words  # the next observed state
    o: int  # the observation's number; len(observations) is null
    reward: float
    over: bool


class World(ABC):
    """Episodes, one after the other; the same seed and number give the same episode."""

    is_model: ClassVar[bool] = False  # whether the model's probabilities are the world's own: nothing else can happen
    notes: tuple[str, ...] = ()  # what a person should know of the present episode

    def __init__(self, model: Model) -> None:
        self.model = model

    @abstractmethod
    def reset(self, seed: int, episode: int = 0) -> None:
        """Begin an episode: what is hidden and all noise follow from the seed and the episode's number."""

    @abstractmethod
    def step(self, a: int) -> Outcome:
        """Execute an action."""

    @property
    @abstractmethod
    def x(self) -> Any:
        """The present observed state, a record."""

    @property
    def theta(self) -> Any:
        """The present hidden value as the model has it, which no planner sees; None where it has no such value."""
        return None

    @property
    def truth(self) -> str:
        """What was hidden, for a person to read after the episode; nothing where it cannot be listed."""
        return "" if self.theta is None or not self.model.hidden.components else self.model.hidden.describe(self.theta)

    @property
    def success(self) -> bool | None:
        """Whether the episode succeeded by the world's own measure; None if it does not say."""
        return None

    def outcome(self, y: Any, o: int | str | None, reward: float) -> Outcome:
        """What came of an action, from the next state as record, dictionary or tuple and the observation by name."""
        state = self.model.state_record(y)
        words = to_words(self.model.state.dtype, state)
        return Outcome(
            words,
            self.model.observation_index(o),
            float(reward),
            bool(self.model.compiled_form.interpreted.terminal(state)),
        )

    def constants(self) -> dict[str, str]:
        """What the world is made with, for reports: robot, simulator, sizes."""
        return {}

    def picture(self) -> Any:
        """What a camera sees, [height, width, 3] of bytes; None where there is none."""
        return None

    def close(self) -> None:  # noqa: B027  most worlds hold nothing
        """Give back what the world holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
