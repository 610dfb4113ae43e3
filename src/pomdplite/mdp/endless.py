"""Policies that earn or cost forever, without a discount.

Such a policy has no finite value, and value iteration would go on and on. Here (x, θ) is at rest if all rewards are 0
from there on. What cannot come to rest, or to the end, goes round in loops with rewards; if these have one sign, they
add up to infinity.
"""

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, inlined, kernel
from pomdplite.mdp.budget import Deadline
from pomdplite.mdp.momdp import Momdp, MomdpArrays


def endless_worth(momdp: Momdp, pairs: Ints, deadline: Deadline) -> Floats:
    """−inf where the policy pairs[state] costs forever, inf where it earns forever, and else 0: [state, joint value].

    Where rewards of both signs may cancel it is 0, too.
    """
    what = f"{momdp.view.model.name}: looking for loops that never end"
    reward = np.zeros((len(pairs), momdp.values))
    _find_rewards(momdp.arrays, pairs, reward)
    ending = reward == 0.0
    while _exclude(momdp.arrays, pairs, ending):
        deadline.check(what)
    while _include(momdp.arrays, pairs, ending):
        deadline.check(what)
    found = reward[~ending]
    worth = 0.0 if found.size == 0 or found.min() < 0.0 < found.max() else float(np.copysign(np.inf, found.sum()))
    return np.where(ending, 0.0, worth)


@kernel
def _find_rewards(arrays: MomdpArrays, pairs: Ints, reward: Floats) -> None:
    for s in range(1, reward.shape[0]):
        for j in range(reward.shape[1]):
            reward[s, j] = arrays.distinct.pool[_at(arrays, pairs[s], j)]


@kernel
def _exclude(arrays: MomdpArrays, pairs: Ints, resting: Flags) -> bool:
    """One sweep: what may lead to something that is not at rest is not at rest. Returns whether that changed any."""
    changed = False
    for s in range(1, resting.shape[0]):
        for j in range(resting.shape[1]):
            if resting[s, j] and _may_lead_to(arrays, pairs[s], j, resting, False):
                resting[s, j], changed = False, True
    return changed


@kernel
def _include(arrays: MomdpArrays, pairs: Ints, ending: Flags) -> bool:
    """One sweep: what may lead to something that comes to rest does so, too. Returns whether that changed any."""
    changed = False
    for s in range(1, ending.shape[0]):
        for j in range(ending.shape[1]):
            if not ending[s, j] and _may_lead_to(arrays, pairs[s], j, ending, True):
                ending[s, j], changed = True, True
    return changed


@inlined
def _may_lead_to(arrays: MomdpArrays, pair: int, j: int, flags: Flags, wanted: bool) -> bool:
    """Whether the action leads, with some probability, to a next state with this flag. END, state 0, is at rest."""
    graph, distinct, joint = arrays.graph, arrays.distinct, arrays.joint
    r = graph.step[pair]
    size, stride = joint.size[distinct.component[r]], joint.stride[distinct.component[r]]
    value, at = j // stride % size, _at(arrays, pair, j)
    later = j + (joint.later[pair, value] - value) * stride
    for branch in range(distinct.branches[r]):
        at += size
        if distinct.pool[at] > 0.0 and flags[graph.next[joint.edge[pair] + branch], later] == wanted:
            return True
    return False


@inlined
def _at(arrays: MomdpArrays, pair: int, j: int) -> int:
    """Where the pool has the reward; the probabilities of next states follow, `size` apart."""
    distinct, joint = arrays.distinct, arrays.joint
    r = arrays.graph.step[pair]
    size, stride = joint.size[distinct.component[r]], joint.stride[distinct.component[r]]
    return distinct.at[r] + j // stride % size
