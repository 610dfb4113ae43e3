"""A belief, frozen and thinned, and the random numbers of one decision: what steps with real numbers are drawn from.

Where outcomes are drawn, each of them is compared with every hidden value, so a belief about thousands of values is
thinned first. A block of b with at most N possible values is kept as it is. Of a larger one, N values are kept by
systematic resampling of b in an order in which neighbours are alike: that of the rows if they are listed, otherwise
that of their first number. Values that are drawn several times are kept once, with their total weight.

Outcome i of any (s, a) uses point i of the sequence x_i = frac(x_0 + i √p), where p runs through the first primes
(Richtmyer 1951): its first coordinate decides about the hidden value, the others, as normal quantiles, about the noise.
Any successive points are evenly spread, however many there are, and all actions meet the same ones: common random
numbers.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, kernel
from pomdplite.model.compiled import KernelView
from pomdplite.model.spaces import Distributed
from pomdplite.rng import normal_quantile, uniform

MOST_VALUES = 64  # of each block, after thinning; docs/decisions/0015
_NEGLIGIBLE = 1e-12  # a probability that makes no difference
POINTS = 4096  # of the sequence; then it repeats itself


class ValuePool(NamedTuple):
    """The rows of θ where later values cannot be listed beforehand (changing.py); empty where they are."""

    table: Small  # hash table of the rows that were added, -1 where empty
    slot: Small  # [row] its slot
    used: Ints  # [1] rows


class FrozenBelief(NamedTuple):
    """The values of each block that are kept, and the points from which outcomes are drawn.

    Rows are those of `KernelModel.theta`; block c has the entries offsets[c]:offsets[c + 1].
    """

    rows: Ints  # [entry]
    weight: Floats  # [entry] sums to 1 in each block
    offsets: Ints  # [block + 1] the last block is "no component"
    b: Floats  # [row of θ] the same, 0 for those that are not kept
    kept: Words  # [s_words] 1 in every bit of s that x or the maps of these values use
    points: Floats  # [point, 1 + numbers] a uniform number for θ, then the noise of a step and of a reading
    pool: ValuePool


def freeze(view: KernelView, model: KernelModel, b: Floats, stream: Words, most: int = MOST_VALUES) -> FrozenBelief:
    """The belief b over the rows of `model`, thinned to `most` values a block, with new points."""
    order, offsets = _order(view, model.theta), model.offsets.tolist()
    rows: list[Ints] = []
    weights: list[Floats] = []
    for first, last in pairwise(offsets):
        block, weight = _thinned(b[first:last], order[first:last] - first, most)
        rows.append(first + block)
        weights.append(weight)
    ends = np.concatenate([[0], np.cumsum([len(block) for block in rows])]).astype(np.int64)
    points = np.zeros((POINTS, 1 + model.noise.numbers + model.reading.numbers))
    _fill_points(points, point_steps(points.shape[1]), stream)
    kept, weight, thin = np.concatenate(rows), np.concatenate(weights), np.zeros(len(b))
    thin[kept] = weight
    none = ValuePool(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.int64))
    return FrozenBelief(kept, weight, ends, thin, _bits_used(model, kept, ends), points, none)


def _order(view: KernelView, theta: Words) -> Ints:
    """The rows in an order in which neighbours are alike; "no component" last."""
    hidden = view.model.hidden
    if view.listed:
        return np.arange(len(theta))
    if isinstance(hidden, Distributed):
        words, numbers = hidden.table.word, hidden.table.continuous
        listed = [theta[:-1, word] for word in words[numbers:]]
        found = np.lexsort([theta[:-1, words[0]].view(np.float64), *listed])
    else:
        first = np.ascontiguousarray(theta[:-1]).view(hidden.dtype).reshape(-1)[next(iter(hidden.dtype.names or ()))]
        found = np.argsort(first.reshape(len(theta) - 1, -1)[:, 0], kind="stable")
    return np.append(found, len(theta) - 1)


def _thinned(b: Floats, order: Ints, most: int) -> tuple[Ints, Floats]:
    """At most so many of the possible values, in this order, and their weights."""
    possible = order[b[order] > _NEGLIGIBLE]
    if len(possible) <= most:
        return possible, b[possible] / b[possible].sum()
    total = np.cumsum(b[possible])
    marks = (np.arange(most) + 0.5) / most * total[-1]
    drawn = np.minimum(np.searchsorted(total, marks, side="right"), len(possible) - 1)
    chosen, counts = np.unique(drawn, return_counts=True)
    return possible[chosen], counts / most


def _bits_used(model: KernelModel, rows: Ints, offsets: Ints) -> Words:
    """1 in every bit of s that x or the maps of these rows use."""
    bits = np.zeros(model.s_words, np.uint64)
    bits[: model.x_words] = ~np.uint64(0)
    if model.s_words > model.x_words:
        for block in range(len(offsets) - 2):
            for row in rows[offsets[block] : offsets[block + 1]]:
                bits[model.map_word[row]] |= model.map_mask[block] << model.map_shift[row]
    return bits


def canonical(frozen: FrozenBelief, s: Words) -> Words:
    """The state s with the maps of values that are not kept at zero, so that states which differ in them are equal."""
    return s & frozen.kept


def point_steps(dimensions: int) -> Floats:
    """The fractional parts of the square roots of the first primes."""
    primes: list[int] = []
    candidate = 2
    while len(primes) < dimensions:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return np.sqrt(primes) % 1.0


@kernel
def _fill_points(points: Floats, steps: Floats, stream: Words) -> None:
    """Fill the points from a random beginning; from the second coordinate on as normal quantiles."""
    for k in range(points.shape[1]):
        start = uniform(stream)
        for i in range(points.shape[0]):
            at = (start + (i + 1) * steps[k]) % 1.0
            points[i, k] = at if k == 0 else normal_quantile(at)
