"""The model as SARSOP's kernels see it: the outcomes of each state's actions, in groups.

An outcome is a pair (x', o) of a state-action. A group holds all outcomes of a state, whatever their action, that lead
to one next state x' and leave θ unchanged: bounds after these are evaluated together (folding.py). An outcome of an
action that may change θ is a group of its own. Outcomes that end the episode are left out.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, Small, inlined
from pomdplite.mdp import memory
from pomdplite.mdp.momdp import Joint, Momdp
from pomdplite.planners.point_based.merging import outcome_rows

_OUTCOME_WORK = 10  # of evaluating an α-vector or a point after one of several outcomes
_OUTCOME_BYTES = 200  # that sorting an outcome into its group takes


class GroupedMomdp(NamedTuple):
    """A model in mixed-observability form with its outcomes in groups."""

    first_pair: Ints  # [state + 1] its state-actions
    action: Small  # [pair]
    component: Small  # [pair] the component of θ that it depends on
    rewards: Ints  # [pair] where R(x, θ, a) for each value of the component starts in the pool
    pool: Floats  # rewards and likelihoods
    joint: Joint
    offsets: Ints  # [component + 1] where each component starts in a list of all components' values
    corner: Floats  # [state, joint value] V_θ(x), the value of an agent that knows θ
    gamma: float
    first_group: Ints  # [state + 1]
    next_state: Small  # [group]
    folded: Flags  # [group] whether it has several outcomes
    first_outcome: Ints  # [group + 1]
    pair: Ints  # [outcome] its state-action
    likelihood: Ints  # [outcome] where P(x', o | x, θ, a) for each value of the component starts in the pool
    largest: Floats  # [outcome] the largest of these likelihoods
    hash_weights: Floats  # [joint value] for the hash of a belief
    merged: bool  # whether outcomes were merged: V̄ of the corners alone is then a bound for the model as it is


def group_outcomes(momdp: Momdp, corner: Floats, gamma: float, *, merge: bool = False) -> GroupedMomdp:
    """Sort the outcomes of every state's actions into groups.

    If asked, outcomes that tell almost the same are merged first, for a solver that may plan as if it could not tell
    them apart (merging.py).
    """
    reachable, joint = momdp.reachable, momdp.joint
    graph, distinct = reachable.graph, reachable.distinct
    step = graph.step.astype(np.int64)
    offsets = momdp.view.table.offsets.astype(np.int64)
    rows = outcome_rows(distinct, np.diff(offsets), merge)
    outcomes = np.diff(rows.first)[step]
    memory.require(
        memory.size(momdp, corner) + _OUTCOME_BYTES * int(outcomes.sum()) + joint.later.nbytes,
        f"{momdp.view.model.name}: the list of {int(outcomes.sum()):,} outcomes", "use pomcp or despot",
    )  # fmt: skip
    pair = np.repeat(np.arange(len(step)), outcomes)
    row = np.repeat(rows.first[step] - np.cumsum(outcomes) + outcomes, outcomes) + np.arange(len(pair))
    likelihood, largest = rows.likelihood[row], rows.largest[row]
    to = graph.next[joint.edge[pair] + rows.branch[row]]
    state = np.repeat(np.arange(reachable.states), np.diff(graph.first))[pair]
    width = joint.later.shape[1]
    values = joint.size[distinct.component[step]][:, None]
    changes = ((joint.later != np.arange(width)) & (np.arange(width) < values)).any(axis=1)
    alone = np.where(changes[pair], np.arange(1, len(pair) + 1), 0)
    keep = np.lexsort((np.arange(len(pair)), alone, to, state))
    keep = keep[to[keep] > 0]
    pair, likelihood, largest, to, state, alone = (a[keep] for a in (pair, likelihood, largest, to, state, alone))
    start = np.ones(len(pair), np.bool_)
    start[1:] = (np.diff(state) != 0) | (np.diff(to) != 0) | (np.diff(alone) != 0)
    first_outcome = np.append(np.flatnonzero(start), len(pair)).astype(np.int64)
    return GroupedMomdp(
        first_pair=graph.first,
        action=graph.action,
        component=distinct.component[step],
        rewards=distinct.at[step],
        pool=rows.pool,
        joint=joint,
        offsets=offsets,
        corner=corner,
        gamma=float(gamma),
        first_group=np.searchsorted(state[start], np.arange(reachable.states + 1)).astype(np.int64),
        next_state=to[start].astype(np.int32),
        folded=np.diff(first_outcome) > 1,
        first_outcome=first_outcome,
        pair=pair.astype(np.int64),
        likelihood=likelihood.astype(np.int64),
        largest=largest,
        hash_weights=np.random.default_rng(0).random(momdp.values),
        merged=bool(rows.merged),
    )


class Widest(NamedTuple):
    """The largest numbers of groups, outcomes and actions of one state, and of outcomes of one state-action."""

    groups: int
    outcomes: int
    actions: int
    outcomes_of_pair: int


def widest(model: GroupedMomdp) -> Widest:
    """What arrays must have room for."""
    return Widest(
        groups=int(np.diff(model.first_group).max()),
        outcomes=int(np.diff(model.first_outcome[model.first_group]).max()),
        actions=int(np.diff(model.first_pair).max()),
        outcomes_of_pair=int(np.bincount(model.pair, minlength=1).max()),
    )


def look_ahead_work(model: GroupedMomdp, looks: Ints, state: int) -> float:
    """How much work it is to look one step ahead from a state: about 0.5 ns each.

    Every outcome is looked at once for each α-vector and point of its next state, of which there are looks[state].
    """
    groups = slice(int(model.first_group[state]), int(model.first_group[state + 1]))
    outcomes = np.diff(model.first_outcome[groups.start : groups.stop + 1])
    values = model.corner.shape[1]
    each = values + np.where(model.folded[groups], values + _OUTCOME_WORK * outcomes, 0)
    return float(looks[model.next_state[groups]] @ each + values * outcomes.sum())


def mean_rewards(model: GroupedMomdp, b: Floats, pairs: Ints) -> Floats:
    """R(b, x, a) of some state-actions."""
    means = np.zeros(len(pairs))
    for i, pair in enumerate(pairs):
        component, at = model.component[pair], int(model.rewards[pair])
        size, stride = int(model.joint.size[component]), int(model.joint.stride[component])
        means[i] = model.pool[at : at + size] @ b.reshape(-1, size, stride).sum(axis=(0, 2))
    return means


@inlined
def component_of(model: GroupedMomdp, pair: int) -> int:
    """The component of θ that a state-action depends on."""
    return model.component[pair]


@inlined
def posterior(model: GroupedMomdp, b: Floats, outcome: int, after: Floats) -> float:
    """P(outcome | b) b' into `after`, where b' = τ(b, a, outcome) is the next belief; P(outcome | b)."""
    pair, likelihoods = model.pair[outcome], model.likelihood[outcome]
    component = component_of(model, pair)
    size, stride = model.joint.size[component], model.joint.stride[component]
    for j in range(b.shape[0]):
        after[j] = 0.0
    chance = 0.0
    for block in range(0, b.shape[0], size * stride):
        for v in range(size):
            likelihood = model.pool[likelihoods + v]
            if likelihood > 0.0:
                there = block + model.joint.later[pair, v] * stride
                here = block + v * stride
                for k in range(stride):
                    after[there + k] += likelihood * b[here + k]
                    chance += likelihood * b[here + k]
    return chance
