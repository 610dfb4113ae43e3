"""Comparing planners on the same episodes: paired differences, a sign-flip test, Holm's correction.

Episode i meets the same hidden value and noise under every planner, so planners are compared episode by episode.
Returns are far from normal (Tiger's are a few values and a rare −100), and a t test leans on their being nearly so.
The sign-flip test does not: if two planners are alike, an episode's difference is as likely to have the one sign as the
other, so the mean difference that was found is set against those with signs drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.evaluate import Z95, standard_error

LEVEL = 0.05  # of a column's comparisons together
FLIPS = 10_000  # drawn sign patterns, at least; the smallest p is one in so many
_LISTED = 13  # up to this many differences all 2^n sign patterns are tried instead
_BLOCK = 4_000_000  # signs held at a time
_SEED = 1  # the same returns give the same p


@dataclass(frozen=True)
class Difference:
    """A planner's mean return less another's, over the episodes that both have played."""

    episodes: int
    mean: float
    stderr: float
    p: float  # two-sided, of this comparison alone

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of the mean difference."""
        return self.mean - Z95 * self.stderr, self.mean + Z95 * self.stderr


def paired_difference(mine: Sequence[Episode], other: Sequence[Episode], flips: int = FLIPS) -> Difference | None:
    """Compare on the common episodes; None where there are none."""
    theirs = {e.index: e.discounted for e in other}
    gaps = np.array([e.discounted - theirs[e.index] for e in mine if e.index in theirs])
    if not len(gaps):
        return None
    return Difference(len(gaps), float(gaps.mean()), standard_error(gaps), sign_flip_p(gaps, flips))


def sign_flip_p(differences: Floats, flips: int = FLIPS) -> float:
    """Two-sided p of a mean difference of zero."""
    gaps = differences[differences != 0]  # flipping a zero changes nothing
    if not len(gaps):
        return 1.0
    found = abs(float(gaps.sum())) * (1 - 1e-12)  # patterns as extreme but for rounding count as well
    if len(gaps) <= _LISTED:
        patterns = np.arange(2 ** len(gaps))[:, None] >> np.arange(len(gaps)) & 1
        return float(np.mean(np.abs((2 * patterns - 1) @ gaps) >= found))
    generator = np.random.default_rng(_SEED)
    rows = max(1, _BLOCK // len(gaps))
    extreme = 0
    for start in range(0, flips, rows):
        count = min(rows, flips - start)
        bits = np.unpackbits(np.frombuffer(generator.bytes(-(-count * len(gaps) // 8)), np.uint8))
        signs = 2.0 * bits[: count * len(gaps)].reshape(count, -1) - 1.0
        extreme += int(np.sum(np.abs(signs @ gaps) >= found))
    return (1 + extreme) / (1 + flips)


def holm(ps: Sequence[float], family: int | None = None) -> list[float]:
    """Holm's step-down correction: p values that may each be held against the level of all of them together.

    These may be some of a larger family of comparisons: those left out then count as if they came last.
    """
    corrected = [0.0] * len(ps)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, ((family or len(ps)) - rank) * ps[i]))
        corrected[i] = largest
    return corrected
