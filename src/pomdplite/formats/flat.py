"""A POMDP with one list of states, as a .pomdp file gives it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats, Ints
from pomdplite.formats.numbering import FilePlaces


@dataclass
class Flat:
    """T, Z, R and the initial belief of a POMDP, as sparse matrices."""

    name: str  # of the file
    states: Sequence[str]
    actions: Sequence[str]
    observations: Sequence[str]  # at least one
    transition: list[Any]  # [action] a sparse matrix T[s, s'] in CSR form
    sight: list[Any]  # [action] Z[s', o]
    reward: Floats  # [s, a] expected over s' and o
    start: Floats  # [s]
    discount: float
    places: FilePlaces  # of the states, in the file's own numbering

    def successors(self, s: int, a: int) -> tuple[Ints, Floats]:
        """The next states after a in s, and their probabilities."""
        return row_of(self.transition[a], s)

    def sights(self, s: int, a: int) -> tuple[Ints, Floats]:
        """The observations in s after a, and their probabilities."""
        return row_of(self.sight[a], s)


def row_of(matrix: Any, row: int) -> tuple[Ints, Floats]:
    """The columns and numbers of a row of a matrix in CSR form."""
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[part], matrix.data[part]


def named_set(names: Sequence[str], members: Ints) -> str:
    """A set of states in words."""
    return names[members[0]] if len(members) == 1 else f"{names[members[0]]} or {len(members) - 1} more"


def expected(chances: Floats, values: Floats) -> float:
    """Σ p v, exact where all values are equal."""
    return float(values[0]) if (values == values[0]).all() else float(np.dot(chances, values))
