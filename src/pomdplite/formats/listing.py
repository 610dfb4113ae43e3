"""A model as a list of everything that can happen, to be written to a file."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import TooLargeError, UnsuitableError
from pomdplite.formats.file_model import ILLEGAL, NO_OBSERVATION, NONE
from pomdplite.model.actions import Action
from pomdplite.model.model import Model
from pomdplite.model.records import float_fields, to_words
from pomdplite.model.spaces import Component, Hidden

_MOST_ROWS = 2_000_000  # (x, θ, a)
_RESERVED = {"T", "O", "R", "uniform", "identity", "reset", "start", "include", "exclude", "discount", "values",
             "states", "actions", "observations", "reward", "cost", ILLEGAL, NO_OBSERVATION}  # fmt: skip


@dataclass
class ListedStep:
    """What an action does in x, for each value of the component that it depends on."""

    component: int
    after: list[dict[int, float]]  # [value] next states with their probabilities
    reward: Floats  # [value]
    later: Ints  # [value]


@dataclass
class Listing:
    """Everything that can happen in a model; θ is listed whole if the model does not say what depends on what."""

    model: Model
    components: list[Component]
    states: list[str] = field(default_factory=list)
    start: int = 0
    ends: list[bool] = field(default_factory=list)
    steps: dict[tuple[int, int], ListedStep] = field(default_factory=dict)  # of legal actions
    sights: dict[tuple[int, int], tuple[int, Floats]] = field(default_factory=dict)  # component, [value, o], null last

    @cached_property
    def actions(self) -> list[str]:
        """Names of the actions that a file can hold."""
        return distinct_names(self.model.actions)

    @cached_property
    def observations(self) -> list[str]:
        """Names of the observations; the last stands for none, if that can happen."""
        names = distinct_names(self.model.observations)
        silent = not names or any(table[:, -1].any() for _, table in self.sights.values())
        return [*names, NO_OBSERVATION] if silent else names

    def sight(self, y: int, a: int) -> tuple[int, Floats]:
        """Z of (y, a) over `observations`; if a never leads to y, the last observation."""
        component, table = self.sights.get((y, a), (NONE, np.zeros((1, 0))))
        if table.shape[1] == 0:
            table = np.eye(len(self.observations))[-1:]
        return component, table[:, : len(self.observations)]

    @cached_property
    def forbids(self) -> bool:
        """Whether some action is illegal somewhere."""
        return any(
            not end and (x, a) not in self.steps for x, end in enumerate(self.ends) for a in range(len(self.actions))
        )

    @cached_property
    def penalty(self) -> float:
        """A reward so low that no policy with an illegal action earns as much as any without."""
        rewards = np.concatenate([np.zeros(1), *(step.reward for step in self.steps.values())])
        gamma = self.model.discount
        steps = 1 / (1 - gamma) if gamma < 1 else float(self.model.episode_horizon)
        return float(math.floor((rewards.min() - rewards.max()) * steps) - 1)


def listing(model: Model) -> Listing:
    """List a model; UnsuitableError if it has real numbers or hidden values that are not listed."""
    form = model.compiled_form
    if not isinstance(model.hidden, Hidden) or isinstance(model.actions, Action) or model.reading is not None:
        raise UnsuitableError(
            f"{model.name} cannot be written to a file: its hidden values, actions or observations are not listed."
        )
    numbers = float_fields(model.state.dtype)
    if form.definition.noise.count > 0 or numbers:
        raise UnsuitableError(f"{model.name} cannot be written to a file: its states are real numbers.")
    found = Listing(model, list(model.hidden.components) if form.factored else [_joint(model.hidden)])
    _Lister(found).run()
    return found


def _joint(hidden: Hidden) -> Component:
    """All components as one."""
    if len(hidden.components) == 1:
        return hidden.components[0]
    if hidden.size > _MOST_ROWS:
        raise TooLargeError(f"{hidden.size:,} joint hidden values are too many to list.")
    rows = list(product(*(range(len(c)) for c in hidden.components)))
    labels = tuple(" ".join(c.labels[i] for c, i in zip(hidden.components, row, strict=True)) for row in rows)
    prior = [math.prod(float(c.prior[i]) for c, i in zip(hidden.components, row, strict=True)) for row in rows]
    title = "+".join(c.name for c in hidden.components)
    return Component(title, labels, tuple(range(len(rows))), np.array(prior))


class _Lister:
    """Walks through the states of a model."""

    def __init__(self, found: Listing) -> None:
        self.found, self.model = found, found.model
        self.hidden: Any = found.model.hidden
        self.functions = found.model.compiled_form.interpreted
        self.factored = found.model.compiled_form.factored
        self.records: list[Any] = []
        self.numbers: dict[bytes, int] = {}
        self.rows = 0

    def run(self) -> None:
        self._number(self.model.initial_state())
        x = 0
        while x < len(self.records):  # which grows as we go
            self.found.ends.append(bool(self.functions.terminal(self.records[x])))
            for a in range(len(self.model.actions)):
                if not self.found.ends[x] and self.functions.legal(self.records[x], a):
                    self._step(x, a)
            x += 1
        self._sort()

    def _number(self, record: Any) -> int:
        key = to_words(self.model.state.dtype, record).tobytes()
        if key not in self.numbers:
            self.numbers[key] = len(self.records)
            self.records.append(record.copy())
        return self.numbers[key]

    def _theta(self, component: int, value: int) -> Any:
        """θ with a value of a component; the others do not matter."""
        sizes = [len(c) for c in self.hidden.components]
        if not self.factored:
            return self.hidden.record([int(i) for i in np.unravel_index(value, sizes)])
        return self.hidden.record([value if c == component else 0 for c in range(len(sizes))])

    def _value(self, component: int, theta: Any) -> int:
        indices = [0 if i is None else i for i in self.hidden.indices(theta)]
        if self.factored:
            return indices[component]
        return int(np.ravel_multi_index(indices, [len(c) for c in self.hidden.components]))

    def _step(self, x: int, a: int) -> None:
        f, record = self.functions, self.records[x]
        component = int(f.depends(record, a)) if self.factored else 0
        count = 1 if component == NONE else len(self.found.components[component])
        self.rows += count
        if self.rows > _MOST_ROWS:
            raise TooLargeError(f"{self.model.name}: more than {_MOST_ROWS:,} (x, θ, a) are too many for a file.")
        after: list[dict[int, float]] = []
        reward, later = np.zeros(count), np.zeros(count, np.int64)
        for value in range(count):
            theta = self._theta(component, value)
            reward[value] = f.reward(record, theta, a)
            changed = f.evolve(record, theta, a)
            later[value] = 0 if component == NONE else self._value(component, changed)
            after.append({})
            for y, p in f.transition(record, theta, a):
                if p > 0:
                    number = self._number(y)
                    after[-1][number] = after[-1].get(number, 0.0) + p
        self.found.steps[x, a] = ListedStep(component, after, reward, later)
        for y in set().union(*after):
            if (y, a) not in self.found.sights:
                table = [f.observation(self.records[y], self._theta(component, value), a) for value in range(count)]
                self.found.sights[y, a] = component, np.array(table)

    def _sort(self) -> None:
        """Number the states in the order of their fields."""
        found = self.found
        order = sorted(
            range(len(self.records)), key=lambda i: [np.asarray(v).tolist() for v in self.records[i].tolist()]
        )
        new = {old: i for i, old in enumerate(order)}
        found.start, found.ends = new[0], [found.ends[i] for i in order]
        found.states = distinct_names([self._name(self.records[i]) for i in order])
        for step in found.steps.values():
            step.after = [{new[y]: p for y, p in after.items()} for after in step.after]
        found.steps = {
            (new[x], a): step for (x, a), step in sorted(found.steps.items(), key=lambda i: (new[i[0][0]], i[0][1]))
        }
        found.sights = {(new[y], a): sight for (y, a), sight in found.sights.items()}

    def _name(self, record: Any) -> str:
        text = self.model.describe_state(record)
        names = self.model.state.dtype.names or ()
        return text.removeprefix(f"{names[0]}=") if len(names) == 1 else text


def distinct_names(texts: Iterable[str]) -> list[str]:
    """Names that both formats take, made from any texts."""
    found: dict[str, None] = {}
    for text in texts:
        name = re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-") or "x"
        name = name if name[0].isalpha() else f"s{name}"
        while name in found or name in _RESERVED:
            name = f"{name}_{len(found)}"
        found[name] = None
    return list(found)
