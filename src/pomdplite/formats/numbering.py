"""How files number their states, which is what policies of other programs refer to.

APPL numbers two sides apart: the variables that a .pomdpx file declares observed, and the others. On each side the
values count like digits, in the order in which the file declares the variables: the last one changes fastest. obsValue
is the number on the observed side, and an α-vector has one number for each joint value of the other. A .pomdp file
has nothing observed: obsValue is 0, and an α-vector has one number for each state.

What we call x may hold more than APPL's observed side: variables that follow from what is known, and classes of states.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from pomdplite.compile.jit import Ints

IMPOSSIBLE = -1


class FilePlaces(NamedTuple):
    """obsValue, and the place in an α-vector, of each state of a list."""

    groups: int  # values of obsValue
    length: int  # of an α-vector
    group: Sequence[int]  # [state]
    place: Sequence[int]  # [state]


def one_list(count: int) -> FilePlaces:
    """The numbering of a file with one list of so many states, none observed."""
    return FilePlaces(1, count, [0] * count, range(count))


class FileNumbers(Protocol):
    """The same for pairs of x and θ."""

    @property
    def groups(self) -> int:
        """The number of values of obsValue."""

    @property
    def length(self) -> int:
        """The length of an α-vector."""

    def group(self, x: int) -> int:
        """obsValue in x."""

    def places(self, x: int) -> Ints:
        """[joint value of θ] its place in an α-vector; IMPOSSIBLE if θ cannot have that value in x."""


@dataclass(frozen=True)
class ListedNumbers:
    """x and θ were found in a list of states."""

    states: FilePlaces
    table: Ints  # [x, θ] the state, or IMPOSSIBLE

    @property
    def groups(self) -> int:
        """The number of values of obsValue."""
        return self.states.groups

    @property
    def length(self) -> int:
        """The length of an α-vector."""
        return self.states.length

    def group(self, x: int) -> int:
        """obsValue in x."""
        return self.states.group[int(self.table[x].max())]

    def places(self, x: int) -> Ints:
        """[θ] its place in an α-vector."""
        return np.array([self.states.place[s] if s >= 0 else IMPOSSIBLE for s in self.table[x].tolist()], np.int64)


@dataclass(frozen=True)
class FactoredNumbers:
    """x and θ consist of variables of the file, which may have more joint values than a 64-bit integer can count."""

    groups: int
    length: int
    observed: Sequence[int]  # [x] obsValue
    known: Sequence[int]  # [x] what its other variables add to a place
    parts: Sequence[Sequence[int]]  # [component][value] what θ adds

    def group(self, x: int) -> int:
        """obsValue in x."""
        return self.observed[x]

    @cached_property
    def _hidden(self) -> Ints:
        total = np.zeros(1, np.int64)
        for part in self.parts:
            total = np.add.outer(total, np.array(part, np.int64)).ravel()
        return total

    def places(self, x: int) -> Ints:
        """[joint value of θ] its place in an α-vector."""
        return self._hidden + self.known[x]


def strides(sizes: Sequence[int]) -> list[int]:
    """What one more of each digit adds to a number whose last digit changes fastest."""
    return [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
