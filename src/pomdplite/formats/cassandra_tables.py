"""T, Z and R of a .pomdp file while it is read: later statements replace earlier ones."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import TooLargeError
from pomdplite.formats.factors import MOST_NUMBERS
from pomdplite.formats.numbers import SUM_TOLERANCE, distributions
from pomdplite.formats.places import FilePlace

ANY = -1


@dataclass
class Block:
    """Numbers from one statement, or from a run of them: [entry] action, row, column, number."""

    order: int  # of its first entry, in the file
    line: Ints
    action: Ints
    row: Ints
    column: Ints
    number: Floats


class ProbabilityTable:
    """T or Z: for each action a matrix, given by rows, by whole matrices, or number by number.

    A statement about a whole row makes earlier ones about that row void, so that only numbers above 0 are kept.
    """

    def __init__(self, what: str, shape: tuple[int, int, int], file: str) -> None:
        self.what, self.shape, self.file = what, shape, file
        if shape[0] * shape[1] > MOST_NUMBERS:
            raise TooLargeError(f"{file}: {shape[0]:,} actions × {shape[1]:,} states are too many to list.")
        self.since = np.zeros(shape[:2], np.int64)  # [action, row] the statement before which nothing counts
        self.blocks: list[Block] = []
        self.order, self.count = 0, 0

    def need(self, count: int, line: int) -> None:
        """Raise TooLargeError if so many more numbers do not fit."""
        self.count += count
        if self.count > MOST_NUMBERS:
            raise TooLargeError(FilePlace(self.file, line).text(
                f"more than {MOST_NUMBERS:,} numbers in {self.what}, with those that * and uniform stand for"
            ))  # fmt: skip

    def set_rows(self, action: int, row: int, table: Floats, line: int) -> None:
        """Set one row, or with ANY all rows to the same or each to its own, in one matrix or (ANY) in all of them."""
        rows = np.arange(self.shape[1]) if row == ANY else np.array([row])
        at, column = np.nonzero(table)
        number = table[at, column]
        if len(table) == 1:
            self.need(len(rows) * len(column), line)
            at = np.repeat(np.arange(len(rows)), len(column))
            column, number = np.tile(column, len(rows)), np.tile(number, len(rows))
        self._replace(action, rows, (rows[at], column, number), line)

    def set_identity(self, action: int, line: int) -> None:
        """Set a matrix, or (ANY) all of them, to the identity."""
        rows = np.arange(self.shape[1])
        self._replace(action, rows, (rows, rows, np.ones(len(rows))), line)

    def _replace(self, action: int, rows: Ints, triples: tuple[Ints, Ints, Floats], line: int) -> None:
        actions = np.arange(self.shape[0]) if action == ANY else np.array([action])
        count, copies = len(triples[0]), len(actions)
        self.need(copies * count, line)
        self.order += 1
        self.since[np.ix_(actions, rows)] = self.order
        row, column, number = triples
        lines = np.full(copies * count, line)
        self.blocks.append(Block(
            self.order, lines, np.repeat(actions, count), np.tile(row, copies), np.tile(column, copies),
            np.tile(number, copies),
        ))  # fmt: skip
        self.order += copies * count

    def set_entries(self, references: list[Ints], numbers: Floats, lines: Ints) -> None:
        """Set single numbers; a reference may be ANY."""
        spans = [np.where(r == ANY, size, 1) for r, size in zip(references, self.shape, strict=True)]
        copies = spans[0] * spans[1] * spans[2]
        self.need(int(copies.sum()), int(lines[0]))
        if (copies > 1).any():
            source = np.repeat(np.arange(len(numbers)), copies)
            within = np.arange(len(source)) - np.repeat(np.cumsum(copies) - copies, copies)
            after = within // spans[2][source]
            each = [after // spans[1][source], after % spans[1][source], within % spans[2][source]]
            references = [np.where(r[source] == ANY, e, r[source]) for r, e in zip(references, each, strict=True)]
            numbers, lines = numbers[source], lines[source]
        self.order += 1
        action, row, column = references
        self.blocks.append(Block(self.order, lines, action, row, column, numbers))
        self.order += len(numbers)

    def matrices(self, names: tuple[Any, Any]) -> list[Any]:
        """A sparse matrix for each action, with rows that sum to 1; names: of actions and of states."""
        empty = np.zeros(0, np.int64)
        action, row, column = (
            np.concatenate([empty, *(getattr(b, part) for b in self.blocks)]) for part in ("action", "row", "column")
        )
        number = np.concatenate([np.zeros(0), *(b.number for b in self.blocks)])
        order = np.concatenate([empty, *(b.order + np.arange(len(b.number)) for b in self.blocks)])
        lines = np.concatenate([empty, *(b.line for b in self.blocks)])
        counts = order >= self.since[action, row]
        action, row, column, number, lines = (v[counts] for v in (action, row, column, number, lines))
        _, rows, columns = self.shape
        keys = (action * rows + row) * columns + column
        if len(keys) and (np.diff(keys) <= 0).any():
            places = np.argsort(keys, kind="stable")
            last = places[np.append(np.diff(keys[places]) > 0, True)]
            action, row, column, number, lines = (v[last] for v in (action, row, column, number, lines))
        self._check(action, row, number, lines, names)
        found = []
        begins = np.searchsorted(action, np.arange(self.shape[0] + 1))
        for first, end in pairwise(begins.tolist()):
            part = slice(first, end)
            kept = number[part] > 0
            matrix = csr_matrix(
                (number[part][kept], (row[part][kept], column[part][kept])), shape=(rows, columns)
            )  # fmt: skip
            found.append(_normalized(matrix))
        return found

    def _check(self, action: Ints, row: Ints, number: Floats, lines: Ints, names: tuple[Any, Any]) -> None:
        if (number < 0).any():
            at = int(np.flatnonzero(number < 0)[0])
            FilePlace(self.file, int(lines[at])).refuse(f"the probability {number[at]:g} is negative")
        sums = np.bincount(action * self.shape[1] + row, number, self.shape[0] * self.shape[1])
        wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
        if len(wrong):
            a, s = divmod(int(wrong[0]), self.shape[1])
            near = lines[(action == a) & (row == s)]
            FilePlace(self.file, int(near.max()) if len(near) else 1).refuse(
                f"{self.what} of action {names[0][a]} and state {names[1][s]} sum to {sums[wrong[0]]:.6g}, not 1"
            )


def _normalized(matrix: Any) -> Any:
    """Rows that sum to nearly 1 are divided by their sum; exact ones stay as they are."""
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    scale = np.where(np.abs(sums - 1) > 1e-12, sums, 1.0)
    matrix.data /= np.repeat(scale, np.diff(matrix.indptr))
    return matrix


@dataclass
class RewardTable:
    """R(a, s, s', o): entries in which any reference may be ANY; the last that matches counts."""

    file: str
    shape: tuple[int, int, int, int]
    references: list[list[Ints]] = field(default_factory=list)  # [block][reference][entry]
    numbers: list[Floats] = field(default_factory=list)
    count: int = 0

    def set_entries(self, references: list[Ints], numbers: Floats, lines: Ints) -> None:
        """Append entries."""
        self.count += len(numbers)
        if self.count > MOST_NUMBERS:
            raise TooLargeError(FilePlace(self.file, int(lines[0])).text(f"more than {MOST_NUMBERS:,} rewards"))
        self.references.append(references)
        self.numbers.append(numbers)

    def expected(self, transition: list[Any], sight: list[Any], sign: float) -> Floats:
        """[s, a] the expectation over s' and o, times a sign; exact where R does not depend on them."""
        actions, states = self.shape[:2]
        found = np.zeros((states, actions))
        if not self.numbers:
            return found
        columns = [np.concatenate([block[i] for block in self.references]) for i in range(4)]
        numbers = sign * np.concatenate(self.numbers) + 0.0
        for a in range(actions):
            mine = np.flatnonzero((columns[0] == a) | (columns[0] == ANY))
            rules = _Rules([c[mine] for c in columns[1:]], numbers[mine], self.shape[1:])
            found[:, a] = self._averaged(rules, transition[a], sight[a])
        return found

    def _averaged(self, rules: "_Rules", transition: Any, sight: Any) -> Floats:
        states = self.shape[1]
        s, after = np.repeat(np.arange(states), np.diff(transition.indptr)), transition.indices.astype(np.int64)
        chance, o = transition.data, np.zeros(len(after), np.int64)
        if not rules.uses[1] and not rules.uses[2]:
            return rules.at(np.arange(states), np.zeros(states, np.int64), np.zeros(states, np.int64))
        if rules.uses[2]:
            lengths = np.diff(sight.indptr)[after].astype(np.int64)
            if lengths.sum() > MOST_NUMBERS:
                raise TooLargeError(f"{self.file}: too many combinations of next state and observation have rewards.")
            ends = np.cumsum(lengths)
            at = np.arange(lengths.sum()) + np.repeat(sight.indptr[after] - (ends - lengths), lengths)
            s, after, chance = (np.repeat(v, lengths) for v in (s, after, chance))
            o, chance = sight.indices[at].astype(np.int64), chance * sight.data[at]
        values = rules.at(s, after, o)
        mean = np.bincount(s, chance * values, states)
        begins = np.searchsorted(s, np.arange(states))  # every state has successors: the rows of T sum to 1
        low, high = np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)
        return np.where(low == high, low, mean)


