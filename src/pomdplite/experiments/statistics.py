"""Statistics of returns: intervals of a mean, and comparisons of planners on the same episodes.

Episode i has the same hidden value and noise under every planner, so planners are compared episode by episode: paired
differences, a sign-flip test, and Holm's correction. Returns are far from normal (Tiger's are a few values and a rare
−100), which a t test assumes. The sign-flip test does not: if two planners are equal, an episode's difference is as
likely to have one sign as the other, so the observed mean difference is compared with those under random signs.
docs/decisions/0007-statistics.md says why it is written here rather than taken from SciPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.experiments.episodes.episode import Episode

LEVEL = 0.05  # significance level of all comparisons in a column together
FLIPS = 10_000  # minimum number of random sign patterns; the smallest p is one in so many
_LISTED = 13  # up to this many differences, all 2^n sign patterns are enumerated instead
_BLOCK = 4_000_000  # signs held in memory at a time
_SEED = 1  # the same returns give the same p


@dataclass(frozen=True)
class Difference:
    """The mean paired difference of two planners' returns, over the episodes that both have played."""

    episodes: int
    mean: float
    stderr: float

    @classmethod
    def of(cls, differences: Floats) -> "Difference":
        """The mean of these differences."""
        return cls(len(differences), float(differences.mean()), standard_error(differences))

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of the mean difference."""
        return t_interval(self.mean, self.stderr, self.episodes)


def standard_error(values: Floats) -> float:
    """Standard error of the mean; infinite for a single value."""
    if len(values) < 2:
        return float("inf")
    return float(values.std(ddof=1) / np.sqrt(len(values))) if np.ptp(values) > 0 else 0.0  # exact for equal values


def t_interval(mean: float, stderr: float, count: int, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of a mean of `count` values; unbounded for a single value."""
    from scipy.special import stdtrit  # importing SciPy takes longer than starting the command line does

    half = float(stdtrit(count - 1, (1 + level) / 2)) * stderr if count > 1 else float("inf")
    return mean - half, mean + half


def paired_differences(mine: Sequence[Episode], other: Sequence[Episode]) -> Floats:
    """Differences of returns on the common episodes; empty if there are none."""
    theirs = {e.index: e.discounted for e in other}
    return np.array([e.discounted - theirs[e.index] for e in mine if e.index in theirs])


def sign_flip_p(differences: Floats, flips: int = FLIPS) -> float:
    """Two-sided p value of the hypothesis that the mean difference is zero."""
    gaps = differences[differences != 0]  # flipping a zero changes nothing
    if not len(gaps):
        return 1.0
    observed = abs(float(gaps.sum())) * (1 - 1e-12)  # patterns that are as extreme but for rounding count as well
    if len(gaps) <= _LISTED:
        patterns = np.arange(2 ** len(gaps))[:, None] >> np.arange(len(gaps)) & 1
        return float(np.mean(np.abs((2 * patterns - 1) @ gaps) >= observed))
    generator = np.random.default_rng(_SEED)
    rows = max(1, _BLOCK // len(gaps))
    extreme = 0
    for start in range(0, flips, rows):
        count = min(rows, flips - start)
        bits = np.unpackbits(np.frombuffer(generator.bytes(-(-count * len(gaps) // 8)), np.uint8))
        signs = 2.0 * bits[: count * len(gaps)].reshape(count, -1) - 1.0
        extreme += int(np.sum(np.abs(signs @ gaps) >= observed))
    return (1 + extreme) / (1 + flips)


def holm(ps: Sequence[float], family: int | None = None) -> list[float]:
    """Holm's step-down correction: p values that can each be compared with the level of the whole family.

    `ps` may be part of a larger family of comparisons; the others then count as if they came last.
    """
    corrected = [0.0] * len(ps)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, ((family or len(ps)) - rank) * ps[i]))
        corrected[i] = largest
    return corrected
