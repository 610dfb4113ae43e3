"""Noise in kernels: added to the words of a record, or weighed by its density.

Where noise is Gaussian, a user's function writes a mean and standard deviations, and what is added to the mean is
computed here, for compiled and interpreted functions alike. A model therefore compiles only what its user wrote.
"""

import math
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Words, inner, kernel
from pomdplite.model.readings import NoiseLayout

_TURN = 2.0 * math.pi
_HALF_LOG_TURN = 0.5 * math.log(_TURN)
_EVEN = 10.0  # radians: with a standard deviation above this, the density of an angle is the same everywhere


class Noise(NamedTuple):
    """The noise of steps or of readings, as kernels see it."""

    numbers: int  # random ones
    gaussian: bool  # added to the mean that the model's function writes; else the function is given the numbers
    word: Ints  # [2, number] the word of the record that each number is added to, ascending; 1 if it is an angle


def noise_of(layout: NoiseLayout) -> Noise:
    """The noise of a record."""
    return Noise(
        numbers=layout.count,
        gaussian=layout.form in ("gaussian", "exact"),
        word=np.array([layout.words, layout.angles], np.int64).reshape(2, -1),
    )


@kernel
def wrapped(angle: float) -> float:
    """The same angle in [−π, π)."""
    inside = angle - _TURN * math.floor((angle + math.pi) / _TURN)
    return inside if inside < math.pi else -math.pi


@inner
def add_noise(noise: Noise, rows: Words, row: int, sds: Words, first: int, u: Floats) -> None:
    """Add standard normal numbers times standard deviations, sds[0, first:], to the mean in rows[row]."""
    mean, sd = rows.view(np.float64), sds.view(np.float64)
    for k in range(noise.numbers):
        w = noise.word[0, k]
        value = mean[row, w] + sd[0, first + k] * u[k]
        if noise.word[1, k] == 1:
            value = wrapped(value)
        mean[row, w] = value + 0.0  # not -0.0: equal numbers are equal words


@inner
def log_normal_words(noise: Noise, mean: Words, words: int, rows: Words, row: int, first: int) -> float:
    """The log density of the record at rows[row, first:], given the mean in mean[0] and standard deviations behind it.

    Words without noise, and words whose standard deviation is 0, must equal the mean; else -inf.
    """
    return log_normal_scaled(noise, mean, 0, words, rows, row, first, log_scale(noise, mean, 0, words))


@inner
def log_scale(noise: Noise, mean: Words, m: int, words: int) -> float:
    """The part of the log density that depends on the standard deviations behind mean[m] alone; angles have none."""
    sd, total = mean.view(np.float64), 0.0
    for k in range(noise.numbers):
        if noise.word[1, k] == 0 and sd[m, words + k] > 0.0:
            total -= math.log(sd[m, words + k]) + _HALF_LOG_TURN
    return total


@inner
def log_normal_scaled(
    noise: Noise, mean: Words, m: int, words: int, rows: Words, row: int, first: int, scale: float
) -> float:
    """The log density of the record at rows[row, first:] for the mean in mean[m], whose `log_scale` is known."""
    value, center = rows.view(np.float64), mean.view(np.float64)
    total, k = scale, 0
    for w in range(words):
        sd = 0.0
        angle = False
        if k < noise.numbers and noise.word[0, k] == w:
            sd, angle = center[m, words + k], noise.word[1, k] == 1
            k += 1
        if sd == 0.0:
            if rows[row, first + w] != mean[m, w]:
                return -np.inf
        elif angle:
            total += _log_wrapped_normal(value[row, first + w] - center[m, w], sd)
        else:
            d = (value[row, first + w] - center[m, w]) / sd
            total -= 0.5 * d * d
    return total


@inner
def _log_wrapped_normal(difference: float, sd: float) -> float:
    """The log density of an angle at this distance from its mean: the sum over all turns."""
    if sd > _EVEN:
        return -math.log(_TURN)
    nearest = wrapped(difference)
    turns = 1 + int(sd)
    total = 0.0
    for turn in range(-turns, turns + 1):
        d, d_nearest = (nearest + turn * _TURN) / sd, nearest / sd
        total += math.exp(0.5 * (d_nearest * d_nearest - d * d))
    d = nearest / sd
    return math.log(total) - 0.5 * d * d - math.log(sd) - _HALF_LOG_TURN


def nodes(count: int) -> tuple[Floats, Floats]:
    """Values of standard normal numbers, [node, number], and weights, for the mean of a function of them.

    For one number, Gauss–Hermite quadrature with 5 nodes, exact up to the 9th degree. For more, the spherical rule of
    the third degree: two nodes on each axis.
    """
    if count == 1:
        at, weights = np.polynomial.hermite_e.hermegauss(5)
        return at.reshape(-1, 1).copy(), weights / weights.sum()
    axes = math.sqrt(count) * np.eye(count)
    return np.concatenate([axes, -axes]), np.full(2 * count, 0.5 / max(1, count))
