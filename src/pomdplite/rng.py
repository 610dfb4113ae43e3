"""Randomness: every stream is named by a seed and keys, and is the same everywhere.

SplitMix64 (Steele, Lea, Flood 2014), in a few lines here rather than NumPy's generators because kernels carry
its state in an array and because a given seed must give the same bytes under every NumPy version.
"""

import numpy as np

from pomdplite.compile.jit import Floats, Words, kernel

# What a stream is for; part of its name.
HIDDEN, WORLD, PLANNER, TUNING = range(4)


@kernel
def mix(z: np.uint64) -> np.uint64:
    """SplitMix64's output function."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(stream: Words) -> float:
    """The next number of the stream, uniform in [0, 1)."""
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(stream[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def fill_uniform(stream: Words, out: Floats) -> None:
    """The next numbers of the stream."""
    for i in range(out.shape[0]):
        out[i] = uniform(stream)


def stream(seed: int, *keys: int) -> Words:
    """The stream with this name, as the one-word state that `uniform` advances."""
    state = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
    with np.errstate(over="ignore"):
        for key in keys:
            state = mix(state) + np.uint64((key + 1) & 0xFFFFFFFFFFFFFFFF) * np.uint64(0x9E3779B97F4A7C15)
        return np.array([mix(np.uint64(state))], np.uint64)
