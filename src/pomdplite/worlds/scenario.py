"""A problem together with the world in which its actions are executed."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from pomdplite.model.model import Model
from pomdplite.problems import is_own, load_maker, make_model, source_digest
from pomdplite.worlds.registry import WorldMaker, make_world, world_entry

_MODEL, _IN = "model", " in "


@dataclass(frozen=True)
class Scenario:
    """What is played: "tiger", or "grasp in jaco" where actions are not executed in the model itself."""

    problem: str  # as `make_model` takes it
    world: WorldMaker = _MODEL
    model: Model | None = field(default=None, compare=False)  # the problem itself, if it was given as an object

    @classmethod
    def parse(cls, label: str) -> Self:
        """The scenario with this label."""
        problem, _, world = label.partition(_IN)
        return cls(problem, world or _MODEL)

    @property
    def label(self) -> str:
        """The name in tables and files: results from two worlds are results of two scenarios."""
        name = self.world if isinstance(self.world, str) else getattr(self.world, "__name__", "a world")
        return self.problem if name == _MODEL else f"{self.problem}{_IN}{name}"

    @property
    def title(self) -> str:
        """The label without the folders of files, for headings."""
        world = Path(self.world).name if isinstance(self.world, str) else self.world
        return replace(self, problem=Path(self.problem).name, world=world).label

    @property
    def planning_problem(self) -> str:
        """The problem to plan with: the same one, with the geometry fitted to the world."""
        if not isinstance(self.world, str):
            return self.problem
        return world_entry(self.world).fitted.get(self.problem, self.problem)

    def planning_model(self) -> Model:
        """The model to plan with; UsageError if the world does not support it."""
        model = make_model(self.planning_problem) if self.model is None else self.model
        if isinstance(self.world, str):
            world_entry(self.world).check(model)
        return model

    def load_files(self) -> None:
        """Load the user's files behind problem and world as they are now."""
        make_model(self.problem)
        if isinstance(self.world, str) and is_own(self.world):
            load_maker(self.world)

    @property
    def source(self) -> str | None:
        """A digest of the user's modules behind problem and world, as they were loaded; None if there are none."""
        named = (self.problem, self.world) if isinstance(self.world, str) else (self.problem,)
        found = [digest for digest in map(source_digest, named) if digest is not None]
        return " ".join(dict.fromkeys(found)) or None

    def absolute(self) -> Self:
        """The same scenario under names that do not depend on the working directory."""
        world = _absolute(self.world) if isinstance(self.world, str) else self.world
        return replace(self, problem=_absolute(self.planning_problem), world=world)

    def constants(self, model: Model) -> dict[str, str]:
        """The constants of the problem's model and its world, for reports. Fails if the world is not installed here."""
        own = getattr(model, "constants", None)  # optional for a model
        found = {"discount": f"{model.discount:g}", "episode limit": f"{model.episode_horizon:,} steps"}
        found |= {} if model.beta is None else {"β": f"{model.beta:g}"}
        found |= own() if callable(own) else {}
        if self.world != _MODEL:
            with make_world(self.world, model) as world:
                found |= world.constants()
        return found


def _absolute(name: str) -> str:
    if not is_own(name):
        return name
    file, colon, rest = name.rpartition(":")
    return f"{Path(file if colon else rest).expanduser().resolve()}{colon}{rest if colon else ''}"
