"""QMDP (Littman, Cassandra, Kaelbling 1995): act as if θ became known after the next step.

    a ← argmax_a Σ_θ b(θ) Q_θ(x, a)

Q_θ is exact for every θ (mdp/full_information.py), and Σ_θ b(θ) V_θ(x) is an upper bound on the value of any planner.
To QMDP information has no value, so actions that only inform tie, and its performance depends on how ties are broken:
by default the most informative action is taken, which performs best; alternatively a random one.
"""

import logging
from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import ExactBelief, exact_belief
from pomdplite.compile.jit import Floats, Ints, Small, kernel
from pomdplite.errors import TooLargeError, UnsuitableError, UsageError
from pomdplite.mdp.budget import SOLVE_SECONDS, OutOfTimeError
from pomdplite.mdp.full_information import MEMORY, full_information_q, full_information_values, require_room
from pomdplite.mdp.momdp import MomdpArrays, momdp_form
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.undiscounted import has_cut_episodes, horizon_values, planning_discount
from pomdplite.mdp.yardsticks import bounds_of_episodes
from pomdplite.model.model import Model
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision, best_actions

log = logging.getLogger("pomdplite")

TIES = ("informative", "random")


class Qmdp(Planner):
    """Maximises the mean over the belief of the exact action values for every θ.

    ties        how ties are broken: "informative", by the largest expected change of the belief, or "random"
    memory      limit on the memory for the values, in gigabytes; POMDPLITE_MEMORY limits it, too
    solve_time  seconds that preparing may take, once, before the first step; TooLargeError if it needs longer
    """

    title: ClassVar[str] = "qmdp"

    def __init__(
        self,
        model: Model,
        ties: str = "informative",
        memory: float = MEMORY / 1e9,
        solve_time: float = SOLVE_SECONDS,
    ) -> None:
        super().__init__(model, solve_time)
        if not memory > 0:
            raise UsageError(f"memory must be a positive number of gigabytes, not {memory!r}.")
        if ties not in TIES:
            raise UsageError(f"no way {ties!r} to break ties; there are {', '.join(TIES)}.")
        self.ties, self.memory = ties, memory
        self.deterministic = ties != "random"

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"ties": self.ties, "memory": self.memory, "solve_time": self.solve_time}

    belief: ExactBelief
    discount: float

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.momdp = momdp_form(self.model, deadline=self._deadline)
        self.belief = exact_belief(self.view)
        self.discount, self.values = self._known_values()

    def _known_values(self) -> tuple[float, Floats]:
        """γ and V_θ(x); without discount, what can be earned in the rest of an episode after its first step."""
        model, memory = self.model, int(self.memory * 1e9)
        if has_cut_episodes(model):
            require_room(self.momdp, memory)
            try:
                later = max(1, model.episode_horizon - 1)
                return model.discount, horizon_values(self.momdp, later, deadline=self._deadline)[0]
            except OutOfTimeError:
                raise
            except TooLargeError as why:
                log.debug("%s", why)
        discount = planning_discount(model)
        return discount, full_information_values(self.momdp, discount, memory=memory, deadline=self._deadline)

    @property
    def value_bounds(self) -> tuple[float, float]:
        """No lower bound, and the full-information upper bound."""
        known = float(self.momdp.prior @ self.values[self.momdp.reachable.find(self.momdp.view.root())])
        return bounds_of_episodes(self.momdp, self.discount, (-np.inf, known), self.values)

    def _begin(self, seed: int) -> None:
        """Start the stream that breaks ties."""
        self._stream = rng.stream(seed)

    def _decide(self) -> Decision:
        return self._decide_for(self.belief.joint())

    def _decide_for(self, b: Floats) -> Decision:
        """The decision for the joint values of θ weighted by b."""
        momdp, r = self.momdp, self.momdp.reachable
        state = r.find(self.s[: self.model.state.words])
        if state < 0:
            raise UnsuitableError(
                f"{self.model.name}: the model never reaches x = ({self.view.describe(self.s)}), so QMDP has no value "
                "for it."
            )
        pairs = r.actions(state)
        actions, q, reward, zero = r.graph.action[pairs], *np.zeros((3, len(pairs)))
        _mean_q(momdp.arrays, self.values, b, state, pairs, self.discount, q, reward)
        return Decision(
            action=self._break_ties(best_actions(actions, q)),
            solution=Solution(
                solver="full information after one step", actions=actions, q=q, bonus_part=zero, mean_reward=reward,
                mean_bonus=zero, states=r.states,
            ),
            action_names=self.model.actions,
            bounds=(-np.inf, float(self.belief.joint() @ self.values[state])),
        )  # fmt: skip

    def _break_ties(self, best: Small) -> int:
        if self.ties == "random":
            return int(best[int(rng.uniform(self._stream) * len(best))])
        return int(max(best, key=lambda a: self.belief.expected_change(self.state, int(a))))


@kernel
def _mean_q(
    arrays: MomdpArrays, v: Floats, b: Floats, state: int, pairs: Ints, gamma: float, q: Floats, reward: Floats
) -> None:
    """Add Σ_θ b(θ) Q_θ(x, a) to q and Σ_θ b(θ) R(x, θ, a) to reward, for each action."""
    distinct, joint = arrays.distinct, arrays.joint
    for i in range(pairs.shape[0]):
        r = arrays.graph.step[pairs[i]]
        size, stride = joint.size[distinct.component[r]], joint.stride[distinct.component[r]]
        for j in range(b.shape[0]):
            if b[j] > 0.0:
                q[i] += b[j] * full_information_q(arrays, v, state, pairs[i], j, gamma, False)
                reward[i] += b[j] * distinct.pool[distinct.at[r] + j // stride % size]
