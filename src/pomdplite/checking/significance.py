"""Is the mean of bounded random numbers zero? A test whose error rate is a guarantee, not an approximation.

For n independent numbers from an interval of length s, with sample variance V, the mean differs from its expectation by
more than √(2 V ln(4/δ) / n) + 7 s ln(4/δ) / (3 (n − 1)) with probability δ at most (Maurer and Pontil 2009, Theorem 4,
on both sides). A check makes many such tests and divides δ among them, so that a model without mistakes is reported
once in a million checks at most, whatever its distributions are.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats

ERROR_RATE = 1e-6  # of one check: the probability that it reports a right model


class Suspicion(NamedTuple):
    """A mean that must be 0 in a right model, and what it says of the model if it is not."""

    mean: float
    variance: float
    size: int  # how many numbers there are
    span: float  # the length of the interval that they lie in
    text: Callable[[], str]


def suspicions(numbers: Floats, span: float, texts: list[Callable[[], str]]) -> list[Suspicion]:
    """One for each column of [number, column]."""
    means, variances = numbers.mean(axis=0), numbers.var(axis=0, ddof=1)
    return [
        Suspicion(float(mean), float(variance), len(numbers), span, text)
        for mean, variance, text in zip(means, variances, texts, strict=True)
    ]


def strongest(found: list[Suspicion], error_rate: float) -> Suspicion | None:
    """The one whose mean is farthest beyond chance; None if chance explains them all, up to the error rate."""
    if not found:
        return None
    mean, variance, size, span = (np.array(column, float) for column in list(zip(*found, strict=True))[:4])
    log = np.log(4.0 * len(found) / error_rate)
    allowed = np.sqrt(2.0 * variance * log / size) + 7.0 * span * log / (3.0 * (size - 1.0))
    worst = int(np.argmax(np.abs(mean) / allowed))
    return found[worst] if abs(mean[worst]) > allowed[worst] else None
