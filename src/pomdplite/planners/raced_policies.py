"""The policies of a race between values of β (race.py): POMDP-lite with one β, and the work that its decisions take."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import Belief
from pomdplite.compile.jit import Words
from pomdplite.mdp.budget import Budget, Deadline
from pomdplite.mdp.counts.solver import CountsSolver
from pomdplite.mdp.distinct_steps import POOL
from pomdplite.mdp.exact_solver import ExactSolver
from pomdplite.mdp.population_solver import PopulationSolver
from pomdplite.mdp.search.action_widening import listed_at_first
from pomdplite.mdp.search.drawn.solver import WideningSolver
from pomdplite.mdp.search.listed.solver import UctSolver
from pomdplite.mdp.search.solver import SearchSolver
from pomdplite.mdp.solution import Solution

RACE_SEED = 0

# Units of work, each some 3 ns: an exact solver's state-action is one.
_AVERAGED = 0.125  # a number of a distinct step that is averaged over a belief
_FEW_AVERAGED = 1_000_000  # of them that a decision includes
_SEARCHED_STEP = 120  # a step of UCT's simulations
_DRAWN_SEARCH = 150_000  # a search with drawn outcomes, besides
_DRAWN_STEP = 25  # a step of simulations with drawn outcomes
_COMPARISON = 8  # of a hidden value with an outcome
_SMALL = 1_000  # likelihoods of an (s, a) that this includes; each of those beyond is one
_COUNTED_SOLUTION, _COUNTED_PAIR = 80_000, 5  # of unknown probabilities: a solution, and each of its state-actions
_LISTED_STEP = 40  # an (x, θ, a) of particles that is listed and solved
SIMULATIONS = 100  # of a search per step
_REAL_OUTCOMES = 8  # by which a bonus is estimated there


class Policy(Protocol):
    """POMDP-lite with one β."""

    keeps: bool  # whether a decision in the same state and belief is the same, so that it can be kept

    def begin(self, belief: Belief, episode: int) -> None:
        """Begin an episode."""

    def solve(self, belief: Belief, s: Words) -> Solution:
        """The values of the actions in s."""

    @property
    def work(self) -> int:
        """Units of work so far."""


class SolvedPolicy:
    """Decides by value iteration, on the graph that the planner and all candidates share."""

    keeps = True

    def __init__(self, solver: ExactSolver, beta: float, deadline: Deadline) -> None:
        self._iteration = solver.iterate(beta, deadline)
        self._prior = solver.view.table.prior
        self._begun = False
        numbers = int(self._iteration.reachable.distinct.counts[POOL])
        self._evaluation = int(_AVERAGED * max(0, numbers - _FEW_AVERAGED))

    def begin(self, belief: Belief, episode: int) -> None:
        """Forget the last episode before the next decision; if all decisions are known, there is none."""
        self._begun = False

    def solve(self, belief: Belief, s: Words) -> Solution:
        """The values of the actions in s."""
        if not self._begun:
            self._iteration.reset(self._prior)
            self._begun = True
        return self._iteration.solve_at(self._iteration.reachable.find(s), belief.probabilities)

    @property
    def work(self) -> int:
        """State-actions evaluated, and numbers of their steps averaged."""
        return self._iteration.evaluated + self._evaluation * self._iteration.evaluations


class CountingPolicy:
    """Decides by value iteration on the mean of unknown probabilities, with the planner's solver."""

    keeps = False  # counts hardly ever come up again

    def __init__(self, solver: CountsSolver, beta: float) -> None:
        self._solver, self._beta, self.work = solver, float(beta), 0

    def begin(self, belief: Belief, episode: int) -> None:
        """Begin with the solution for the prior."""
        before = self._solver.evaluated
        if self._solver.beta != self._beta:
            self._solver.use_beta(self._beta)
        self._solver.reset(belief.probabilities, 0)
        self.work += self._solver.evaluated - before

    def solve(self, belief: Belief, s: Words) -> Solution:
        """The values of the actions in s."""
        before = self._solver.evaluated
        found = self._solver.solve(belief.kernel_model, s, belief.probabilities)
        self.work += _COUNTED_SOLUTION + _COUNTED_PAIR * (self._solver.evaluated - before)
        return found


class SearchedPolicy:
    """Decides by a short search, or exactly for the particles of a belief while they reach few states.

    All candidates use the planner's solver, which begins each episode with nothing kept.
    """

    keeps = False

    def __init__(self, solver: UctSolver | WideningSolver | PopulationSolver, beta: float) -> None:
        self._solver, self._beta, self.work = solver, float(beta), 0
        self._search = solver.otherwise if isinstance(solver, PopulationSolver) else solver

    def begin(self, belief: Belief, episode: int) -> None:
        """Begin with an empty graph and the episode's random numbers."""
        self._solver.use_beta(self._beta)
        self._solver.reset(belief.probabilities, race_number(episode, rng.PLANNER))

    def solve(self, belief: Belief, s: Words) -> Solution:
        """The values of the actions in s."""
        with _short(self._search):
            found = self._solver.solve(belief.kernel_model, s, belief.probabilities)
        if isinstance(self._search, WideningSolver) and found.simulations > 0:
            self.work += _DRAWN_SEARCH + _DRAWN_STEP * found.steps + _COMPARISON * self._search.comparisons
        else:
            self.work += _SEARCHED_STEP * found.steps + self._expansion(belief) * found.simulations
        if isinstance(self._solver, PopulationSolver) and self._solver.iteration is not None:
            reachable = self._solver.iteration.reachable
            self.work += _LISTED_STEP * reachable.state_actions * len(reachable.view.table.theta)
        return found

    def _expansion(self, belief: Belief) -> int:
        """The work of adding a node, beyond what the steps of a simulation include."""
        model = self._solver.view.kernel_model
        values = np.max(np.diff(model.offsets)) if self._solver.view.listed else len(belief.probabilities) - 1
        return listed_at_first(model.actions) * max(0, (model.observations + 1) * int(values) - _SMALL)


@contextmanager
def _short(search: SearchSolver | None) -> Iterator[None]:
    """A budget in simulations for the searches of a race."""
    if search is None:
        yield
        return
    planned = search.budget, search.parameters
    search.budget = Budget(None, SIMULATIONS)
    if isinstance(search, WideningSolver):
        search.parameters = search.parameters._replace(outcomes=min(_REAL_OUTCOMES, search.parameters.outcomes))
    try:
        yield
    finally:
        search.budget, search.parameters = planned


def race_number(episode: int, purpose: int) -> int:
    """A seed for an episode of a race."""
    return int(rng.stream(RACE_SEED, episode, rng.RACE, purpose)[0])
