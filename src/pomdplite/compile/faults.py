"""The fault record: the first thing that a model's functions did wrong, and the arguments with which they did it.

The wrappers around a user's functions (codegen.py, interpreted.py) check what is written and returned. At the first
fault they fill this record; from then on, and for every later fault, they hand the kernel a harmless value instead: no
reward, the same state, no observation. Kernels therefore need no error handling beyond stopping early. Whoever called
the kernel raises an error from the record (model/faults.py).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.model.functions import FUNCTIONS, OUTPUTS, Kind, ModelFunction

SUM_TOLERANCE = 1e-6  # largest deviation of a sum of probabilities from 1

# Words of a fault record.
KIND, SLOT, NUMBER, ARGUMENTS = range(4)


class FaultKind(IntEnum):
    """What went wrong."""

    NONE = 0
    RAISED = 1  # the user's function raised an exception
    NUMBER = 2  # it returned a number that is not finite
    RECORD = 3  # it wrote a number that is not finite into a record
    PROBABILITY = 4  # a probability that is not finite
    NEGATIVE = 5  # a negative probability
    SUM = 6  # probabilities that do not sum to 1
    ACTION = 7  # the number of no action
    COMPONENT = 8  # the number of no component
    # Found by kernels
    NO_ACTION = 9  # no action is legal in a state that is not terminal
    DOMAIN = 10  # evolve gave a value that is not in Θ
    DIFFERS = 11  # two calls that must agree do not
    DENSITY_ZERO = 12  # what a function draws has density 0
    SPREAD = 13  # a standard deviation that is negative or not finite, found by the wrappers


_PROBABILITY, _NEGATIVE, _SUM = (int(k) for k in (FaultKind.PROBABILITY, FaultKind.NEGATIVE, FaultKind.SUM))

_RECORDS = {
    Kind.STATE: "state", Kind.HIDDEN: "hidden", Kind.MOVED_HIDDEN: "hidden", Kind.MEMORY: "memory",
    Kind.UPDATED_MEMORY: "memory", Kind.READING: "reading", Kind.OBSERVATION: "reading",
}  # fmt: skip


class Place(NamedTuple):
    """Where a record keeps one argument of a function."""

    name: str
    kind: Kind
    at: int  # its first word
    words: int
    layout: str | None  # of a record: "state", "hidden", "memory" or "reading"


def places(function: ModelFunction, words: Mapping[str, int]) -> list[Place]:
    """Where the arguments that a function reads are kept, given the words of each layout."""
    found, at = [], ARGUMENTS
    for name, kind in list(function.arguments.items())[1:]:
        if kind in OUTPUTS or kind is Kind.STREAM:
            continue
        layout = _RECORDS.get(kind)
        layout = layout if layout in words else None  # an observation is a number where there are no readings
        size = words[layout] if layout else 1
        found.append(Place(name, kind, at, size, layout))
        at += size
    return found


def record_words(words: Mapping[str, int]) -> int:
    """The size of a record that can keep the arguments of every function."""
    return ARGUMENTS + max(sum(place.words for place in places(f, words)) for f in FUNCTIONS)


class FunctionFault(Exception):
    """What an interpreted function did wrong, other than raising an exception."""

    def __init__(self, kind: FaultKind, number: float) -> None:
        super().__init__(kind, number)
        self.kind, self.number = kind, number


def note(record: Words, kind: FaultKind, slot: int, number: float, given: list[tuple[Place, Any]]) -> None:
    """Fill the record, unless an earlier fault is in it; `given` are the arguments, records as words."""
    if record[KIND] != 0:
        return
    record[KIND], record[SLOT] = kind, slot
    record.view(np.float64)[NUMBER] = number
    for place, value in given:
        if place.layout is not None:
            record[place.at : place.at + place.words] = value
        elif place.kind is Kind.UNIFORM:
            record.view(np.float64)[place.at] = value
        else:
            record.view(np.int64)[place.at] = value


@kernel
def distribution_fault(p: Floats) -> tuple[int, float]:
    """What is wrong with probabilities, and the number at fault; (0, …) if nothing is."""
    total, smallest = 0.0, 0.0
    for i in range(p.shape[0]):
        if not np.isfinite(p[i]):
            return _PROBABILITY, p[i]
        total += p[i]
        smallest = min(smallest, p[i])
    if smallest < 0.0:
        return _NEGATIVE, smallest
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        return _SUM, total
    return 0, 0.0


@kernel
def likelihood_fault(z: Floats) -> tuple[int, float]:
    """The same for P(o | …), null last: all zeros become "no observation"."""
    last = z.shape[0] - 1
    for o in range(last):
        if z[o] != 0.0:
            return distribution_fault(z)
    z[last] = 1.0
    return 0, 0.0
