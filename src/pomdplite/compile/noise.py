"""Noise in kernels: added to the words of a record, or weighed by its density.

Where noise is Gaussian, a user's function writes a mean and standard deviations, and what is added to the mean is
computed here, for compiled and interpreted functions alike. A model therefore compiles only what its user wrote.
"""

import math
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, Words, inner, kernel
from pomdplite.model.readings import NoiseLayout

_TURN = 2.0 * math.pi
_EVEN = 10.0  # radians: with a standard deviation above this, the density of an angle is the same everywhere


class Noise(NamedTuple):
    """The noise of steps or of readings, as kernels see it."""

    numbers: int  # random ones
    gaussian: bool  # added to the mean that the model's function writes; else the function is given the numbers
    word: Ints  # [number] the word of the record that each number is added to, in ascending order
    angle: Flags  # [number] whether that word is an angle
    scratch: Words  # [1, words of the record + numbers] a mean, and behind it standard deviations or random numbers


def noise_of(layout: NoiseLayout, words: int) -> Noise:
    """The noise of a record with so many words."""
    return Noise(
        numbers=layout.count,
        gaussian=layout.form in ("gaussian", "exact"),
        word=np.array(layout.words, np.int64),
        angle=np.array(layout.angles, np.bool_),
        scratch=np.zeros((1, words + layout.count), np.uint64),
    )


@kernel
def wrapped(angle: float) -> float:
    """The same angle in [−π, π)."""
    inside = angle - _TURN * math.floor((angle + math.pi) / _TURN)
    return inside if inside < math.pi else -math.pi


@inner
def add_noise(noise: Noise, rows: Words, row: int, sds: Words, u: Floats) -> None:
    """Add standard normal numbers times standard deviations, the last words of sds[0], to the mean in rows[row]."""
    first = sds.shape[1] - noise.numbers
    mean, sd = rows.view(np.float64), sds.view(np.float64)
    for k in range(noise.numbers):
        w = noise.word[k]
        value = mean[row, w] + sd[0, first + k] * u[k]
        if noise.angle[k]:
            value = wrapped(value)
        mean[row, w] = value + 0.0  # not -0.0: equal numbers are equal words


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
