"""The variance-based bonus (Sorg, Singh and Lewis 2010, "Variance-Based Rewards for Approximate Bayesian RL").

    R̃(b, s, a) = R(s, a) + β √( Σ_s' Var_b[ P(s' | s, a) ] )

for known rewards: the standard deviations of the transition probabilities under the posterior, which for a Dirichlet
with mean p are p (1 − p) / (α₀ + 1). The mean MDP with these rewards is solved anew after every step.
"""

from typing import ClassVar

from pomdplite.mdp.counts.bonuses import BonusRule, standard_deviation
from pomdplite.planners.unknown.base import BonusPlanner


class VarianceBonus(BonusPlanner):
    """Unknown probabilities: explores for a bonus β times their posterior deviation (Sorg, Singh and Lewis 2010).

    beta        weight of the bonus; 10 % of the range of rewards by default
    solve_time  seconds that preparing, and each solution, may take
    """

    title: ClassVar[str] = "variance-bonus"

    def _rule(self) -> BonusRule:
        return standard_deviation
