"""Random streams: a seed and keys name each stream, and the same name gives the same numbers everywhere.

The generator is SplitMix64 (Steele, Lea and Flood 2014) rather than one of NumPy's, because kernels carry its state in
an array and because a seed must give the same bits under every NumPy version.
"""

import math
import operator
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats, Words, inner, kernel
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


@kernel
def keyed(state: np.uint64, key: np.uint64) -> np.uint64:
    """One more key in the name of a stream."""
    return mix(state) + (key + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


@inner
def episode_stream(seed: np.uint64, episode: np.uint64, use: int) -> np.uint64:
    """The state of the stream that `stream(seed, episode, use)` returns."""
    return mix(keyed(keyed(seed, episode), np.uint64(use)))


@inner
def normal_quantile(u: float) -> float:
    """The number that a standard normal one stays below with probability u (Wichura 1988, algorithm AS 241).

    0 and 1 count as the nearest numbers that `uniform` can give inside them, so the result is finite: at most 8.3.
    """
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        above = ((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4) * r
                    + 4.5921953931549871457e4) * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r
                 + 1.3314166789178437745e2) * r + 3.3871328727963666080e0  # fmt: skip
        below = ((((((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4) * r
                    + 2.1213794301586595867e4) * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r
                 + 4.2313330701600911252e1) * r + 1.0  # fmt: skip
        return q * above / below
    tail = max(min(u, 1.0 - u), 1.0 / 18014398509481984.0)
    r = math.sqrt(-math.log(tail))
    if r <= 5.0:
        r -= 1.6
        above = ((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r
                    + 1.27045825245236838258e0) * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0) * r
                 + 4.63033784615654529590e0) * r + 1.42343711074968357734e0  # fmt: skip
        below = ((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r
                    + 1.48103976427480074590e-1) * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0) * r
                 + 2.05319162663775882187e0) * r + 1.0  # fmt: skip
    else:
        r -= 5.0
        above = ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r
                    + 2.65321895265761230930e-2) * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0) * r
                 + 5.46378491116411436990e0) * r + 6.65790464350110377720e0  # fmt: skip
        below = ((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r
                    + 7.86869131145613259100e-4) * r + 1.48753612905344062910e-2) * r + 1.36929880922735805310e-1) * r
                 + 5.99832206555887937690e-1) * r + 1.0  # fmt: skip
    return math.copysign(above / below, q)


@inner
def noise_from(u: float, count: int, into: Floats) -> None:
    """Fill the first `count` places with independent standard normal numbers, all derived from the uniform number u."""
    bits = np.uint64(u * 9007199254740992.0)
    for k in range(count):
        if k > 0:
            u = np.float64(mix(bits + np.uint64(k) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11))
            u *= 1.0 / 9007199254740992.0
        into[k] = normal_quantile(u)


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
            state = np.uint64(keyed(state, np.uint64(key & 0xFFFFFFFFFFFFFFFF)))
        return np.array([mix(state)], np.uint64)
