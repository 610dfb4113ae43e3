"""The internal-reward MDP of a frozen belief, all of it as arrays.

    Q̃(b, s, a) = R(b, s, a) + RB(b, s, a) + γ Σ_s' P(s' | b, s, a) Ṽ(b, s')

for every state-action of the reachable graph, and the greedy policy π(s) = argmax_a Q̃(b, s, a). Values are in the
model's own units of reward; divided by the range of rewards, differences between them are those of the paper, whose
rewards lie in [0, 1] (mdp/reward_range.py).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import TooLargeError, UnsuitableError, UsageError
from pomdplite.mdp.counts.bonuses import expected_change
from pomdplite.mdp.counts.solver import CountsSolver
from pomdplite.mdp.distinct_steps import ALL, StepValues, allocate_step_values, evaluate_steps
from pomdplite.mdp.exact_solver import ExactSolver
from pomdplite.mdp.reachable import Reachable
from pomdplite.mdp.reward_range import RewardScale, reward_scale
from pomdplite.mdp.solution import TIE
from pomdplite.mdp.value_iteration import ValueIteration
from pomdplite.planners.pomdp_lite import PomdpLite

_TOLERANCE = 1e-9  # of a value, in units of reward


@dataclass(frozen=True)
class FrozenMdp:
    """The internal-reward MDP. State 0 is END; arrays over state-actions follow the graph."""

    reachable: Reachable
    scale: RewardScale
    gamma: float
    beta: float
    state: int  # the current one
    belief: Floats  # as the graph's steps take it
    reward: Floats  # [state-action] R(b, s, a)
    bonus: Floats  # [state-action] RB(b, s, a)
    chance: csr_array  # [state-action, s'] P(s' | b, s, a)
    values: Floats  # [s] Ṽ(b, s)

    @property
    def q(self) -> Floats:
        """Q̃(b, s, a): [state-action]."""
        return np.asarray(self.reward + self.bonus + self.gamma * (self.chance @ self.values))

    @cached_property
    def owner(self) -> Ints:
        """The state of each state-action."""
        first = self.reachable.graph.first
        return np.repeat(np.arange(len(first) - 1), np.diff(first))

    @cached_property
    def policy(self) -> Ints:
        """The greedy state-action of each state; -1 for END."""
        found, q = np.full(self.reachable.states, -1), self.q
        for s in range(1, self.reachable.states):
            pairs = self.reachable.actions(s)
            best = float(q[pairs].max())
            found[s] = pairs[np.flatnonzero(q[pairs] >= best - TIE * max(1.0, abs(best)))[0]]
        return found

    def step_chances(self, theta: Floats) -> csr_array:
        """P(s' | θ, s, a) for a belief that is certain of θ: [state-action, s']."""
        return _transitions(self.reachable, theta)

    def step_rewards(self, theta: Floats) -> Floats:
        """R(θ, s, a) for a belief that is certain of θ: [state-action]."""
        return _step_values(self.reachable, theta, 0.0).reward[self.reachable.graph.step]


def frozen_mdp(planner: PomdpLite, beta: float | None = None) -> FrozenMdp:
    """The internal-reward MDP at a planner's present belief, for its own β or another one."""
    reachable = exact_graph(planner)
    assert planner.beta is not None
    beta, b = planner.beta if beta is None else beta, planner.belief.probabilities
    steps, number = _step_values(reachable, b, beta), reachable.graph.step
    shrinking = planner.belief.kernel_model.bonus_scale[reachable.distinct.component[number]]  # 1, except for counts
    return FrozenMdp(
        reachable=reachable,
        scale=reward_scale(reachable),
        gamma=planner.discount,
        beta=beta,
        state=reachable.find(planner.s),
        belief=b.copy(),
        reward=steps.reward[number],
        bonus=beta * shrinking * steps.bonus[number],
        chance=_transitions(reachable, b),
        values=_values(planner, reachable, beta),
    )


def _values(planner: PomdpLite, reachable: Reachable, beta: float) -> Floats:
    """Ṽ(b, s) of every state, since all can be reached from the initial one."""
    b = planner.belief.probabilities
    if isinstance(planner.solver, CountsSolver):
        solver = CountsSolver(planner.view, planner.discount, beta, tolerance=_TOLERANCE)
        solver.solve(planner.belief.kernel_model, planner.view.root(), b)
        return solver.values.copy()
    iteration = ValueIteration(reachable, planner.discount, beta, tolerance=_TOLERANCE)
    iteration.reset(b)
    return iteration.values.copy()


def exact_graph(planner: PomdpLite) -> Reachable:
    """The graph of a planner with the exact solver; it is reset if that has not been done."""
    if not isinstance(planner, PomdpLite):
        raise UsageError(f"the analysis takes a PomdpLite planner, not {type(planner).__name__}.")
    refusal = UnsuitableError(
        f"{planner.model.name}: the analysis lists every state and hidden value, which the exact solver does and "
        f'{planner.title} here does not; a small model with solver="exact" can be analysed.'
    )
    if planner.solver_name not in ("auto", "exact") or planner.bonus_rule is not expected_change:
        raise refusal
    try:
        planner.prepare()
    except TooLargeError as error:
        cause = error.reason.split(". ")[0].removeprefix(f"{planner.model.name}: ")
        raise TooLargeError(
            f"{planner.model.name}: the analysis, which lists every state, is for smaller models: {cause}."
        ) from None
    if not hasattr(planner, "_x"):
        planner.reset()
    if not isinstance(planner.solver, ExactSolver | CountsSolver):
        raise refusal
    if planner.discount >= 1:
        raise UnsuitableError(f"{planner.model.name}: the paper's analysis needs a discount below 1.")
    return planner.solver.reachable


def _step_values(reachable: Reachable, b: Floats, beta: float) -> StepValues:
    values = allocate_step_values(reachable.distinct)
    evaluate_steps(reachable.view.kernel_model, reachable.distinct, b, beta, values, ALL)
    return values


def _transitions(reachable: Reachable, b: Floats) -> csr_array:
    """P(s' | b, s, a): [state-action, s']."""
    graph, distinct = reachable.graph, reachable.distinct
    values, branches = _step_values(reachable, b, 0.0), distinct.branches[graph.step]
    within = np.arange(len(graph.next)) - np.repeat(np.cumsum(branches) - branches, branches)
    chance = values.chance[np.repeat(distinct.first_branch[graph.step], branches) + within]
    rows = np.concatenate([[0], np.cumsum(branches)])
    return csr_array((chance, graph.next, rows), shape=(len(graph.action), reachable.states))