class _Rules:
    """Entries (s, s', o) of one action; each is looked up by the references that it names."""

    def __init__(self, references: list[Ints], numbers: Floats, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self.uses = [bool((reference != ANY).any()) for reference in references]
        named = sum((reference != ANY).astype(np.int64) << i for i, reference in enumerate(references))
        self.kinds = []
        for kind in np.unique(named).tolist():
            rows = np.flatnonzero(named == kind)
            keys = self._key(kind, [reference[rows] for reference in references])
            unique, last = np.unique(keys[::-1], return_index=True)
            self.kinds.append((kind, unique, rows[::-1][last], numbers[rows[::-1][last]]))

    def _key(self, kind: int, references: list[Ints]) -> Ints:
        key = np.zeros(len(references[0]), np.int64)
        for i, reference in enumerate(references):
            if kind >> i & 1:
                key = key * self.sizes[i] + reference
        return key

    def at(self, *references: Ints) -> Floats:
        """The number of the last entry that matches each (s, s', o); 0 if there is none."""
        best, value = np.full(len(references[0]), -1, np.int64), np.zeros(len(references[0]))
        for kind, unique, order, numbers in self.kinds:
            keys = self._key(kind, list(references))
            at = np.minimum(np.searchsorted(unique, keys), len(unique) - 1)
            better = (unique[at] == keys) & (order[at] > best)
            best[better], value[better] = order[at][better], numbers[at][better]
        return value


def belief(numbers: Floats, place: FilePlace) -> Floats:
    """An initial belief, divided by its sum if it is rounded."""
    return distributions(numbers, place, lambda: "the initial belief")
