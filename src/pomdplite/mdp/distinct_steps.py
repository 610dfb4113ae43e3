"""The distinct steps of a model: what (s, a) means to a belief, stored once however many (s, a) share it.

A step is (component, rewards, transition probabilities, likelihoods), all per value of the component. Many
state-actions have equal steps (RockSample(11,11): 4 million state-actions, some 1,300 distinct steps), so the mean
reward, the bonus and the mean transition under a new belief are computed per distinct step, in microseconds.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, inlined, kernel
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.outcomes import Outcomes


class DistinctSteps(NamedTuple):
    """Step r has n values, k next states and e outcomes, at pool[at[r]:]: reward [n], chance [k, n],
    likelihood [e, n], then the next state [e] and the observation [e] of each outcome."""

    component: Small  # [step]
    branches: Small  # [step] k
    outcomes: Small  # [step] e
    at: Ints  # [step]
    pool: Floats
    table: Small  # hash table, -1 where empty
    first_branch: Ints  # [step + 1] places in StepValues.chance


class StepValues(NamedTuple):
    """The steps under one belief."""

    reward: Floats  # [step] R(b, s, a)
    bonus: Floats  # [step] E‖b' − b‖₁, β not included
    internal: Floats  # [step] R + β E‖b' − b‖₁
    chance: Floats  # [branch] P(s' | b, s, a)


def allocate_steps(steps: int, pool: int) -> DistinctSteps:
    """Space for that many steps and numbers."""
    table = np.full(1 << (4 * steps - 1).bit_length(), -1, np.int32)
    small = [np.zeros(steps, np.int32) for _ in range(3)]
    return DistinctSteps(small[0], small[1], small[2], np.zeros(steps, np.int64), np.zeros(pool), table,
                np.zeros(steps + 1, np.int64))  # fmt: skip


def grow_steps(distinct: DistinctSteps, count: int, used: int) -> DistinctSteps:
    """Twice the space, with the first `count` steps and `used` numbers kept."""
    bigger = allocate_steps(2 * len(distinct.at), 2 * len(distinct.pool))
    for name in ("component", "branches", "outcomes", "at"):
        getattr(bigger, name)[:count] = getattr(distinct, name)[:count]
    bigger.pool[:used] = distinct.pool[:used]
    bigger.first_branch[: count + 1] = distinct.first_branch[: count + 1]
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
def _rehash(distinct: DistinctSteps, count: int, used: int) -> None:
    for r in range(count):
        last = distinct.at[r + 1] if r + 1 < count else used
        h = _hash(
            distinct.pool,
            distinct.at[r],
            last,
            _signature(distinct.component[r], distinct.branches[r], distinct.outcomes[r]),
        )
        slot = np.int64(h & np.uint64(distinct.table.shape[0] - 1))
        while distinct.table[slot] >= 0:
            slot = (slot + 1) & (distinct.table.shape[0] - 1)
        distinct.table[slot] = r


@inlined
def intern_step(
    distinct: DistinctSteps, count: int, used: int, component: int, n: int, k: int, e: int, out: Outcomes
) -> tuple[int, int]:
    """The number of the step equal to `out`, a new one if there is none; and the numbers used then.

    The caller has made sure that one more step fits.
    """
    size = n + k * n + e * n + 2 * e
    at = used
    for v in range(n):
        distinct.pool[at + v] = out.reward[v]
    at += n
    for j in range(k):
        for v in range(n):
            distinct.pool[at + v] = out.chance[j, v]
        at += n
    for i in range(e):
        for v in range(n):
            distinct.pool[at + v] = out.likelihood[i, v]
        at += n
    for i in range(e):
        distinct.pool[at + i] = out.branch[i]
        distinct.pool[at + e + i] = out.seen[i]
    h = _hash(distinct.pool, used, used + size, _signature(component, k, e))
    slot = np.int64(h & np.uint64(distinct.table.shape[0] - 1))
    while distinct.table[slot] >= 0:
        r = distinct.table[slot]
        if distinct.component[r] == component and distinct.branches[r] == k and distinct.outcomes[r] == e:
            same = True
            for i in range(size):
                if distinct.pool[distinct.at[r] + i] != distinct.pool[used + i]:
                    same = False
                    break
            if same:
                return r, used
        slot = (slot + 1) & (distinct.table.shape[0] - 1)
    distinct.table[slot] = count
    distinct.component[count] = component
    distinct.branches[count] = k
    distinct.outcomes[count] = e
    distinct.at[count] = used
    distinct.first_branch[count + 1] = distinct.first_branch[count] + k
    return count, used + size


def allocate_step_values(distinct: DistinctSteps, count: int) -> StepValues:
    """Space for the values of the steps."""
    return StepValues(np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(int(distinct.first_branch[count])))


@kernel
def evaluate_steps(
    model: KernelModel, distinct: DistinctSteps, count: int, b: Floats, beta: float, values: StepValues
) -> None:
    """Mean reward, bonus (Definition 1) and mean transition of every distinct step under the belief b."""
    for r in range(count):
        first = model.offsets[distinct.component[r]]
        n = model.offsets[distinct.component[r] + 1] - first
        block = b[first : first + n]
        at = distinct.at[r]
        mean = 0.0
        for v in range(n):
            mean += block[v] * distinct.pool[at + v]
        at += n
        for j in range(distinct.branches[r]):
            chance = 0.0
            for v in range(n):
                chance += block[v] * distinct.pool[at + v]
            values.chance[distinct.first_branch[r] + j] = chance
            at += n
        e = np.int64(distinct.outcomes[r])
        values.reward[r] = mean
        values.bonus[r] = expected_l1_change(block, distinct.pool[at : at + e * n].reshape((e, n)))
        values.internal[r] = mean + beta * values.bonus[r]


@kernel
def tells(distinct: DistinctSteps, model: KernelModel, r: int) -> bool:
    """Whether step r has different numbers for different values, so that a belief change can matter to it."""
    first = model.offsets[distinct.component[r]]
    n = model.offsets[distinct.component[r] + 1] - first
    for i in range(1 + distinct.branches[r] + distinct.outcomes[r]):
        at = distinct.at[r] + i * n
        for v in range(1, n):
            if distinct.pool[at + v] != distinct.pool[at]:
                return True
    return False
