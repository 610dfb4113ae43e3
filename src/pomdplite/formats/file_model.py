"""The model that a file becomes: T, Z, R and φ as rows of arrays, which compiled functions read.

Each (x, a) depends on one component of θ, or on none. It has one row for each value of that component, with the
possible next states, the reward and the component's next value. Each (y, a) has such rows with the likelihoods of
observations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints
from pomdplite.errors import TooLargeError
from pomdplite.formats.numbering import FileNumbers
from pomdplite.formats.policies import Policies
from pomdplite.model.model import Model
from pomdplite.model.records import record_dtype
from pomdplite.model.spaces import Component, Hidden, State

NONE = -1  # no component
NO_OBSERVATION = "no-observation"  # files cannot say that nothing is observed, so this name says it
ILLEGAL = "illegal-action"  # nor that an action is illegal: it leads to a state of this name
MOST_OUTCOMES = 50_000_000  # (x, θ, a, y) with a probability above 0, and as many (y, θ, a, o)


class HiddenParts(Hidden):
    """Components with values of their own, all in one array: theta.part[i] is the number of component i's value."""

    def __init__(self, *, parts: Sequence[Component]) -> None:
        self.components = list(parts)
        self.places = [("part", i) for i in range(len(parts))]
        self.labels = {}
        self.dtype = record_dtype({"part": (np.int64, (len(parts),))})
        self.words = self.dtype.itemsize // 8


class Rows:
    """Rows of (index, number) pairs, appended in blocks of one row for each value of a component."""

    def __init__(self, what: str) -> None:
        self.what, self.rows, self.pairs = what, 0, 0
        self._first: list[int] = []  # [block] its first row
        self._values: list[Ints] = []
        self._indices: list[Ints] = []
        self._numbers: list[Floats] = []

    def append(self, value: Ints, index: Ints, number: Floats, values: int) -> int:
        """Append a block from triples in any order; return the number of its first row."""
        self._first.append(self.rows)
        self._values.append(value)
        self._indices.append(index)
        self._numbers.append(number)
        first, self.rows, self.pairs = self.rows, self.rows + values, self.pairs + int(np.count_nonzero(number))
        if self.pairs > MOST_OUTCOMES:
            raise TooLargeError(f"the file describes more than {MOST_OUTCOMES:,} {self.what}.")
        return first

    def arrays(self) -> tuple[Ints, Ints, Floats]:
        """[row + 1] where each row begins, and the indices and numbers of all rows."""
        lengths = np.array([len(block) for block in self._numbers], np.int64)
        number = np.concatenate([np.zeros(0), *self._numbers])
        kept = number > 0
        value, index = (np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (self._values, self._indices))
        row, index = (value + np.repeat(np.array(self._first, np.int64), lengths))[kept], index[kept]
        order = np.lexsort((index, row))
        begins = np.append(0, np.cumsum(np.bincount(row, minlength=self.rows)))
        return begins.astype(np.int64), index[order].astype(np.int64), number[kept][order]


