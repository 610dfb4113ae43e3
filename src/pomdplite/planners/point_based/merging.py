"""The outcomes of each distinct step, with those merged that tell almost the same about θ.

An agent that cannot tell two outcomes apart can do no better than one that can, so a plan made with merged outcomes is
worth at least its value in the model as it is. It loses little if the outcomes are alike: outcomes that lead to one
next state, and whose likelihoods L(e, ·), scaled to sum to one over the values of θ, differ by little in L1. A sensor
with 162 readings then has some 30 that matter, and the work of a backup falls with their number. An upper bound for
the merged model is none for the model as it is, except that of an agent that knows θ.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, kernel
from pomdplite.mdp.distinct_steps import POOL, STEPS, DistinctSteps

_MANY = 8  # outcomes of a step from which on merging pays


class OutcomeRows(NamedTuple):
    """The outcomes of step r are the rows first[r]:first[r + 1]."""

    first: Ints  # [step + 1]
    branch: Ints  # [row] which of the step's next states
    likelihood: Ints  # [row] where L(e, θ) for each value of the component starts in the pool
    largest: Floats  # [row] the largest of these
    pool: Floats  # that of the steps, with the likelihoods of merged outcomes behind it
    merged: bool  # whether outcomes were merged


def outcome_rows(distinct: DistinctSteps, sizes: Ints, alike: float) -> OutcomeRows:
    """The outcomes of every step; those that differ by at most `alike`, between 0 and 2, are merged. 0 merges none."""
    steps, used = int(distinct.counts[STEPS]), int(distinct.counts[POOL])
    outcomes = distinct.outcomes[:steps].astype(np.int64)
    size, branches = sizes[distinct.component[:steps]], distinct.branches[:steps].astype(np.int64)
    block = distinct.at[:steps] + size + branches * size
    of = np.repeat(np.arange(steps), outcomes)
    number = np.arange(len(of)) - np.repeat(np.cumsum(outcomes) - outcomes, outcomes)
    likelihood = block[of] + number * size[of]
    branch = distinct.pool[block[of] + outcomes[of] * size[of] + number].astype(np.int64)
    pool, kept = distinct.pool[:used], np.ones(len(of), np.bool_)
    many = np.flatnonzero(outcomes > _MANY) if alike > 0 else np.zeros(0, np.int64)
    if len(many):
        pool = np.concatenate([pool, np.zeros(int((outcomes * size)[many].sum()))])
        first, free = np.cumsum(outcomes) - outcomes, used
        for r in many:
            rows = slice(int(first[r]), int(first[r] + outcomes[r]))
            free = _merge(pool, free, branch[rows], likelihood[rows], kept[rows], int(size[r]), alike)
        pool = pool[:free]
    of, branch, likelihood = of[kept], branch[kept], likelihood[kept]
    largest, width = np.zeros(len(of)), int(size.max(initial=1))
    for v in range(width):
        largest = np.maximum(largest, np.where(v < size[of], pool[likelihood + np.minimum(v, size[of] - 1)], 0.0))
    return OutcomeRows(
        first=np.searchsorted(of, np.arange(steps + 1)).astype(np.int64),
        branch=branch,
        likelihood=likelihood,
        largest=largest,
        pool=pool,
        merged=not kept.all(),
    )


@kernel
def _merge(pool: Floats, free: int, branch: Ints, likelihood: Ints, kept: Flags, size: int, alike: float) -> int:
    """Merge each outcome of a step with the most similar one before it; the end of the pool."""
    for e in range(likelihood.shape[0]):
        whole = 0.0
        for v in range(size):
            whole += pool[likelihood[e] + v]
        if whole <= 0.0:
            kept[e] = False
            continue
        least, nearest = np.inf, -1
        for other in range(e):
            if kept[other] and branch[other] == branch[e]:
                total, difference = 0.0, 0.0
                for v in range(size):
                    total += pool[likelihood[other] + v]
                for v in range(size):
                    difference += abs(pool[likelihood[e] + v] / whole - pool[likelihood[other] + v] / total)
                if difference < least:
                    least, nearest = difference, other
        if least <= alike:
            kept[e] = False
            for v in range(size):
                pool[likelihood[nearest] + v] += pool[likelihood[e] + v]
        else:
            for v in range(size):
                pool[free + v] = pool[likelihood[e] + v]
            likelihood[e] = free
            free += size
    return free
