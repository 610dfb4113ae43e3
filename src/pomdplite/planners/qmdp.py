"""QMDP (Littman, Cassandra, Kaelbling 1995): act as if θ were told after the next step.

    a ← argmax_a Σ_θ b(θ) Q_θ(x, a)

Q_θ is exact for every θ (mdp/informed.py), and Σ_θ b(θ) V_θ(x) is a bound from above on what any planner can have.
Information has no value to QMDP, so actions that only inform are equal, and how one of them is chosen decides how good
it is: the most informative by default, which is the strongest, or one at random.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import ExactBelief, exact_belief
from pomdplite.compile.jit import Floats, Ints, kernel
from pomdplite.errors import UsageError
from pomdplite.mdp.distinct_steps import DistinctSteps
from pomdplite.mdp.full_information import MEMORY, full_information_q, full_information_values
from pomdplite.mdp.momdp import Joint, momdp_form
from pomdplite.mdp.reachable import Graph
from pomdplite.model.model import Model
from pomdplite.planners.base import Decision, Planner, best_actions

TIES = ("informative", "random")


class Qmdp(Planner):
    """Exact for every θ, averaged over the belief.

    ties    which of equal actions is taken: "informative", the one expected to change the belief most, or "random"
    memory  gigabytes that the values may take
    """

    title: ClassVar[str] = "qmdp"

    def __init__(self, model: Model, ties: str = "informative", memory: float = MEMORY / 1e9) -> None:
        super().__init__(model)
        if not memory > 0:
            raise UsageError(f"memory must be a positive number of gigabytes, not {memory!r}.")
        if ties not in TIES:
            raise UsageError(f"no ties {ties!r}; there are {', '.join(TIES)}.")
        self.ties, self.memory = ties, memory
        self.deterministic = ties != "random"

    @property
    def parameters(self) -> dict[str, Any]:
        """How equal actions are told apart, and gigabytes for the values."""
        return {"ties": self.ties, "memory": self.memory}

    belief: ExactBelief

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.momdp = momdp_form(self.model)
        self.belief = exact_belief(self.view)
        self.values = full_information_values(self.momdp, self.model.discount, memory=int(self.memory * 1e9))

    def reset(self, seed: int = 0) -> None:
        """Back to the first state and the prior; the seed is for choosing among equal actions."""
        super().reset(seed)
        self._stream = rng.stream(seed)

    def _decide(self) -> Decision:
        r = self.momdp.reachable
        state = r.find(self.s[: self.model.state.words])
        if state < 0:
            raise UsageError(
                f"{self.model.name}: x = ({self.view.describe(self.s)}) cannot be reached in the model, so QMDP has no "
                "value for it."
            )
        b = self.belief.joint()
        pairs = r.actions(state)
        q, reward = np.zeros(len(pairs)), np.zeros(len(pairs))
        _average(r.graph, r.distinct, self.momdp.joint, self.values, b, state, pairs, self.model.discount, q, reward)
        actions, zero = r.graph.action[pairs], np.zeros(len(pairs))
        best, bound = best_actions(actions, q), float(b @ self.values[state])
        if self.ties == "random":
            action = int(best[int(rng.uniform(self._stream) * len(best))])
        else:
            action = int(max(best, key=lambda a: self.belief.expected_change(self.state, int(a))))
        return Decision(
            action, str(self.model.actions[action]), float(q.max()), actions, q, zero, reward, zero,
            "full information after one step", r.states, bounds=(-np.inf, bound),
        )  # fmt: skip


@kernel
def _average(
    graph: Graph, distinct: DistinctSteps, joint: Joint, v: Floats, b: Floats, state: int, pairs: Ints,
    gamma: float, q: Floats,
    reward: Floats,
) -> None:  # fmt: skip
    """Σ_θ b(θ) Q_θ(x, a) and Σ_θ b(θ) R(x, θ, a) for each action."""
    for i in range(pairs.shape[0]):
        r = graph.step[pairs[i]]
        size, stride = joint.size[distinct.component[r]], joint.stride[distinct.component[r]]
        for j in range(b.shape[0]):
            if b[j] > 0.0:
                q[i] += b[j] * full_information_q(graph, distinct, joint, v, state, pairs[i], j, gamma, False)
                reward[i] += b[j] * distinct.pool[distinct.at[r] + j // stride % size]
