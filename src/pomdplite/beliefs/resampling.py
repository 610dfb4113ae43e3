"""Weighted draws as a distribution: its entropy, and new draws from it."""

import numpy as np

from pomdplite import rng
from pomdplite.compile.jit import Floats, Ints, Words


def entropy(weights: Floats) -> float:
    """Entropy of a distribution, in nats."""
    p = weights[weights > 0]
    return float(max(0.0, -(p * np.log(p)).sum()))


def effective_size(weights: Floats) -> float:
    """The number of equal weights that would be as uneven as these."""
    squares = float((weights**2).sum())
    return 1.0 / squares if squares > 0.0 else 0.0


def resample(weights: Floats, stream: Words) -> Ints:
    """Systematic resampling: particles in proportion to their weights, from one random number."""
    n = len(weights)
    marks = (np.arange(n) + rng.uniform(stream)) / n
    return np.minimum(np.searchsorted(np.cumsum(weights), marks), n - 1)


def resample_equal(count: int, n: int, stream: Words) -> Ints:
    """Systematic resampling of n particles from `count` of equal weight."""
    return ((np.arange(n) + rng.uniform(stream)) * count / n).astype(np.int64)
