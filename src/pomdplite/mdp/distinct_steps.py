"""Distinct steps: everything that a belief needs to know about (s, a), stored once for all (s, a) that share it.

A step is (component, rewards, transition probabilities, likelihoods), each per value of the component. Many
state-actions have equal steps: RockSample(11,11) has 4 million state-actions and about 1,300 distinct steps. So the
mean reward, the bonus and the mean transition are recomputed once per distinct step, which takes microseconds per
belief.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, inlined, kernel
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.hash_table import empty_table, first_slot, next_slot
from pomdplite.mdp.outcomes import Outcomes

# Indices into DistinctSteps.counts.
STEPS, POOL = range(2)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)  # every component, as bits


class DistinctSteps(NamedTuple):
    """Step r has n values, k next states and e outcomes. Its numbers start at pool[at[r]]: reward [n], chance [k, n],
    likelihood [e, n], then the next state [e] and the observation [e] of each outcome."""

    component: Small  # [step]
    branches: Small  # [step] k
    outcomes: Small  # [step] e
    at: Ints  # [step]
    pool: Floats
    table: Small  # hash table of steps, -1 where empty
    first_branch: Ints  # [step + 1] offsets into StepValues.chance
    counts: Ints  # [2] steps and pool entries in use


class StepValues(NamedTuple):
    """The steps under one belief."""

    reward: Floats  # [step] R(b, s, a)
    bonus: Floats  # [step] E‖b' − b‖₁, without β
    internal: Floats  # [step] R̃ = R + β E‖b' − b‖₁
    chance: Floats  # [branch] P(s' | b, s, a)


def allocate_steps(steps: int, pool: int) -> DistinctSteps:
    """Empty arrays for up to this many steps and pool entries."""
    return DistinctSteps(
        component=np.zeros(steps, np.int32),
        branches=np.zeros(steps, np.int32),
        outcomes=np.zeros(steps, np.int32),
        at=np.zeros(steps, np.int64),
        pool=np.zeros(pool),
        table=empty_table(4 * steps),
        first_branch=np.zeros(steps + 1, np.int64),
        counts=np.zeros(2, np.int64),
    )


def steps_bytes(steps: int, pool: int) -> int:
    """The memory of arrays for so many steps and pool entries."""
    return 8 * pool + 44 * steps


def grow_steps(distinct: DistinctSteps) -> DistinctSteps:
    """A copy with twice the capacity."""
    bigger = allocate_steps(2 * len(distinct.at), 2 * len(distinct.pool))
    count, used = distinct.counts
    for name in ("component", "branches", "outcomes", "at"):
        getattr(bigger, name)[:count] = getattr(distinct, name)[:count]
    bigger.pool[:used] = distinct.pool[:used]
    bigger.first_branch[: count + 1] = distinct.first_branch[: count + 1]
    bigger.counts[:] = distinct.counts
    _rehash(bigger)
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
def _rehash(distinct: DistinctSteps) -> None:
    count = distinct.counts[STEPS]
    for r in range(count):
        last = distinct.at[r + 1] if r + 1 < count else distinct.counts[POOL]
        seed = _signature(distinct.component[r], distinct.branches[r], distinct.outcomes[r])
        h = _hash(distinct.pool, distinct.at[r], last, seed)
        slot = first_slot(distinct.table, h)
        while distinct.table[slot] >= 0:
            slot = next_slot(distinct.table, slot)
        distinct.table[slot] = r


@inlined
def has_room_for(distinct: DistinctSteps, n: int, k: int, e: int) -> bool:
    """Whether one more step with n values, k next states and e outcomes fits."""
    return (
        distinct.counts[STEPS] + 1 < distinct.at.shape[0]
        and distinct.counts[POOL] + n + k * n + e * n + 2 * e <= distinct.pool.shape[0]
    )


@inlined
def _write_step(pool: Floats, at: int, n: int, k: int, e: int, out: Outcomes) -> None:
    """Write the step in `out` to pool[at:]."""
    for v in range(n):
        pool[at + v] = out.reward[v]
    at += n
    for j in range(k):
        for v in range(n):
            pool[at + v] = out.chance[j, v]
        at += n
    for i in range(e):
        for v in range(n):
            pool[at + v] = out.likelihood[i, v]
        at += n
    for i in range(e):
        pool[at + i] = out.branch[i]
        pool[at + e + i] = out.seen[i]


@inlined
def _equal(pool: Floats, one: int, other: int, size: int) -> bool:
    for i in range(size):
        if pool[one + i] != pool[other + i]:
            return False
    return True


@inlined
def intern_step(distinct: DistinctSteps, component: int, n: int, k: int, e: int, out: Outcomes) -> int:
    """The number of the step equal to the one in `out`, which is added if it is new.

    The caller makes sure that one more step fits.
    """
    count, used, size = distinct.counts[STEPS], distinct.counts[POOL], n + k * n + e * n + 2 * e
    _write_step(distinct.pool, used, n, k, e, out)
    h = _hash(distinct.pool, used, used + size, _signature(component, k, e))
    slot = first_slot(distinct.table, h)
    while distinct.table[slot] >= 0:
        r = distinct.table[slot]
        if distinct.component[r] == component and distinct.branches[r] == k and distinct.outcomes[r] == e:
            if _equal(distinct.pool, distinct.at[r], used, size):
                return r
        slot = next_slot(distinct.table, slot)
    distinct.table[slot] = count
    distinct.component[count] = component
    distinct.branches[count] = k
    distinct.outcomes[count] = e
    distinct.at[count] = used
    distinct.first_branch[count + 1] = distinct.first_branch[count] + k
    distinct.counts[STEPS] = count + 1
    distinct.counts[POOL] = used + size
    return count


def allocate_step_values(distinct: DistinctSteps) -> StepValues:
    """Arrays for the values of all steps."""
    count = int(distinct.counts[STEPS])
    return StepValues(
        reward=np.zeros(count),
        bonus=np.zeros(count),
        internal=np.zeros(count),
        chance=np.zeros(int(distinct.first_branch[count])),
    )


@kernel
def evaluate_steps(
    model: KernelModel, distinct: DistinctSteps, b: Floats, beta: float, values: StepValues, changed: np.uint64
) -> None:
    """Mean reward, bonus (Definition 1) and mean transition of distinct steps under the belief b.

    Only those of the components whose bits are set in `changed`: the values of the others stay.
    """
    for r in range(distinct.counts[STEPS]):
        if (changed >> np.uint64(distinct.component[r] % 64)) & np.uint64(1) == np.uint64(0):
            continue
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
        likelihood = distinct.pool[at : at + e * n].reshape((e, n))
        values.reward[r] = mean
        values.bonus[r] = expected_l1_change(block, likelihood, likelihood.shape[0])
        values.internal[r] = mean + beta * values.bonus[r]


@kernel
def depends_on_belief(model: KernelModel, distinct: DistinctSteps, r: int) -> bool:
    """Whether step r differs between values of its component. If not, no belief change affects it."""
    first = model.offsets[distinct.component[r]]
    n = model.offsets[distinct.component[r] + 1] - first
    for i in range(1 + distinct.branches[r] + distinct.outcomes[r]):
        at = distinct.at[r] + i * n
        for v in range(1, n):
            if distinct.pool[at + v] != distinct.pool[at]:
                return True
    return False
