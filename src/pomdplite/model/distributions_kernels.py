"""Draws and densities of hidden numbers given by distribution.

Each number has an unconstrained form z, any real number: the normal quantile of its place in the interval for Uniform,
the logit for Beta, the logarithm for LogNormal and Gamma, the number itself for Normal. Numbers are drawn, and Markov
chains and grids work, in terms of z; densities are those of z, so they contain the Jacobian of the transformation.
"""

import math

import numpy as np

from pomdplite.compile.jit import Floats, Words, inlined, inner, kernel
from pomdplite.model.distributions import BETA, GAMMA, NORMAL, UNIFORM, DistributionTable
from pomdplite.rng import normal_quantile, uniform

_SMALLEST = 2.2250738585072014e-308  # the smallest number of full precision
_BELOW_ONE = 1.0 - 2.0**-53
_LARGEST_LOG = 709.0
_TINY = 2.0**-54  # what a uniform number of 0 counts as, where its logarithm is needed


@kernel
def draw_distributed(table: DistributionTable, theta: Words, stream: Words) -> None:
    """Fill all rows with independent draws from the prior."""
    for t in range(theta.shape[0]):
        for c in range(table.kind.shape[0]):
            if c < table.continuous:
                set_coordinate(table, c, _draw_unconstrained(table, c, stream), theta, t)
            else:
                redraw_listed(table, c, theta, t, stream)


@inner
def redraw_listed(table: DistributionTable, c: int, theta: Words, t: int, stream: Words) -> None:
    """Draw the listed coordinate c of theta[t] from its prior."""
    u, last = uniform(stream), table.first[c]
    for v in range(table.first[c], table.first[c + 1]):
        if table.weights[v] > 0.0:
            last = v
            u -= table.weights[v]
            if u < 0.0:
                break
    theta[t, table.word[c]] = table.values[last]


@inner
def _draw_unconstrained(table: DistributionTable, c: int, stream: Words) -> float:
    kind, one, two = table.kind[c], table.one[c], table.two[c]
    if kind == UNIFORM:
        return normal_quantile(uniform(stream))
    if kind == BETA:
        return draw_log_gamma(one, stream) - draw_log_gamma(two, stream)
    if kind == GAMMA:
        return math.log(two) + draw_log_gamma(one, stream)
    return one + two * normal_quantile(uniform(stream))


@inner
def draw_log_gamma(shape: float, stream: Words) -> float:
    """The logarithm of a draw from Gamma(shape, 1), by Marsaglia and Tsang (2000).

    For a shape below 1, g u^(1/shape) with g from Gamma(shape + 1, 1); its logarithm never underflows.
    """
    boost = 0.0
    if shape < 1.0:
        boost = math.log(max(uniform(stream), _TINY)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    while True:
        x = normal_quantile(uniform(stream))
        v = 1.0 + x / math.sqrt(9.0 * d)
        if v > 0.0:
            v = v * v * v
            if math.log(max(uniform(stream), _TINY)) < 0.5 * x * x + d - d * v + d * math.log(v):
                return boost + math.log(d * v)


@inlined
def set_coordinate(table: DistributionTable, c: int, z: float, theta: Words, t: int) -> None:
    """Write the number whose unconstrained form is z into theta[t].

    Where it would be rounded to an end of its range, it is the nearest number inside.
    """
    kind, one, two = table.kind[c], table.one[c], table.two[c]
    numbers = theta[t].view(np.float64)
    if kind == NORMAL:
        x = z
    elif kind == UNIFORM:
        x = one + (two - one) * (0.5 * math.erfc(-z / math.sqrt(2.0)))
        x = min(max(x, np.nextafter(one, two)), np.nextafter(two, one))
    elif kind == BETA:
        x = min(max(_logistic(z), _SMALLEST), _BELOW_ONE)
    else:
        x = max(math.exp(min(z, _LARGEST_LOG)), _SMALLEST)
    numbers[table.word[c]] = x + 0.0  # no -0.0: equal numbers are equal words


@inlined
def unconstrained(table: DistributionTable, c: int, theta: Words, t: int) -> float:
    """The unconstrained form of the continuous coordinate c of theta[t]."""
    kind, one, two = table.kind[c], table.one[c], table.two[c]
    x = theta[t].view(np.float64)[table.word[c]]
    if kind == NORMAL:
        return x
    if kind == UNIFORM:  # from the nearer end, where it is more precise
        if two - x < x - one:
            return -normal_quantile((two - x) / (two - one))
        return normal_quantile((x - one) / (two - one))
    if kind == BETA:
        return math.log(x) - math.log1p(-x)
    return math.log(x)


@inlined
def log_prior(table: DistributionTable, z: Floats, i: int) -> float:
    """The logarithm of the prior density of the unconstrained numbers z[i]."""
    total = 0.0
    for c in range(table.continuous):
        kind, one, two = table.kind[c], table.one[c], table.two[c]
        total += table.log_constant[c]
        if kind == UNIFORM:
            total -= 0.5 * z[i, c] ** 2
        elif kind == BETA:
            total -= two * _log1p_exp(z[i, c]) + one * _log1p_exp(-z[i, c])
        elif kind == GAMMA:
            shifted = z[i, c] - math.log(two)
            total += one * shifted - math.exp(min(shifted, _LARGEST_LOG))
        else:
            total -= 0.5 * ((z[i, c] - one) / two) ** 2
    return total


@kernel
def prior_log_densities(table: DistributionTable, z: Floats, logs: Floats) -> None:
    """`log_prior` of every row."""
    for i in range(z.shape[0]):
        logs[i] = log_prior(table, z, i)


@kernel
def to_unconstrained(table: DistributionTable, theta: Words, z: Floats) -> None:
    """The unconstrained form of the continuous coordinates of every row."""
    for t in range(theta.shape[0]):
        for c in range(table.continuous):
            z[t, c] = unconstrained(table, c, theta, t)


@kernel
def from_unconstrained(table: DistributionTable, z: Floats, theta: Words) -> None:
    """Write the continuous coordinates of every row; the listed ones stay as they are."""
    for t in range(theta.shape[0]):
        for c in range(table.continuous):
            set_coordinate(table, c, z[t, c], theta, t)


@inlined
def _logistic(z: float) -> float:
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@inlined
def _log1p_exp(z: float) -> float:
    """log(1 + e^z)."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))
