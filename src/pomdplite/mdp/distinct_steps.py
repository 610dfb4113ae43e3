"""Rows: what (s, a) means to a belief, stored once however many (s, a) share it.

A row is (component, rewards, transition probabilities, likelihoods), all per value of the component. Many
state-actions have equal rows (RockSample(11,11): 4 million state-actions, some 1,300 rows), so the mean reward,
the bonus and the mean transition under a new belief are computed per row, in microseconds.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import ErasedModel
from pomdplite.compile.jit import Floats, Ints, Small, inlined, kernel
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.outcomes import Outcomes


class Rows(NamedTuple):
    """Row r has n values, k next states and e outcomes, at pool[at[r]:]: reward [n], chance [k, n],
    likelihood [e, n], then the next state [e] and the observation [e] of each outcome."""

    component: Small  # [row]
    branches: Small  # [row] k
    outcomes: Small  # [row] e
    at: Ints  # [row]
    pool: Floats
    table: Small  # hash table, -1 where empty
    first_branch: Ints  # [row + 1] places in RowValues.chance


class RowValues(NamedTuple):
    """The rows under one belief."""

    reward: Floats  # [row] R(b, s, a)
    bonus: Floats  # [row] E‖b' − b‖₁, β not included
    internal: Floats  # [row] R + β E‖b' − b‖₁
    chance: Floats  # [branch] P(s' | b, s, a)


def empty_rows(rows: int, pool: int) -> Rows:
    """Space for that many rows and numbers."""
    table = np.full(1 << (4 * rows - 1).bit_length(), -1, np.int32)
    small = [np.zeros(rows, np.int32) for _ in range(3)]
    return Rows(small[0], small[1], small[2], np.zeros(rows, np.int64), np.zeros(pool), table,
                np.zeros(rows + 1, np.int64))  # fmt: skip


def grow_rows(rows: Rows, count: int, used: int) -> Rows:
    """Twice the space, with the first `count` rows and `used` numbers kept."""
    bigger = empty_rows(2 * len(rows.at), 2 * len(rows.pool))
    for name in ("component", "branches", "outcomes", "at"):
        getattr(bigger, name)[:count] = getattr(rows, name)[:count]
    bigger.pool[:used] = rows.pool[:used]
    bigger.first_branch[: count + 1] = rows.first_branch[: count + 1]
    _rehash(bigger, count, used)
    return bigger


@inlined
def _hash(pool: Floats, first: int, last: int, seed: int) -> np.uint64:
    words = pool.view(np.uint64)
    h = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    for i in range(first, last):
        h = (h ^ words[i]) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


@inlined
def _signature(component: int, k: int, e: int) -> int:
    return (component * 4099 + k) * 4099 + e


@kernel
def _rehash(rows: Rows, count: int, used: int) -> None:
    for r in range(count):
        last = rows.at[r + 1] if r + 1 < count else used
        h = _hash(rows.pool, rows.at[r], last, _signature(rows.component[r], rows.branches[r], rows.outcomes[r]))
        slot = np.int64(h & np.uint64(rows.table.shape[0] - 1))
        while rows.table[slot] >= 0:
            slot = (slot + 1) & (rows.table.shape[0] - 1)
        rows.table[slot] = r


@inlined
def intern_row(
    rows: Rows, count: int, used: int, component: int, n: int, k: int, e: int, out: Outcomes
) -> tuple[int, int]:
    """The number of the row equal to `out`, a new one if there is none; and the numbers used then.

    The caller has made sure that one more row fits.
    """
    size = n + k * n + e * n + 2 * e
    at = used
    for v in range(n):
        rows.pool[at + v] = out.reward[v]
    at += n
    for j in range(k):
        for v in range(n):
            rows.pool[at + v] = out.chance[j, v]
        at += n
    for i in range(e):
        for v in range(n):
            rows.pool[at + v] = out.likelihood[i, v]
        at += n
    for i in range(e):
        rows.pool[at + i] = out.branch[i]
        rows.pool[at + e + i] = out.seen[i]
    h = _hash(rows.pool, used, used + size, _signature(component, k, e))
    slot = np.int64(h & np.uint64(rows.table.shape[0] - 1))
    while rows.table[slot] >= 0:
        r = rows.table[slot]
        if rows.component[r] == component and rows.branches[r] == k and rows.outcomes[r] == e:
            same = True
            for i in range(size):
                if rows.pool[rows.at[r] + i] != rows.pool[used + i]:
                    same = False
                    break
            if same:
                return r, used
        slot = (slot + 1) & (rows.table.shape[0] - 1)
    rows.table[slot] = count
    rows.component[count] = component
    rows.branches[count] = k
    rows.outcomes[count] = e
    rows.at[count] = used
    rows.first_branch[count + 1] = rows.first_branch[count] + k
    return count, used + size


def row_values(rows: Rows, count: int) -> RowValues:
    """Space for the rows' values."""
    return RowValues(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(int(rows.first_branch[count])))


@kernel
def evaluate_rows(model: ErasedModel, rows: Rows, count: int, b: Floats, beta: float, values: RowValues) -> None:
    """Mean reward, bonus (Definition 1) and mean transition of every row under the belief b."""
    for r in range(count):
        first = model.offsets[rows.component[r]]
        n = model.offsets[rows.component[r] + 1] - first
        block = b[first : first + n]
        at = rows.at[r]
        mean = 0.0
        for v in range(n):
            mean += block[v] * rows.pool[at + v]
        at += n
        for j in range(rows.branches[r]):
            chance = 0.0
            for v in range(n):
                chance += block[v] * rows.pool[at + v]
            values.chance[rows.first_branch[r] + j] = chance
            at += n
        e = np.int64(rows.outcomes[r])
        values.reward[r] = mean
        values.bonus[r] = expected_l1_change(block, rows.pool[at : at + e * n].reshape((e, n)))
        values.internal[r] = mean + beta * values.bonus[r]


@kernel
def tells(rows: Rows, model: ErasedModel, r: int) -> bool:
    """Whether row r has different numbers for different values, so that a belief change can matter to it."""
    first = model.offsets[rows.component[r]]
    n = model.offsets[rows.component[r] + 1] - first
    for i in range(1 + rows.branches[r] + rows.outcomes[r]):
        at = rows.at[r] + i * n
        for v in range(1, n):
            if rows.pool[at + v] != rows.pool[at]:
                return True
    return False
