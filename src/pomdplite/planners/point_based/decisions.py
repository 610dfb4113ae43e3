"""Decisions from α-vectors and bounds."""

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.mdp.momdp import Momdp
from pomdplite.mdp.solution import Solution
from pomdplite.planners.decision import Decision, choose
from pomdplite.planners.point_based.bounds import BoundScratch
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp, mean_rewards
from pomdplite.planners.point_based.tree import SampledBeliefTree
from pomdplite.planners.point_based.vectors import VECTORS, AlphaVectors

LONGEST_LOOK = 2e7  # of work, some ten milliseconds: what looking one step ahead may take


def look_ahead_decision(
    momdp: Momdp, model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, node: int, solver: str,
    simulations: int = 0,
) -> Decision:  # fmt: skip
    """The action with the highest Q̲, where `look_ahead` has just been called for the node."""
    reachable, state = momdp.reachable, int(tree.state[node])
    pairs = reachable.actions(state)
    order = pairs - reachable.graph.first[state]
    q, q_upper = scratch.q_lower[order], scratch.q_upper[order]
    lower = max(float(q.max()), float(tree.lower[node]))
    known = float(tree.corner[node])
    upper = max(lower, known if model.merged else min(float(q_upper.max()), float(tree.upper[node]), known))
    actions, zero = reachable.graph.action[pairs], np.zeros(len(pairs))
    return Decision(
        action=choose(actions, q),
        solution=Solution(
            solver=solver, actions=actions, q=q, bonus_part=zero, mean_bonus=zero,
            mean_reward=tree.reward[tree.first_pair[node] + order], states=reachable.states,
            residual=upper - lower, simulations=simulations,
        ),
        action_names=momdp.view.model.actions,
        bounds=(lower, upper),
    )  # fmt: skip


def vector_decision(
    momdp: Momdp, model: GroupedMomdp, vectors: AlphaVectors, state: int, b: Floats, solver: str
) -> Decision:
    """The action of the α-vector that is best at the belief; an action without a vector is worth less."""
    reachable, count = momdp.reachable, int(vectors.counts[VECTORS])
    here = np.flatnonzero(vectors.state[:count] == state)
    values = vectors.value[here] @ b
    pairs = reachable.actions(state)
    actions, zero = reachable.graph.action[pairs], np.zeros(len(pairs))
    q = np.full(len(momdp.view.model.actions), -np.inf)
    np.maximum.at(q, vectors.action[here], values)
    lower, upper = float(values.max()), float(model.corner[state] @ b)
    return Decision(
        action=int(vectors.action[here[np.argmax(values)]]),
        solution=Solution(
            solver=solver, actions=actions, q=q[actions], bonus_part=zero, mean_reward=mean_rewards(model, b, pairs),
            mean_bonus=zero, states=reachable.states, residual=upper - lower, state_value=lower,
        ),
        action_names=momdp.view.model.actions,
        bounds=(lower, max(lower, upper)),
    )  # fmt: skip
