"""R-max (Brafman and Tennenholtz 2002): what has been tried fewer than m times is taken to be the best there can be.

    Q̃(s, a) = R_max / (1 − γ)                                    if (s, a) has been tried fewer than m times
    Q̃(s, a) = R(s, a) + γ Σ_s' P̂(s' | s, a) max_a' Q̃(s', a')     otherwise

P̂ is the mean under the counts, prior included, and P̂ goes on being updated beyond m. Tied (s, a) count together. An
(s, a) with a single possible outcome needs no trial.
"""

from typing import Any, ClassVar

from pomdplite.errors import UsageError
from pomdplite.mdp.budget import SOLVE_SECONDS
from pomdplite.mdp.counts.bonuses import BonusRule, until_known
from pomdplite.mdp.reward_range import reward_range
from pomdplite.model.model import Model
from pomdplite.planners.unknown.base import CountsPlanner


class RMax(CountsPlanner):
    """Unknown probabilities: takes an action tried fewer than m times for the best possible (R-max).

    visits      m, the tries after which an action counts as known
    solve_time  seconds that preparing, and each solution, may take
    """

    title: ClassVar[str] = "r-max"

    def __init__(self, model: Model, visits: int = 5, *, solve_time: float = SOLVE_SECONDS) -> None:
        super().__init__(model, solve_time)
        if visits < 1:
            raise UsageError(f"visits must be at least 1, not {visits!r}.")
        self.visits = visits

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"visits": self.visits, "solve_time": self.solve_time}

    def _rule(self) -> BonusRule:
        return until_known(self.visits)

    def _weight(self) -> float:
        """R_max / (1 − γ); at least 0, so that ending an episode never looks better than the unknown."""
        return max(0.0, reward_range(self.view, deadline=self._deadline)[1]) / (1 - self.discount)
