"""The outcomes of each distinct step, with those merged that tell almost the same about θ.

An agent that cannot tell two outcomes apart can do no better than one that can, so a plan made with merged outcomes is
worth at least its value in the model as it is. It loses little if the merged outcomes are hardly less telling: the
squared Hellinger distance between the outcomes' distributions under two values of θ, Σ_e (√L(e, v) − √L(e, w))², says
how fast repeated evidence separates these values, and merging may cost no pair of values more than a tenth of it. A
sensor with 162 readings then has a few dozen that matter, and the work of a backup falls with their number. An upper
bound for the merged model is none for the model as it is, except that of an agent that knows θ.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, kernel
from pomdplite.mdp.distinct_steps import POOL, STEPS, DistinctSteps

_MANY = 8  # outcomes of a step from which on merging pays
_ALIKE = (0.3, 0.2, 0.14, 0.1, 0.07, 0.05, 0.03)  # L1 distances of scaled likelihoods up to which outcomes are merged
_COST = 0.1  # of the distance between two values of θ that merging may take
_WORK = 20_000_000  # pairs of values × outcomes of a step up to which they are compared


class OutcomeRows(NamedTuple):
    """The outcomes of step r are the rows first[r]:first[r + 1]."""

    first: Ints  # [step + 1]
    branch: Ints  # [row] which of the step's next states
    likelihood: Ints  # [row] where L(e, θ) for each value of the component starts in the pool
    largest: Floats  # [row] the largest of these
    pool: Floats  # that of the steps, with the likelihoods of merged outcomes behind it
    merged: bool  # whether outcomes were merged


def outcome_rows(distinct: DistinctSteps, sizes: Ints, merge: bool) -> OutcomeRows:
    """The outcomes of every step; if asked, with those merged that are alike."""
    steps, used = int(distinct.counts[STEPS]), int(distinct.counts[POOL])
    outcomes = distinct.outcomes[:steps].astype(np.int64)
    size, branches = sizes[distinct.component[:steps]], distinct.branches[:steps].astype(np.int64)
    block = distinct.at[:steps] + size + branches * size
    of = np.repeat(np.arange(steps), outcomes)
    number = np.arange(len(of)) - np.repeat(np.cumsum(outcomes) - outcomes, outcomes)
    likelihood = block[of] + number * size[of]
    branch = distinct.pool[block[of] + outcomes[of] * size[of] + number].astype(np.int64)
    pool, kept = distinct.pool[:used], np.ones(len(of), np.bool_)
    many = np.flatnonzero((outcomes > _MANY) & (size * size * outcomes <= _WORK)) if merge else np.zeros(0, np.int64)
    if len(many):
        pool = np.concatenate([pool, np.zeros(int((outcomes * size)[many].sum()))])
        first, free = np.cumsum(outcomes) - outcomes, used
        for r in many:
            rows = slice(int(first[r]), int(first[r] + outcomes[r]))
            free = _merge_most(pool, free, branch[rows], likelihood[rows], kept[rows], int(size[r]))
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


def _merge_most(pool: Floats, free: int, branch: Ints, likelihood: Ints, kept: Flags, size: int) -> int:
    """Merge as many outcomes of a step as may be; the end of the pool."""
    before, whole = _distances(pool, likelihood, kept, np.zeros((size, size))), likelihood.copy()
    for alike in _ALIKE:
        end = _merge(pool, free, branch, likelihood, kept, size, alike)
        after = _distances(pool, likelihood, kept, np.zeros((size, size)))
        if (after >= (1 - _COST) * before - 1e-12).all():
            return end
        likelihood[:], kept[:] = whole, True
    return free


@kernel
def _distances(pool: Floats, likelihood: Ints, kept: Flags, distance: Floats) -> Floats:
    """Add Σ_e (√L(e, v) − √L(e, w))² to distance[v, w] for v < w."""
    for e in range(likelihood.shape[0]):
        if kept[e]:
            for v in range(distance.shape[0]):
                root = np.sqrt(pool[likelihood[e] + v])
                for w in range(v + 1, distance.shape[0]):
                    distance[v, w] += (root - np.sqrt(pool[likelihood[e] + w])) ** 2
    return distance


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