@dataclass
class Found:
    """A POMDP-lite as it was found in a file; `add_step` and `add_sight` fill it, state by state."""

    name: str  # of the file
    states: list[str]
    actions: Sequence[str]
    observations: Sequence[str]
    components: list[Component]
    start: int
    discount: float
    summary: str  # how x and θ were found, for people
    numbers: FileNumbers  # of x and θ in the file
    steps: Rows = field(default_factory=lambda: Rows("possible steps (x, θ, a, y)"))
    sights: Rows = field(default_factory=lambda: Rows("possible observations (y, θ, a, o)"))
    gains: list[Floats] = field(default_factory=list)  # as the rows of `steps`
    later: list[Ints] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)  # of the blocks of `steps`

    def __post_init__(self) -> None:
        shape = len(self.states), len(self.actions)
        self.which, self.step_row = np.full(shape, NONE, np.int64), np.full(shape, NONE, np.int64)
        self.seen_which, self.seen_row = np.full(shape, NONE, np.int64), np.full(shape, NONE, np.int64)
        self.allowed = np.ones(shape, bool)

    def values(self, component: int) -> int:
        """The number of values of a component; 1 for none."""
        return 1 if component == NONE else len(self.components[component])

    def add_step(
        self, x: int, a: int, component: int, triples: tuple[Ints, Ints, Floats], gain: Floats, later: Ints
    ) -> None:
        """T as triples (value, y, p), R and φ of (x, a), for each value of a component."""
        self.which[x, a] = component
        self.step_row[x, a] = self.steps.append(*triples, self.values(component))
        self.gains.append(gain)
        self.later.append(later)
        self.lengths.append(len(later))

    def add_steps(self, a: int, triples: tuple[Ints, Ints, Floats], gain: Floats, later: Ints) -> None:
        """The same for all x at once, where everything depends on component 0: one row for each x and value."""
        values, rows = self.values(0), len(self.states) * self.values(0)
        self.which[:, a] = 0
        self.step_row[:, a] = self.steps.append(*triples, rows) + np.arange(0, rows, values)
        self.gains.append(gain)
        self.later.append(later)
        self.lengths += [values] * len(self.states)

    def add_sights(self, a: int, triples: tuple[Ints, Ints, Floats]) -> None:
        """Z of action a for all x at once, as in `add_steps`."""
        values, rows = self.values(0), len(self.states) * self.values(0)
        self.seen_which[:, a] = 0
        self.seen_row[:, a] = self.sights.append(*triples, rows) + np.arange(0, rows, values)

    def add_sight(self, y: int, a: int, component: int, triples: tuple[Ints, Ints, Floats]) -> None:
        """Z of (y, a) as triples (value, o, p), for each value of a component."""
        self.seen_which[y, a] = component
        self.seen_row[y, a] = self.sights.append(*triples, self.values(component))

    def model(self) -> "FileModel":
        """The model, once every step has been added."""
        if ILLEGAL in self.states:
            self._forbid(self.states.index(ILLEGAL))
        later = np.concatenate(self.later)
        lengths = np.array(self.lengths)
        own = np.arange(len(later)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return (FileModel if np.array_equal(later, own) else ChangingFileModel)(self)

    def _forbid(self, end: int) -> None:
        """Make the actions illegal that certainly lead to a state, unless a state is then left without actions."""
        first, after, _ = self.steps.arrays()
        for x in range(len(self.states)):
            legal = [
                row < 0 or not (after[first[row] : first[row + self.values(int(which))]] == end).all()
                for row, which in zip(self.step_row[x], self.which[x], strict=True)
            ]
            if any(legal):
                self.allowed[x] = legal

    def sight_arrays(self) -> tuple[Ints, Ints, Floats, tuple[str, ...]]:
        """The rows of Z, and the names of observations, without the one that stands for no observation."""
        first, seen, chance = self.sights.arrays()
        names = tuple(self.observations)
        if names.count(NO_OBSERVATION) == 1 and (chance[seen == names.index(NO_OBSERVATION)] == 1).all():
            nothing = names.index(NO_OBSERVATION)
            kept = seen != nothing
            first = np.append(0, np.cumsum(kept))[first]
            seen, chance = seen[kept] - (seen[kept] > nothing), chance[kept]
            names = names[:nothing] + names[nothing + 1 :]
        return first, seen, chance, names


class FileModel(Model):
    """A model from a file."""

    def __init__(self, found: Found) -> None:
        self.file, self.structure, self.discount = found.name, found.summary, found.discount
        self.first, self.after, self.chance = found.steps.arrays()  # [row + 1], [outcome] next state, probability
        self.seen_first, self.seen, self.likelihoods, names = found.sight_arrays()
        self.gain, self.later = np.concatenate(found.gains), np.concatenate(found.later)  # [row]
        self.which, self.row = found.which, found.step_row  # [x, a] component, first row
        self.seen_which, self.seen_row = found.seen_which, found.seen_row  # [y, a]
        self.allowed, self.begin = found.allowed, found.start
        # At least two, so that the models of most files share their compiled functions.
        self.next_states = max(2, int(np.diff(self.first).max()))
        self.ends = _ends(found, self.first, self.after, self.gain)
        self.state = State(state=tuple(found.states))
        self.hidden = HiddenParts(parts=found.components)
        self.actions, self.observations = tuple(found.actions), names
        steps = 1 / (1 - self.discount) if self.discount < 1 else self.episode_horizon
        least = min(0.0, float(self.gain.min())) * steps
        self.policy_files = Policies(found.name, found.numbers, self.ends, self.allowed, least)

    @property
    def name(self) -> str:
        """What messages call this model."""
        return self.file

    def describe_state(self, x: Any) -> str:
        """A state by its name in the file."""
        return str(self.state.labels["state"][int(x["state"])])

    def constants(self) -> dict[str, str]:
        """What a report says about the problem."""
        return {"file": self.file, "structure": self.structure}

    def start(self, x: Any) -> None:
        x.state = self.begin

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        component = m.which[x.state, a]
        row = m.row[x.state, a] + (theta.part[component] if component >= 0 else 0)
        for k in range(m.first[row + 1] - m.first[row]):
            y[k].state = m.after[m.first[row] + k]
            p[k] = m.chance[m.first[row] + k]

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        if m.seen_row[y.state, a] >= 0:
            component = m.seen_which[y.state, a]
            row = m.seen_row[y.state, a] + (theta.part[component] if component >= 0 else 0)
            for k in range(m.seen_first[row], m.seen_first[row + 1]):
                z[m.seen[k]] = m.likelihoods[k]

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        component = m.which[x.state, a]
        return m.gain[m.row[x.state, a] + (theta.part[component] if component >= 0 else 0)]

    def depends(m: Any, x: Any, a: int) -> int:
        return m.which[x.state, a]

    def terminal(m: Any, x: Any) -> bool:
        return m.ends[x.state]

    def legal(m: Any, x: Any, a: int) -> bool:
        return m.allowed[x.state, a]


class ChangingFileModel(FileModel):
    """A model from a file, with hidden values that change deterministically."""

    def evolve(m: Any, x: Any, theta: Any, a: int, theta_next: Any) -> None:
        component = m.which[x.state, a]
        if component >= 0:
            theta_next.part[component] = m.later[m.row[x.state, a] + theta.part[component]]


def _ends(found: Found, first: Ints, after: Ints, gain: Floats) -> Flags:
    """The states after which nothing is earned, whatever is done: the largest such set that no step leaves.

    If that includes the initial state, nothing is ever earned; the ends are then the states that no step leaves.
    """
    ends = np.ones(len(found.states), bool)
    x, a = np.nonzero(found.step_row >= 0)
    order = np.argsort(found.step_row[x, a])
    sizes = np.array([*(len(c) for c in found.components), 1])  # the last for no component, -1
    owner = np.repeat(x[order], sizes[found.which[x, a]][order])  # [row] the state
    ends[owner[gain != 0]] = False
    origin = np.repeat(owner, np.diff(first))  # [outcome]
    while True:
        leaves = np.unique(origin[ends[origin] & ~ends[after]])
        if not len(leaves):
            break
        ends[leaves] = False
    if ends[found.start]:
        ends[origin[origin != after]] = False
        ends[found.start] = False
    return ends
