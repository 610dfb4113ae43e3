"""Densities of one record under many normal distributions, as Bayes' rule needs them: up to a common factor.

If the distributions differ in their means alone, then so do the log densities but for the squared distances, and no
logarithm is needed. That is the case wherever a model declares its noise and leaves it at that.
"""

import math

import numpy as np

from pomdplite.compile.jit import Floats, Words, inner
from pomdplite.compile.noise import Noise, log_normal_scaled, wrapped

_NEGLIGIBLE = 40.0  # e^-40 of a density


@inner
def normal_logs(
    noise: Noise, means: Words, scale: Floats, words: int, n: int, record: Words, logs: Floats
) -> None:  # fmt: skip
    """Fill logs[:n] with the log density of record[0] under the means and standard deviations in means[:n].

    They may be shifted by a common number. scale: `log_scale` of each mean.
    """
    if _alike(noise, means, words, n) and _squared_distances(noise, means, words, n, record, logs):
        return
    for v in range(n):
        logs[v] = log_normal_scaled(noise, means, v, words, record, 0, 0, scale[v])


@inner
def _alike(noise: Noise, means: Words, words: int, n: int) -> bool:
    """Whether all standard deviations are positive, and the same under every mean."""
    sd = means.view(np.float64)
    for k in range(words, words + noise.numbers):
        if sd[0, k] == 0.0:
            return False
        for v in range(1, n):
            if sd[v, k] != sd[0, k]:
                return False
    return True


@inner
def _squared_distances(noise: Noise, means: Words, words: int, n: int, record: Words, logs: Floats) -> bool:
    """The same as −½ Σ (distance / standard deviation)²; False if an angle is far enough for turns to add up."""
    value, center, k = record.view(np.float64), means.view(np.float64), 0
    for v in range(n):
        logs[v] = 0.0
    for w in range(words):
        if k == noise.numbers or noise.word[0, k] != w:
            for v in range(n):
                if record[0, w] != means[v, w]:
                    logs[v] = -np.inf
            continue
        sd = center[0, words + k]
        scale = -0.5 / (sd * sd)
        for v in range(n):
            d = value[0, w] - center[v, w]
            if noise.word[1, k] == 1:
                d = wrapped(d)
                if 2.0 * math.pi * (math.pi - abs(d)) < _NEGLIGIBLE * sd * sd:
                    return False
            logs[v] += scale * d * d
        k += 1
    return True
