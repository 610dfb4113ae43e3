"""Rewards for exploring unknown probabilities, each from its paper, as functions of the counts α of a step.

All follow from two numbers: α₀ = Σ_k α_k, and the chance that two steps have different outcomes,

    D = 2 Σ_e P(e) (1 − P(e))        P(e) = α_e / α₀

with outcomes e = (next state, observation) as they are seen.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats


class Evidence(NamedTuple):
    """What is known about some steps."""

    total: Floats  # α₀
    visits: Floats  # how often their distribution has been seen: α₀ without the prior's
    differ: Floats  # D


class Bonus(NamedTuple):
    """What is added to the rewards of some steps."""

    extra: Floats  # in units of β
    closed: Flags | None = None  # where the step is not believed: it is worth β times the extra, and nothing follows


BonusRule = Callable[[Evidence], Bonus]


def no_bonus(steps: Evidence) -> Bonus:
    """Nothing: the mean MDP."""
    return Bonus(np.zeros_like(steps.total))


def expected_change(steps: Evidence) -> Bonus:
    """POMDP-lite: the expected L1 change of the mean, 2 Σ_k α_k (α₀ − α_k) / (α₀² (α₀ + 1))."""
    return Bonus(steps.differ / (1.0 + steps.total))


def inverse_count(steps: Evidence) -> Bonus:
    """BEB (Kolter and Ng 2009): 1 / (1 + α₀); a step with one outcome has nothing to explore and no bonus."""
    return Bonus(np.where(steps.differ > 0, 1.0 / (1.0 + steps.total), 0.0))


def standard_deviation(steps: Evidence) -> Bonus:
    """Sorg, Singh and Lewis (2010): √(Σ_e Var P(e)), with Var P(e) = P(e) (1 − P(e)) / (α₀ + 1) under the Dirichlet."""
    return Bonus(np.sqrt(steps.differ / 2 / (1.0 + steps.total)))


def until_known(visits: int) -> BonusRule:
    """R-max (Brafman and Tennenholtz 2002): a step seen less often is worth the most that an episode can earn, β."""

    def rule(steps: Evidence) -> Bonus:
        unknown = (steps.differ > 0) & (steps.visits < visits - 1e-6)
        return Bonus(unknown.astype(float), unknown)

    return rule
