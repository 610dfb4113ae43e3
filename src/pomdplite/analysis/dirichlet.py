"""Lemma 1 (Independent Dirichlet Prior): the bonus of (s, a) if its transition probabilities have a Dirichlet prior.

α_k counts how often (s, a) led to s_k, with the prior's own counts, and α₀ = Σ_k α_k. The lemma measures the change of
the *mean* transition probabilities, α_k / α₀:

    E Σ_j |P(s_j | b', s, a) − P(s_j | b, s, a)| = 2 Σ_k α_k (α₀ − α_k) / (α₀² (α₀ + 1)) ≤ 2 / (1 + α₀)

Its expectation after n more visits is exactly α₀ / (α₀ + n) times as large, but a rare outcome can increase it. The
bonus of Definition 1 is another one, the change of the *belief*, a density p ↦ b(p) over probability vectors:

    E‖b' − b‖₁ = Σ_k E_b |p_k − α_k / α₀| = Σ_k 2 α_k^α_k (α₀ − α_k)^(α₀ − α_k) / (B(α_k, α₀ − α_k) α₀^(α₀ + 1))

which decreases like 1/√n. docs/theory.md has both proofs.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import betaln, xlogy

from pomdplite.analysis.visits import BonusByVisits
from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError


def mean_change(counts: Sequence[float] | Floats) -> float:
    """The lemma's bonus, without β: the expected L1 change of the mean transition probabilities."""
    alpha = _checked(counts)
    total = alpha.sum()
    return float(2 * (alpha * (total - alpha)).sum() / (total**2 * (total + 1)))


def mean_change_bound(total: float) -> float:
    """2/(1 + α₀), the lemma's bound."""
    return 2 / (1 + total)


def belief_change(counts: Sequence[float] | Floats) -> float:
    """Definition 1 with β = 1: the expected L1 change of the Dirichlet density, the sum of mean absolute deviations."""
    alpha = _checked(counts)
    alpha = alpha[alpha > 0]
    total, rest = alpha.sum(), alpha.sum() - alpha
    if len(alpha) < 2:
        return 0.0
    logs = xlogy(alpha, alpha) + xlogy(rest, rest) - betaln(alpha, rest) - xlogy(total + 1, total)
    return float(2 * np.exp(logs).sum())


def mean_change_by_visits(counts: Sequence[float] | Floats, visits: int) -> BonusByVisits:
    """The lemma's bonus after 0, 1, … visits: largest if outcomes even the counts out, smallest if all are alike."""
    alpha = _checked(counts)
    total, first = alpha.sum(), mean_change(alpha)
    even, uneven = alpha.copy(), alpha.copy()
    largest, smallest = [first], [first]
    for _ in range(visits):
        even[np.argmin(even)] += 1
        uneven[np.argmax(uneven)] += 1
        largest.append(mean_change(even))
        smallest.append(mean_change(uneven))
    mean = first * total / (total + np.arange(visits + 1))
    # After enough outcomes that are all alike, another one increases the bonus, to almost twice as much.
    return BonusByVisits(mean, np.array(largest), np.array(smallest), recurs=False, monotone=len(alpha) < 2)


def visits_until_known(counts: Sequence[float] | Floats, threshold: float) -> float:
    """The visits after which the lemma's bonus is on average below a threshold: α₀ (bonus / threshold − 1), rounded."""
    alpha = _checked(counts)
    first = mean_change(alpha)
    return 0.0 if first < threshold else float(math.floor(alpha.sum() * (first / threshold - 1)) + 1)


def _checked(counts: Sequence[float] | Floats) -> Floats:
    alpha = np.asarray(counts, float)
    if alpha.ndim != 1 or not np.all(np.isfinite(alpha)) or np.any(alpha < 0) or alpha.sum() <= 0:
        raise UsageError(f"counts must be a list of numbers of at least 0, not all 0, not {counts!r}.")
    return alpha
