"""Random streams: a seed and keys name each stream, and the same name gives the same numbers everywhere.

The generator is SplitMix64 (Steele, Lea and Flood 2014) rather than one of NumPy's, because kernels carry its state in
an array and because a seed must give the same bits under every NumPy version.
"""

import operator
from typing import Any

import numpy as np

from pomdplite.compile.jit import Words, kernel
from pomdplite.errors import UsageError, shown

# What a stream is used for; part of its name.
HIDDEN, WORLD, PLANNER, TUNING, RACE, PATHS = range(6)


@kernel
def mix(z: np.uint64) -> np.uint64:
    """SplitMix64's output function."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(stream: Words) -> float:
    """Return the stream's next number, uniform in [0, 1)."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(stream[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def checked_seed(seed: Any) -> int:
    """The seed as Python's integer; UsageError for anything but an integer, Python's or NumPy's."""
    try:
        return operator.index(seed)
    except TypeError:
        raise UsageError(f"a seed must be an integer, not {shown(seed)}.") from None


def stream(seed: int, *keys: int) -> Words:
    """Return the stream named by a seed and keys, as the one-word state that `uniform` advances."""
    state = np.uint64(checked_seed(seed) & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        for key in keys:
            state = mix(state) + np.uint64((key + 1) & 0xFFFFFFFFFFFFFFFF) * np.uint64(0x9E3779B97F4A7C15)
        return np.array([mix(np.uint64(state))], np.uint64)
