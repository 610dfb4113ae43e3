"""What a POMDPX file says: variables, and functions that say how they depend on one another."""

import math
from dataclasses import dataclass, field
from itertools import product

from pomdplite.errors import TooLargeError
from pomdplite.formats.factors import Factor
from pomdplite.formats.numbering import strides
from pomdplite.formats.places import FilePlace

_MOST_ACTIONS = 100_000


@dataclass(frozen=True)
class Variable:
    """An action, an observation, or one part of the state."""

    name: str  # of a state variable: before the step
    values: tuple[str, ...]
    place: FilePlace
    after: str = ""  # of a state variable: its name after the step
    observed: bool = False  # declared fully observed


@dataclass
class Network:
    """A factored POMDP."""

    file: str
    discount: float
    states: list[Variable] = field(default_factory=list)
    observations: list[Variable] = field(default_factory=list)
    actions: list[Variable] = field(default_factory=list)
    initial: dict[str, Factor] = field(default_factory=dict)  # by the variable's name before the step
    transition: dict[str, Factor] = field(default_factory=dict)  # by its name after the step
    sight: dict[str, Factor] = field(default_factory=dict)
    rewards: list[Factor] = field(default_factory=list)

    def action_values(self) -> list[dict[str, int]]:
        """Every combination of values of the action variables."""
        return _combinations(self.actions)

    def action_names(self) -> list[str]:
        """The names of these combinations."""
        return [_named(self.actions, values) for values in self.action_values()]

    def observation_names(self) -> list[str]:
        """The names of all combinations of values of the observation variables."""
        return [_named(self.observations, values) for values in _combinations(self.observations)]

    def state_name(self, variables: list[Variable], values: dict[str, int]) -> str:
        """Values of some state variables as text."""
        if len(variables) == 1:
            return variables[0].values[values[variables[0].name]]
        return " ".join(f"{v.name.removesuffix('_0')}={v.values[values[v.name]]}" for v in variables)

    def sides(self) -> tuple[list[Variable], list[Variable]]:
        """The state variables that are declared observed, and the others."""
        return [v for v in self.states if v.observed], [v for v in self.states if not v.observed]

    def file_sizes(self) -> tuple[int, int]:
        """How many joint values each side has."""
        observed, hidden = (math.prod(len(v.values) for v in side) for side in self.sides())
        return observed, hidden

    def file_strides(self) -> dict[str, int]:
        """What one more of each state variable, by name before the step, adds to the number of its side."""
        return {
            v.name: stride
            for side in self.sides()
            for v, stride in zip(side, strides([len(v.values) for v in side]), strict=True)
        }

    def in_order(self, variables: list[Variable]) -> list[Variable]:
        """State variables so that each comes after those whose next values it depends on."""
        names = {v.after: v for v in self.states}
        done: dict[str, Variable] = {}

        def visit(variable: Variable, above: tuple[str, ...]) -> None:
            if variable.after in above:
                self.transition[variable.after].place.refuse(f"{variable.after} depends on itself")
            for parent in self.transition[variable.after].parents:
                if parent in names and parent not in done:
                    visit(names[parent], (*above, variable.after))
            done.setdefault(variable.after, variable)

        for variable in variables:
            visit(variable, ())
        wanted = {v.after for v in variables}
        return [v for name, v in done.items() if name in wanted]


def _combinations(variables: list[Variable]) -> list[dict[str, int]]:
    count = 1
    for variable in variables:
        count *= len(variable.values)
        if count > _MOST_ACTIONS:
            raise TooLargeError(variable.place.text(
                f"{' × '.join(v.name for v in variables)} have more than {_MOST_ACTIONS:,} combinations of values"
            ))  # fmt: skip
    names = [v.name for v in variables]
    return [dict(zip(names, values, strict=True)) for values in product(*(range(len(v.values)) for v in variables))]


def _named(variables: list[Variable], values: dict[str, int]) -> str:
    return " ".join(v.values[values[v.name]] for v in variables)
