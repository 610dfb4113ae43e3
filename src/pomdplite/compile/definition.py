"""What a model is made of, apart from how it is run: its functions, layouts and parameters."""

from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.addresses import data_address
from pomdplite.compile.faults import record_words
from pomdplite.compile.jit import Ints, Words
from pomdplite.compile.noise import nodes
from pomdplite.errors import ModelError
from pomdplite.model.actions import Action
from pomdplite.model.functions import FUNCTIONS, Form
from pomdplite.model.readings import NoiseLayout


class Sizes(NamedTuple):
    """Lengths of a model's arrays. They lead its block of parameters, so that compiled code does not depend on them."""

    next_states: int
    observations: int
    summary: int
    actions: int
    components: int


# Behind the sizes, the block holds the addresses of memory that wrappers use.
FAULT = len(Sizes._fields)  # the fault record (faults.py)
NEXT, CHANCE = FAULT + 1, FAULT + 2  # the next states and their probabilities, for a reward that depends on them
SPREAD, READING_SPREAD = FAULT + 3, FAULT + 4  # standard deviations as declared, of the next state and of the reading
NODES, NODE_WEIGHTS = FAULT + 5, FAULT + 6  # random numbers that stand for all, for a reward that depends on them
ACTIONS, ACTION_POINTS = FAULT + 7, FAULT + 8  # of actions with fields: their values, and what says which is nearest
HEADER = FAULT + 9


@dataclass(frozen=True)
class Definition:
    """What compiling needs to know about a model."""

    title: str
    state: np.dtype[Any]
    theta: np.dtype[Any]
    memory: np.dtype[Any]  # what hints remember of the history
    actions: Action | None  # None if they have no fields
    reading: np.dtype[Any] | None  # None if observations are listed
    noise: NoiseLayout  # of steps
    reading_noise: NoiseLayout
    angles: dict[str, tuple[str, ...]]  # by layout, the fields that hold angles
    functions: dict[str, Callable[..., Any]]  # as the user wrote them, by name, in the order of their slots
    extended: frozenset[str]  # the functions that take their optional arguments
    bounds_check: bool  # whether compiled functions check their indices
    sizes: Sizes
    parameters: "Parameters"
    left_out: dict[str, str]  # attributes that are not parameters, and why

    @property
    def layouts(self) -> dict[str, np.dtype[Any]]:
        """The layouts of records by name, as in faults.py."""
        reading = {} if self.reading is None else {"reading": self.reading}
        return {"state": self.state, "hidden": self.theta, "memory": self.memory, **reading}

    @property
    def averaged(self) -> frozenset[str]:
        """The functions that depend on the next state, so that their wrappers take a mean over it."""
        return frozenset(f.name for f in FUNCTIONS if f.optional and f.name in self.extended)

    @property
    def form(self) -> Form:
        """What decides which arguments the functions take."""
        return Form(self.sizes.next_states, self.noise.form, self.reading_noise.form)


@dataclass(frozen=True)
class Parameters:
    """The model's constants: as a named tuple for the user's functions, as a block of words for kernels."""

    values: Any  # the named tuple `m`
    block: Ints  # [word]; the sizes come first
    fault: Words  # the fault record
    scratch: tuple[Any, ...]  # memory whose addresses are in the block
    layout: tuple[tuple[str, str, int], ...]  # name, dtype, dimensions


def parameters(
    constants: dict[str, Any], sizes: Sizes, words_of: Mapping[str, int], noises: tuple[NoiseLayout, NoiseLayout],
    actions: Action | None,
) -> Parameters:  # fmt: skip
    """Lay out the model's numbers and numeric arrays for kernels; anything else is left out.

    words_of: the words of the layouts "state", "hidden" and "memory", and of "reading" if there is one; noises: of
    steps and of readings.
    """
    values: dict[str, Any] = {}
    fault = np.zeros(record_words(words_of), np.uint64)
    scratch = (
        np.zeros((sizes.next_states, words_of["state"]), np.uint64), np.zeros(max(sizes.next_states, noises[0].count)),
        *(np.array(noise.sds) for noise in noises), *nodes(noises[0].count),
        *((np.zeros(0), np.zeros(0)) if actions is None else (actions.records, actions.points)),
    )  # fmt: skip
    words: list[int] = [*sizes, *(data_address(memory) for memory in (fault, *scratch))]
    layout: list[tuple[str, str, int]] = []
    for name, constant in sorted(constants.items()):
        array = _numeric(constant)
        if array is None:
            continue
        if array.dtype.kind == "O" or (
            array.dtype.kind == "u" and array.size and array.max() > 2**63 - 1 and array.ndim == 0
        ):
            raise ModelError(f"the parameter {name} = {constant} does not fit into 64 bits.")
        if array.ndim == 0:
            array = array.astype({"b": np.int64, "f": np.float64}.get(array.dtype.kind, np.int64))
            words.append(int(array.reshape(1).view(np.int64)[0]))
            layout.append((name, "bool" if isinstance(constant, (bool, np.bool_)) else array.dtype.name, 0))
            values[name] = constant
        else:
            array = np.ascontiguousarray(array).copy()
            array.flags.writeable = False
            words += [data_address(array), *array.shape]
            layout.append((name, array.dtype.name, array.ndim))
            values[name] = array
    m = namedtuple("Parameters", list(values))(**values)
    return Parameters(m, np.array(words, np.int64), fault, scratch, tuple(layout))


def _numeric(constant: Any) -> Any:
    if isinstance(constant, (bool, int, float, np.number, np.bool_)):
        return np.asarray(constant)
    if isinstance(constant, (list, tuple, np.ndarray)):
        try:
            array = np.asarray(constant)
        except ValueError:
            return None
        return array if array.dtype.kind in "biuf" and array.ndim > 0 else None
    return None


@dataclass(frozen=True)
class KernelFunctions:
    """Addresses of a model's functions, and what must stay alive for them to be valid."""

    addresses: dict[str, int]
    keep: tuple[Any, ...]
    failures: list[BaseException] = field(default_factory=list)  # what interpreted functions raised, first one first
    key: str | None = None  # a digest of the code; None if it may depend on anything
