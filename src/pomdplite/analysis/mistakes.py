"""The horizon T and the bound m of the paper's Theorem 2.

T = 1/(1 − γ) ln(1/(ε(1 − γ)))            rewards after T steps are worth at most ε
m = Σ_{s,a} ζ(s, a) / (ε(1 − γ)³) · ln(1/δ) · ln(1/(ε(1 − γ)))      with 1 for the constant of O(·)
"""

import math

from pomdplite.errors import UsageError


def checked_epsilon(epsilon: float) -> float:
    """ε, a share of the range of rewards."""
    if not 0 < epsilon < 1:
        raise UsageError(f"epsilon must be between 0 and 1, a share of the range of rewards, not {epsilon!r}.")
    return float(epsilon)


def horizon(epsilon: float, gamma: float) -> int:
    """T in whole steps."""
    return math.ceil(math.log(1 / (checked_epsilon(epsilon) * (1 - gamma))) / (1 - gamma))


def mistake_bound(visits: float, epsilon: float, gamma: float, delta: float = 0.05) -> float:
    """m for Σ ζ(s, a) = visits: with probability 1 − δ, at most so many steps are not 4ε-optimal."""
    if not 0 < delta < 1:
        raise UsageError(f"delta must be between 0 and 1, not {delta!r}.")
    logarithm = math.log(1 / (checked_epsilon(epsilon) * (1 - gamma)))
    return visits / (epsilon * (1 - gamma) ** 3) * math.log(1 / delta) * logarithm
