"""BEB, the Bayesian exploration bonus (Kolter and Ng 2009, "Near-Bayesian Exploration in Polynomial Time").

    Ṽ(b, s) = max_a { R(s, a) + β / (1 + α₀(s, a)) + γ Σ_s' P(s' | b, s, a) Ṽ(b, s') }        Equation 4, b frozen

with P the mean under the Dirichlet of (s, a) and α₀ the sum of its counts. The MDP is solved anew after every step, as
the planner's belief changes. The paper looks H steps ahead; here the horizon is that of the discount γ.
"""

from typing import ClassVar

from pomdplite.mdp.counts.bonuses import BonusRule, inverse_count
from pomdplite.planners.unknown.base import BonusPlanner


class Beb(BonusPlanner):
    """Unknown probabilities: explores for a bonus β / (1 + counts) (Kolter and Ng 2009).

    beta        weight of the bonus; 10 % of the range of rewards by default
    solve_time  seconds that preparing, and each solution, may take
    """

    title: ClassVar[str] = "beb"

    def _rule(self) -> BonusRule:
        return inverse_count
