"""What is evaluated: a planner with its parameters on a problem, for a number of episodes."""

import json
from dataclasses import dataclass
from typing import Any

from pomdplite.worlds import Scenario


@dataclass(frozen=True)
class Cell:
    """One entry of a results table."""

    scenario: Scenario
    planner: str
    parameters: dict[str, Any]  # as make_planner takes them, including the budget
    episodes: int  # how many are wanted

    @property
    def problem(self) -> str:
        """The scenario's label: the problem, and the world if it is not the model ("grasp in jaco")."""
        return self.scenario.label

    @property
    def label(self) -> str:
        """A description for messages: "pomcp on tiger with sims = 100"."""
        parameters = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return f"{self.planner} on {self.problem}" + (f" with {parameters}" if parameters else "")

    @property
    def key(self) -> str:
        """An identifier that is equal only for cells that differ in nothing but the number of episodes."""
        parameters = {name: _number(value) for name, value in self.parameters.items()}
        return json.dumps([self.problem, self.planner, parameters], sort_keys=True, ensure_ascii=False)


def _number(value: Any) -> Any:
    """1 and 1.0 are the same value."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
