"""What POMCP, POMCPOW and PFT-DPW have in common as planners: they take the action with the best mean return."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.jit import Words
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.solution import Solution
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision, choose
from pomdplite.planners.monte_carlo.nodes import DEEPEST, FULL, NODES, SIMULATIONS, STEPS, SearchNodes
from pomdplite.planners.monte_carlo.simulation import Simulation
from pomdplite.rng import stream


class MonteCarloPlanner(Planner):
    """Monte-Carlo tree search over histories, from the present one."""

    method: ClassVar[str]  # its name for people
    _simulation: Simulation
    _nodes: SearchNodes
    _root: int = 0  # the node of the present history

    @abstractmethod
    def _search(self, budget: Budget) -> None:
        """Run simulations until the budget is spent."""

    def _begin(self, seed: int) -> None:
        """Forget the last episode."""
        self._simulation.random[:] = stream(seed, 1)
        self._simulation.memory[:] = 0

    def _decide(self) -> Decision:
        self._search(self._search_budget())
        return self._decision()

    def _decision(self) -> Decision:
        nodes, counts = self._nodes, self._nodes.counts
        first = int(nodes.first[self._root])
        pairs = slice(first, first + int(nodes.pairs[self._root]))
        q, tries, actions = nodes.value[pairs].copy(), nodes.tries[pairs].copy(), nodes.action[pairs].copy()
        q[tries == 0] = -np.inf  # nothing is known of them
        zero = np.zeros(len(q))
        notes = ("the search ran out of space for new histories",) if counts[FULL] else ()
        return Decision(
            action=choose(actions, q),
            solution=Solution(
                solver=self.method, actions=actions, q=q, bonus_part=zero, mean_reward=zero, mean_bonus=zero,
                states=int(counts[NODES]), visits=tries.astype(np.int32), simulations=int(counts[SIMULATIONS]),
                steps=int(counts[STEPS]), deepest=int(counts[DEEPEST]),
            ),
            action_names=self.model.actions,
            notes=notes + self.belief.notes,
        )  # fmt: skip

    def _remember(self, before: Words, a: int, y: Words, o: int) -> None:
        """What the model remembers of a step from `before`."""
        model, memory = self.belief.kernel_model, self._simulation.memory
        abi.remember(model, before.reshape(1, -1), a, y.reshape(1, -1), 0, o, memory, 0)
        self.view.raise_fault()
