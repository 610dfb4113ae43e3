"""PSRL (Strens 2000; Osband, Russo and Van Roy 2013): act optimally in an MDP that is drawn from the belief.

    repeat:
        draw P ~ belief, and solve the MDP with P
        follow its optimal policy for an episode, updating the belief

An episode has a given number of steps. In a task that goes on, it ends when the visits to some (s, a) have doubled
since the draw, the rule of UCRL2 (Jaksch, Ortner and Auer 2010) that later papers on posterior sampling use; Strens
drew anew every few steps.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import SOLVE_SECONDS
from pomdplite.mdp.counts.bonuses import BonusRule, no_bonus
from pomdplite.model.model import Model
from pomdplite.planners.decision import Decision, choose
from pomdplite.planners.unknown.base import CountsPlanner


class Psrl(CountsPlanner):
    """Unknown probabilities: draws an MDP from the belief, and acts optimally in it for a while (posterior sampling).

    resample    steps between two draws; by default, until the visits to some distribution have doubled
    solve_time  seconds that preparing, and each solution, may take
    """

    title: ClassVar[str] = "psrl"

    def __init__(self, model: Model, resample: int | None = None, *, solve_time: float = SOLVE_SECONDS) -> None:
        super().__init__(model, solve_time)
        if resample is not None and resample < 1:
            raise UsageError(f"resample must be at least 1, not {resample!r}.")
        self.resample = resample

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"resample": self.resample, "solve_time": self.solve_time}

    def _rule(self) -> BonusRule:
        return no_bonus

    def _weight(self) -> float:
        return 0.0

    def _begin(self, seed: int) -> None:
        super()._begin(seed)
        self._random = rng.stream(seed, rng.PLANNER)
        self._drawn: Floats | None = None
        self._steps = 0  # since the draw
        self._seen: Floats = self.belief.totals.copy()  # α₀ of every distribution at the draw

    def _decide(self) -> Decision:
        if self._drawn is None or self._is_over():
            self._drawn = np.append(self.belief.sample(self._random), 1.0)
            self._steps, self._seen = 0, self.belief.totals.copy()
        found = self.solver.solve(self.belief.kernel_model, self.s, self._drawn)
        self._steps += 1
        return Decision(action=choose(found.actions, found.q), solution=found, action_names=self.model.actions)

    def _is_over(self) -> bool:
        """Whether the episode of the last draw has ended."""
        if self.resample is not None:
            return self._steps >= self.resample
        before = self._seen - np.add.reduceat(self.model.hidden.counts, self.model.hidden.offsets[:-1])
        return bool(np.any(self.belief.totals - self._seen >= np.maximum(1.0, before) - 1e-9))
