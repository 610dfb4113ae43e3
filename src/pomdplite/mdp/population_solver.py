"""The internal-reward MDP of a θ that cannot be listed, solved exactly for the particles of a belief.

Mean rewards, mean transitions and bonuses are those of the particles, equal ones taken together, and value iteration
covers every state that they can reach. Particles change with every observation, so the graph of these states is built
for each belief anew, from the present state. That pays while the graph is small; beyond it, an online search takes
over.
"""

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.errors import TooLargeError
from pomdplite.mdp.reachable import build
from pomdplite.mdp.sampling import distinct
from pomdplite.mdp.search.solver import SearchSolver
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.value_iteration import TOLERANCE, ValueIteration
from pomdplite.model.compiled import KernelView
from pomdplite.model.hidden_table import population_table


class PopulationSolver:
    """Value iteration on the states that a belief's particles can reach.

    limit  most states of the graph
    """

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, limit: int, tolerance: float = TOLERANCE
    ) -> None:
        self.view, self.gamma, self.beta, self.tolerance, self.limit = view, gamma, beta, tolerance, limit
        self.otherwise: SearchSolver | None = None  # solves where there are more states; without it that is an error
        self.iteration: ValueIteration | None = None
        self._theta: Words = np.zeros((0, 1), np.uint64)  # the different particles that `iteration` is for

    def use_beta(self, beta: float) -> None:
        """Solve for this β from now on."""
        self.beta, self.iteration = beta, None
        if self.otherwise is not None:
            self.otherwise.use_beta(beta)

    def reset(self, prior: Floats, seed: int) -> None:
        """Start a new episode, with nothing kept of the last one."""
        self.iteration = None
        if self.otherwise is not None:
            self.otherwise.reset(prior, seed)

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Solve for the particles of `kernel_model` with the weights b all that s can reach."""
        theta, weights = distinct(kernel_model.theta[:-1], b[:-1])
        try:
            iteration = self._iteration_for(kernel_model, theta, s)
        except TooLargeError:
            if self.otherwise is None:
                raise
            return self.otherwise.solve(kernel_model, s, b)
        return iteration.solve_at(iteration.reachable.find(s), np.append(weights, 1.0))

    def _iteration_for(self, kernel_model: KernelModel, theta: Words, s: Words) -> ValueIteration:
        """Value iteration on a graph for these values of θ that has s: that of the last step, or a new one."""
        known = self.iteration
        if known is not None and np.array_equal(self._theta, theta) and known.reachable.find(s) >= 0:
            return known
        rows = np.concatenate([theta, kernel_model.theta[-1:]])
        table = population_table(self.view.model.hidden, rows)
        view = KernelView(self.view.model, table, kernel_model._replace(theta=rows, offsets=table.offsets))
        reachable = build(view, s, limit=self.limit)
        self.iteration = ValueIteration(reachable, self.gamma, self.beta, tolerance=self.tolerance)
        self._theta = theta
        return self.iteration
